//! `escrow effects`: what external checks did to the world, and how a person settles an unknown effect.

use escrow_app::effects::{self, EffectQuery, Resolve, Resolved, SettledAs};
use escrow_app::{App, Error, documents};
use escrow_model::{EffectState, rfc3339};
use escrow_store::EffectRow;
use serde_json::json;

use crate::arguments::{
    EffectsAction, EffectsArguments, EffectsList, Output, ResolveArguments, ResolvedAs, Shared,
};
use crate::exit::Exit;
use crate::session;
use crate::terminal::{TextTable, Ui, printable};

pub(crate) async fn effects(arguments: EffectsArguments, shared: &Shared, ui: &Ui) -> Result<Exit, Error> {
    let app = session::app(shared, ui)?;
    match arguments.action {
        None => list(arguments.list, &app, ui).await,
        Some(EffectsAction::List(list)) => self::list(list, &app, ui).await,
        Some(EffectsAction::Resolve(resolve)) => self::resolve(&resolve, &app, ui).await,
    }
}

async fn list(arguments: EffectsList, app: &App, ui: &Ui) -> Result<Exit, Error> {
    let query = EffectQuery { run: arguments.run, key: arguments.key, limit: None };
    let rows = effects::list(app, &query).await?;
    if let (Some(key), true) = (&query.key, rows.is_empty()) {
        ui.say(&format!("no effect has the key `{}`", printable(key)));
    }
    match ui.output() {
        Output::Json => ui.data_if_machine(&documents::effects(&rows)),
        Output::Jsonl => drop(rows.iter().all(|row| ui.data(&json!({ "effect": documents::effect(row) })))),
        Output::Human if rows.is_empty() && query.key.is_some() => {}
        Output::Human if rows.is_empty() => ui.page("no effects"),
        Output::Human => ui.page(&table(&rows, ui)),
    }
    Ok(Exit::Completed)
}

fn table(rows: &[EffectRow], ui: &Ui) -> String {
    let mut table = TextTable::new();
    for row in rows {
        let state = row.state.as_str();
        let painted = match row.state {
            EffectState::Confirmed => ui.page.green(state),
            EffectState::Failed => ui.page.red(state),
            EffectState::Intended | EffectState::Unknown => ui.page.yellow(state),
        };
        let at = rfc3339(row.intended_at).replace('T', " ");
        let (key, at) = (printable(&row.key), at[..19].to_owned());
        let place = printable(&format!("{}{}", row.check, row.scope));
        let run = row.run.to_string();
        table.row(&[
            (&key, ui.page.cyan(&key)),
            (state, painted),
            (&place, place.clone()),
            (&run, run.clone()),
            (&at, ui.page.dim(&at)),
        ]);
    }
    table.render()
}

async fn resolve(arguments: &ResolveArguments, app: &App, ui: &Ui) -> Result<Exit, Error> {
    session::stop_on_signals(app);
    let resolve = Resolve {
        key: arguments.key.clone(),
        settled_as: match arguments.resolution {
            ResolvedAs::Done => SettledAs::Done,
            ResolvedAs::Failed => SettledAs::Failed,
        },
        by: arguments.by.clone(),
        why: arguments.why.clone(),
    };
    let Resolved { effect, run } = effects::resolve(app, &resolve).await?;
    ui.say(&format!("{} is {}", printable(&effect.key), EffectState::from(resolve.settled_as).as_str()));
    if let Some(run) = run.filter(|run| !run.status().is_terminal()) {
        ui.say(&format!("run {} is {}", run.options().run, run.status().as_str()));
    }
    ui.data_if_machine(&json!({ "effect": documents::effect(&effect) }));
    Ok(Exit::Completed)
}
