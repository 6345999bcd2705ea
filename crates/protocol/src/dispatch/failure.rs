//! Turns a failure without a response into a response.

use crate::envelope::{CallbackResponse, Warning};
use crate::version::WireVersion;
use crate::vocabulary::FailureClass;

/// Longer messages are cut: this much is enough to recognise a failure.
const MESSAGE_LIMIT_BYTES: usize = 512;

/// A failed response on behalf of the client, with the default retry class of the failure.
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
