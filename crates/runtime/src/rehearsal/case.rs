//! From a test, as its author wrote it, to a rehearsal.

use std::sync::Arc;

use escrow_model::{
    Answer, ArtifactContract, Ending, Facts, FaultCode, InspectedArtifact, Message, Plan, PlanReads,
    ProviderFault, RunId, RunOptions, ScopedCheck, SeenFile,
};
use escrow_playbook::{Answers, MessageAct, TestAnswer, TestCase};
use serde_json::{Map, Value, json};

use super::{Act, Rehearsal, Replies, Reply, START_MS, Script, ScriptedMessage, Takes};

/// Checks that run at once, where the playbook does not say: the same on every machine.
const PARALLELISM: u32 = 4;

/// The rehearsal of a test that `TestFile::judge` has nothing against.
pub fn rehearsal_of(case: &TestCase, plan: &Arc<Plan>) -> Rehearsal {
    let mut plan = Arc::clone(plan);
    if case.artifacts.is_none() && !plan.artifacts.expected.is_empty() {
        Arc::make_mut(&mut plan).artifacts = ArtifactContract::default();
    }
    let options = RunOptions {
        event: case.event.clone(),
        payload: case.payload.clone(),
        inputs: case.inputs.iter().map(|input| (input.name.clone(), input.value.clone())).collect(),
        only: case.only.iter().map(|place| place.check.clone()).collect(),
        tags: case.tags.clone(),
        exclude_tags: case.exclude_tags.clone(),
        safe_mode: case.safe_mode,
        parallelism: plan.max_parallelism.unwrap_or(PARALLELISM),
        ..RunOptions::new(RunId::new(START_MS, 0), "/rehearsal", "/rehearsal/artifacts")
    };
    let facts = facts(case, &plan);
    Rehearsal { options: Arc::new(options), facts: Arc::new(facts), script: script(case, &plan), plan }
}

/// The world of a test is what the test says: no variable and no repository of the machine it runs on.
fn facts(case: &TestCase, plan: &Plan) -> Facts {
    let git = PlanReads::of(plan)
        .wants_git()
        .then(|| Err("a test does not read git; give `filesChanged` in `payload`".to_owned()));
    let redacted = |name: &String, value: &String| {
        let secret = plan.secrets.iter().any(|secret| secret.name == *name);
        (name.clone(), if secret { "***".to_owned() } else { value.clone() })
    };
    let env = case.env.iter().map(|(name, value)| redacted(name, value)).collect();
    Facts { env, git, ..Facts::default() }
}

fn script(case: &TestCase, plan: &Plan) -> Script {
    let mut script = Script::default();
    for (place, answers) in &case.answers {
        let replies = match answers {
            Answers::Always(answer) => Replies::Always(Box::new(reply(answer))),
            Answers::InTurn(answers) => Replies::InTurn(answers.iter().map(reply).collect()),
        };
        script.replies.insert(ScopedCheck::new(&place.check, &place.scope), replies);
    }
    for message in &case.messages {
        let at = |place: &escrow_playbook::CheckRef| ScopedCheck::new(&place.check, &place.scope);
        let act = match &message.act {
            MessageAct::Approve(place) => Act::Approve(at(place)),
            MessageAct::Deny(place) => Act::Deny(at(place)),
            MessageAct::Answer(place, text) => Act::Answer(at(place), text.clone()),
            MessageAct::Assume(place, assumption) => {
                let ScopedCheck { check, scope } = at(place);
                Act::Send(Message::Assume { check, scope, assumption: *assumption, by: None, why: None })
            }
            MessageAct::Wait { ms } => Act::Wait { ms: *ms },
            MessageAct::Cancel => Act::Send(Message::Cancel {
                by: None,
                system: false,
                successor: None,
                inside: None,
                patient: false,
            }),
        };
        script.messages.push(ScriptedMessage { after_ms: message.after_ms, act });
    }
    script.sightings = sightings(case, plan);
    script
}

fn reply(answer: &TestAnswer) -> Reply {
    let mut record = Map::new();
    let code = (answer.signal.is_none() && !answer.timeout).then_some(answer.exit);
    for (key, value) in [
        ("exitCode", json!(code)),
        ("exit_code", json!(code)),
        ("signal", json!(answer.signal)),
        ("timed_out", json!(answer.timeout)),
        ("duration_ms", json!(answer.takes_ms)),
        ("truncated", json!(false)),
        ("stderr", json!(answer.stderr)),
    ] {
        record.insert(key.into(), value);
    }
    let ending = match (&answer.signal, answer.timeout, answer.exit) {
        (Some(signal), _, _) => {
            let fault = ProviderFault::transient(FaultCode::Signal, format!("ended by {signal}"));
            Ending::Fault(fault.with_unknown_effect())
        }
        (None, true, _) => {
            let fault = ProviderFault::transient(FaultCode::Timeout, "still running when its time was up");
            Ending::Fault(fault.with_unknown_effect())
        }
        (None, false, 0) => Ending::Done,
        (None, false, code) => {
            Ending::Fault(ProviderFault::transient(FaultCode::ExitNonzero, format!("exit code {code}")))
        }
    };
    let takes = match (answer.timeout, answer.takes_ms) {
        (true, 0) => Takes::ItsTimeout,
        (_, ms) => Takes::Ms(ms),
    };
    Reply {
        answer: Answer { ending, output: answer.output.clone(), record, env: answer.env.clone(), flaw: None },
        takes,
        reconcile: answer.reconcile.as_deref().map(|answer| Box::new(reply(answer))),
    }
}

fn sightings(case: &TestCase, plan: &Plan) -> Vec<InspectedArtifact> {
    let files = |id: &str| {
        let given = case.artifacts.iter().flatten().filter(|artifact| artifact.id == id);
        let expected = plan.artifacts.expected.iter().find(|expected| expected.id == id);
        given
            .map(|artifact| SeenFile {
                path: expected.map_or("", |expected| expected.location.label()).to_owned(),
                size: artifact.size,
                sha256: "0".repeat(64),
                inode: 1,
                changed_ns: 1,
                mime_type: expected.and_then(|expected| expected.mime_type.clone()),
                content: artifact.content.clone(),
                repeated_key: None,
                holds_secret: false,
                text: artifact.content.as_ref().map(written),
            })
            .collect()
    };
    plan.artifacts
        .expected
        .iter()
        .map(|expected| InspectedArtifact {
            id: expected.id.clone(),
            files: files(&expected.id),
            refused: None,
        })
        .collect()
}

/// The content of a scripted file: text as it is, other values as JSON.
fn written(content: &Value) -> String {
    content.as_str().map_or_else(|| content.to_string(), str::to_owned)
}
