//! The scheduling loop: polls triggers, begins what is due and resumes abandoned and expired runs, once or until it is
//! stopped.
//!
//! ```text
//!   TRIGGERS ──poll──▶ fires (recorded) ──decide──▶ accepted ──▶ Driver: begin, drive
//!   abandoned and expired runs ────────────────────────────────▶ Driver: resume
//!   open waits ──▶ outbox ──▶ people
//! ```
//!
//! **Invariant:** `chain check`, `chain daemon` and `studio` are this one loop. All that it knows lies in the store, so any number of
//! processes may run it at once, and none has to.

mod arm;
mod prospect;
mod upcoming;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use escrow_model::{FireCode, FireStatus, Millis, RunId};
use escrow_runtime::config::Settings;
use escrow_runtime::now_ms;
use escrow_runtime::triggers::file::{FileTrigger, FileWatch};
use escrow_runtime::triggers::schedule::recording;
use escrow_runtime::triggers::{PollContext, TRIGGERS, TriggerKind};
use escrow_store::{FireDecision, FireRow, Occurrence, Recorded};
use tokio::sync::Notify;

use crate::app::App;
use crate::chains;
use crate::driver::Driver;
use crate::error::{Class, Error, Kind};
use crate::{fires, outbox, runs};

pub use arm::arm;
pub(crate) use arm::{project, settings, trigger_of};
pub use upcoming::{Upcoming, upcoming};

/// How often a waiting daemon looks at the clock and at the database. A laptop that wakes up is noticed by then.
const BEAT: Duration = Duration::from_secs(1);

/// How long a daemon waits for further changes when a file has changed.
const FILES_PAUSE: Duration = Duration::from_millis(200);

/// A file that is written all the time must not keep a daemon busy.
const POLL_AGAIN_MS_MIN: u64 = 50;

/// A daemon polls everything at least this often.
const POLL_MS_MAX: u64 = 15_000;

/// Polls of one kind in one pass: a schedule that catches up, or a long feed, takes several.
const POLLS_MAX: usize = 1_000;

/// What one poll of everything found and did.
#[derive(Clone, Debug, Default)]
pub struct Pass {
    /// Fires that are new.
    pub recorded: Vec<FireRow>,
    /// Fires whose run has begun.
    pub accepted: Vec<FireRow>,
    /// Fires that have no run, with the reason.
    pub settled: Vec<FireRow>,
    /// Runs whose process was gone, or whose time was up.
    pub resumed: Vec<RunId>,
    /// Sources that could not be read, and runs that could not continue.
    pub problems: Vec<String>,
    /// When something may be due that no schedule knows of.
    poll_again_at: Option<Millis>,
}

impl Pass {
    /// Whether nothing happened.
    pub fn is_quiet(&self) -> bool {
        self.recorded.is_empty()
            && self.accepted.is_empty()
            && self.settled.is_empty()
            && self.resumed.is_empty()
            && self.problems.is_empty()
    }

    fn absorb(&mut self, other: Pass) {
        self.recorded.extend(other.recorded);
        self.accepted.extend(other.accepted);
        self.settled.extend(other.settled);
        self.resumed.extend(other.resumed);
        self.problems.extend(other.problems);
        self.poll_again_at = [self.poll_again_at, other.poll_again_at].into_iter().flatten().min();
    }
}

/// What a check would do.
#[derive(Clone, Debug, Default)]
pub struct Rehearsal {
    /// What would be recorded, and what would become of it.
    pub due: Vec<Expected>,
    /// Fires that are recorded and not decided.
    pub undecided: Vec<FireRow>,
    /// Runs that would be resumed.
    pub abandoned: Vec<RunId>,
    pub problems: Vec<String>,
}

/// Something that would be recorded.
#[derive(Clone, Debug)]
pub struct Expected {
    pub occurrence: Occurrence,
    pub decision: Prospect,
}

/// What a check would decide about a fire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prospect {
    /// It would have its run, or counts towards a fire that needs other sources, too.
    Fires,
    /// It would have its run after another one of this chain.
    Waits(String),
    /// It would have none.
    Skipped(FireCode, String),
}

/// Which sources a pass polls.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Everything,
    /// Only what runs of this project have told.
    Inside,
}

/// Runs the loop. Its runs are hosted side by side, up to a cap.
pub struct Scheduler {
    driver: Driver,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    hosted: Mutex<Hosted>,
    /// Some hosted work has ended, or something may have happened.
    wake: Arc<Notify>,
    draining: AtomicBool,
}

#[derive(Default)]
struct Hosted {
    fires: BTreeSet<u64>,
    runs: BTreeSet<RunId>,
    is_telling: bool,
    /// Fires whose run has begun, until they are told.
    begun: Vec<FireRow>,
    /// Fires whose run could not begin, until they are told.
    failed: Vec<FireRow>,
    /// Runs that could not continue, with the entry that they were at then.
    stuck: BTreeMap<RunId, u64>,
    problems: Vec<String>,
}

impl Hosted {
    fn is_empty(&self) -> bool {
        self.fires.is_empty() && self.runs.is_empty() && !self.is_telling
    }
}

impl Shared {
    fn hosted(&self) -> MutexGuard<'_, Hosted> {
        // Whatever is changed under the lock is changed by one statement.
        self.hosted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_draining(&self) -> bool {
        self.draining.load(Ordering::SeqCst)
    }
}

impl Scheduler {
    pub fn new(app: Arc<App>, hosted_max: NonZeroUsize) -> Scheduler {
        Scheduler { driver: Driver::new(app, hosted_max), shared: Arc::default() }
    }

    fn app(&self) -> &Arc<App> {
        self.driver.app()
    }

    /// Does everything that is due, and returns when all that it began has ended or waits. `at` is the time by which
    /// schedules are judged.
    pub async fn check(&self, at: Option<Millis>) -> Result<Pass, Error> {
        let mut pass = self.poll(at.unwrap_or_else(now_ms), Scope::Everything).await?;
        loop {
            let ended = self.shared.wake.notified();
            if self.app().is_stopping() {
                self.rest().await;
                return Err(Error::stopped());
            }
            let is_idle = self.shared.hosted().is_empty();
            if is_idle {
                let next = self.poll(at.unwrap_or_else(now_ms), Scope::Inside).await?;
                let is_done = next.accepted.is_empty() && next.recorded.is_empty() && next.resumed.is_empty();
                pass.absorb(next);
                if is_done && self.shared.hosted().is_empty() {
                    // What began to wait during this check is told, too.
                    if let Ok(settings) = settings(self.app()) {
                        self.tell(&settings);
                    }
                    self.rest().await;
                    self.report(&mut pass);
                    return Ok(pass);
                }
                continue;
            }
            tokio::select! {
                () = ended => {}
                () = tokio::time::sleep(BEAT) => {}
            }
            pass.absorb(self.poll(at.unwrap_or_else(now_ms), Scope::Inside).await?);
        }
    }

    /// Says what a check would do, and writes nothing.
    pub async fn rehearse(&self, at: Option<Millis>) -> Result<Rehearsal, Error> {
        let app = self.app();
        let now = at.unwrap_or_else(now_ms);
        let (fires, queries) = (app.fires_to_read()?, app.queries()?);
        let settings = settings(app)?;
        let project = project(app);
        let stopping = app.stopping();
        let context = PollContext {
            fires: &*fires,
            queries: &*queries,
            project: &project,
            settings: &settings,
            now_ms: now,
            cancellation: &stopping,
        };
        let mut found = Rehearsal::default();
        let mut due: Vec<Occurrence> = Vec::new();
        let unarmed = fires.unarmed_chains().await?;
        for row in &unarmed {
            for armed in arm::would_be_armed(row) {
                due.extend(recording(&armed, now).into_iter().flat_map(|one| one.occurrences));
            }
        }
        let is_unarmed = |one: &Occurrence| unarmed.iter().any(|row| row.id == one.fire.chain_id);
        for kind in TRIGGERS {
            match kind.poll(&context).await {
                Ok(recordings) => {
                    let occurrences = recordings.into_iter().flat_map(|one| one.occurrences);
                    due.extend(occurrences.filter(|one| !is_unarmed(one)));
                }
                Err(error) => found.problems.push(format!("{}: {error}", kind.name())),
            }
        }
        found.undecided = fires.undecided().await?;
        found.due = prospect::prospects(&*queries, &found.undecided, due).await?;
        found.abandoned = runs::abandoned(app).await?.into_iter().map(|row| row.id).collect();
        Ok(found)
    }

    /// Polls again and again until the app is asked to stop, or [`Scheduler::drain`] is called; then waits for what it
    /// hosts. `told` learns what each pass did.
    pub async fn run(&self, mut told: impl FnMut(&Pass)) -> Result<(), Error> {
        let files = Arc::new(Notify::new());
        let _watch = FileWatch::start(&project(self.app()), Arc::clone(&files));
        let mut seen = None;
        let mut polled_at = 0;
        let mut poll_again_at: Option<Millis> = None;
        loop {
            let woken = self.shared.wake.notified();
            if self.shared.is_draining() || self.app().is_stopping() {
                self.rest().await;
                return Ok(());
            }
            let now = now_ms();
            let version = self.app().queries()?.version().await.ok();
            let next_due = self.app().fires()?.next_due().await?;
            let is_due = [next_due, poll_again_at].into_iter().flatten().any(|at| at <= now);
            // A clock that was set back is a reason to poll, too.
            let is_time = now < polled_at || now - polled_at >= POLL_MS_MAX;
            if version != seen || is_due || is_time {
                polled_at = now;
                poll_again_at = None;
                match self.poll(now, Scope::Everything).await {
                    Ok(mut pass) => {
                        poll_again_at = pass.poll_again_at;
                        self.report(&mut pass);
                        told(&pass);
                    }
                    // A database that cannot be read now may be readable later.
                    Err(error) if error.class() == Class::World => {
                        told(&Pass { problems: vec![error.to_string()], ..Pass::default() });
                    }
                    Err(error) => return Err(error),
                }
                // What this pass wrote is no news.
                seen = self.app().queries()?.version().await.ok();
            }
            let rest = poll_again_at.map_or(BEAT, |at| {
                BEAT.min(Duration::from_millis(at.saturating_sub(now_ms()).max(POLL_AGAIN_MS_MIN)))
            });
            tokio::select! {
                () = woken => seen = None,
                () = files.notified() => {
                    // Whatever writes into the project, perhaps the log of this daemon, must not keep it busy.
                    tokio::time::sleep(FILES_PAUSE).await;
                    seen = None;
                }
                () = tokio::time::sleep(rest) => {}
                () = self.app().stopped() => {}
            }
        }
    }

    /// Puts into a pass what hosted work has come to: which fires have begun, and which could not.
    fn report(&self, pass: &mut Pass) {
        let mut hosted = self.shared.hosted();
        pass.accepted = std::mem::take(&mut hosted.begun);
        pass.settled.append(&mut hosted.failed);
        pass.problems.append(&mut hosted.problems);
    }

    /// Begins nothing more. What is hosted may come to rest.
    pub fn drain(&self) {
        self.shared.draining.store(true, Ordering::SeqCst);
        self.shared.wake.notify_waiters();
        self.shared.wake.notify_one();
    }

    /// How many fires and runs are hosted here.
    pub fn hosted(&self) -> usize {
        let hosted = self.shared.hosted();
        hosted.fires.len() + hosted.runs.len()
    }

    /// Waits until nothing is hosted.
    async fn rest(&self) {
        loop {
            let ended = self.shared.wake.notified();
            if self.shared.hosted().is_empty() {
                return;
            }
            tokio::select! {
                () = ended => {}
                () = tokio::time::sleep(BEAT) => {}
            }
        }
    }

    /// Polls everything once, and hosts what follows.
    async fn poll(&self, now: Millis, scope: Scope) -> Result<Pass, Error> {
        let app = self.app();
        let mut pass = Pass::default();
        arm(app).await?;
        let settings = match settings(app) {
            Ok(settings) => settings,
            // Schedules are kept while the settings are wrong.
            Err(error) => {
                pass.problems.push(error.to_string());
                Settings::default()
            }
        };
        self.record(now, scope, &settings, &mut pass).await?;
        self.decide(&mut pass).await?;
        self.resume(&mut pass).await?;
        if scope == Scope::Everything {
            self.tell(&settings);
        }
        Ok(pass)
    }

    async fn record(
        &self,
        now: Millis,
        scope: Scope,
        settings: &Settings,
        pass: &mut Pass,
    ) -> Result<(), Error> {
        let app = self.app();
        let (fires, queries) = (app.fires()?, app.queries()?);
        let project = project(app);
        let stopping = app.stopping();
        let context = PollContext {
            fires: &*fires,
            queries: &*queries,
            project: &project,
            settings,
            now_ms: now,
            cancellation: &stopping,
        };
        for kind in TRIGGERS.iter().filter(|kind| scope == Scope::Everything || !kind.is_outside()) {
            if let Err(why) = read_whole(*kind, &context, pass).await? {
                pass.problems.push(format!("{}: {why}", kind.name()));
            }
        }
        Ok(())
    }

    async fn decide(&self, pass: &mut Pass) -> Result<(), Error> {
        let app = self.app();
        for fire in app.fires()?.undecided().await? {
            if self.shared.is_draining() || self.shared.hosted().fires.contains(&fire.id) {
                continue;
            }
            match fires::decide(app, &fire).await? {
                FireDecision::Accepted(fire) => {
                    pass.accepted.push(fire.clone());
                    self.begin(fire);
                }
                FireDecision::Waits { .. } => {}
                FireDecision::Replaces { fire, runs } => {
                    runs.into_iter().for_each(|run| self.replace(run, fire.run.clone()));
                }
                FireDecision::Settled(fire) => pass.settled.push(fire),
            }
        }
        Ok(())
    }

    /// Hosts the run of a fire.
    fn begin(&self, fire: FireRow) {
        self.shared.hosted().fires.insert(fire.id);
        let shared = Arc::clone(&self.shared);
        let id = fire.id;
        let hosted = self.driver.spawn(move |app: Arc<App>| async move {
            // Its turn may come after the daemon was asked to drain. The fire stays accepted.
            if shared.is_draining() {
                return Ok(());
            }
            match fires::begin(&app, &fire).await {
                Ok(Some(run)) => {
                    shared.hosted().begun.push(fire);
                    chains::drive(&app, run).await.map(drop)
                }
                // Another process has begun it.
                Ok(None) => Ok(()),
                Err(error) => match app.fires()?.fire_of_run(&fire.run).await? {
                    // Its reason is kept with it.
                    Some(row) if row.status == FireStatus::Failed => {
                        shared.hosted().failed.push(row);
                        Ok(())
                    }
                    Some(_) | None => Err(error),
                },
            }
        });
        self.attend(hosted, move |hosted| {
            hosted.fires.remove(&id);
        });
    }

    /// Hosts the end of a run that a newer fire replaces.
    fn replace(&self, run: RunId, successor: RunId) {
        if !self.shared.hosted().runs.insert(run.clone()) {
            return;
        }
        let ending = run.clone();
        let hosted = self.driver.spawn(move |app: Arc<App>| async move {
            fires::replace(&app, &ending, &successor).await.map(drop)
        });
        self.attend(hosted, move |hosted| {
            hosted.runs.remove(&run);
        });
    }

    async fn resume(&self, pass: &mut Pass) -> Result<(), Error> {
        for row in runs::abandoned(self.app()).await? {
            {
                let mut hosted = self.shared.hosted();
                let is_stuck = hosted.stuck.get(&row.id).is_some_and(|seq| *seq == row.seq);
                if self.shared.is_draining() || is_stuck || !hosted.runs.insert(row.id.clone()) {
                    continue;
                }
            }
            pass.resumed.push(row.id.clone());
            let shared = Arc::clone(&self.shared);
            let (id, seq) = (row.id.clone(), row.seq);
            let hosted = self.driver.spawn(move |app: Arc<App>| async move {
                if shared.is_draining() {
                    return Ok(());
                }
                let outcome = runs::pick_up(&app, &row).await;
                if outcome.is_err() {
                    shared.hosted().stuck.insert(row.id.clone(), seq);
                }
                outcome.map(drop)
            });
            self.attend(hosted, move |hosted| {
                hosted.runs.remove(&id);
            });
        }
        Ok(())
    }

    /// Hosts the delivery of notifications.
    fn tell(&self, settings: &Settings) {
        let Some(notify) = settings.notify.clone() else { return };
        if std::mem::replace(&mut self.shared.hosted().is_telling, true) {
            return;
        }
        let directory = project(self.app());
        let hosted = self.driver.spawn(move |app: Arc<App>| async move {
            outbox::tell(&app, &notify, &directory).await.map(drop)
        });
        self.attend(hosted, |hosted| hosted.is_telling = false);
    }

    /// Waits for hosted work beside the loop, and wakes it.
    fn attend(&self, work: crate::driver::Handle<()>, done: impl FnOnce(&mut Hosted) + Send + 'static) {
        let shared = Arc::clone(&self.shared);
        tokio::spawn(async move {
            let outcome = work.join().await;
            let mut hosted = shared.hosted();
            match outcome {
                Ok(()) => {}
                // Another process was faster, or this one stops.
                Err(error) if error.class() == Class::Stopped || error.kind() == Kind::Held => {}
                Err(error) => hosted.problems.push(error.to_string()),
            }
            done(&mut hosted);
            drop(hosted);
            shared.wake.notify_one();
        });
    }
}

/// Arms new definitions, and notes the files that their triggers watch as they are now.
pub async fn begin_watching(app: &App) -> Result<(), Error> {
    arm(app).await?;
    let (fires, queries) = (app.fires()?, app.queries()?);
    let (settings, project, stopping) = (Settings::default(), project(app), app.stopping());
    let context = PollContext {
        fires: &*fires,
        queries: &*queries,
        project: &project,
        settings: &settings,
        now_ms: now_ms(),
        cancellation: &stopping,
    };
    // Files that cannot be read now are reported by the first check.
    for recording in FileTrigger.poll(&context).await.unwrap_or_default() {
        if recording.occurrences.is_empty() && !recording.is_empty() {
            fires.record(&recording).await?;
        }
    }
    Ok(())
}

/// Polls until nothing new is found. The inner error is the source's.
async fn read_whole(
    kind: &dyn TriggerKind,
    context: &PollContext<'_>,
    pass: &mut Pass,
) -> Result<Result<(), String>, Error> {
    for _ in 0..POLLS_MAX {
        let recordings = match kind.poll(context).await {
            Ok(recordings) => recordings,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let mut is_done = true;
        for recording in &recordings {
            pass.poll_again_at = [pass.poll_again_at, recording.poll_again_at].into_iter().flatten().min();
            if recording.is_empty() {
                continue;
            }
            // Full batches have more behind them; the others only move their cursor.
            is_done &= recording.occurrences.is_empty();
            match context.fires.record(recording).await? {
                Recorded::Done(new) => {
                    pass.settled.extend(new.iter().filter(|fire| fire.status.is_final()).cloned());
                    pass.recorded.extend(new);
                }
                Recorded::Duplicate => {}
                // Another process has recorded it.
                Recorded::Moved => is_done = false,
            }
        }
        if is_done {
            break;
        }
    }
    Ok(Ok(()))
}
