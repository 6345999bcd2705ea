//! `envelope validate | echo`: is this a request, a response?

use super::answer::{Failure, pretty};
use super::arguments::Arguments;
use super::input;
use super::world::World;
use crate::envelope::{CallbackRequest, CallbackResponse};
use crate::validation::ValidationError;

pub(super) fn run(mut arguments: Arguments, world: &mut dyn World) -> Result<String, Failure> {
    let verb = arguments
        .next_word()
        .ok_or_else(|| Failure::usage("envelope requires a subcommand: validate | echo"))?;
    let kind = arguments
        .next_word()
        .ok_or_else(|| Failure::usage(format!("envelope {verb} requires a kind: request | response")))?;
    let action = match verb.as_str() {
        "validate" => Action::Validate,
        "echo" => Action::Echo,
        other => {
            return Err(Failure::usage(format!(
                "envelope: unknown subcommand `{other}` (expected: validate | echo)"
            )));
        }
    };
    if kind != "request" && kind != "response" {
        return Err(Failure::usage(format!(
            "envelope {verb}: unknown kind `{kind}` (expected: request | response)"
        )));
    }
    if arguments.next_word().is_some() {
        return Err(Failure::usage(format!("envelope {verb} {kind}: unexpected extra argument")));
    }
    match (action, kind.as_str()) {
        (Action::Validate, "request") => {
            let request = input::document(world, "request envelope", CallbackRequest::read)?;
            verdict(&kind, request.validate())
        }
        (Action::Validate, _) => {
            let response = input::document(world, "response envelope", CallbackResponse::read)?;
            verdict(&kind, response.validate())
        }
        (Action::Echo, "request") => {
            pretty(&input::document(world, "envelope envelope", CallbackRequest::read)?)
        }
        (Action::Echo, _) => pretty(&input::document(world, "envelope envelope", CallbackResponse::read)?),
    }
}

enum Action {
    Validate,
    Echo,
}

fn verdict(kind: &str, result: Result<(), ValidationError>) -> Result<String, Failure> {
    match result {
        Ok(()) => Ok("ok\n".to_owned()),
        Err(error) => Err(Failure::refused(format!("{kind} failed validation: {error}"))),
    }
}
