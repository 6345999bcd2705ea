//! Conflicts with other runs, as the app settles them: it tells its caller what it waits for, and ends runs that no
//! process drives.

use std::pin::Pin;

use escrow_engine::Run;
use escrow_model::RunId;
use escrow_store::RunRow;

use super::resume::{Purpose, drive_around};
use crate::app::App;
use crate::conflicts::{Arbiter, CannotEnd};
use crate::error::Kind;

impl Arbiter for App {
    fn notice(&self, run: &Run, text: &str) {
        self.view(run).notice(text);
    }

    fn is_inside(&self, run: &RunId) -> bool {
        self.runs_around().iter().any(|around| around == run.as_str())
    }

    fn actor(&self) -> Option<String> {
        App::actor(self)
    }

    fn ends_runs(&self) -> bool {
        true
    }

    fn end<'a>(&'a self, run: &'a RunRow) -> Pin<Box<dyn Future<Output = Result<(), CannotEnd>> + 'a>> {
        Box::pin(async move {
            match drive_around(self, run, Purpose::End).await {
                Ok(_) => Ok(()),
                // A process that took the run over meanwhile reads the message.
                Err(error) if error.kind() == Kind::Held => Ok(()),
                Err(error) => Err(CannotEnd(error.to_string())),
            }
        })
    }
}
