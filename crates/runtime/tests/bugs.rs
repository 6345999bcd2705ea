//! A provider or an inspection that panics: the run is released with its intent in the journal, and nothing waits for ever.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use escrow_engine::Run;
use escrow_model::{
    Entry, Facts, InspectedArtifact, Millis, ProviderSpec, Request, RunId, RunOptions, ScopePath,
};
use escrow_runtime::process::Stream;
use escrow_runtime::providers::{Attempt, Environment, Performance, Provider, find};
use escrow_runtime::{
    Beginning, Cancellation, Drive, DriveError, InspectRequest, LocalFuture, NoHost, Observer, ProviderWorld,
    RealWorld, Redactor, Secrets, Surroundings,
};
use escrow_store::{Created, Durability, Holder, Journal, Liveness, Mode, NewRun, Store};

struct Panicking;

impl Provider for Panicking {
    fn spec(&self) -> &'static ProviderSpec {
        find("command").expect("there are commands").spec()
    }

    fn perform<'a>(&'a self, _: &'a Request, _: &'a Attempt) -> Performance<'a> {
        Box::pin(async { panic!("on purpose") })
    }
}

/// The real one, but for its commands or its inspections.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Broken {
    Provider,
    Inspection,
}

impl ProviderWorld for Broken {
    fn now_ms(&self) -> Millis {
        RealWorld.now_ms()
    }

    fn holder(&self) -> Holder {
        RealWorld.holder()
    }

    fn liveness(&self, holder: &Holder) -> Liveness {
        RealWorld.liveness(holder)
    }

    fn provider(&self, name: &str) -> Option<&dyn Provider> {
        if *self == Broken::Provider { Some(&Panicking) } else { RealWorld.provider(name) }
    }

    fn inspect(&self, request: InspectRequest) -> LocalFuture<Vec<InspectedArtifact>> {
        if *self == Broken::Inspection {
            return Box::pin(async { panic!("on purpose") });
        }
        RealWorld.inspect(request)
    }

    fn end_orphans_of(&self, run: RunId, grace: Duration) -> LocalFuture<usize> {
        RealWorld.end_orphans_of(run, grace)
    }
}

struct Nobody;

impl Observer for Nobody {
    fn committed(&mut self, _: &Run, _: &[Entry]) {}
    fn output(&mut self, _: &str, _: &ScopePath, _: Stream, _: &[u8]) {}
    fn tick(&mut self, _: &Run) {}
}

#[test]
fn a_provider_that_panics_is_noticed() {
    check(Broken::Provider, "checks: {a: {type: command, exec: 'true'}}", "a");
}

#[test]
fn an_inspection_that_panics_is_noticed() {
    let of_the_run = "artifacts: {expected: [{id: report, path: report.md}]}\nchecks: {a: {type: noop}}";
    check(Broken::Inspection, of_the_run, "artifacts");
}

/// Drives the playbook to the error that the task of `lost` has ended.
fn check(broken: Broken, text: &str, lost: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().display().to_string();
    let reading =
        escrow_playbook::read(text, "p.yaml", &escrow_runtime::catalog(), &escrow_playbook::NoReferences);
    let id = RunId::new(1, 2);
    let options = RunOptions { parallelism: 2, ..RunOptions::new(id.clone(), path.clone(), path) };
    let plan = Arc::new(reading.plan.expect("it is good"));
    let (run, turn) =
        escrow_runtime::begin(&plan, options, Facts::default(), &Redactor::none(), 1).expect("it begins");
    let store = Store::open(&folder.path().join("escrow.db"), Mode::Write).expect("a store");
    let holder = RealWorld.holder();
    let new = NewRun {
        run: &id,
        holder: &holder,
        entries: &turn.entries,
        durability: Durability::Grouped,
        parent: None,
    };
    let Created::Done { lease, .. } = store.blocking().create_run(new).expect("it is created") else {
        panic!("it is new")
    };
    let journal: Arc<dyn Journal> = Arc::new(store.clone());
    let drive = Drive {
        run,
        lease,
        journal,
        world: Rc::new(broken),
        host: Rc::new(NoHost),
        surroundings: Surroundings {
            directory: folder.path().into(),
            artifacts: folder.path().into(),
            spool: folder.path().join("spool"),
            state: folder.path().into(),
            environment: Environment::Inherit { secrets: Vec::new() },
            secrets: Arc::new(Secrets::none()),
            grace: Duration::from_millis(100),
        },
        observer: &mut Nobody,
        interruption: Cancellation::never(),
        making_way: Cancellation::never(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let ended = tokio::task::LocalSet::new().block_on(&runtime, async {
        tokio::time::timeout(Duration::from_secs(30), drive.to_rest(Beginning::New(turn))).await
    });
    let error = ended.expect("the drive ends").map(|_| ()).expect_err("it is a bug");
    assert!(matches!(&error, DriveError::Lost(of) if of == lost), "{error}");
    let entries = store.blocking().entries(&id, 0).expect("the journal");
    assert!(Run::replay(entries.iter().map(|(_, entry)| entry)).is_ok(), "the journal is whole");
}
