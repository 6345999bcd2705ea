//! `escrow schema`: the shape of a playbook, a chain, a rules file, an agent profile, a test file or an outcome kind as JSON Schema,
//! for editors.

use escrow_app::Error;
use escrow_model::outcome::{KINDS, Kind};
use escrow_runtime::{catalog, outcome_kinds};
use serde_json::Value;

use crate::arguments::{Output, SchemaArguments, Shared};
use crate::exit::Exit;
use crate::terminal::Ui;

pub(crate) fn schema(arguments: &SchemaArguments, shared: &Shared) -> Result<Exit, Error> {
    let schema = match arguments.subject.as_str() {
        "playbook" => escrow_playbook::json_schema(&catalog()),
        "chain" => escrow_playbook::chain_schema(),
        "rules" => escrow_playbook::rules_schema(),
        "agent" => escrow_playbook::profile_schema(),
        "test" => escrow_playbook::test_schema(),
        "show" => escrow_playbook::show_schema(),
        kind => kind_schema(kind)?,
    };
    // A schema is JSON in every format; people get it indented.
    let output = if shared.output == Output::Jsonl { Output::Jsonl } else { Output::Json };
    let printer = Ui::new(&Shared { output, ..shared.clone() });
    if !printer.data(&schema) {
        let why = printer.unwritten().unwrap_or_default();
        return Err(Error::world("unwritable", format!("cannot write to stdout: {why}")));
    }
    Ok(Exit::Completed)
}

fn kind_schema(name: &str) -> Result<Value, Error> {
    if let Some(kind) = Kind::find(name) {
        return Ok((kind.schema)());
    }
    let here = std::env::current_dir().unwrap_or_default();
    let folders = outcome_kinds::projects(std::iter::once(here.as_path()));
    match outcome_kinds::find(name, &folders) {
        Some(Ok(schema)) => Ok(schema),
        Some(Err(why)) => Err(Error::author("bad_kind", why)),
        None => {
            let own = outcome_kinds::names(&folders);
            let kinds = KINDS.iter().map(|kind| kind.name).chain(own.iter().map(String::as_str));
            let known: Vec<&str> =
                ["playbook", "chain", "show", "rules", "agent", "test"].into_iter().chain(kinds).collect();
            Err(Error::author("usage", format!("there is no schema called `{name}`"))
                .help(format!("one of {}", known.join(", "))))
        }
    }
}
