//! Plays a rehearsal in virtual time: sends the messages of its script when they are due, and answers from it.

use std::collections::{BTreeMap, BTreeSet};

use escrow_engine::play::{AnswerSource, ProviderCall, Reply, VirtualDrive};
use escrow_engine::{Input, OpenWait, ReplayError, Run};
use escrow_model::{
    Answer, Assumption, Ending, Entry, Event, ExpectedArtifact, FaultCode, InspectedArtifact, Message,
    Millis, ProviderFault, RunStatus, ScopePath, ScopedCheck, WaitKind, folder_of,
};

use super::{Act, Commit, Played, Rehearsal, Replies, START_MS, ScriptedMessage, Takes};

/// More turns than any rehearsal that ends.
const TURNS_MAX: usize = 200_000;

pub(super) struct Stage<'a> {
    drive: VirtualDrive,
    answers: ScriptedAnswers<'a>,
    commits: Vec<Commit>,
    messages_sent: usize,
    /// Retries that are scheduled and not yet due.
    retries: BTreeSet<(Millis, String, ScopePath)>,
    /// How many entries of the journal `retries` reflects.
    followed: usize,
}

/// Answers as the script says.
struct ScriptedAnswers<'a> {
    rehearsal: &'a Rehearsal,
    /// The play was broken off and is resumed.
    resumed: bool,
    /// Attempts that a crash cut off and a person had tried again: they do not use up an answer of the script.
    lost: BTreeMap<ScopedCheck, u32>,
    problems: Vec<String>,
}

impl<'a> Stage<'a> {
    pub(super) fn start(rehearsal: &'a Rehearsal) -> Stage<'a> {
        let Rehearsal { plan, options, facts, .. } = rehearsal;
        let begun = Run::start(plan.clone(), options.clone(), facts.clone(), START_MS);
        let mut answers = ScriptedAnswers::new(rehearsal, false);
        let drive = VirtualDrive::begin(begun, START_MS, &mut answers);
        Stage::with(drive, answers, 0)
    }

    pub(super) fn resume(
        rehearsal: &'a Rehearsal,
        journal: &[Entry],
        messages_sent: usize,
    ) -> Result<Stage<'a>, ReplayError> {
        let mut answers = ScriptedAnswers::new(rehearsal, true);
        let drive = VirtualDrive::resume(journal, &mut answers)?;
        Ok(Stage::with(drive, answers, messages_sent))
    }

    fn with(drive: VirtualDrive, answers: ScriptedAnswers<'a>, messages_sent: usize) -> Stage<'a> {
        let (commits, retries) = (Vec::new(), BTreeSet::new());
        let mut stage = Stage { drive, answers, commits, messages_sent, retries, followed: 0 };
        stage.follow_turn();
        stage
    }

    pub(super) fn play(mut self) -> Played {
        while !self.drive.run.status().is_terminal() && self.answers.problems.is_empty() && self.next() {
            if self.commits.len() > TURNS_MAX {
                self.answers.problems.push(format!("the run did not end within {TURNS_MAX} turns"));
            }
        }
        let messages = self.answers.rehearsal.script.messages.iter().skip(self.messages_sent);
        let unsent = messages.filter(|message| !matches!(message.act, Act::Wait { .. })).count();
        if unsent > 0 && self.answers.problems.is_empty() {
            let messages = if unsent == 1 { "1 message was" } else { &format!("{unsent} messages were") };
            self.answers.problems.push(format!("the run ended before {messages} sent"));
        }
        let VirtualDrive { run, journal, .. } = self.drive;
        Played { run, journal, commits: self.commits, problems: self.answers.problems }
    }

    /// Lets the next thing happen. False when nothing does any more.
    fn next(&mut self) -> bool {
        if self.drive.inspect_next(&mut self.answers) || self.drive.consult_next(&mut self.answers) {
            self.follow_turn();
            return true;
        }
        let message = self.answers.rehearsal.script.messages.get(self.messages_sent);
        let answer = self.drive.next_answer_at();
        let wake = self.wake();
        let due = [answer, wake].into_iter().flatten().min();
        // First, so that a message of the script finds what it would have found without the break.
        if due.is_none() && self.try_again_what_was_lost() {
            return true;
        }
        if let Some(message) = message {
            match message.after_ms.map(|after| START_MS.saturating_add(after)) {
                Some(at) if due.is_none_or(|due| at <= due) => {
                    self.drive.now_ms = self.drive.now_ms.max(at);
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
        if answer.is_some_and(|at| wake.is_none_or(|wake| at <= wake)) {
            self.drive.take_answer(&mut self.answers);
        } else if let Some(wake) = wake {
            self.drive.wake(wake, &mut self.answers);
        } else {
            return false;
        }
        self.follow_turn();
        true
    }

    /// When to wake the run. A person's time to answer passes only when something else happens later: a test that
    /// sends no message means a run that waits.
    fn wake(&self) -> Option<Millis> {
        let retry = self.retries.first().map(|(at, _, _)| *at);
        let busy = retry.is_some() || self.drive.next_answer_at().is_some();
        let later_message =
            self.answers.rehearsal.script.messages.get(self.messages_sent).is_some_and(|message| {
                message.after_ms.is_some_and(|after| {
                    self.drive.run.wake_at().is_some_and(|wake| wake < START_MS.saturating_add(after))
                })
            });
        if busy || later_message || self.drive.run.status() == RunStatus::Running {
            self.drive.run.wake_at()
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
            self.drive
                .run
                .waits()
                .into_iter()
                .find(|wait| wait.check == location.check && wait.scope == location.scope)
                .ok_or_else(|| format!("a message was sent to `{location}`, which is not waiting"))
        };
        let messages = match &message.act {
            Act::Approve(place) => waiting(place).map(|wait| approvals_of(&wait)),
            Act::Deny(place) => waiting(place)
                .map(|wait| vec![Message::Deny { id: wait.id, by: None, claim: None, note: None }]),
            Act::Answer(place, text) => {
                waiting(place).map(|wait| vec![Message::Answer { id: wait.id, text: text.clone(), by: None }])
            }
            Act::Send(message) => Ok(vec![message.clone()]),
            Act::Wait { .. } => return,
        };
        match messages {
            Ok(messages) => messages.into_iter().for_each(|message| self.input(Input::Message(message))),
            Err(problem) => self.answers.problems.push(problem),
        }
    }

    /// Winds the clock, and lets everything happen that is due on the way.
    fn wait(&mut self, ms: u64) {
        let until = self.drive.now_ms.saturating_add(ms);
        while self.drive.advance(until, &mut self.answers) {
            self.follow_turn();
        }
        self.drive.now_ms = self.drive.now_ms.max(until);
    }

    /// Only in a play that was broken off: the effect that the break made unknown is tried again, and approved
    /// again where that is asked for.
    fn try_again_what_was_lost(&mut self) -> bool {
        if !self.answers.resumed {
            return false;
        }
        let waits = self.drive.run.waits();
        let unknown = waits.iter().find(|wait| {
            wait.kind == WaitKind::UnknownEffect && is_lost(&self.drive.journal, &wait.check, &wait.scope)
        });
        if let Some(wait) = unknown {
            let (check, scope) = (wait.check.clone(), wait.scope.clone());
            *self.answers.lost.entry(ScopedCheck::new(&check, &scope)).or_default() += 1;
            let message =
                Message::Assume { check, scope, assumption: Assumption::Retry, by: None, why: None };
            self.input(Input::Message(message));
            return true;
        }
        let again = waits.into_iter().find(|wait| {
            wait.kind == WaitKind::Approval
                && self.answers.lost.contains_key(&ScopedCheck::new(&wait.check, &wait.scope))
        });
        let Some(wait) = again else { return false };
        approvals_of(&wait).into_iter().for_each(|message| self.input(Input::Message(message)));
        true
    }

    fn input(&mut self, input: Input) {
        self.drive.handle(input, &mut self.answers);
        self.follow_turn();
    }

    fn follow_turn(&mut self) {
        for entry in &self.drive.journal[self.followed..] {
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
        self.followed = self.drive.journal.len();
        self.commits.push(Commit { entries: self.followed, messages: self.messages_sent });
    }
}

/// Whether the break made this effect unknown, and not the script.
fn is_lost(journal: &[Entry], name: &str, place: &ScopePath) -> bool {
    let last = journal.iter().rev().find_map(|entry| match &entry.event {
        Event::AttemptAnswered { check, scope, answer, .. } if check == name && scope == place => {
            Some(&answer.ending)
        }
        _ => None,
    });
    matches!(last, Some(Ending::Fault(fault)) if fault.code == FaultCode::Lost)
}

impl<'a> ScriptedAnswers<'a> {
    fn new(rehearsal: &'a Rehearsal, resumed: bool) -> ScriptedAnswers<'a> {
        ScriptedAnswers { rehearsal, resumed, lost: BTreeMap::new(), problems: Vec::new() }
    }

    /// The scripted answer and the time it takes, or why there is none.
    fn scripted(&self, call: &ProviderCall<'_>) -> Result<Reply, String> {
        let place = ScopedCheck::new(call.check, call.scope);
        let lost = self.lost.get(&place).copied().unwrap_or(0);
        let replies = &self.rehearsal.script.replies;
        let of_check = || replies.get(&ScopedCheck::new(call.check, &ScopePath::root()));
        let reply = match replies.get(&place).or_else(of_check) {
            None => {
                let provider = &call.request.provider;
                return Err(format!(
                    "`{place}` would run and has no answer; a test does not start a `{provider}`"
                ));
            }
            Some(Replies::Always(reply)) => reply.as_ref(),
            Some(Replies::InTurn(replies)) => {
                let turn = usize::try_from(call.attempt.saturating_sub(lost)).unwrap_or(usize::MAX);
                let count = replies.len();
                let answers = if count == 1 { "1 answer".to_owned() } else { format!("{count} answers") };
                replies
                    .get(turn.saturating_sub(1))
                    .ok_or_else(|| format!("`{place}` would run {turn} times and has {answers}"))?
            }
        };
        let reply = if call.reconcile {
            let found = reply.reconcile.as_deref();
            found.ok_or_else(|| format!("`reconcile` of `{place}` would run and has no answer"))?
        } else {
            reply
        };
        let after_ms = match reply.takes {
            Takes::Ms(ms) => ms,
            Takes::ItsTimeout => call.request.timeout_ms,
        };
        Ok(Reply { answer: Some(reply.answer.clone()), after_ms })
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
}

impl AnswerSource for ScriptedAnswers<'_> {
    fn reply(&mut self, call: &ProviderCall<'_>) -> Reply {
        if call.reconcile && self.resumed && is_lost(call.journal, call.check, call.scope) {
            // The script knows of no break: the resumed play says what happened.
            let fault = ProviderFault::transient(FaultCode::Lost, "the play was broken off");
            return Reply { answer: Some(Answer::fault(fault)), after_ms: 0 };
        }
        self.scripted(call).unwrap_or_else(|problem| {
            self.problems.push(problem);
            Reply { answer: None, after_ms: 0 }
        })
    }

    fn inspect(&mut self, expected: &[ExpectedArtifact]) -> Vec<InspectedArtifact> {
        expected.iter().map(|expected| self.look(expected)).collect()
    }
}

/// As many approvals as the check asks for, by actors that it admits.
fn approvals_of(wait: &OpenWait) -> Vec<Message> {
    let approvers = wait.enough_approvers().into_iter();
    approvers.map(|by| Message::Approve { id: wait.id.clone(), by, claim: None, note: None }).collect()
}
