//! A system that a test scripts: input, clock, clients, ledger, fixtures and logs are given as data.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use escrow_protocol::callback::{Callback, CallbackEnd, CallbackResult};
use escrow_protocol::envelope::LifecycleReceipt;
use escrow_protocol::receipt::{
    ChainState, Claim, IdempotencyScope, Ledger, LedgerError, MemoryLedger, ReceiptQuery, Recorded, Retention,
};
use escrow_protocol::telemetry::{TelemetryHost, TelemetryLog};

use super::super::answer;
use super::super::output::VerbOutput;
use super::super::system::{
    FixtureFile, FixturesError, InputLine, LedgerAccess, ResidentQuestion, StateFile, System,
};

/// Runs one verb on one input and a fresh system.
pub(super) fn check(arguments: &[&str], input: &[u8]) -> VerbOutput {
    ScriptedSystem { input: input.to_vec(), ..ScriptedSystem::default() }.run(arguments)
}

type Client = Box<dyn FnMut(&Callback) -> CallbackEnd>;

#[derive(Default)]
pub(super) struct ScriptedSystem {
    pub(super) input: Vec<u8>,
    pub(super) now_epoch_s: u64,
    pub(super) client: Option<Client>,
    pub(super) ledger: SharedLedger,
    pub(super) fixtures: Vec<FixtureFile>,
    pub(super) log: Option<TelemetryLog>,
    pub(super) ids: u64,
    pub(super) calls: usize,
}

impl ScriptedSystem {
    pub(super) fn run(&mut self, arguments: &[&str]) -> VerbOutput {
        let argv: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        answer(&argv, self)
    }

    pub(super) fn run_on(&mut self, arguments: &[&str], input: &str) -> VerbOutput {
        self.input = input.as_bytes().to_vec();
        self.run(arguments)
    }
}

impl System for ScriptedSystem {
    fn standard_input(&mut self, limit_bytes: usize) -> io::Result<Vec<u8>> {
        Ok(self.input[..self.input.len().min(limit_bytes + 1)].to_vec())
    }

    fn next_line(&mut self, _: usize) -> io::Result<InputLine> {
        Ok(InputLine::End)
    }

    fn print_line(&mut self, _: &str) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn register_residents(&mut self, _: &[escrow_protocol::dispatch::Client]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn ask_residents(&mut self, _: &ResidentQuestion<'_>) -> Vec<CallbackResult> {
        Vec::new()
    }

    fn notify_residents(&mut self, _: &str) {}

    fn now_epoch_s(&mut self) -> u64 {
        self.now_epoch_s
    }

    fn fresh_receipt_id(&mut self) -> String {
        self.ids += 1;
        format!("rcpt-{}", self.ids)
    }

    fn run_callbacks(&mut self, callbacks: &[Callback]) -> Vec<CallbackEnd> {
        self.calls += callbacks.len();
        let client = self.client.as_mut().expect("the script has no client");
        callbacks.iter().map(client).collect()
    }

    fn open_ledger(&mut self, _: &Path, _: LedgerAccess) -> Result<Box<dyn Ledger>, LedgerError> {
        Ok(Box::new(self.ledger.clone()))
    }

    fn fixtures(&mut self, _: &Path) -> Result<Vec<FixtureFile>, FixturesError> {
        Ok(self.fixtures.clone())
    }

    fn state_directory(&mut self, workspace: &Path) -> PathBuf {
        workspace.join(".lifeloop/renewal")
    }

    fn state_file(&mut self, _: &Path, _: StateFile) -> io::Result<Option<String>> {
        Ok(None)
    }

    fn telemetry_log(&mut self, _: TelemetryHost, _: Option<&Path>) -> Option<TelemetryLog> {
        self.log.clone()
    }
}

/// One ledger shared by several systems, as concurrent processes share theirs.
#[derive(Clone, Default)]
pub(super) struct SharedLedger(pub(super) Arc<Mutex<MemoryLedger>>);

impl Ledger for SharedLedger {
    fn record(&mut self, draft: LifecycleReceipt) -> Result<Recorded, LedgerError> {
        self.0.lock().unwrap().record(draft)
    }

    fn record_attempt(&mut self, draft: LifecycleReceipt) -> Result<LifecycleReceipt, LedgerError> {
        self.0.lock().unwrap().record_attempt(draft)
    }

    fn find(&mut self, scope: &IdempotencyScope) -> Result<Option<LifecycleReceipt>, LedgerError> {
        self.0.lock().unwrap().find(scope)
    }

    fn query(&mut self, query: &ReceiptQuery) -> Result<Vec<LifecycleReceipt>, LedgerError> {
        self.0.lock().unwrap().query(query)
    }

    fn claim(
        &mut self,
        scope: &IdempotencyScope,
        now_epoch_s: u64,
        lease_s: u64,
    ) -> Result<Claim, LedgerError> {
        self.0.lock().unwrap().claim(scope, now_epoch_s, lease_s)
    }

    fn release(&mut self, scope: &IdempotencyScope) -> Result<(), LedgerError> {
        self.0.lock().unwrap().release(scope)
    }

    fn forget(&mut self, retention: Retention) -> Result<u64, LedgerError> {
        self.0.lock().unwrap().forget(retention)
    }

    fn forgotten_sequence(&mut self, harness_run_id: &str) -> Result<u64, LedgerError> {
        self.0.lock().unwrap().forgotten_sequence(harness_run_id)
    }

    fn verify(&mut self) -> Result<ChainState, LedgerError> {
        self.0.lock().unwrap().verify()
    }
}
