//! What makes chains fire outside: a GitHub whose webhooks come, come again, come late or never, and that is polled; and files.

use std::time::{Duration, UNIX_EPOCH};

use escrow_model::{TriggerEvent, rfc3339};
use escrow_runtime::triggers::file::FileTrigger;
use escrow_runtime::triggers::github::subject_of;
use escrow_runtime::triggers::github_poll::pulls_told;
use escrow_runtime::triggers::{Origin, TriggerKind as _, offer};
use escrow_store::{Delivery, Fires as _, Recorded, Recording};
use serde_json::{Map, Value, json};

use super::definitions::Listens;
use super::{ChainWorld, DELIVERY_MS_MAX, told};
use crate::block_on::block_on;

/// The repository that the world polls.
const REPO: &str = "octo/app";

/// A pull request of the simulated GitHub.
pub(super) struct Pull {
    number: u64,
    /// When it was opened, as GitHub writes it.
    at: String,
    /// Its webhook is under way.
    is_late: bool,
}

impl Pull {
    /// Webhook or poll, it fires under one of these.
    pub(super) fn keys(&self) -> [String; 2] {
        let Pull { number, at, .. } = self;
        [format!("delivery:d-{number}"), format!("github:{REPO}#{number}:pr.opened:{at}")]
    }

    fn item(&self) -> Value {
        let repo = json!({ "full_name": REPO });
        json!({
            "number": self.number, "title": "x", "created_at": self.at, "updated_at": self.at,
            "closed_at": null, "merged_at": null, "draft": false,
            "base": { "ref": "main", "repo": repo }, "head": { "repo": repo },
        })
    }
}

/// Whether a delivery tells something new.
#[derive(Clone, Copy)]
enum News {
    New,
    Known,
}

impl ChainWorld {
    /// A pull request is opened, and GitHub delivers it now, later or never; or an old delivery comes again, perhaps under
    /// another id.
    pub(super) fn receive(&mut self) -> Result<(), String> {
        // What is older is refused before it is recorded.
        let oldest = self.latest.saturating_sub(DELIVERY_MS_MAX);
        let young: Vec<&Delivery> = self.sent.iter().filter(|delivery| delivery.at > oldest).collect();
        if !young.is_empty() && self.rng.chance(30) {
            let mut old = (*self.rng.pick(&young)).clone();
            if self.rng.chance(30) {
                old.id = format!("forged-{}", self.rng.next_u64());
            }
            return self.deliver(old, News::Known);
        }
        let late: Vec<usize> = (0..self.pulls.len()).filter(|place| self.pulls[*place].is_late).collect();
        if !late.is_empty() && self.rng.chance(40) {
            let place = *self.rng.pick(&late);
            self.pulls[place].is_late = false;
            return self.tell(place);
        }
        self.latest = self.latest.max(self.clock.now_ms());
        let number = self.pulls.len() as u64 + 1;
        // By the clock of GitHub, which is not set back and tells seconds.
        let at = rfc3339(self.latest / 1_000 * 1_000).replace(".000Z", "Z");
        let is_late = self.rng.chance(25);
        self.pulls.push(Pull { number, at, is_late });
        if is_late || self.rng.chance(20) { Ok(()) } else { self.tell(self.pulls.len() - 1) }
    }

    /// GitHub delivers that a pull request was opened. A poll may have told it.
    fn tell(&mut self, place: usize) -> Result<(), String> {
        let number = self.pulls[place].number;
        let id = format!("d-{number}");
        let subject = subject_of(REPO, number, "pr.opened");
        let is_polled = match &subject {
            Some(subject) => block_on(self.store.is_known_subject(subject)).map_err(told)?,
            None => false,
        };
        let (digest, at) = (format!("of {id}"), self.clock.now_ms());
        let delivery = Delivery { hook: "github".into(), digest, id, subject, at };
        if is_polled {
            return self.deliver(delivery, News::Known);
        }
        self.sent.push(delivery.clone());
        self.deliver(delivery, News::New)
    }

    fn deliver(&mut self, delivery: Delivery, news: News) -> Result<(), String> {
        let fields =
            Map::from_iter([("base".to_owned(), json!("main")), ("n".to_owned(), json!(self.rng.below(8)))]);
        let (id, key) = (delivery.id.clone(), format!("delivery:{}", delivery.id));
        let event = TriggerEvent { name: "pr.opened".into(), fields, key, at: self.clock.now_ms() };
        let listeners = self.store.blocking().listeners(&event.name).map_err(told)?;
        let occurrences = offer(&event, &Origin::default(), &listeners);
        let recording = Recording { deliveries: vec![delivery], occurrences, ..Recording::default() };
        match (block_on(self.store.record(&recording)).map_err(told)?, news) {
            (Recorded::Done(new), News::New) => {
                let wait = self.chains.iter().filter(|chain| chain.listens == Listens::Webhook).count();
                if new.len() == wait {
                    return Ok(());
                }
                Err(format!("a delivery fired {} of {wait} chains", new.len()))
            }
            (Recorded::Duplicate, News::Known) => {
                self.played.repeated += 1;
                Ok(())
            }
            (answer, _) => Err(format!("delivery `{id}` was answered with {answer:?}")),
        }
    }

    /// A daemon polls GitHub. It may die after any part of what it found, and two may poll at once.
    pub(super) fn poll_github(&mut self) -> Result<(), String> {
        let found = self.pulls_found()?;
        let (polls, dies) = (self.polls(), self.rng.chance(15));
        for _ in 0..polls {
            let until = if dies { self.rng.below(found.len() as u64) } else { found.len() as u64 };
            for recording in found.iter().take(usize::try_from(until).unwrap_or_default()) {
                if let Recorded::Done(new) = block_on(self.store.record(recording)).map_err(told)? {
                    self.played.polled += u64::from(!new.is_empty());
                }
            }
        }
        Ok(())
    }

    /// What a poll would record now.
    fn pulls_found(&self) -> Result<Vec<Recording>, String> {
        let items: Vec<Value> = self.pulls.iter().rev().map(Pull::item).collect();
        self.polling(|context| block_on(pulls_told(REPO, &items, context)).map_err(|error| error.to_string()))
    }

    /// A file is written, or daemons look for what was written.
    pub(super) fn poll_the_files(&mut self) -> Result<(), String> {
        if self.rng.chance(30) {
            self.played.files += 1;
            let path = self.project.join(format!("docs/{}.md", self.played.files));
            // The time of the file is part of the key of its fire, and everything follows from the seed.
            let at = UNIX_EPOCH + Duration::from_secs(self.played.files);
            let written = std::fs::File::create(path).and_then(|file| file.set_modified(at));
            return written.map_err(|error| error.to_string());
        }
        let found = self.files_found()?;
        for _ in 0..self.polls() {
            for recording in &found {
                block_on(self.store.record(recording)).map_err(told)?;
            }
        }
        Ok(())
    }

    fn files_found(&self) -> Result<Vec<Recording>, String> {
        self.polling(|context| block_on(FileTrigger.poll(context)).map_err(|error| error.to_string()))
    }

    /// Reads GitHub and the files to the end.
    pub(super) fn read_the_outside(&mut self) -> Result<(), String> {
        for recording in self.pulls_found()?.iter().chain(&self.files_found()?) {
            block_on(self.store.record(recording)).map_err(told)?;
        }
        Ok(())
    }
}
