//! `escrow doctor`: what this machine offers for running playbooks safely.

use escrow_runtime::sandbox::{Ability, abilities};
use serde_json::json;

use crate::arguments::Output;
use crate::exit::Exit;
use crate::terminal::{TextTable, Ui};

pub(crate) fn doctor(ui: &Ui) -> Exit {
    let abilities = abilities();
    if ui.output() != Output::Human {
        let one =
            |one: &Ability| json!({ "name": one.name, "available": one.available, "detail": one.detail });
        ui.data(&json!({ "abilities": abilities.iter().map(one).collect::<Vec<_>>() }));
        return Exit::Completed;
    }
    let mut table = TextTable::new();
    for one in &abilities {
        let word = if one.available { "yes" } else { "no" };
        let painted = if one.available { ui.page.green(word) } else { ui.page.yellow(word) };
        table.row(&[(one.name, ui.page.bold(one.name)), (word, painted), (&one.detail, one.detail.clone())]);
    }
    ui.page(&table.render());
    Exit::Completed
}
