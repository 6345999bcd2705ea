//! Drives a run as the supervisor would, with a script for its hands and a clock that is wound by hand.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use escrow_engine::{AttemptKey, Effect, Input, Location, ReplayError, Run, Turn};
use escrow_model::{
    Answer, Assumption, Ending, Entry, Event, ExpectedArtifact, FaultCode, InspectedArtifact, Message,
    Millis, ProviderFault, Request, RunStatus, ScopePath, ScopedCheck, WaitKind, folder_of,
};

use super::{Act, Commit, Played, Rehearsal, Replies, START_MS, ScriptedMessage, Takes};

/// More turns than any rehearsal that ends.
const TURNS_MAX: usize = 200_000;

/// An effect under way.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Running {
    attempt: AttemptKey,
    kind: EffectKind,
}

/// What the world is asked: to do something, or whether it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EffectKind {
    Attempt,
    Reconcile,
}

pub(super) struct Stage<'a> {
    rehearsal: &'a Rehearsal,
    run: Run,
    journal: Vec<Entry>,
    commits: Vec<Commit>,
    problems: Vec<String>,
    now_ms: Millis,
    messages_sent: usize,
    /// What is to be looked at.
    looks: VecDeque<(Vec<ExpectedArtifact>, Option<AttemptKey>)>,
    /// Answers under way, by time and order of start.
    coming: BTreeMap<(Millis, u64), (Running, Answer)>,
    started: u64,
    /// Retries that are scheduled and not yet due.
    retries: BTreeSet<(Millis, String, ScopePath)>,
    /// Attempts that a crash cut off and a person had tried again: they do not use up an answer of the script.
    lost: BTreeMap<Location, u32>,
    resumed: bool,
}

impl<'a> Stage<'a> {
    pub(super) fn start(rehearsal: &'a Rehearsal) -> Stage<'a> {
        let Rehearsal { plan, options, facts, .. } = rehearsal;
        let (run, turn) = Run::start(plan.clone(), options.clone(), facts.clone(), START_MS);
        let mut stage = Stage::with(rehearsal, run, Vec::new());
        stage.act(turn);
        stage
    }

    pub(super) fn resume(
        rehearsal: &'a Rehearsal,
        journal: &[Entry],
        messages_sent: usize,
    ) -> Result<Stage<'a>, ReplayError> {
        let run = Run::replay(journal)?;
        let mut stage = Stage::with(rehearsal, run, journal.to_vec());
        stage.messages_sent = messages_sent;
        stage.resumed = true;
        stage.now_ms = journal.last().map_or(START_MS, |entry| entry.at);
        for entry in journal {
            stage.follow_retries(entry);
        }
        stage.input(Input::Resume);
        Ok(stage)
    }

    fn with(rehearsal: &'a Rehearsal, run: Run, journal: Vec<Entry>) -> Stage<'a> {
        Stage {
            rehearsal,
            run,
            journal,
            commits: Vec::new(),
            problems: Vec::new(),
            now_ms: START_MS,
            messages_sent: 0,
            looks: VecDeque::new(),
            coming: BTreeMap::new(),
            started: 0,
            retries: BTreeSet::new(),
            lost: BTreeMap::new(),
            resumed: false,
        }
    }

    pub(super) fn play(mut self) -> Played {
        while !self.run.status().is_terminal() && self.problems.is_empty() && self.next() {
            if self.commits.len() > TURNS_MAX {
                self.problems.push(format!("the run did not end within {TURNS_MAX} turns"));
            }
        }
        let messages = self.rehearsal.script.messages.iter().skip(self.messages_sent);
        let unsent = messages.filter(|message| !matches!(message.act, Act::Wait { .. })).count();
        if unsent > 0 && self.problems.is_empty() {
            let messages = if unsent == 1 { "1 message was" } else { &format!("{unsent} messages were") };
            self.problems.push(format!("the run ended before {messages} sent"));
        }
        Played { run: self.run, journal: self.journal, commits: self.commits, problems: self.problems }
    }

    /// Lets the next thing happen. False when nothing does any more.
    fn next(&mut self) -> bool {
        if let Some((expected, attempt)) = self.looks.pop_front() {
            let seen = expected.iter().map(|expected| self.look(expected)).collect();
            self.input(match attempt {
                None => Input::Seen(seen),
                Some(attempt) => Input::SeenAt { attempt, seen },
            });
            return true;
        }
        let message = self.rehearsal.script.messages.get(self.messages_sent);
        let answer = self.coming.keys().next().copied();
        let wake = self.wake();
        let due = [answer.map(|(due, _)| due), wake].into_iter().flatten().min();
        // First, so that a message of the script finds what it would have found without the break.
        if due.is_none() && self.try_again_what_was_lost() {
            return true;
        }
        if let Some(message) = message {
            match message.after_ms.map(|after| START_MS.saturating_add(after)) {
                Some(at) if due.is_none_or(|due| at <= due) => {
                    self.now_ms = self.now_ms.max(at);
                    self.send(message);
                    return true;
                }
                None if due.is_none() => {
                    self.send(message);
                    return true;
                }
                Some(_) | None => {}
            }
        }
        if let Some((at, number)) = answer.filter(|(at, _)| wake.is_none_or(|wake| *at <= wake)) {
            self.take(at, number);
            return true;
        }
        if let Some(wake) = wake {
            self.now_ms = self.now_ms.max(wake);
            self.input(Input::Wake);
            return true;
        }
        false
    }

    /// What the script says is there. What it says of a check's artifact holds for each of its items.
    fn look(&self, expected: &ExpectedArtifact) -> InspectedArtifact {
        let sightings = &self.rehearsal.script.sightings;
        let of_item = |sighting: &&InspectedArtifact| {
            let folder = expected.check.as_deref().map(folder_of);
            let short = folder.and_then(|folder| sighting.id.strip_prefix(&folder).map(str::to_owned));
            short.is_some_and(|short| short.starts_with("__") && expected.id.ends_with(&short))
        };
        let found = sightings.iter().find(|sighting| sighting.id == expected.id);
        let found = found.or_else(|| sightings.iter().find(of_item));
        let files = found.map(|sighting| sighting.files.clone()).unwrap_or_default();
        let refused = found.and_then(|sighting| sighting.refused.clone());
        InspectedArtifact { id: expected.id.clone(), files, refused }
    }

    /// When to wake the run. A person's time to answer passes only when something else happens later: a test that
    /// sends no message means a run that waits.
    fn wake(&self) -> Option<Millis> {
        let retry = self.retries.first().map(|(at, _, _)| *at);
        let busy = retry.is_some() || !self.coming.is_empty();
        let later_message = self.rehearsal.script.messages.get(self.messages_sent).is_some_and(|message| {
            message.after_ms.is_some_and(|after| {
                self.run.wake_at().is_some_and(|wake| wake < START_MS.saturating_add(after))
            })
        });
        if busy || later_message || self.run.status() == RunStatus::Running {
            self.run.wake_at()
        } else {
            None
        }
    }

    fn send(&mut self, message: &ScriptedMessage) {
        if let Act::Wait { ms } = message.act {
            self.wait(ms);
            self.messages_sent += 1;
            return;
        }
        self.messages_sent += 1;
        let waiting = |location: &ScopedCheck| {
            self.run
                .waits()
                .into_iter()
                .find(|wait| wait.check == location.check && wait.scope == location.scope)
                .map(|wait| wait.id)
                .ok_or_else(|| format!("a message was sent to `{location}`, which is not waiting"))
        };
        let message = match &message.act {
            Act::Approve(place) => waiting(place).map(|id| Message::Approve { id, by: None, note: None }),
            Act::Deny(place) => waiting(place).map(|id| Message::Deny { id, by: None, note: None }),
            Act::Answer(place, text) => {
                waiting(place).map(|id| Message::Answer { id, text: text.clone(), by: None })
            }
            Act::Send(message) => Ok(message.clone()),
            Act::Wait { .. } => return,
        };
        match message {
            Ok(message) => self.input(Input::Message(message)),
            Err(problem) => self.problems.push(problem),
        }
    }

    /// Winds the clock, and lets happen what is due on the way.
    fn wait(&mut self, ms: u64) {
        let until = self.now_ms.saturating_add(ms);
        while !self.run.status().is_terminal() {
            let answer = self.coming.keys().next().copied().filter(|(at, _)| *at <= until);
            let wake = self.run.wake_at().filter(|wake| *wake <= until);
            match (answer, wake) {
                (Some((at, number)), wake) if wake.is_none_or(|wake| at <= wake) => self.take(at, number),
                (_, Some(wake)) => {
                    self.now_ms = self.now_ms.max(wake);
                    self.input(Input::Wake);
                }
                (Some(_), None) | (None, None) => break,
            }
        }
        self.now_ms = self.now_ms.max(until);
    }

    fn take(&mut self, at: Millis, number: u64) {
        self.now_ms = self.now_ms.max(at);
        if let Some((Running { attempt, kind }, answer)) = self.coming.remove(&(at, number)) {
            self.input(match kind {
                EffectKind::Attempt => Input::Answered { attempt, answer },
                EffectKind::Reconcile => Input::Reconciled { attempt, answer },
            });
        }
    }

    /// Only in a play that was broken off: the effect that the break made unknown is tried again, and approved
    /// again where that is asked for.
    fn try_again_what_was_lost(&mut self) -> bool {
        if !self.resumed {
            return false;
        }
        let waits = self.run.waits();
        if let Some(wait) = waits
            .iter()
            .find(|wait| wait.kind == WaitKind::UnknownEffect && self.is_lost(&wait.check, &wait.scope))
        {
            let (check, scope) = (wait.check.clone(), wait.scope.clone());
            if let Some(index) = self.run.plan_of().find(&check) {
                *self.lost.entry(Location::new(index, scope.clone())).or_default() += 1;
            }
            let message = Message::Assume { check, scope, assumption: Assumption::Retry, by: None };
            self.input(Input::Message(message));
            return true;
        }
        let again = waits.into_iter().find(|wait| {
            let check = self.run.plan_of().find(&wait.check);
            let location = check.map(|check| Location::new(check, wait.scope.clone()));
            wait.kind == WaitKind::Approval
                && location.is_some_and(|location| self.lost.contains_key(&location))
        });
        let Some(wait) = again else { return false };
        self.input(Input::Message(Message::Approve { id: wait.id, by: None, note: None }));
        true
    }

    /// Whether the break made this effect unknown, and not the script.
    fn is_lost(&self, name: &str, place: &ScopePath) -> bool {
        let last = self.journal.iter().rev().find_map(|entry| match &entry.event {
            Event::AttemptAnswered { check, scope, answer, .. } if check == name && scope == place => {
                Some(&answer.ending)
            }
            _ => None,
        });
        matches!(last, Some(Ending::Fault(fault)) if fault.code == FaultCode::Lost)
    }

    fn input(&mut self, input: Input) {
        let turn = self.run.handle(self.now_ms, input);
        self.act(turn);
    }

    fn act(&mut self, turn: Turn) {
        for entry in &turn.entries {
            self.follow_retries(entry);
        }
        self.journal.extend(turn.entries);
        self.commits.push(Commit { entries: self.journal.len(), messages: self.messages_sent });
        for effect in turn.effects {
            match effect {
                Effect::Perform { attempt, request } => {
                    self.ask(Running { attempt, kind: EffectKind::Attempt }, &request);
                }
                Effect::Reconcile { attempt, request } => {
                    self.ask(Running { attempt, kind: EffectKind::Reconcile }, &request);
                }
                Effect::Stop { attempt } => {
                    let mut coming = self.coming.values().map(|(one, _)| one);
                    let Some(running) = coming.find(|one| one.attempt == attempt).cloned() else {
                        continue;
                    };
                    self.coming.retain(|_, (one, _)| *one != running);
                    let fault = ProviderFault::transient(FaultCode::Cancelled, "it was stopped")
                        .with_unknown_effect();
                    self.deliver(running, Answer::fault(fault), 0);
                }
                Effect::Inspect { expected, attempt } => self.looks.push_back((expected, attempt)),
            }
        }
    }

    fn follow_retries(&mut self, entry: &Entry) {
        match &entry.event {
            Event::RetryScheduled { check, scope, at, .. } => {
                self.retries.insert((*at, check.clone(), scope.clone()));
            }
            Event::RetryDue { check, scope } => {
                self.retries.retain(|(_, one, at)| (one, at) != (check, scope));
            }
            _ => {}
        }
    }

    fn ask(&mut self, running: Running, request: &Request) {
        let Running { attempt: AttemptKey { check, scope, number }, kind } = running.clone();
        let name = self.run.plan_of().check(check).name.clone();
        if kind == EffectKind::Reconcile && self.resumed && self.is_lost(&name, &scope) {
            // The script knows of no break: whoever resumed the play says what happened.
            let fault = ProviderFault::transient(FaultCode::Lost, "the play was broken off");
            return self.deliver(running, Answer::fault(fault), 0);
        }
        let lost = self.lost.get(&Location::new(check, scope.clone())).copied().unwrap_or(0);
        let place = ScopedCheck::new(&name, &scope);
        let replies = &self.rehearsal.script.replies;
        let found = replies.get(&place);
        let reply = match found.or_else(|| replies.get(&ScopedCheck::new(&name, &ScopePath::root()))) {
            None => {
                let provider = &request.provider;
                Err(format!("`{place}` would run and has no answer; a test does not start a `{provider}`"))
            }
            Some(Replies::Always(reply)) => Ok(reply.as_ref()),
            Some(Replies::InTurn(replies)) => {
                let turn = usize::try_from(number.saturating_sub(lost)).unwrap_or(usize::MAX);
                let count = replies.len();
                let answers = if count == 1 { "1 answer".to_owned() } else { format!("{count} answers") };
                replies
                    .get(turn.saturating_sub(1))
                    .ok_or_else(|| format!("`{place}` would run {turn} times and has {answers}"))
            }
        };
        let reply = reply.and_then(|reply| match kind {
            EffectKind::Attempt => Ok(reply),
            EffectKind::Reconcile => reply
                .reconcile
                .as_deref()
                .ok_or_else(|| format!("`reconcile` of `{place}` would run and has no answer")),
        });
        match reply {
            Ok(reply) => {
                let takes_ms = match reply.takes {
                    Takes::Ms(ms) => ms,
                    Takes::ItsTimeout => request.timeout_ms,
                };
                let answer = reply.answer.clone();
                self.deliver(running, answer, takes_ms);
            }
            Err(problem) => self.problems.push(problem),
        }
    }

    fn deliver(&mut self, running: Running, answer: Answer, after_ms: u64) {
        self.started += 1;
        self.coming.insert((self.now_ms.saturating_add(after_ms), self.started), (running, answer));
    }
}
