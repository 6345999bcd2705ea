//! Plays a run by steps in virtual time, and compares it with its replay after every turn.

use std::sync::Arc;

use escrow_engine::play::{AnswerSource, VirtualDrive};
use escrow_engine::{Input, Run};
use escrow_model::{
    Assumption, Entry, Event, ExpectedArtifact, Facts, InspectedArtifact, Message, Millis, Plan, RunId,
    RunOptions, RunStatus, ScopePath, ScopedCheck, SeenFile,
};

use crate::Step;

/// The clock starts here, so that a time of zero is never mistaken for one that was set.
const START_MS: Millis = 1_000_000;

const REPLAYS: &str = "a journal that was just written replays";

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

/// A run with its source of answers.
pub struct Stage<A> {
    pub drive: VirtualDrive,
    pub answers: A,
    /// Follows the journal and nothing else: what a replay after each turn would give.
    shadow: Option<Run>,
}

impl<A: AnswerSource> Stage<A> {
    pub fn start(plan: &Arc<Plan>, options: &Options, mut answers: A) -> Stage<A> {
        let run_options = Arc::new(options.run.clone());
        let facts = Arc::new(options.facts.clone());
        let begun = Run::start(Arc::clone(plan), run_options, facts, START_MS);
        let shadow =
            options.compare_replay.then(|| Run::replay(&begun.1.entries[..1]).expect("it begins a run"));
        let drive = VirtualDrive::begin(begun, START_MS, &mut answers);
        let mut stage = Stage { drive, answers, shadow };
        stage.check_turn();
        stage
    }

    /// A new driver takes a run over from its journal alone.
    pub fn resume(journal: &[Entry], mut answers: A, compare_replay: bool) -> Stage<A> {
        let shadow = compare_replay.then(|| Run::replay(journal).expect(REPLAYS));
        let drive = VirtualDrive::resume(journal, &mut answers).expect(REPLAYS);
        let mut stage = Stage { drive, answers, shadow };
        stage.check_turn();
        stage
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
        while self.drive.run.status() == RunStatus::Running && self.advance(Millis::MAX) {}
    }

    /// Lets everything happen that is due, and then this.
    pub fn play_one(&mut self, step: &Step) {
        self.quieten();
        self.step(step);
    }

    /// Delivers everything that is due now.
    fn quieten(&mut self) {
        while self.advance(self.drive.now_ms) {}
    }

    /// Lets the next thing happen that is due by then. False when nothing is.
    pub fn advance(&mut self, until: Millis) -> bool {
        let happened = self.drive.advance(until, &mut self.answers);
        if happened {
            self.check_turn();
        }
        happened
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Approve(check, by) => {
                let (id, by) = (self.wait_of(check), by.clone());
                self.message(Message::Approve { id, by, claim: None, note: None });
            }
            Step::Deny(check) => {
                let id = self.wait_of(check);
                self.message(Message::Deny { id, by: None, claim: None, note: None });
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
                self.message(Message::Assume { check, scope, assumption, by: None, why: None });
            }
            Step::Cancel => self.message(Message::Cancel {
                by: None,
                system: false,
                successor: None,
                inside: None,
                patient: false,
            }),
            Step::Interrupt => self.message(Message::Cancel {
                by: None,
                system: true,
                successor: None,
                inside: None,
                patient: false,
            }),
            Step::WaitMs(time) => {
                let until = self.drive.now_ms + time;
                while self.advance(until) {}
                self.drive.now_ms = until;
            }
            Step::Crash => self.crash(),
            Step::Reopen => assert!(self.reopen(), "it can be opened again"),
        }
    }

    /// Loses everything but the journal, and takes the run over from it.
    pub fn crash(&mut self) {
        self.drive.crash(&mut self.answers).expect(REPLAYS);
        self.check_turn();
    }

    /// Retries what failed. False when nothing can be retried.
    pub fn reopen(&mut self) -> bool {
        let now = self.drive.now_ms;
        let Ok(turn) = self.drive.run.retry_failed(now, None) else { return false };
        self.drive.act(turn, &mut self.answers);
        self.check_turn();
        true
    }

    pub fn message(&mut self, message: Message) {
        self.input(Input::Message(message));
    }

    pub fn input(&mut self, input: Input) {
        self.drive.handle(input, &mut self.answers);
        self.check_turn();
    }

    fn check_turn(&mut self) {
        let VirtualDrive { run, journal, commits, .. } = &self.drive;
        assert_eq!(run.entries(), journal.len() as u64, "every entry of a run is in its journal");
        let Some(shadow) = &mut self.shadow else { return };
        let seen = usize::try_from(shadow.entries()).expect("it fits");
        for entry in &journal[seen..] {
            shadow.follow(entry).expect("what a run decides can follow");
            if let Some(broken) = shadow.broken_invariant() {
                panic!("after {:?}: {broken}", entry.event);
            }
        }
        assert!(shadow == run, "a replay rebuilds the run after turn {}", commits.len());
    }

    fn wait_of(&self, place: &str) -> String {
        let ScopedCheck { check, scope } = parse_place(place);
        let waits = self.drive.run.waits();
        let wait = waits.iter().find(|wait| wait.check == check && wait.scope == scope);
        // A message for something that does not wait is refused, and tests may want that.
        wait.map_or_else(|| place.to_owned(), |wait| wait.id.clone())
    }

    /// Whether an attempt of this check was started.
    pub fn has_started(&self, name: &str) -> bool {
        self.drive
            .journal
            .iter()
            .any(|entry| matches!(&entry.event, Event::AttemptStarted { check, .. } if check == name))
    }
}

/// A file in the artifact directory: its size, or its text.
#[derive(Clone, Debug, PartialEq)]
pub enum GivenFile {
    Size(u64),
    Text(String),
}

impl GivenFile {
    /// A number is a size, a text is the content, and anything else is content as JSON.
    pub fn of(value: &serde_json::Value) -> GivenFile {
        match (value.as_u64(), value.as_str()) {
            (Some(size), _) => GivenFile::Size(size),
            (None, Some(text)) => GivenFile::Text(text.to_owned()),
            (None, None) => GivenFile::Text(value.to_string()),
        }
    }

    fn size(&self) -> u64 {
        match self {
            GivenFile::Size(size) => *size,
            GivenFile::Text(text) => text.len() as u64,
        }
    }

    fn text(&self) -> Option<String> {
        match self {
            GivenFile::Size(_) => None,
            GivenFile::Text(text) => Some(text.clone()),
        }
    }
}

/// What an inspection finds when the artifact directory has these files, given by artifact id.
pub fn sightings(files: &[(String, GivenFile)], expected: &[ExpectedArtifact]) -> Vec<InspectedArtifact> {
    expected
        .iter()
        .map(|artifact| InspectedArtifact {
            id: artifact.id.clone(),
            files: files
                .iter()
                .filter(|(id, _)| *id == artifact.id)
                .map(|(_, given)| SeenFile {
                    path: artifact.location.label().to_owned(),
                    size: given.size(),
                    sha256: format!("{:064}", given.size()),
                    inode: 1,
                    changed_ns: 1,
                    mime_type: None,
                    content: None,
                    repeated_key: None,
                    holds_secret: false,
                    text: given.text().filter(|_| artifact.content_read),
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
