//! The context of every use case: the state directory and its stores, the caller, and what is shown of driven runs.

use std::fmt;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

use escrow_engine::Run;
use escrow_runtime::{Cancellation, Canceller, ProviderWorld, RealWorld, cancellation};
use escrow_store::{Fires, Journal, Queries, Records, Store};

use crate::error::Error;
use crate::state::StateDirectory;
use crate::views::{RunView, Views, no_views};

/// Made once by a caller, and given to every use case.
pub struct App {
    state: StateDirectory,
    caller: Caller,
    views: Views,
    worlds: Worlds,
    canceller: Canceller,
    writer: Arc<OnceLock<Arc<Store>>>,
    /// The runs that the person acts from, besides those of the caller.
    runs_around_person: Vec<String>,
}

/// Who uses the app.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The program, as messages to runs name their sender.
    pub program: &'static str,
    /// The person who acts, `os:NAME` or `token:NAME`. Recorded with each action.
    pub actor: Option<String>,
    /// The ids of the runs that the caller is a part of.
    pub runs_around: fn() -> Vec<String>,
}

/// Makes the world that each run is driven in.
pub type Worlds = Arc<dyn Fn() -> Rc<dyn ProviderWorld> + Send + Sync>;

impl App {
    pub fn new(state: StateDirectory, caller: Caller) -> App {
        // Here, so that whatever is done next with Escrow removes what a process that was killed has left.
        escrow_runtime::secret_files::sweep();
        App {
            state,
            caller,
            views: no_views(),
            worlds: Arc::new(|| Rc::new(RealWorld)),
            canceller: cancellation().0,
            writer: Arc::default(),
            runs_around_person: Vec::new(),
        }
    }

    #[must_use]
    pub fn with_views(mut self, views: Views) -> App {
        self.views = views;
        self
    }

    /// For tests: drives runs in another world than the real one.
    #[must_use]
    pub fn with_worlds(mut self, worlds: Worlds) -> App {
        self.worlds = worlds;
        self
    }

    /// The same app for another person: one process acts for many. Both share the store, and stop together. `runs_around`
    /// are the runs whose commands the person acts from: those cannot decide.
    #[must_use]
    pub fn acting_as(&self, actor: String, runs_around: Vec<String>) -> App {
        App {
            state: self.state.clone(),
            caller: Caller { actor: Some(actor), ..self.caller.clone() },
            views: Arc::clone(&self.views),
            worlds: Arc::clone(&self.worlds),
            canceller: self.canceller.clone(),
            writer: Arc::clone(&self.writer),
            runs_around_person: runs_around,
        }
    }

    pub fn state(&self) -> &StateDirectory {
        &self.state
    }

    /// `os:NAME` or `token:NAME`.
    pub fn actor(&self) -> Option<String> {
        self.caller.actor.clone()
    }

    /// The runs that the caller is a part of.
    pub(crate) fn runs_around(&self) -> Vec<String> {
        let mut around = (self.caller.runs_around)();
        around.extend(self.runs_around_person.iter().cloned());
        around
    }

    pub(crate) fn sender(&self) -> &'static str {
        self.caller.program
    }

    pub(crate) fn view(&self, run: &Run) -> Box<dyn RunView> {
        (self.views)(run)
    }

    pub(crate) fn world(&self) -> Rc<dyn ProviderWorld> {
        (self.worlds)()
    }

    /// Asks every run that is driven for this app to end, with all its processes. Runs that would be driven later end
    /// at once.
    pub fn stop(&self) {
        self.canceller.cancel();
    }

    /// For signal handlers, which outlive no app but run beside it.
    pub fn canceller(&self) -> Canceller {
        self.canceller.clone()
    }

    /// Returns when the app is asked to stop.
    pub async fn stopped(&self) {
        self.stopping().cancelled().await;
    }

    pub(crate) fn stopping(&self) -> Cancellation {
        self.canceller.subscribe()
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping().is_cancelled()
    }

    /// Awaits work that can be dropped at any point.
    pub(crate) async fn unless_stopped<T>(&self, work: impl Future<Output = T>) -> Result<T, Error> {
        let stopping = self.stopping();
        tokio::select! {
            biased;
            done = work => Ok(done),
            () = stopping.cancelled() => Err(Error::stopped()),
        }
    }

    /// The read side of the store. Asking for it does not create the state directory.
    pub fn queries(&self) -> Result<Arc<dyn Queries>, Error> {
        match self.writer.get() {
            Some(store) => Ok(Arc::<Store>::clone(store)),
            None => Ok(self.state.read()?),
        }
    }

    /// The journals, leases and inboxes of runs.
    pub fn journal(&self) -> Result<Arc<dyn Journal>, Error> {
        Ok(self.writer()?)
    }

    /// What people write beside the journals.
    pub fn records(&self) -> Result<Arc<dyn Records>, Error> {
        Ok(self.writer()?)
    }

    /// Fires of chains, their triggers and notifications.
    pub fn fires(&self) -> Result<Arc<dyn Fires>, Error> {
        Ok(self.writer()?)
    }

    /// The same, to be read only. Asking for it does not create the state directory.
    pub(crate) fn fires_to_read(&self) -> Result<Arc<dyn Fires>, Error> {
        match self.writer.get() {
            Some(store) => Ok(Arc::<Store>::clone(store)),
            None => Ok(self.state.read()?),
        }
    }

    /// The store that this process writes with, opened when it is first needed.
    fn writer(&self) -> Result<Arc<Store>, Error> {
        if let Some(store) = self.writer.get() {
            return Ok(Arc::clone(store));
        }
        let store = self.state.write()?;
        Ok(Arc::clone(self.writer.get_or_init(|| store)))
    }
}

impl fmt::Debug for App {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("App").field("state", &self.state).field("caller", &self.caller).finish()
    }
}
