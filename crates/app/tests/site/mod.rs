//! A state directory to use the app in, and playbooks to run there.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use escrow_app::driver::block_on;
use escrow_app::runs::Order;
use escrow_app::{App, Caller, Driver, StateDirectory, playbooks};
use escrow_store::WaitRow;
use tempfile::TempDir;

pub(crate) fn open_waits(app: &App) -> Vec<WaitRow> {
    block_on(async { Ok(app.queries()?.open_waits().await?) }).expect("waits")
}

pub(crate) struct Site {
    folder: TempDir,
}

#[allow(dead_code, reason = "each test file uses the part of the site that it needs")]
impl Site {
    pub(crate) fn new() -> Site {
        Site { folder: TempDir::new().expect("a temporary directory") }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.path().join(name).exists()
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, text).expect("a file can be written");
        path
    }

    /// A caller of its own: each has its own stores, as two processes have.
    pub(crate) fn app(&self) -> App {
        let state = StateDirectory::find(Some(&self.path().join(".escrow"))).expect("a state directory");
        App::new(state, Caller { program: "test", actor: Some("os:ann".into()), runs_around: Vec::new })
    }

    pub(crate) fn driver(&self, hosted_max: usize) -> Driver {
        Driver::new(Arc::new(self.app()), NonZeroUsize::new(hosted_max).expect("at least one"))
    }

    pub(crate) fn order(&self, playbook: &str) -> Order {
        let path = self.write("playbook.yaml", playbook);
        let loaded =
            playbooks::load(&path, self.path()).unwrap_or_else(|error| panic!("{error}: {playbook}"));
        Order { file: Some(path), ..Order::new(Arc::new(loaded.plan), self.path().to_owned()) }
    }

    /// Waits until a command has made a file.
    pub(crate) fn await_file(&self, name: &str) {
        self.until(name, || self.has(name).then_some(()));
    }

    /// Waits until a run asks a person.
    pub(crate) fn await_wait(&self) -> WaitRow {
        let app = self.app();
        self.until("a wait", || open_waits(&app).into_iter().next())
    }

    fn until<T>(&self, what: &str, look: impl Fn() -> Option<T>) -> T {
        let begun = Instant::now();
        loop {
            if let Some(found) = look() {
                return found;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{what} never came");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
