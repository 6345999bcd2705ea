//! A store in a directory of its own, and words for the entries that tests write.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use escrow_model::{
    Answer, Entry, Event, Facts, Outcome, OutcomeId, ProviderName, Reason, ReasonCode, RecordedOutcome,
    Request, RunId, RunOptions, ScopePath, Verdict,
};
use escrow_store::{
    AddedOutcome, BlockingStore, Commit, Committed, Created, Durability, Holder, Lease, MessageId, Mode,
    NewRun, StartedInvocation, Store, StoreError, Verification,
};
use serde_json::{Map, json};
use tempfile::TempDir;

pub(crate) struct House {
    directory: TempDir,
    /// As everyone else has it.
    pub(crate) shared: Store,
    pub(crate) store: BlockingStore,
}

impl House {
    pub(crate) fn new() -> House {
        let directory = tempfile::tempdir().unwrap();
        let shared = Store::open(&directory.path().join("escrow.db"), Mode::Write).unwrap();
        let store = shared.blocking().clone();
        House { directory, shared, store }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("escrow.db")
    }

    /// Closes the store and keeps its directory.
    pub(crate) fn close(self) -> TempDir {
        self.directory
    }

    /// A run named `r_<name>` that has started at `at`.
    pub(crate) fn start(&self, name: &str, at: u64) -> Tenant<'_> {
        start_in(&self.store, name, at)
    }

    /// Another connection, with which a test may do what no store would.
    pub(crate) fn tamper(&self, sql: &str) {
        rusqlite::Connection::open(self.path()).unwrap().execute_batch(sql).unwrap();
    }
}

/// A holder that commits one event after the other.
pub(crate) struct Tenant<'a> {
    pub(crate) store: &'a BlockingStore,
    pub(crate) lease: Lease,
    pub(crate) seq: u64,
}

impl Tenant<'_> {
    pub(crate) fn run(&self) -> &RunId {
        self.lease.run()
    }

    pub(crate) fn try_commit(
        &self,
        events: &[Event],
        delivered: &[MessageId],
    ) -> Result<Committed, StoreError> {
        self.try_commit_as(Durability::Grouped, events, delivered)
    }

    pub(crate) fn try_commit_as(
        &self,
        durability: Durability,
        events: &[Event],
        delivered: &[MessageId],
    ) -> Result<Committed, StoreError> {
        let entries: Vec<_> = events.iter().map(|event| entry(1_000 + self.seq, event.clone())).collect();
        self.store.commit(Commit {
            lease: &self.lease,
            expected_seq: self.seq,
            entries: &entries,
            delivered,
            durability,
        })
    }

    pub(crate) fn commit(&mut self, events: &[Event]) {
        self.commit_opening(events, &[]);
    }

    pub(crate) fn commit_opening(&mut self, events: &[Event], delivered: &[MessageId]) {
        let expected = Committed::Done { seq: self.seq + events.len() as u64 };
        assert_eq!(self.try_commit(events, delivered).unwrap(), expected);
        self.seq += events.len() as u64;
    }
}

pub(crate) fn start_in<'a>(store: &'a BlockingStore, name: &str, at: u64) -> Tenant<'a> {
    let Created::Done { lease, seq } = create(store, name, at).unwrap() else { panic!("exists") };
    Tenant { store, lease, seq }
}

pub(crate) fn try_start(store: &BlockingStore, name: &str) -> Result<(), StoreError> {
    create(store, name, 1_000).map(|_| ())
}

/// A run that belongs to an invocation.
pub(crate) fn start_of<'a>(store: &'a BlockingStore, invocation: &str, name: &str, at: u64) -> Tenant<'a> {
    let Created::Done { lease, seq } = create_of(store, Some(invocation), name, at).unwrap() else {
        panic!("exists")
    };
    Tenant { store, lease, seq }
}

fn create(store: &BlockingStore, name: &str, at: u64) -> Result<Created, StoreError> {
    create_of(store, None, name, at)
}

fn create_of(
    store: &BlockingStore,
    invocation: Option<&str>,
    name: &str,
    at: u64,
) -> Result<Created, StoreError> {
    let run = run_id(name);
    let entries = [entry(at, started(&run, invocation))];
    store.create_run(NewRun {
        run: &run,
        holder: &holder(1),
        entries: &entries,
        durability: Durability::Grouped,
        parent: None,
    })
}

pub(crate) fn open(path: &Path) -> BlockingStore {
    BlockingStore::open(path, Mode::Write).unwrap()
}

pub(crate) fn run_id(name: &str) -> RunId {
    RunId::from_stored(format!("r_{name}"))
}

pub(crate) fn holder(pid: u32) -> Holder {
    Holder {
        pid,
        host: "here".into(),
        machine_id: "machine".into(),
        boot_id: "boot".into(),
        pid_namespace: "pid".into(),
        process_started: 7,
    }
}

pub(crate) fn entry(at: u64, event: Event) -> Entry {
    Entry { at, event }
}

/// A playbook of `lint`, `list` and `post`; the last is external.
pub(crate) fn started(run: &RunId, invocation: Option<&str>) -> Event {
    let check = |name: &str, criticality: &str| {
        json!({
            "name": name, "type": "noop", "assume_mode": "skip", "starts": true, "criticality": criticality,
            "criticality_origin": "declared", "mutating": false, "retry_transient": true, "timeout_ms": 1000
        })
    };
    let plan = escrow_store::read_plan(json!({
        "name": "review", "safety": "standard", "artifacts": { "expected": [] },
        "checks": [check("lint", "info"), check("list", "info"), check("post", "external")]
    }))
    .unwrap();
    let options = RunOptions {
        parallelism: 2,
        invocation: invocation.map(str::to_owned),
        ..RunOptions::new(run.clone(), "/somewhere", format!("/somewhere/artifacts/{run}"))
    };
    let facts = Arc::new(Facts::default());
    Event::RunStarted { plan: plan.into(), options: options.into(), facts, title: None, group: None }
}

pub(crate) fn request() -> Request {
    Request {
        provider: ProviderName::from_static("noop"),
        fields: Map::new(),
        env: Default::default(),
        environment: None,
        handed_env: Default::default(),
        timeout_ms: 1000,
        idempotency_key: "key".into(),
        item: None,
    }
}

pub(crate) fn attempt(check: &str, scope: &[u32], attempt: u32) -> Event {
    let request = request();
    let scope = ScopePath::new(scope.to_vec());
    Event::AttemptStarted {
        check: check.into(),
        scope,
        attempt,
        external: false,
        request: request.into(),
        effect: None,
    }
}

pub(crate) fn answered(check: &str, scope: &[u32], attempt: u32, answer: Answer) -> Event {
    let scope = ScopePath::new(scope.to_vec());
    Event::AttemptAnswered { check: check.into(), scope, attempt, answer: answer.into() }
}

pub(crate) fn judged(check: &str, scope: &[u32], attempt: u32, verdict: Verdict) -> Event {
    let scope = ScopePath::new(scope.to_vec());
    Event::CheckJudged {
        check: check.into(),
        scope,
        attempt,
        verdict,
        issues: Vec::new(),
        fault: None,
        violation: false,
        settled: true,
    }
}

pub(crate) fn note(number: u64) -> Event {
    Event::MemoryChanged { namespace: "test".into(), key: "n".into(), value: Some(number.into()) }
}

pub(crate) fn reason(code: ReasonCode) -> Reason {
    Reason { code, summary: format!("because of {}", code.as_str()), evidence: Vec::new() }
}

pub(crate) fn ended(code: ReasonCode) -> Event {
    Event::RunEnded { reason: reason(code) }
}

pub(crate) fn overridden(code: ReasonCode, by: &str) -> Event {
    Event::RunOverridden { reason: reason(code), by: by.into(), why: "because".into() }
}

pub(crate) fn started_by(by: &str, at: u64) -> StartedInvocation {
    let name = Some("review".to_owned());
    StartedInvocation { at, name, skill: None, prompt: None, by: Some(by.into()) }
}

pub(crate) fn check_intact(store: &BlockingStore, run: &RunId, entries: u64) {
    match store.verify(run).unwrap() {
        Verification::Intact { entries: found, .. } => assert_eq!(found, entries),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn recorded(at: u64, chance: u64, kind: &str, passed: Option<bool>) -> RecordedOutcome {
    let summary = format!("outcome {chance}");
    let content = serde_json::json!({"outcome_kind": kind, "n": chance});
    RecordedOutcome {
        id: OutcomeId::new(at, chance),
        name: "verdict".into(),
        outcome: Outcome { kind: kind.into(), summary, passed, content },
        check: None,
        scope: ScopePath::root(),
        file_path: None,
    }
}

pub(crate) fn added(
    at: u64,
    chance: u64,
    kind: &str,
    passed: Option<bool>,
    run: Option<&str>,
) -> AddedOutcome {
    AddedOutcome {
        created_at: at,
        run_id: run.map(RunId::from_stored),
        invocation_id: None,
        outcome: recorded(at, chance, kind, passed),
    }
}
