//! The answers of providers and the messages of people, line by line.
//!
//!   gate: {"ok": false}            the check answers with this output
//!   gate: 1 then exit 2 then 3     several answers in turn; the last one repeats
//!   post?: "done"                  what `reconcile` finds out about its attempts
//!   each[2]: exit 1                one item; other items answer as `each:` says, or with null
//!   a: exit 3 | exit 3 {"n": 1}    a fault, with an output beside it when one is given
//!   a: timeout | signal | lost     faults after which the effect is unknown
//!   a: http 503                    a definite answer of a server: transient from 500, 408, 425 and 429
//!   a: http 429 pause 30s          the same, and the server asks to wait that long
//!   a: broken                      a logical fault of the provider itself
//!   a: never                       answers only when it is stopped
//!   a: 1 after 5s                  takes its time
//!   a: said 3                      a harness ended well, with this output, 1 turn and 1 US dollar
//!   a: spent                       a harness spent its budget
//!   a: env K=V                     done, and `K=V` joins the environment
//!
//!   ledger KEY confirmed 5         what the ledger of other runs has: a state, and an output beside `confirmed`
//!
//!   approve a · deny a · answer a yes · assume a done · cancel · interrupt      messages, when all is quiet
//!   approve a os:ann                                                           the actor who approves
//!   seen from 2 {"id": size, …}                                                from the second inspection on
//!   wait 5s · crash · reopen · seen {"id": size, …}                            time, a new driver, artifacts
//!   seen {"id": "text", "other": {"a": 1}}                                     artifacts with their content

use std::collections::BTreeMap;
use std::sync::Arc;

use escrow_engine::play::{AnswerSource, ProviderCall, Reply};
use escrow_model::{
    Answer, EffectState, Ending, ExpectedArtifact, FaultCode, InspectedArtifact, LedgerEffect, ProviderFault,
    RunId, ScopePath,
};
use serde_json::{Value, json};

use crate::{GivenFile, sightings};

/// Something that happens to a run from outside its providers.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A check, and the actor if one is named.
    Approve(String, Option<String>),
    Deny(String),
    Answer(String, String),
    Assume(String, String),
    Cancel,
    Interrupt,
    WaitMs(u64),
    Crash,
    /// Opens again what failed.
    Reopen,
}

fn given_files(text: &str) -> BTreeMap<String, GivenFile> {
    let files: BTreeMap<String, Value> = serde_json::from_str(text).expect("ids with sizes or contents");
    files.into_iter().map(|(id, value)| (id, GivenFile::of(&value))).collect()
}

/// Answers and steps as a test wrote them.
#[derive(Clone, Debug, Default)]
pub struct Script {
    answers: BTreeMap<String, Vec<Reply>>,
    pub steps: Vec<Step>,
    files: Vec<(String, GivenFile)>,
    ledger: BTreeMap<String, Vec<(EffectState, Option<Answer>)>>,
    /// The digest that other runs used, instead of the same one.
    digest: Option<String>,
    /// Files that later inspections find instead, each with the first that does.
    later: Vec<(usize, String, GivenFile)>,
    inspections: usize,
}

impl Script {
    pub fn parse(lines: &[&str]) -> Script {
        let mut script = Script::default();
        for line in lines {
            script.line(line.trim());
        }
        script
    }

    fn line(&mut self, line: &str) {
        let mut words = line.splitn(3, ' ');
        let verb = words.next().unwrap_or_default();
        let mut word = || words.next().unwrap_or_else(|| panic!("`{line}` says too little")).to_owned();
        let step = match verb {
            "approve" => Step::Approve(word(), words.next().map(str::to_owned)),
            "deny" => Step::Deny(word()),
            "answer" => Step::Answer(word(), word()),
            "assume" => Step::Assume(word(), word()),
            "cancel" => Step::Cancel,
            "interrupt" => Step::Interrupt,
            "wait" => Step::WaitMs(duration_ms(&word())),
            "crash" => Step::Crash,
            "reopen" => Step::Reopen,
            "seen" => {
                let text = line.trim_start_matches("seen").trim_start();
                if let Some((from, text)) = text.strip_prefix("from ").and_then(|text| text.split_once(' ')) {
                    let from = from.parse().expect("`from` has a number");
                    let files = given_files(text);
                    self.later.extend(files.into_iter().map(|(id, file)| (from, id, file)));
                    return;
                }
                let files = given_files(text);
                self.files.extend(files);
                return;
            }
            "ledger" => {
                let (key, state) = (word(), word());
                let (state, answer) = state.split_once(' ').unwrap_or((state.as_str(), ""));
                let known = EffectState::ALL.into_iter().find(|known| known.as_str() == state);
                let answer = (!answer.is_empty()).then(|| reply(answer).answer).flatten();
                let effect = (known.unwrap_or_else(|| panic!("`{state}` is no state")), answer);
                self.ledger.entry(key).or_default().push(effect);
                return;
            }
            "digest" => {
                self.digest = Some(word());
                return;
            }
            _ => return self.answer_line(line),
        };
        self.steps.push(step);
    }

    fn answer_line(&mut self, line: &str) {
        let (place, answers) = line.split_once(": ").unwrap_or_else(|| panic!("`{line}` has no `: `"));
        let replies = answers.split(" then ").map(reply);
        self.answers.entry(place.to_owned()).or_default().extend(replies);
    }
}

impl AnswerSource for Script {
    fn reply(&mut self, call: &ProviderCall<'_>) -> Reply {
        let mark = if call.reconcile { "?" } else { "" };
        let item = format!("{}{}{mark}", call.check, call.scope);
        let replies = self.answers.get(&item).or_else(|| self.answers.get(&format!("{}{mark}", call.check)));
        let Some(replies) = replies else {
            return Reply { answer: Some(Answer::done(Value::Null)), after_ms: 0 };
        };
        // `reconcile` may be asked about an effect of another run, before the first attempt of this one.
        let place = usize::try_from(call.attempt).unwrap_or(usize::MAX).saturating_sub(1);
        replies.get(place).or(replies.last()).expect("a line gives an answer").clone()
    }

    fn inspect(&mut self, expected: &[ExpectedArtifact]) -> Vec<InspectedArtifact> {
        self.inspections += 1;
        let mut files: BTreeMap<String, GivenFile> = self.files.iter().cloned().collect();
        for (_, id, file) in self.later.iter().filter(|(from, _, _)| *from <= self.inspections) {
            files.insert(id.clone(), file.clone());
        }
        sightings(&files.into_iter().collect::<Vec<_>>(), expected)
    }

    fn ledger(&mut self, key: &str, digest: &str) -> Option<LedgerEffect> {
        let effects = self.ledger.get_mut(key)?;
        // Of several, each is answered once, and the last one repeats.
        let (state, answer) = if effects.len() > 1 { effects.remove(0) } else { effects.first()?.clone() };
        let digest = self.digest.clone().unwrap_or_else(|| digest.to_owned());
        Some(LedgerEffect {
            run: RunId::from_stored("r_elsewhere"),
            check: "publish".into(),
            scope: ScopePath::default(),
            attempts: 1,
            state,
            digest,
            answer: answer.map(Arc::new),
        })
    }
}

fn reply(text: &str) -> Reply {
    let (text, after_ms) = match text.rsplit_once(" after ") {
        Some((text, time)) => (text, duration_ms(time)),
        None => (text, 0),
    };
    let text = text.trim();
    let (verb, rest) = text.split_once(' ').unwrap_or((text, ""));
    let answer = match verb {
        "never" => None,
        "exit" => {
            let (code, output) = rest.split_once(' ').unwrap_or((rest, "null"));
            let code: i64 = code.parse().expect("`exit` has a number");
            let fault = ProviderFault::transient(FaultCode::ExitNonzero, format!("exit code {code}"));
            let mut answer = Answer::fault(fault);
            answer.output = json_of(output);
            answer.record.insert("exitCode".into(), json!(code));
            answer.record.insert("exit_code".into(), json!(code));
            Some(answer)
        }
        "timeout" | "signal" | "lost" => {
            let fault = ProviderFault::transient(FaultCode::parse(verb), format!("it ended by {verb}"));
            Some(Answer::fault(fault.with_unknown_effect()))
        }
        "http" => {
            let (status, pause) =
                rest.split_once(" pause ").map_or((rest, None), |(status, pause)| (status, Some(pause)));
            let status: u16 = status.parse().expect("`http` has a status");
            let fault = if (200..300).contains(&status) {
                ProviderFault::logical(FaultCode::UnexpectedSuccess, format!("status {status}"))
            } else if status >= 500 || [408, 425, 429].contains(&status) {
                ProviderFault::transient(FaultCode::own("status"), format!("status {status}"))
            } else {
                ProviderFault::logical(FaultCode::own("status"), format!("status {status}"))
            };
            Some(Answer::fault(fault.with_retry_after(pause.map(duration_ms))))
        }
        "broken" => Some(Answer::fault(ProviderFault::logical(FaultCode::Exception, "the provider broke"))),
        "garbled" => {
            let fault = ProviderFault::logical(FaultCode::OutputNotJson, "the output is not JSON");
            Some(Answer { ending: Ending::Fault(fault), ..done(json!(rest)) })
        }
        "whole" => Some(serde_json::from_str(rest).unwrap_or_else(|error| panic!("`{rest}`: {error}"))),
        "said" => {
            let mut answer = done(json_of(rest));
            let harness = json!({"name": "claude", "turns": 1, "cost_usd": 1.0, "completed": true});
            answer.record.insert("harness".to_owned(), harness);
            answer.record.insert("conversation".to_owned(), json!({"id": "c", "home": "h"}));
            Some(answer)
        }
        "spent" => {
            Some(Answer::fault(ProviderFault::logical(FaultCode::BudgetExhausted, "the budget is spent")))
        }
        "env" => {
            let mut answer = done(Value::Null);
            let (name, value) = rest.split_once('=').expect("`env` has `K=V`");
            answer.env.insert(name.to_owned(), value.to_owned());
            Some(answer)
        }
        _ => Some(done(json_of(text))),
    };
    Reply { answer, after_ms }
}

fn done(output: Value) -> Answer {
    let mut answer = Answer::done(output);
    answer.record.insert("exitCode".into(), json!(0));
    answer.record.insert("exit_code".into(), json!(0));
    answer
}

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("`{text}` is not JSON: {error}"))
}

fn duration_ms(text: &str) -> u64 {
    let digits = text.trim_end_matches(char::is_alphabetic);
    let number: u64 = digits.parse().unwrap_or_else(|_| panic!("`{text}` is not a time"));
    match &text[digits.len()..] {
        "ms" => number,
        "s" => number * 1_000,
        "m" => number * 60_000,
        "h" => number * 3_600_000,
        unit => panic!("`{unit}` is not a unit of time"),
    }
}
