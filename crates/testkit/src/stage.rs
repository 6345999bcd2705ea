//! Drives a run as the supervisor would, with a scripted world and a clock that is wound by hand.
//!
//! **Invariant:** deterministic. Answers arrive by the time they take, then in the order of their start.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use escrow_engine::{AttemptKey, Effect, Input, Run, Turn};
use escrow_model::{
    Answer, Assumption, Entry, Event, ExpectedArtifact, Facts, FaultCode, InspectedArtifact, Message, Millis,
    Plan, ProviderFault, Request, RunId, RunOptions, RunStatus, ScopePath, ScopedCheck, SeenFile,
};

use crate::{AnswerSource, ProviderCall, Step};

/// The clock starts here, so that a time of zero is never mistaken for one that was set.
const START_MS: Millis = 1_000_000;

/// How a run is asked for.
#[derive(Clone, Debug)]
pub struct Options {
    pub run: RunOptions,
    pub facts: Facts,
    /// After every turn the run is compared with the replay of its journal.
    pub compare_replay: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            run: RunOptions {
                parallelism: 4,
                ..RunOptions::new(RunId::new(START_MS, 7), "/dir", "/dir/artifacts")
            },
            facts: Facts::default(),
            compare_replay: true,
        }
    }
}

/// An effect under way.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Running {
    attempt: AttemptKey,
    kind: EffectKind,
}

/// What the effect_runner is sent for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EffectKind {
    Attempt,
    Reconcile,
}

/// A run in its scripted world.
pub struct Stage<W> {
    pub run: Run,
    pub journal: Vec<Entry>,
    /// Where each committed batch ends: a crash may happen at each of them.
    pub commits: Vec<usize>,
    pub world: W,
    pub now_ms: Millis,
    pub turns: u64,
    /// Knows the journal and nothing else: what a replay after each turn would give.
    shadow: Option<Run>,
    /// What is to be looked at.
    looks: VecDeque<(Vec<ExpectedArtifact>, Option<AttemptKey>)>,
    /// Answers under way, by time and then by the place of their intent in the journal.
    coming: BTreeMap<(Millis, usize), (Running, Answer)>,
    /// Attempts that answer only when they are stopped.
    silent: Vec<Running>,
}

impl<W: AnswerSource> Stage<W> {
    pub fn start(plan: &Arc<Plan>, options: &Options, world: W) -> Stage<W> {
        let run_options = options.run.clone();
        let facts = Arc::new(options.facts.clone());
        let (run, turn) = Run::start(Arc::clone(plan), Arc::new(run_options), facts, START_MS);
        let shadow =
            options.compare_replay.then(|| Run::replay(&turn.entries[..1]).expect("it begins a run"));
        let mut stage = Stage::with(run, Vec::new(), world, shadow);
        stage.act(turn);
        stage
    }

    /// A new driver takes a run over from its journal alone, as it was after the given number of entries.
    pub fn resume(journal: &[Entry], world: W, compare_replay: bool) -> Stage<W> {
        let run = Run::replay(journal).expect("a journal that was just written replays");
        let shadow = compare_replay.then(|| run.clone());
        let mut stage = Stage::with(run, journal.to_vec(), world, shadow);
        stage.now_ms = journal.last().map_or(START_MS, |entry| entry.at);
        stage.input(Input::Resume);
        stage
    }

    fn with(run: Run, journal: Vec<Entry>, world: W, shadow: Option<Run>) -> Stage<W> {
        Stage {
            run,
            journal,
            commits: Vec::new(),
            world,
            now_ms: START_MS,
            turns: 0,
            shadow,
            looks: VecDeque::new(),
            coming: BTreeMap::new(),
            silent: Vec::new(),
        }
    }

    /// Plays until the run ends, or waits and nothing more is scripted.
    pub fn play(&mut self, steps: &[Step]) {
        let mut steps = steps.iter();
        loop {
            self.quieten();
            match steps.next() {
                Some(step) => self.step(step),
                None => break,
            }
        }
        while self.run.status() == RunStatus::Running && self.advance(Millis::MAX) {}
    }

    /// Lets everything happen that is due, and then this.
    pub fn play_one(&mut self, step: &Step) {
        self.quieten();
        self.step(step);
    }

    /// Delivers everything that is due now.
    fn quieten(&mut self) {
        while self.advance(self.now_ms) {}
    }

    /// Lets the next thing happen that is due by then. False when there is none.
    pub fn advance(&mut self, until: Millis) -> bool {
        if self.run.status().is_terminal() {
            return false;
        }
        if let Some((expected, attempt)) = self.looks.pop_front() {
            let seen = sightings(&self.world.files(), &expected);
            self.input(match attempt {
                None => Input::Seen(seen),
                Some(attempt) => Input::SeenAt { attempt, seen },
            });
            return true;
        }
        let wake = self.run.wake_at().filter(|wake| *wake <= until);
        if let Some(((due, number), _)) = self.coming.first_key_value()
            && *due <= until
            && wake.is_none_or(|wake| *due <= wake)
        {
            let key = (*due, *number);
            self.now_ms = self.now_ms.max(*due);
            let (Running { attempt, kind }, answer) = self.coming.remove(&key).expect("it was just seen");
            self.input(match kind {
                EffectKind::Attempt => Input::Answered { attempt, answer },
                EffectKind::Reconcile => Input::Reconciled { attempt, answer },
            });
            return true;
        }
        let Some(wake) = wake else { return false };
        self.now_ms = self.now_ms.max(wake);
        self.input(Input::Wake);
        true
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Approve(check) => {
                let id = self.wait_of(check);
                self.message(Message::Approve { id, by: None, note: None });
            }
            Step::Deny(check) => {
                let id = self.wait_of(check);
                self.message(Message::Deny { id, by: None, note: None });
            }
            Step::Answer(check, text) => {
                let id = self.wait_of(check);
                self.message(Message::Answer { id, text: text.clone(), by: None });
            }
            Step::Assume(place, word) => {
                let ScopedCheck { check, scope } = parse_place(place);
                let assumption = match word.as_str() {
                    "done" => Assumption::Done,
                    "failed" => Assumption::Failed,
                    "retry" => Assumption::Retry,
                    other => panic!("`{other}` is no assumption"),
                };
                self.message(Message::Assume { check, scope, assumption, by: None });
            }
            Step::Cancel => self.message(Message::Cancel { by: None, system: false }),
            Step::Interrupt => self.message(Message::Cancel { by: None, system: true }),
            Step::WaitMs(time) => {
                let until = self.now_ms + time;
                while self.advance(until) {}
                self.now_ms = until;
            }
            Step::Crash => self.crash(),
            Step::Reopen => assert!(self.reopen(), "it can be opened again"),
        }
    }

    /// Loses everything but the journal, and goes on from it.
    pub fn crash(&mut self) {
        self.run = Run::replay(&self.journal).expect("a journal that was just written replays");
        self.coming.clear();
        self.silent.clear();
        self.looks.clear();
        self.input(Input::Resume);
    }

    /// Opens again what failed. False when there is nothing of the kind.
    pub fn reopen(&mut self) -> bool {
        let Ok(turn) = self.run.retry_failed(self.now_ms, None) else { return false };
        self.act(turn);
        true
    }

    pub fn message(&mut self, message: Message) {
        self.input(Input::Message(message));
    }

    pub fn input(&mut self, input: Input) {
        let turn = self.run.handle(self.now_ms, input);
        self.act(turn);
    }

    fn compare_with_replay(&mut self) {
        let Some(shadow) = &mut self.shadow else { return };
        let seen = usize::try_from(shadow.entries()).expect("it fits");
        for entry in &self.journal[seen..] {
            shadow.follow(entry).expect("what a run decides can follow");
            if let Some(broken) = shadow.broken_invariant() {
                panic!("after {:?}: {broken}", entry.event);
            }
        }
        assert!(*shadow == self.run, "a replay rebuilds the run after turn {}", self.turns);
    }

    fn act(&mut self, turn: Turn) {
        self.turns += 1;
        self.journal.extend(turn.entries);
        self.commits.push(self.journal.len());
        assert_eq!(self.run.entries(), self.journal.len() as u64, "every entry of a run is in its journal");
        self.compare_with_replay();
        for effect in turn.effects {
            self.perform(effect);
        }
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Perform { attempt, request } => {
                self.ask(Running { attempt, kind: EffectKind::Attempt }, &request);
            }
            Effect::Reconcile { attempt, request } => {
                self.ask(Running { attempt, kind: EffectKind::Reconcile }, &request);
            }
            Effect::Stop { attempt } => {
                let mut coming = self.coming.values().map(|(one, _)| one).chain(&self.silent);
                let Some(running) = coming.find(|one| one.attempt == attempt).cloned() else { return };
                self.silent.retain(|one| *one != running);
                self.coming.retain(|_, (one, _)| *one != running);
                let fault =
                    ProviderFault::transient(FaultCode::Cancelled, "it was stopped").with_unknown_effect();
                self.deliver(running, Answer::fault(fault), 0);
            }
            Effect::Inspect { expected, attempt } => self.looks.push_back((expected, attempt)),
        }
    }

    fn ask(&mut self, running: Running, request: &Request) {
        let plan = Arc::clone(self.run.plan_of());
        let Running { attempt, kind } = &running;
        let call = ProviderCall {
            check: &plan.check(attempt.check).name,
            scope: &attempt.scope,
            attempt: attempt.number,
            request,
            reconcile: *kind == EffectKind::Reconcile,
        };
        let reply = self.world.reply(&call);
        match reply.answer {
            Some(answer) => self.deliver(running, answer, reply.after_ms),
            None => self.silent.push(running),
        }
    }

    fn deliver(&mut self, running: Running, answer: Answer, after_ms: u64) {
        let intent = self.intent_of(&running);
        self.coming.insert((self.now_ms + after_ms, intent), (running, answer));
    }

    /// Where the journal has the intent, so that the order of answers outlives a crash.
    fn intent_of(&self, Running { attempt: key, kind }: &Running) -> usize {
        let name = &self.run.plan_of().check(key.check).name;
        let is_intent = |entry: &Entry| match &entry.event {
            Event::AttemptStarted { check, scope, attempt, .. } if *kind == EffectKind::Attempt => {
                *attempt == key.number && *scope == key.scope && check == name
            }
            Event::ReconcileStarted { check, scope, attempt, .. } if *kind == EffectKind::Reconcile => {
                *attempt == key.number && *scope == key.scope && check == name
            }
            _ => false,
        };
        self.journal.iter().rposition(is_intent).expect("nothing is performed before its intent is committed")
    }

    /// What runs now.
    pub fn running(&self) -> usize {
        self.coming.len() + self.silent.len()
    }

    fn wait_of(&self, place: &str) -> String {
        let ScopedCheck { check, scope } = parse_place(place);
        let waits = self.run.waits();
        let wait = waits.iter().find(|wait| wait.check == check && wait.scope == scope);
        // A message for something that does not wait is refused, and tests may want that.
        wait.map_or_else(|| place.to_owned(), |wait| wait.id.clone())
    }

    /// Whether an attempt of this check was started.
    pub fn has_started(&self, name: &str) -> bool {
        self.journal
            .iter()
            .any(|entry| matches!(&entry.event, Event::AttemptStarted { check, .. } if check == name))
    }
}

/// What somebody sees who looks for artifacts where these files are.
pub fn sightings(files: &[(String, u64)], expected: &[ExpectedArtifact]) -> Vec<InspectedArtifact> {
    expected
        .iter()
        .map(|artifact| InspectedArtifact {
            id: artifact.id.clone(),
            files: files
                .iter()
                .filter(|(id, _)| *id == artifact.id)
                .map(|(_, size)| SeenFile {
                    path: artifact.location.label().to_owned(),
                    size: *size,
                    sha256: "0".repeat(64),
                    inode: 1,
                    changed_ns: 1,
                    mime_type: None,
                    content: None,
                    repeated_key: None,
                    holds_secret: false,
                })
                .collect(),
            refused: None,
        })
        .collect()
}

/// `each[2]` as a name and a scope.
fn parse_place(place: &str) -> ScopedCheck {
    let (name, indices) = place.split_once('[').map_or((place, ""), |(name, rest)| (name, rest));
    let indices = indices.split(['[', ']']).filter(|index| !index.is_empty());
    let indices = indices.map(|index| index.parse().expect("an index is a number")).collect();
    ScopedCheck { check: name.to_owned(), scope: ScopePath::new(indices) }
}
