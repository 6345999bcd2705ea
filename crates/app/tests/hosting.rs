//! A driver hosts many runs: side by side, within its cap, and none harms another.

mod site;

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use escrow_app::driver::block_on;
use escrow_app::runs::{self, Order};
use escrow_app::{App, Class, Driver, Error, RunView};
use escrow_engine::Run;
use escrow_model::{
    Entry, InspectedArtifact, Millis, NestedPlaybooks, ProviderSpec, Request, RunId, RunStatus, ScopePath,
};
use escrow_runtime::process::Stream;
use escrow_runtime::providers::{Attempt, Performance, Provider, find};
use escrow_runtime::{InspectRequest, LocalFuture, Observer, ProviderWorld, RealWorld};
use escrow_store::{Holder, Liveness};
use site::{Site, open_waits};

/// Hosts a run of each order, and gives their results in the same order.
fn host(driver: &Driver, orders: Vec<Order>) -> Vec<Result<RunStatus, Error>> {
    let start = |order| driver.spawn(move |app| async move { Ok(runs::start(&app, order).await?.status()) });
    let handles: Vec<_> = orders.into_iter().map(start).collect();
    handles.into_iter().map(|handle| block_on(handle.join())).collect()
}

fn statuses(results: Vec<Result<RunStatus, Error>>) -> Vec<RunStatus> {
    results.into_iter().map(|result| result.unwrap_or_else(|error| panic!("{error}"))).collect()
}

#[test]
fn runs_are_driven_side_by_side() {
    let site = Site::new();
    // Each run ends only once all three have begun.
    let order = |name: &str| {
        let exec = format!("touch {name}; until test -e a -a -e b -a -e c; do sleep 0.02; done");
        site.order(&format!("checks: {{look: {{type: command, exec: '{exec}'}}}}"))
    };
    let results = host(&site.driver(3), ["a", "b", "c"].map(order).into());
    assert_eq!(statuses(results), [RunStatus::Completed; 3]);
}

#[test]
fn no_more_runs_than_the_cap_are_driven_at_once() {
    let site = Site::new();
    let exec = "mkdir at.$$; ls -d at.* | wc -l >> seen; sleep 0.1; rmdir at.$$";
    let playbook = format!("checks: {{look: {{type: command, exec: '{exec}'}}}}");
    let results = host(&site.driver(2), (0..6).map(|_| site.order(&playbook)).collect());
    assert_eq!(statuses(results), [RunStatus::Completed; 6]);
    let seen = std::fs::read_to_string(site.path().join("seen")).expect("what each run saw");
    let counts: Vec<usize> = seen.lines().map(|line| line.trim().parse().expect("a number")).collect();
    assert_eq!((counts.len(), counts.iter().all(|count| *count <= 2)), (6, true), "{counts:?}");
}

#[test]
fn a_run_that_waits_and_a_nested_run_take_no_place() {
    let site = Site::new();
    site.write("inner.yaml", "checks: {look: {type: command, exec: 'touch inner'}}");
    let asks = site.order("checks: {ask: {type: human-input, prompt: 'Sure?'}}");
    let nests = site.order("checks: {nest: {type: playbook, playbook: inner.yaml}}");
    let results = host(&site.driver(1), vec![asks, nests]);
    assert_eq!(statuses(results), [RunStatus::Waiting, RunStatus::Completed]);
    assert!(site.has("inner"));
}

/// Runs that were started before plans contained the playbooks that they nest: the file may be another one by now.
#[test]
fn a_plan_without_its_nested_playbooks_fails_closed() {
    let site = Site::new();
    site.write("inner.yaml", "checks: {look: {type: command, exec: 'touch inner'}}");
    let mut order = site.order("checks: {nest: {type: playbook, playbook: inner.yaml}}");
    Arc::make_mut(&mut order.plan).nested = NestedPlaybooks::default();
    let told = site.driver(1).spawn(move |app| async move {
        let run = runs::start(&app, order).await?;
        let checks = run.check_reports().flat_map(|check| check.issues);
        Ok(checks.map(|issue| format!("{}: {}", issue.code, issue.message)).collect::<Vec<_>>())
    });
    let told = block_on(told.join()).unwrap_or_else(|error| panic!("{error}"));
    let [issue] = told.as_slice() else { panic!("{told:?}") };
    assert!(issue.starts_with("playbook/bad_playbook: ") && issue.ends_with("start a new run"), "{issue}");
    assert!(!site.has("inner"));
}

/// Panics in checks that are called `panics`; all others are commands.
struct PanickingProvider;

impl Provider for PanickingProvider {
    fn spec(&self) -> &'static ProviderSpec {
        find("command").expect("commands are a provider").spec()
    }

    fn perform<'a>(&'a self, request: &'a Request, attempt: &'a Attempt) -> Performance<'a> {
        assert!(attempt.check != "panics", "on purpose");
        find("command").expect("commands are a provider").perform(request, attempt)
    }
}

struct PanickingWorld;

impl ProviderWorld for PanickingWorld {
    fn now_ms(&self) -> Millis {
        RealWorld.now_ms()
    }

    fn holder(&self) -> Holder {
        RealWorld.holder()
    }

    fn liveness(&self, holder: &Holder) -> Liveness {
        RealWorld.liveness(holder)
    }

    fn provider(&self, _: &str) -> Option<&dyn Provider> {
        Some(&PanickingProvider)
    }

    fn inspect(&self, request: InspectRequest) -> LocalFuture<Vec<InspectedArtifact>> {
        RealWorld.inspect(request)
    }

    fn end_orphans_of(&self, run: RunId, grace: Duration) -> LocalFuture<usize> {
        RealWorld.end_orphans_of(run, grace)
    }
}

/// Panics on the thread that drives the run, for runs that have a check `panics`.
struct PanickingView;

impl Observer for PanickingView {
    fn committed(&mut self, run: &Run, _: &[Entry]) {
        assert!(run.plan_of().find("panics").is_none(), "on purpose");
    }

    fn output(&mut self, _: &str, _: &ScopePath, _: Stream, _: &[u8]) {}

    fn tick(&mut self, _: &Run) {}
}

impl RunView for PanickingView {
    fn warning(&mut self, _: &str) {}

    fn at_rest(&mut self, _: &Run) {}
}

/// One run panics between two good ones; then the same run can be taken over.
fn check_panic(panicking: impl Fn(App) -> App) {
    let site = Site::new();
    let app = Arc::new(panicking(site.app()));
    let driver = Driver::new(app, std::num::NonZeroUsize::new(3).expect("three"));
    let good = "checks: {look: {type: command, exec: 'sleep 0.3'}}";
    let bad = "checks: {panics: {type: command, exec: 'touch recovered'}}";
    let orders = [good, bad, good].map(|playbook| site.order(playbook));
    let mut results = host(&driver, orders.into());
    let error = results.remove(1).expect_err("a panic is an error");
    assert_eq!((error.class(), error.code()), (Class::Bug, "bug"), "{error}");
    assert_eq!(statuses(results), [RunStatus::Completed; 2]);

    let app = site.app();
    let abandoned = block_on(runs::abandoned(&app)).expect("a list");
    assert_eq!(abandoned.len(), 1, "the run that panicked is not held any more");
    let run = block_on(runs::resume(&app, abandoned[0].id.as_str())).expect("it continues");
    assert_eq!((run.status(), site.has("recovered")), (RunStatus::Completed, true));
}

#[test]
fn a_provider_that_panics_ends_its_own_run_only() {
    check_panic(|app| app.with_worlds(Arc::new(|| Rc::new(PanickingWorld))));
}

#[test]
fn a_panic_while_driving_ends_its_own_run_only() {
    check_panic(|app| app.with_views(Arc::new(|_| Box::new(PanickingView))));
}

#[test]
fn stopping_ends_the_runs_that_are_driven_and_begins_no_others() {
    let site = Site::new();
    let driver = site.driver(1);
    let order = || site.order("checks: {look: {type: command, exec: 'touch begun; sleep 60'}}");
    let start = |order| driver.spawn(move |app| async move { Ok(runs::start(&app, order).await?.status()) });
    let (first, second) = (start(order()), start(order()));
    site.await_file("begun");
    driver.stop();
    assert_eq!(block_on(first.join()).expect("it ends"), RunStatus::Cancelled);
    assert_eq!(block_on(second.join()).expect_err("its turn never came").class(), Class::Stopped);
}

#[test]
fn abandoned_runs_are_resumed_on_the_driver_and_one_that_cannot_continue_does_not_hold_up_others() {
    let site = Site::new();
    let order = |name: &str| {
        let playbook = "secrets: {TOKEN: {file: TOKENFILE}}
checks:
  ask: {type: human-input, prompt: 'Sure?'}
  use: {type: command, exec: 'touch DONE', secrets: [TOKEN], depends_on: ask}";
        site.write(&format!("{name}.token"), "abcdefgh");
        let playbook = playbook.replace("TOKENFILE", &format!("{name}.token")).replace("DONE", name);
        site.order(&playbook)
    };
    let driver = site.driver(2);
    let results = host(&driver, ["a", "b", "c"].map(order).into());
    assert_eq!(statuses(results), [RunStatus::Waiting; 3]);
    let app = site.app();
    for wait in open_waits(&app) {
        use escrow_app::messages::{Decision, Reply, Then, reply};
        let decision = Decision::Answer { text: "yes".into() };
        block_on(reply(&app, Reply { wait: wait.id, decision, shown: None, then: Then::Record }))
            .expect("it is recorded");
    }
    std::fs::remove_file(site.path().join("b.token")).expect("it was there");
    let resumed = block_on(runs::resume_all(&driver)).expect("a list");
    let (continued, failed): (Vec<_>, Vec<_>) = resumed.iter().partition(|one| one.outcome.is_ok());
    assert_eq!((continued.len(), failed.len()), (2, 1), "{resumed:?}");
    assert_eq!((site.has("a"), site.has("b"), site.has("c")), (true, false, true));
}
