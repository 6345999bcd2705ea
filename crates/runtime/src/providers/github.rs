//! `type: github`: operations on pull requests, issues and commits, over GitHub's REST API.
//!
//! ```text
//!   perform:   request ──▶ Operation ──▶ Api ──▶ GitHub
//!   reconcile: request ──▶ Operation ──▶ is it there? ──▶ done · retry · nothing
//! ```
//!
//! **Invariant:** what an operation leaves behind can be found again: comments, reviews and issues carry a hidden marker with the
//! effect key, a check run has it as its external id, and labels, statuses and merges are a state that can be read.

mod api;
mod check_run;
mod comment;
mod diff_lines;
mod finding;
mod issue;
mod labels;
mod marker;
mod merge;
mod read;
mod review;
mod status;
mod target;

use std::time::Duration;

use escrow_model::{
    Answer, ConditionalKeys, Ending, FaultCode, Home, KeyKind, KeySpec, Mutates, ProviderFault, ProviderSpec,
    Request,
};
use serde_json::{Map, Value, json};

use crate::providers::{Attempt, Performance, Provider};
use api::Api;
use target::Target;

pub struct Github;

/// Every operation: its word, whether it only reads, and the keys that it needs.
const OPERATIONS: [(&str, Operation, Access, &[&str]); 11] = [
    ("comment.create", Operation::Comment, Access::Writes, &["body"]),
    ("labels.add", Operation::AddLabels, Access::Writes, &["values"]),
    ("labels.remove", Operation::RemoveLabels, Access::Writes, &["values"]),
    ("review.create", Operation::Review, Access::Writes, &[]),
    ("check.create", Operation::CheckRun, Access::Writes, &[]),
    ("status.set", Operation::Status, Access::Writes, &["state"]),
    ("pr.merge", Operation::Merge, Access::Writes, &[]),
    ("issue.create", Operation::Issue, Access::Writes, &["title"]),
    ("pr.get", Operation::GetPull, Access::Reads, &[]),
    ("pr.files", Operation::GetFiles, Access::Reads, &[]),
    ("pr.diff", Operation::GetDiff, Access::Reads, &[]),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Reads,
    Writes,
}

const WORDS: [&str; OPERATIONS.len()] = {
    let mut words = [""; OPERATIONS.len()];
    let mut at = 0;
    while at < words.len() {
        words[at] = OPERATIONS[at].0;
        at += 1;
    }
    words
};

/// The words of the operations that only read.
const READING: [&str; 3] = {
    let mut words = [""; 3];
    let (mut at, mut count) = (0, 0);
    while at < OPERATIONS.len() {
        if matches!(OPERATIONS[at].2, Access::Reads) {
            words[count] = OPERATIONS[at].0;
            count += 1;
        }
        at += 1;
    }
    assert!(count == words.len());
    words
};

const CONDITIONAL_KEYS: [ConditionalKeys; OPERATIONS.len()] = {
    let mut all = [ConditionalKeys { key: "op", word: "", needs: &[] }; OPERATIONS.len()];
    let mut at = 0;
    while at < all.len() {
        (all[at].word, all[at].needs) = (OPERATIONS[at].0, OPERATIONS[at].3);
        at += 1;
    }
    all
};

// What the event lacks is empty: only the operation knows whether it needs it.
const REPO: &str = "{{ event.repository.full_name \
                    if event.repository is defined and event.repository.full_name is defined else \
                    event.repo if event.repo is defined else '' }}";
const NUMBER: &str = "{{ event.pull_request.number \
                      if event.pull_request is defined and event.pull_request.number is defined else \
                      event.issue.number if event.issue is defined and event.issue.number is defined else \
                      event.pr_number if event.pr_number is defined else \
                      event.issue_number if event.issue_number is defined else '' }}";
const SHA: &str = "{{ event.pull_request.head.sha if event.pull_request is defined \
                   and event.pull_request.head is defined and event.pull_request.head.sha is defined else \
                   event.workflow_run.head_sha \
                   if event.workflow_run is defined and event.workflow_run.head_sha is defined else \
                   event.check_suite.head_sha \
                   if event.check_suite is defined and event.check_suite.head_sha is defined else \
                   event.merge_group.head_sha \
                   if event.merge_group is defined and event.merge_group.head_sha is defined else \
                   event.head_sha if event.head_sha is defined else \
                   event.after if event.after is defined else '' }}";

static SPEC: ProviderSpec = ProviderSpec {
    name: "github",
    summary: "reads and changes pull requests, issues and commits on GitHub",
    keys: &[
        KeySpec { name: "op", kind: KeyKind::Word(&WORDS), required: true },
        KeySpec { name: "repo", kind: KeyKind::TextOr(REPO), required: false },
        KeySpec { name: "number", kind: KeyKind::TextOr(NUMBER), required: false },
        KeySpec { name: "sha", kind: KeyKind::TextOr(SHA), required: false },
        KeySpec { name: "expected_head", kind: KeyKind::TextOr(SHA), required: false },
        KeySpec { name: "title", kind: KeyKind::Text, required: false },
        KeySpec { name: "body", kind: KeyKind::Text, required: false },
        KeySpec { name: "marker", kind: KeyKind::Text, required: false },
        KeySpec { name: "values", kind: KeyKind::Texts, required: false },
        KeySpec { name: "state", kind: KeyKind::Text, required: false },
        KeySpec { name: "context", kind: KeyKind::Text, required: false },
        KeySpec { name: "description", kind: KeyKind::Text, required: false },
        KeySpec { name: "method", kind: KeyKind::Word(&["merge", "squash", "rebase"]), required: false },
        KeySpec { name: "verdict", kind: KeyKind::OutputOf, required: false },
    ],
    mutates: Mutates::UnlessKeyIs { key: "op", words: &READING, default: "" },
    home: Home::Runtime,
    timeout_ms: 60_000,
    conditional_keys: &CONDITIONAL_KEYS,
    sends_requests: true,
    finds_its_effects: true,
};

impl Provider for Github {
    fn spec(&self) -> &'static ProviderSpec {
        &SPEC
    }

    fn perform<'a>(&'a self, request: &'a Request, attempt: &'a Attempt) -> Performance<'a> {
        Box::pin(async {
            let mut answer = match perform(request, attempt).await {
                Ok(output) => Answer::done(output),
                Err(fault) => Answer::fault(fault),
            };
            answer.record.insert("request".to_owned(), asked(request));
            answer
        })
    }

    fn reconcile<'a>(&'a self, request: &'a Request, attempt: &'a Attempt) -> Performance<'a> {
        Box::pin(async {
            match look_twice(request, attempt).await {
                Ok(found) => found.into_answer(),
                Err(fault) => Answer::fault(fault),
            }
        })
    }
}

/// What was asked for: the operation and its target.
fn asked(request: &Request) -> Value {
    let is_given = |value: &&Value| value.as_str().is_none_or(|text| !text.is_empty());
    let given = |key: &str| Some((key.to_owned(), request.fields.get(key).filter(is_given)?.clone()));
    let asked: Map<String, Value> =
        ["op", "repo", "number", "sha", "expected_head"].into_iter().filter_map(given).collect();
    Value::Object(asked)
}

/// What was found of an effect.
enum Found {
    /// It happened, with this output.
    Done(Value),
    /// It did not happen.
    Absent(String),
    /// It cannot be said.
    Unclear(String),
}

impl Found {
    fn into_answer(self) -> Answer {
        let (finding, detail, output) = match self {
            Found::Done(output) => ("done", "GitHub has it".to_owned(), output),
            Found::Absent(detail) => ("retry", detail, Value::Null),
            Found::Unclear(detail) => ("unknown", detail, Value::Null),
        };
        let output = json!({ "finding": finding, "detail": detail, "output": output });
        Answer { ending: Ending::Done, output, record: Map::new(), env: Default::default(), flaw: None }
    }
}

async fn perform(request: &Request, attempt: &Attempt) -> Result<Value, ProviderFault> {
    let target = Target::of(request);
    let api = Api::of(request, attempt)?;
    let done = match target.operation()? {
        Operation::Comment => comment::create(&api, &target).await,
        Operation::AddLabels => labels::add(&api, &target).await,
        Operation::RemoveLabels => labels::remove(&api, &target).await,
        Operation::Review => review::create(&api, &target).await,
        Operation::CheckRun => check_run::create(&api, &target).await,
        Operation::Status => status::set(&api, &target).await,
        Operation::Merge => merge::merge(&api, &target).await,
        Operation::Issue => issue::create(&api, &target).await,
        Operation::GetPull => read::pull(&api, &target).await,
        Operation::GetFiles => read::files(&api, &target).await.map(Value::Array),
        Operation::GetDiff => read::diff(&api, &target).await,
    };
    done.map_err(|fault| api.in_view_of_changes(fault))
}

/// How long a request that was cut off may still be on its way.
const ON_ITS_WAY: Duration = Duration::from_secs(3);

/// That an effect is absent is believed only when it is absent a while later, too: the process that sent the request may
/// have been killed a moment ago, before GitHub has acted on it.
async fn look_twice(request: &Request, attempt: &Attempt) -> Result<Found, ProviderFault> {
    match look(request, attempt).await? {
        Found::Absent(_) => {}
        found @ (Found::Done(_) | Found::Unclear(_)) => return Ok(found),
    }
    tokio::select! {
        () = tokio::time::sleep(ON_ITS_WAY) => look(request, attempt).await,
        () = attempt.cancellation.cancelled() => {
            let message = "interrupted by the end of the run";
            Err(ProviderFault::transient(FaultCode::Cancelled, message))
        }
    }
}

async fn look(request: &Request, attempt: &Attempt) -> Result<Found, ProviderFault> {
    let target = Target::of(request);
    let api = Api::of(request, attempt)?;
    match target.operation()? {
        Operation::Comment => comment::look(&api, &target).await,
        Operation::AddLabels => labels::look_added(&api, &target).await,
        Operation::RemoveLabels => labels::look_removed(&api, &target).await,
        Operation::Review => review::look(&api, &target).await,
        Operation::CheckRun => check_run::look(&api, &target).await,
        Operation::Status => status::look(&api, &target).await,
        Operation::Merge => merge::look(&api, &target).await,
        Operation::Issue => issue::look(&api, &target).await,
        Operation::GetPull | Operation::GetFiles | Operation::GetDiff => {
            Ok(Found::Absent("it only reads".to_owned()))
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Comment,
    AddLabels,
    RemoveLabels,
    Review,
    CheckRun,
    Status,
    Merge,
    Issue,
    GetPull,
    GetFiles,
    GetDiff,
}

impl Operation {
    fn parse(word: &str) -> Option<Operation> {
        OPERATIONS.iter().find(|(known, ..)| *known == word).map(|(_, operation, ..)| *operation)
    }
}

fn unusable(message: impl Into<String>) -> ProviderFault {
    ProviderFault::logical(FaultCode::own("unsendable"), message)
}
