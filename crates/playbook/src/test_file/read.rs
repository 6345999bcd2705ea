//! Builds the tests from the YAML tree of a test file.

use escrow_model::{Assumption, CheckStatus, ReasonCode, RunStatus, SkipReason};

use super::fields::{Reader, backticked};
use super::{
    Answers, Expectation, ExpectedCheck, MessageAct, TestAnswer, TestArtifact, TestCase, TestFile, TestInput,
    TestMessage,
};
use crate::diagnostic::{Diagnostics, Problem};
use crate::suggest::did_you_mean;
use crate::yaml::{Entry, Node};

const CASE_KEYS: &[&str] = &[
    "event",
    "payload",
    "inputs",
    "env",
    "only",
    "tags",
    "exclude_tags",
    "safe_mode",
    "strict",
    "answers",
    "messages",
    "artifacts",
    "expect",
];

const STATUSES: &[(&str, CheckStatus)] = &[
    ("succeeded", CheckStatus::Succeeded),
    ("failed", CheckStatus::Failed),
    ("skipped", CheckStatus::Skipped),
    ("waiting", CheckStatus::Waiting),
    ("unknown", CheckStatus::Unknown),
    ("pending", CheckStatus::Pending),
    ("running", CheckStatus::Running),
];

const ASSUMPTIONS: &[(&str, Assumption)] =
    &[("done", Assumption::Done), ("failed", Assumption::Failed), ("retry", Assumption::Retry)];

pub(super) fn empty(found: &mut Diagnostics) {
    found.push(
        Problem::new("E0109", 0..0, "the file is empty")
            .label("no content")
            .help("a test file needs `playbook:` and `tests:`"),
    );
}

pub(super) fn file(root: &Node, found: &mut Diagnostics) -> Option<TestFile> {
    if root.is_null() {
        empty(found);
        return None;
    }
    let mut reader = Reader { found };
    let entries = reader.map(root, "a test file", &["playbook", "tests"]);
    for key in ["playbook", "tests"] {
        if !entries.iter().any(|entry| entry.key == key) {
            reader.missing(root, "a test file", key);
        }
    }
    let playbook = root.entry("playbook")?;
    let tests = root.entry("tests")?;
    let path = reader.text(playbook)?;
    let cases = reader.any_map(&tests.value, "`tests`");
    if cases.is_empty() {
        reader.found.push(
            Problem::new("E0106", tests.key_span.clone(), "`tests` is empty")
                .label("an empty test file would always pass"),
        );
    }
    let tests = cases.iter().filter_map(|entry| reader.case(entry)).collect();
    Some(TestFile { playbook: path, playbook_span: playbook.value.span.clone(), tests })
}

impl Reader<'_> {
    fn missing(&mut self, node: &Node, what: &str, key: &str) {
        self.found.push(
            Problem::new("E0106", node.span.clone(), format!("{what} needs `{key}`"))
                .label(format!("`{key}` is missing")),
        );
    }

    fn case(&mut self, entry: &Entry) -> Option<TestCase> {
        let entries = self.map(&entry.value, "a test", CASE_KEYS);
        let mut case = TestCase {
            name: entry.key.clone(),
            span: entry.key_span.clone(),
            event: None,
            payload: Default::default(),
            inputs: Vec::new(),
            env: Default::default(),
            only: Vec::new(),
            tags: Vec::new(),
            exclude_tags: Vec::new(),
            safe_mode: false,
            strict: true,
            answers: Vec::new(),
            messages: Vec::new(),
            artifacts: None,
            expect: Expectation::default(),
        };
        for entry in entries {
            match entry.key.as_str() {
                "event" => case.event = self.text(entry),
                "payload" => case.payload = self.object(entry),
                "inputs" => case.inputs = self.inputs(entry),
                "env" => case.env = self.variables(entry),
                "only" => {
                    for item in self.items(&entry.value) {
                        let check_ref = item.scalar_text().map(str::to_owned);
                        case.only.extend(check_ref.and_then(|text| self.check_ref(&text, item.span.clone())));
                    }
                }
                "tags" => case.tags = self.texts(entry),
                "exclude_tags" => case.exclude_tags = self.texts(entry),
                "safe_mode" => case.safe_mode = self.flag(entry).unwrap_or(false),
                "strict" => case.strict = self.flag(entry).unwrap_or(true),
                "answers" => {
                    for answers in self.any_map(&entry.value, "`answers`") {
                        if let (Some(check_ref), Some(given)) =
                            (self.check_ref_of_key(answers), self.answers(&answers.value))
                        {
                            case.answers.push((check_ref, given));
                        }
                    }
                }
                "messages" => {
                    case.messages =
                        self.items(&entry.value).iter().filter_map(|message| self.message(message)).collect();
                }
                "artifacts" => {
                    let artifacts = self.any_map(&entry.value, "`artifacts`");
                    case.artifacts =
                        Some(artifacts.iter().filter_map(|artifact| self.artifact(artifact)).collect());
                }
                "expect" => case.expect = self.expectation(&entry.value),
                _ => {}
            }
        }
        if entry.value.map().is_some() && entry.value.entry("expect").is_none() {
            self.found.push(
                Problem::new("E0106", entry.key_span.clone(), "a test needs `expect`")
                    .label("a test without expectations would always pass"),
            );
        }
        Some(case)
    }

    fn inputs(&mut self, entry: &Entry) -> Vec<TestInput> {
        self.any_map(&entry.value, "`inputs`")
            .iter()
            .map(|input| TestInput {
                name: input.key.clone(),
                span: input.key_span.clone(),
                value: input.value.json(),
            })
            .collect()
    }

    fn answers(&mut self, node: &Node) -> Option<Answers> {
        match node.list() {
            Some(items) => Some(Answers::InTurn(items.iter().map(|item| self.answer(item)).collect())),
            None => Some(Answers::Always(self.answer(node))),
        }
    }

    fn answer(&mut self, node: &Node) -> TestAnswer {
        const KEYS: &[&str] = &["output", "exit", "stderr", "signal", "timeout", "takes", "env", "reconcile"];
        self.one_answer(node, KEYS)
    }

    /// The answer of `reconcile`: a word that it prints, or a full answer.
    fn reconcile(&mut self, node: &Node) -> TestAnswer {
        const KEYS: &[&str] = &["output", "exit", "stderr", "signal", "timeout", "takes"];
        match node.string() {
            Some(word) => TestAnswer { output: word.into(), ..TestAnswer::default() },
            None => self.one_answer(node, KEYS),
        }
    }

    fn one_answer(&mut self, node: &Node, keys: &[&str]) -> TestAnswer {
        let mut answer = TestAnswer::default();
        for entry in self.map(node, "an answer", keys) {
            match entry.key.as_str() {
                "output" => answer.output = entry.value.json(),
                "exit" => answer.exit = self.exit_code(entry).unwrap_or(0),
                "stderr" => answer.stderr = self.text(entry).unwrap_or_default(),
                "signal" => answer.signal = self.text(entry),
                "timeout" => answer.timeout = self.flag(entry).unwrap_or(false),
                "takes" => answer.takes_ms = self.duration_ms(entry).unwrap_or(0),
                "env" => answer.env = self.variables(entry),
                "reconcile" => answer.reconcile = Some(Box::new(self.reconcile(&entry.value))),
                _ => {}
            }
        }
        let endings = usize::from(answer.exit != 0)
            + usize::from(answer.signal.is_some())
            + usize::from(answer.timeout);
        if endings > 1 {
            self.found.push(
                Problem::new(
                    "E0130",
                    node.span.clone(),
                    "`exit`, `signal` and `timeout` are mutually exclusive",
                )
                .label("keep one of them")
                .help("to answer several attempts differently, write a list of answers"),
            );
        }
        answer
    }

    fn message(&mut self, node: &Node) -> Option<TestMessage> {
        const ACTS: &[&str] = &["approve", "deny", "answer", "assume", "cancel", "wait"];
        const KEYS: &[&str] =
            &["approve", "deny", "answer", "text", "assume", "as", "cancel", "wait", "after"];
        let entries = self.map(node, "a message", KEYS);
        node.map()?;
        let mut acts = entries.iter().filter(|entry| ACTS.contains(&entry.key.as_str()));
        let (Some(act), None) = (acts.next(), acts.next()) else {
            self.found.push(
                Problem::new("E0130", node.span.clone(), "a message needs exactly one action")
                    .label(format!("use one of {}", backticked(ACTS)))
                    .help("write each message as its own list entry, such as `{ approve: CHECK }`"),
            );
            return None;
        };
        let after_ms = node.entry("after").and_then(|entry| self.duration_ms(entry));
        let act = match act.key.as_str() {
            "approve" => MessageAct::Approve(self.check_ref_of_value(act)?),
            "deny" => MessageAct::Deny(self.check_ref_of_value(act)?),
            "answer" => {
                let Some(text) = node.entry("text") else {
                    self.missing(node, "an answer", "text");
                    return None;
                };
                MessageAct::Answer(self.check_ref_of_value(act)?, self.text(text)?)
            }
            "assume" => {
                let Some(what) = node.entry("as") else {
                    self.missing(node, "an assumption", "as");
                    return None;
                };
                MessageAct::Assume(self.check_ref_of_value(act)?, self.word(&what.value, "as", ASSUMPTIONS)?)
            }
            "wait" => MessageAct::Wait { ms: self.duration_ms(act)? },
            _ => MessageAct::Cancel,
        };
        Some(TestMessage { after_ms, act })
    }

    /// `id: 120`, a size; or `id: {size, content}`.
    fn artifact(&mut self, entry: &Entry) -> Option<TestArtifact> {
        let mut artifact =
            TestArtifact { id: entry.key.clone(), span: entry.key_span.clone(), size: 0, content: None };
        if entry.value.number().is_some() {
            artifact.size = self.whole_number(entry)?;
            return Some(artifact);
        }
        let mut size = None;
        for part in self.map(&entry.value, "an artifact", &["size", "content"]) {
            match part.key.as_str() {
                "size" => size = self.whole_number(part),
                _ => artifact.content = Some(part.value.json()),
            }
        }
        let written = artifact.content.as_ref().map_or(1, |content| content.to_string().len() as u64);
        artifact.size = size.unwrap_or(written);
        Some(artifact)
    }

    fn expectation(&mut self, node: &Node) -> Expectation {
        const KEYS: &[&str] = &["run", "checks", "routes", "issues", "missing", "warnings"];
        let mut expect = Expectation::default();
        let entries = self.map(node, "`expect`", KEYS);
        if node.map().is_some_and(<[Entry]>::is_empty) {
            self.missing(node, "`expect`", "run");
        }
        for entry in entries {
            match entry.key.as_str() {
                "run" => expect.run = self.run_status(entry),
                "checks" => {
                    for check in self.any_map(&entry.value, "`checks`") {
                        if let (Some(check_ref), Some(expected)) =
                            (self.check_ref_of_key(check), self.expected_check(check))
                        {
                            expect.checks.push((check_ref, expected));
                        }
                    }
                }
                "routes" => {
                    let routes = self.texts(entry);
                    expect.routes = Some(routes.iter().map(|route| tidy_route(route)).collect());
                }
                "issues" => {
                    for check in self.any_map(&entry.value, "`issues`") {
                        if let Some(check_ref) = self.check_ref_of_key(check) {
                            expect.issues.push((check_ref, self.texts(check)));
                        }
                    }
                }
                "missing" => expect.missing = Some(self.texts(entry)),
                "warnings" => expect.warnings = Some(self.texts(entry)),
                _ => {}
            }
        }
        expect
    }

    fn run_status(&mut self, entry: &Entry) -> Option<String> {
        let text = self.text(entry)?;
        if RunStatus::parse(&text).is_some() || ReasonCode::parse(&text).is_some() {
            return Some(text);
        }
        let known = RunStatus::ALL.iter().map(|status| status.as_str());
        let known: Vec<&str> = known.chain(ReasonCode::ALL.iter().map(|code| code.as_str())).collect();
        self.found.push(
            Problem::new("E0108", entry.value.span.clone(), format!("unknown run status `{text}`"))
                .label("neither a status nor a reason code")
                .maybe_help(did_you_mean(&text, known)),
        );
        None
    }

    fn expected_check(&mut self, entry: &Entry) -> Option<ExpectedCheck> {
        let node = &entry.value;
        if node.map().is_none() {
            let status = self.word(node, &entry.key, STATUSES)?;
            return Some(ExpectedCheck { status: Some(status), ..ExpectedCheck::default() });
        }
        let mut expected = ExpectedCheck::default();
        for part in self.map(node, "an expected check", &["status", "skipped", "runs", "output"]) {
            match part.key.as_str() {
                "status" => expected.status = self.word(&part.value, "status", STATUSES),
                "skipped" => {
                    let reasons: Vec<(&str, SkipReason)> =
                        SkipReason::ALL.iter().map(|reason| (reason.as_str(), *reason)).collect();
                    let reason = self.word(&part.value, "skipped", &reasons)?;
                    expected.status = Some(CheckStatus::Skipped);
                    expected.skip_reason = Some(reason.as_str().to_owned());
                }
                "runs" => expected.runs = self.whole_number(part),
                "output" => expected.output = Some(part.value.json()),
                _ => {}
            }
        }
        Some(expected)
    }
}

/// Normalises `a->b`, `a → b` and `a -> b`.
fn tidy_route(route: &str) -> String {
    let parts: Vec<&str> = route.split("->").flat_map(|part| part.split('→')).map(str::trim).collect();
    parts.join(" -> ")
}

#[cfg(test)]
mod tests {
    use super::super::read_tests;

    /// The problems of a text as `line:column code message`. Each has a label and a help.
    fn problems(text: &str) -> Vec<String> {
        let found = read_tests(text, "x.test.yaml").diagnostics;
        for one in &found {
            assert!(!one.label.is_empty() && one.help.is_some(), "{one:?}");
        }
        found.iter().map(|one| format!("{}:{} {} {}", one.line, one.column, one.code, one.message)).collect()
    }

    #[test]
    fn every_problem_is_reported_with_its_line() {
        let text = "\
playbook: a.yaml
tests:
  one:
    answer: {}
    answers:
      build: {exit: 300}
      each[x]: {}
      post: {exit: 1, timeout: true}
    messages: [{approve: a, deny: b}, {assume: a, as: maybe}, {answer: ask}]
    expect:
      run: finished
      checks: {build: broken, post: {skipped: because}}
  two: {}
";
        assert_eq!(
            problems(text),
            [
                "4:5 E0103 a test has no key `answer`",
                "6:21 E0105 `exit` must be a number from 0 to 255",
                "7:7 E0105 invalid item `each[x]`",
                "8:13 E0130 `exit`, `signal` and `timeout` are mutually exclusive",
                "9:16 E0130 a message needs exactly one action",
                "9:55 E0108 `as` cannot be `maybe`",
                "9:63 E0106 an answer needs `text`",
                "11:12 E0108 unknown run status `finished`",
                "12:23 E0108 `build` cannot be `broken`",
                "12:47 E0108 `skipped` cannot be `because`",
                "13:3 E0106 a test needs `expect`",
            ]
        );
    }

    #[test]
    fn a_file_without_tests_or_expectations_is_rejected() {
        assert_eq!(problems(""), ["1:1 E0109 the file is empty"]);
        assert_eq!(problems("playbook: a.yaml\ntests: {}\n"), ["2:1 E0106 `tests` is empty"]);
        assert_eq!(
            problems("tests: {a: {expect: {run: completed}}}"),
            ["1:1 E0106 a test file needs `playbook`"]
        );
        assert_eq!(problems("playbook: a\ntests: {a: {expect: {}}}"), ["2:21 E0106 `expect` needs `run`"]);
    }

    #[test]
    fn a_valid_file_has_no_problems() {
        let text = "\
playbook: a.yaml
tests:
  one:
    event: pr_opened
    answers: {build: [{exit: 1, takes: 2s}, {output: {n: 1}}]}
    messages: {approve: post}
    artifacts: {review: 100, data: {content: {a: 1}}}
    expect: {run: run.completed.ok, checks: {'each[0][1]': succeeded}, routes: ['a→b']}
";
        assert_eq!(problems(text), Vec::<String>::new());
        let file = read_tests(text, "x").file.expect("a valid file");
        let case = &file.tests[0];
        assert_eq!(case.expect.routes.as_deref(), Some(&["a -> b".to_owned()][..]));
        assert_eq!(case.expect.checks[0].0.scope.indices(), [0, 1]);
        assert_eq!(case.artifacts.as_ref().map(Vec::len), Some(2));
    }
}
