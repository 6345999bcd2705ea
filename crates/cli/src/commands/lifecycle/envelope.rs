//! `envelope validate | echo`: checks or reprints a request or a response.

use escrow_protocol::envelope::{CallbackRequest, CallbackResponse};
use escrow_protocol::validation::ValidationError;

use super::arguments::Arguments;
use super::input;
use super::output::{LifecycleError, pretty};
use super::system::System;

pub(super) fn run(mut arguments: Arguments, system: &mut dyn System) -> Result<String, LifecycleError> {
    let verb = arguments
        .next_word()
        .ok_or_else(|| LifecycleError::usage("envelope requires a subcommand: validate | echo"))?;
    let kind = arguments.next_word().ok_or_else(|| {
        LifecycleError::usage(format!("envelope {verb} requires a kind: request | response"))
    })?;
    let action = match verb.as_str() {
        "validate" => Action::Validate,
        "echo" => Action::Echo,
        other => {
            return Err(LifecycleError::usage(format!(
                "envelope: unknown subcommand `{other}` (expected: validate | echo)"
            )));
        }
    };
    if kind != "request" && kind != "response" {
        return Err(LifecycleError::usage(format!(
            "envelope {verb}: unknown kind `{kind}` (expected: request | response)"
        )));
    }
    if arguments.next_word().is_some() {
        return Err(LifecycleError::usage(format!("envelope {verb} {kind}: unexpected extra argument")));
    }
    match (action, kind.as_str()) {
        (Action::Validate, "request") => {
            let request = input::document(system, "request envelope", CallbackRequest::read)?;
            validated(&kind, request.validate())
        }
        (Action::Validate, _) => {
            let response = input::document(system, "response envelope", CallbackResponse::read)?;
            validated(&kind, response.validate())
        }
        (Action::Echo, "request") => {
            pretty(&input::document(system, "envelope envelope", CallbackRequest::read)?)
        }
        (Action::Echo, _) => pretty(&input::document(system, "envelope envelope", CallbackResponse::read)?),
    }
}

enum Action {
    Validate,
    Echo,
}

fn validated(kind: &str, result: Result<(), ValidationError>) -> Result<String, LifecycleError> {
    match result {
        Ok(()) => Ok("ok\n".to_owned()),
        Err(error) => Err(LifecycleError::refused(format!("{kind} failed validation: {error}"))),
    }
}
