//! Exit codes, derived from typed values.

use std::process::ExitCode;

use escrow_app::Class;
use escrow_engine::Run;
use escrow_model::{ReasonCode, RunStatus};

use crate::commands::hook::HookExit;
use crate::commands::lifecycle::LifecycleExit;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Completed,
    WorkFailed,
    AuthorMustAct,
    WorldFailed,
    PersonMustAct,
    /// A bug in Escrow.
    Bug,
    TimedOut,
    Interrupted,
    /// The exit code of a lifecycle verb, which has a table of its own.
    Lifecycle(LifecycleExit),
    Hook(HookExit),
}

impl Exit {
    fn number(self) -> u8 {
        match self {
            Exit::Completed => 0,
            Exit::WorkFailed => 1,
            Exit::AuthorMustAct => 2,
            Exit::WorldFailed => 3,
            Exit::PersonMustAct => 4,
            Exit::Bug => 70,
            Exit::TimedOut => 124,
            Exit::Interrupted => 130,
            Exit::Lifecycle(exit) => exit.as_u8(),
            Exit::Hook(HookExit(code)) => code,
        }
    }

    /// The more urgent of two.
    pub(crate) fn worse(self, other: Exit) -> Exit {
        let weight = |exit| match exit {
            Exit::Completed => 0,
            Exit::PersonMustAct => 1,
            Exit::WorkFailed => 2,
            Exit::TimedOut => 3,
            Exit::AuthorMustAct => 4,
            Exit::WorldFailed | Exit::Lifecycle(_) | Exit::Hook(_) => 5,
            Exit::Interrupted => 6,
            Exit::Bug => 7,
        };
        if weight(other) > weight(self) { other } else { self }
    }

    /// Of a run that ended or waits.
    pub(crate) fn of(run: &Run) -> Exit {
        let reason = run.reason().map(|reason| reason.code);
        match run.status() {
            // A run that did nothing is as asked when there was nothing to do.
            RunStatus::Completed
                if reason == Some(ReasonCode::CompletedNothingRan) && !run.had_nothing_to_do() =>
            {
                Exit::PersonMustAct
            }
            RunStatus::Completed => Exit::Completed,
            RunStatus::Failed if reason == Some(ReasonCode::FailedConflict) => Exit::PersonMustAct,
            RunStatus::Failed => Exit::WorkFailed,
            RunStatus::TimedOut => Exit::TimedOut,
            RunStatus::Aborted if reason == Some(ReasonCode::AbortedWorld) => Exit::WorldFailed,
            RunStatus::Aborted | RunStatus::Waiting => Exit::PersonMustAct,
            RunStatus::Cancelled => Exit::Interrupted,
            RunStatus::Running => Exit::WorldFailed,
        }
    }
}

/// Whose turn it is decides the exit code of an error.
impl From<Class> for Exit {
    fn from(class: Class) -> Exit {
        match class {
            Class::Author => Exit::AuthorMustAct,
            Class::World => Exit::WorldFailed,
            Class::Person => Exit::PersonMustAct,
            Class::Stopped => Exit::Interrupted,
            Class::Bug => Exit::Bug,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.number())
    }
}
