//! The hooks that a harness gets from Escrow, privately: they leave receipts in its home, and hold back a stop.

use std::io;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use escrow_model::Request;
use escrow_protocol::envelope::{CapabilityDegradation, FreeMap};
use escrow_protocol::vocabulary::{FailureClass, LifecycleEventKind, ReceiptStatus, SupportState};
use escrow_store::ReceiptLedger;
use serde_json::{Value, json};

use super::super::{Attempt, HarnessProgress};
use super::home::PrivateHome;
use crate::hook_spool::{HookSpool, StopDemand, of_supervisor, waiting};

/// The interval of ticks is a tenth of the time limit, within these.
const TICK_MIN: Duration = Duration::from_secs(1);
const TICK_MAX: Duration = Duration::from_secs(60);

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

    /// Leaves a `supervisor.tick` with the figures so far, now and then, for as long as it is polled.
    pub(super) async fn tick(
        &self,
        host: &str,
        attempt: &Attempt,
        timeout_ms: u64,
        figures: impl Fn() -> HarnessProgress,
    ) {
        let interval = Duration::from_millis(timeout_ms / 10).clamp(TICK_MIN, TICK_MAX);
        let began = Instant::now();
        loop {
            tokio::time::sleep(interval).await;
            let HarnessProgress { turns, input_tokens, output_tokens, cost_usd, .. } = figures();
            let mut receipt = of_supervisor(host, &invocation(attempt), LifecycleEventKind::SupervisorTick);
            receipt.telemetry_summary = FreeMap::from_iter([
                ("elapsed_s", json!(began.elapsed().as_secs())),
                ("turns", json!(turns)),
                ("input_tokens", json!(input_tokens)),
                ("output_tokens", json!(output_tokens)),
                ("cost_usd", json!(cost_usd)),
            ]);
            drop(self.spool.leave(&receipt));
        }
    }

    /// Hooks that were given to a program which ended well, and of which none fired, are worth telling: its configuration
    /// may have been ignored. The receipt waits beside the ledger.
    fn report_silence(&self, host: &str, attempt: &Attempt) {
        let Some(dialect) = escrow_harness::dialect(host) else { return };
        let mut receipt = of_supervisor(host, &invocation(attempt), LifecycleEventKind::CapabilityDegraded);
        receipt.status = ReceiptStatus::Degraded;
        receipt.harness_run_id = Some(attempt.run.as_str().to_owned());
        for event in dialect.of_one_prompt().filter_map(|event| event.lifecycle()) {
            let capability = format!("lifecycle_event:{event}");
            if !receipt.capability_degradations.iter().any(|known| known.capability == capability) {
                receipt.capability_degradations.push(CapabilityDegradation {
                    capability,
                    previous_support: SupportState::Native,
                    current_support: SupportState::Unavailable,
                    evidence: Some("the program ended well, and none of its hooks fired".to_owned()),
                    retry_class: Some(FailureClass::CapabilityDegraded.default_retry()),
                });
            }
        }
        drop(waiting(&attempt.state).leave(&receipt));
    }

    /// Moves the receipts into the ledger of the state. Says why, if that fails.
    pub(super) async fn collect(self, host: &str, attempt: &Attempt, ended_well: bool) -> Option<String> {
        if self.spool.is_empty() {
            if ended_well && self.words.is_some() {
                self.report_silence(host, attempt);
            }
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

fn invocation(attempt: &Attempt) -> String {
    attempt.invocation.clone().unwrap_or_else(|| attempt.run.as_str().to_owned())
}
