//! The attempt whose effect is unknown: what a person needs to know in order to find out what became of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use escrow_model::{Ending, Entry, Event, Millis, Request, RunId, ScopePath, WaitKind, rfc3339};
use escrow_store::{LookupError, Queries, WaitRow};

use crate::error::Error;
use crate::logs::{self, Printed, STREAMS};
use crate::request_words::request_lines;
use crate::runs::entries;
use crate::state::StateDirectory;

/// How much of a stream is shown: its last lines, within so many bytes.
const SHOWN_LINES_MAX: usize = 20;
const SHOWN_BYTES_MAX: u64 = 4 << 10;

/// An attempt that may or may not have taken effect.
#[derive(Clone, Debug)]
pub struct Attempted {
    /// Another run than the one that waits, where both share an `effect_key`.
    pub run: RunId,
    pub check: String,
    pub scope: ScopePath,
    pub attempt: u32,
    pub at: Millis,
    pub key: String,
    pub request: Arc<Request>,
    /// Where its run works.
    pub directory: String,
    pub end: AttemptEnd,
    pub printed: Vec<PrintedEnd>,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttemptEnd {
    /// Escrow ended before it was answered.
    CutOff,
    Faulted(String),
    /// It was answered, and asked about all the same: it would be repeated.
    Answered,
}

/// The end of what an attempt printed.
#[derive(Clone, Debug)]
pub struct PrintedEnd {
    pub stream: &'static str,
    pub text: String,
    /// Something was printed before it.
    pub is_cut: bool,
}

/// The attempts that waits ask about.
#[derive(Clone, Debug, Default)]
pub struct Attempts(BTreeMap<(RunId, String), Attempted>);

impl Attempts {
    pub fn of(&self, wait: &WaitRow) -> Option<&Attempted> {
        self.get(&wait.run, &wait.id)
    }

    pub fn get(&self, run: &RunId, wait: &str) -> Option<&Attempted> {
        self.0.get(&(run.clone(), wait.to_owned()))
    }
}

/// Finds what these waits ask about, those that are not settled. Only unknown effects have been attempted.
pub async fn attempts_of(
    state: &StateDirectory,
    queries: &dyn Queries,
    waits: &[WaitRow],
) -> Result<Attempts, Error> {
    let asked =
        waits.iter().filter(|wait| wait.kind == WaitKind::UnknownEffect && wait.resolved_at.is_none());
    attempts_named(state, queries, asked.map(|wait| (&wait.run, wait.id.as_str()))).await
}

/// The same for waits by their run and id.
pub async fn attempts_named(
    state: &StateDirectory,
    queries: &dyn Queries,
    waits: impl Iterator<Item = (&RunId, &str)>,
) -> Result<Attempts, Error> {
    let mut attempts = Attempts::default();
    for (run, id) in waits {
        let Some(journal) = journal(queries, run).await? else { continue };
        let Some(asked) = asked_about(run, &journal, id) else { continue };
        let found = if asked.run == *run {
            attempted(state, &asked, &journal)
        } else {
            // The other run may have been removed since.
            let Some(other) = self::journal(queries, &asked.run).await? else { continue };
            attempted(state, &asked, &other)
        };
        if let Some(found) = found {
            attempts.0.insert((run.clone(), id.to_owned()), found);
        }
    }
    Ok(attempts)
}

async fn journal(queries: &dyn Queries, run: &RunId) -> Result<Option<Vec<Entry>>, Error> {
    match queries.run(run.as_str()).await {
        Ok(row) => Ok(Some(entries(queries, &row).await?)),
        Err(LookupError::None(_) | LookupError::Ambiguous { .. }) => Ok(None),
        Err(LookupError::Store(error)) => Err(error.into()),
    }
}

/// The place of an effect.
struct Asked {
    run: RunId,
    check: String,
    scope: ScopePath,
    key: String,
}

/// The effect that a wait is about: the last one that its check intended, or that the ledger has of another check or run.
fn asked_about(run: &RunId, journal: &[Entry], id: &str) -> Option<Asked> {
    let is_wait = |entry: &Entry| matches!(&entry.event, Event::WaitStarted { id: found, .. } if found == id);
    let place = journal.iter().rposition(is_wait)?;
    let Event::WaitStarted { check, scope, .. } = &journal[place].event else { return None };
    journal[..place].iter().rev().find_map(|entry| match &entry.event {
        Event::AttemptStarted { check: found, scope: of, effect: Some(effect), .. }
            if found == check && of == scope =>
        {
            let (run, check, scope) = (run.clone(), check.clone(), scope.clone());
            Some(Asked { run, check, scope, key: effect.key.clone() })
        }
        Event::LedgerAnswered { check: found, scope: of, key, effect: Some(effect), .. }
            if found == check && of == scope =>
        {
            let (run, check, scope) = (effect.run.clone(), effect.check.clone(), effect.scope.clone());
            Some(Asked { run, check, scope, key: key.clone() })
        }
        _ => None,
    })
}

fn attempted(state: &StateDirectory, asked: &Asked, journal: &[Entry]) -> Option<Attempted> {
    let directory = journal.iter().find_map(|entry| match &entry.event {
        Event::RunStarted { options, .. } => Some(options.directory.clone()),
        _ => None,
    })?;
    let (place, attempt, request) =
        journal.iter().enumerate().rev().find_map(|(place, entry)| match &entry.event {
            Event::AttemptStarted { check, scope, attempt, request, effect: Some(effect), .. }
                if *check == asked.check && *scope == asked.scope && effect.key == asked.key =>
            {
                Some((place, *attempt, Arc::clone(request)))
            }
            _ => None,
        })?;
    let end = journal[place..].iter().find_map(|entry| match &entry.event {
        Event::AttemptAnswered { check, scope, attempt: of, answer }
            if *check == asked.check && *scope == asked.scope && *of == attempt =>
        {
            Some(match &answer.ending {
                Ending::Fault(fault) => AttemptEnd::Faulted(fault.message.clone()),
                Ending::Done => AttemptEnd::Answered,
            })
        }
        _ => None,
    });
    let spool = state.spool(&asked.run);
    let printed = logs::printed(journal, &spool).into_iter().chain(logs::running(journal, &spool));
    let is_this = |one: &Printed<'_>| {
        one.of.check == asked.check && *one.of.scope == asked.scope && one.attempt == attempt
    };
    let printed = printed.rev().find(is_this).map(|one| ends(&one)).unwrap_or_default();
    Some(Attempted {
        run: asked.run.clone(),
        check: asked.check.clone(),
        scope: asked.scope.clone(),
        attempt,
        at: journal[place].at,
        key: asked.key.clone(),
        request,
        directory,
        end: end.unwrap_or(AttemptEnd::CutOff),
        printed,
    })
}

/// The last lines of each stream that has something. A file that cannot be read is shown as nothing: the question stays.
fn ends(printed: &Printed<'_>) -> Vec<PrintedEnd> {
    let end = |stream: &'static str| {
        let (text, is_cut) = printed.end(stream, SHOWN_BYTES_MAX).ok()?;
        let lines: Vec<&str> = text.trim_end().lines().collect();
        let shown = lines.len().saturating_sub(SHOWN_LINES_MAX);
        let text = lines[shown..].join("\n");
        (!text.is_empty()).then_some(PrintedEnd { stream, text, is_cut: is_cut || shown > 0 })
    };
    STREAMS.into_iter().filter_map(end).collect()
}

impl Attempted {
    /// Everything that is known of it, in the order in which it is asked.
    pub fn lines(&self) -> Vec<(String, String)> {
        let mut lines = request_lines(&self.request);
        lines.extend(self.facts());
        lines.extend(self.printed.iter().map(|end| (end.stream.to_owned(), end.words())));
        lines
    }

    /// What is known besides the request and what was printed.
    pub fn facts(&self) -> Vec<(String, String)> {
        let number = if self.attempt > 1 { format!(" (attempt {})", self.attempt) } else { String::new() };
        let mut facts = vec![
            ("attempted".to_owned(), format!("{}{number}", rfc3339(self.at))),
            ("key".to_owned(), self.key.clone()),
        ];
        let ended = match &self.end {
            AttemptEnd::CutOff => Some("Escrow was ended while this ran".to_owned()),
            AttemptEnd::Faulted(message) => Some(message.clone()),
            AttemptEnd::Answered => None,
        };
        facts.extend(ended.map(|ended| ("ended".to_owned(), ended)));
        facts.push(("directory".to_owned(), self.directory.clone()));
        facts
    }
}

impl PrintedEnd {
    pub fn words(&self) -> String {
        if self.is_cut { format!("…\n{}", self.text) } else { self.text.clone() }
    }
}
