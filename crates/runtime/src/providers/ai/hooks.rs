//! The hooks that a harness gets from Escrow, privately: they leave receipts in its home, and hold back a stop.

use std::io;
use std::path::Path;
use std::process::Command;

use escrow_model::Request;
use escrow_store::ReceiptLedger;
use serde_json::Value;

use super::super::Attempt;
use super::home::PrivateHome;
use crate::hook_spool::{HookSpool, StopDemand};

pub(super) struct Hooks {
    spool: HookSpool,
    words: Option<[String; 4]>,
}

impl Hooks {
    pub(super) fn prepare(host: &str, home: &PrivateHome, request: &Request) -> io::Result<Hooks> {
        let spool = HookSpool::create(&home.path().join("hooks"))?;
        if let Some(demand @ Value::Object(_)) = request.fields.get("hold_stop") {
            let demand: StopDemand = serde_json::from_value(demand.clone())?;
            spool.hold_stop(&demand)?;
        }
        // Another program that uses this crate has no `hook`.
        let is_escrow = |program: &Path| program.file_name().is_some_and(|name| name == "escrow");
        let program = std::env::current_exe().ok().filter(|program| is_escrow(program));
        let program = program.and_then(|program| program.into_os_string().into_string().ok());
        let words = program.map(|program| [program, "hook".into(), "--host".into(), host.into()]);
        Ok(Hooks { spool, words })
    }

    /// The words of the command that the harness calls.
    pub(super) fn words(&self) -> Option<&[String]> {
        self.words.as_ref().map(<[String; 4]>::as_slice)
    }

    pub(super) fn give_to(&self, command: &mut Command) {
        self.spool.give_to(command);
    }

    /// Moves the receipts into the ledger of the state. Says why, if that fails.
    pub(super) async fn collect(self, attempt: &Attempt) -> Option<String> {
        if self.spool.is_empty() {
            return None;
        }
        let (database, run) = (attempt.state.join("escrow.db"), attempt.run.as_str().to_owned());
        let collected = tokio::task::spawn_blocking(move || {
            let mut ledger = ReceiptLedger::open_grouped(&database).map_err(|error| error.to_string())?;
            self.spool.collect(Some(&run), &mut ledger).map_err(|error| error.to_string())
        });
        match collected.await {
            Ok(Ok(_)) => None,
            Ok(Err(problem)) => Some(problem),
            Err(error) => Some(error.to_string()),
        }
    }
}
