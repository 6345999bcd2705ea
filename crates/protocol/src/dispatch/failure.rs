//! A failure that nobody answered for, put in the words of an answer.

use crate::envelope::{CallbackResponse, Warning};
use crate::version::WireVersion;
use crate::vocabulary::FailureClass;

/// More than this of a sentence is not needed to recognise a failure.
const MESSAGE_LIMIT_BYTES: usize = 512;

/// What the client would have said, had it been able to: failed, with the class's own retry posture.
pub fn failure_response(
    version: WireVersion,
    failure: FailureClass,
    code: &str,
    message: &str,
) -> CallbackResponse {
    let mut response = CallbackResponse::failed(version, failure, failure.default_retry());
    response.warnings.push(Warning::new(code, shortened(message)));
    response
}

fn shortened(message: &str) -> String {
    let message = message.trim_end();
    if message.len() <= MESSAGE_LIMIT_BYTES {
        return message.to_owned();
    }
    format!("{}…", &message[..message.floor_char_boundary(MESSAGE_LIMIT_BYTES)])
}
