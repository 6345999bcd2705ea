//! `escrow schema`: the shape of a playbook as JSON Schema, for editors.

use anyhow::Result;

use crate::arguments::{Output, SchemaArguments, SchemaSubject, Shared};
use crate::exit::Exit;
use crate::terminal::Talk;
use escrow_runtime::catalog::catalog;

pub(crate) fn schema(arguments: &SchemaArguments, shared: &Shared) -> Result<Exit> {
    let schema = match arguments.subject {
        SchemaSubject::Playbook => escrow_playbook::json_schema(&catalog()),
    };
    // A schema is JSON in every format; people get it indented.
    let output = if shared.output == Output::Jsonl { Output::Jsonl } else { Output::Json };
    Talk::new(&Shared { output, ..shared.clone() }).data(&schema);
    Ok(Exit::Completed)
}
