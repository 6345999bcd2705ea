//! Compares a test file with its playbook.

use escrow_model::Plan;

use super::{CheckRef, MessageAct, TestCase, TestFile};
use crate::diagnostic::{Diagnostics, Problem};
use crate::suggest::suggest_or_list;

pub(super) fn validate(file: &TestFile, plan: &Plan, found: &mut Diagnostics) {
    let mut validator = Validator { plan, found };
    for case in &file.tests {
        validator.case(case);
    }
}

struct Validator<'a> {
    plan: &'a Plan,
    found: &'a mut Diagnostics,
}

impl Validator<'_> {
    fn case(&mut self, case: &TestCase) {
        let check_refs = case.answers.iter().map(|(check_ref, _)| check_ref);
        let check_refs = check_refs.chain(case.expect.checks.iter().map(|(check_ref, _)| check_ref));
        for check_ref in
            check_refs.chain(case.expect.issues.iter().map(|(check_ref, _)| check_ref)).chain(&case.only)
        {
            self.check_ref(check_ref);
        }
        for message in &case.messages {
            match &message.act {
                MessageAct::Approve(check_ref)
                | MessageAct::Deny(check_ref)
                | MessageAct::Answer(check_ref, _)
                | MessageAct::Assume(check_ref, _) => self.check_ref(check_ref),
                MessageAct::Cancel | MessageAct::Wait { .. } => {}
            }
        }
        self.inputs(case);
        for artifact in case.artifacts.iter().flatten() {
            let ids = self.plan.artifacts.expected.iter().map(|expected| expected.id.as_str());
            if !ids.clone().any(|id| id == artifact.id) {
                let help = suggest_or_list(&artifact.id, ids, "artifacts");
                self.found.push(
                    Problem::new(
                        "E0102",
                        artifact.span.clone(),
                        format!("unknown artifact `{}`", artifact.id),
                    )
                    .label("not in the playbook")
                    .help(help),
                );
            }
        }
        if case.artifacts.is_none() && case.expect.missing.is_some() {
            self.found.push(
                Problem::new("E0106", case.span.clone(), "`missing` requires `artifacts`")
                    .label("without `artifacts`, the test ignores the artifact contract"),
            );
        }
    }

    fn check_ref(&mut self, check_ref: &CheckRef) {
        let Some(index) = self.plan.find(&check_ref.check) else {
            let names = self.plan.checks.iter().map(|check| check.name.as_str());
            self.found.push(
                Problem::new("E0102", check_ref.span.clone(), format!("unknown check `{}`", check_ref.check))
                    .label("not in the playbook")
                    .help(suggest_or_list(&check_ref.check, names, "checks")),
            );
            return;
        };
        let depth = self.plan.check(index).fan.len();
        if !check_ref.scope.is_root() && check_ref.scope.depth() != depth {
            let label = match depth {
                0 => format!("`{}` has no items", check_ref.check),
                1 => "its items have one index".to_owned(),
                _ => format!("its items have {depth} indices"),
            };
            let message = format!("unknown item `{}{}`", check_ref.check, check_ref.scope);
            let help = match depth {
                0 => format!("write `{}`", check_ref.check),
                _ => format!("write `{}{}`", check_ref.check, "[0]".repeat(depth)),
            };
            self.found.push(Problem::new("E0117", check_ref.span.clone(), message).label(label).help(help));
        }
    }

    fn inputs(&mut self, case: &TestCase) {
        for input in &case.inputs {
            match self.plan.inputs.get(&input.name) {
                None => {
                    let names = self.plan.inputs.keys().map(String::as_str);
                    let message = format!("unknown input `{}`", input.name);
                    self.found.push(
                        Problem::new("E0102", input.span.clone(), message)
                            .label("not in the playbook")
                            .help(suggest_or_list(&input.name, names, "inputs")),
                    );
                }
                Some(declared) if !declared.kind.admits(&input.value) => {
                    let message = format!("`{}` must be {}", input.name, declared.kind.with_article());
                    let label = format!("this is `{}`", input.value);
                    self.found.push(Problem::new("E0105", input.span.clone(), message).label(label));
                }
                Some(_) => {}
            }
        }
        for (name, input) in &self.plan.inputs {
            let given = case.inputs.iter().any(|given| given.name == *name);
            if input.required && input.default.is_none() && !given {
                self.found.push(
                    Problem::new(
                        "E0106",
                        case.span.clone(),
                        format!("the playbook requires the input `{name}`"),
                    )
                    .label("add it under `inputs`"),
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::read_tests;

    const PLAYBOOK: &str = "\
inputs: {count: {type: number}}
artifacts: {expected: [{id: notes, path: notes.md}]}
checks:
  list: {type: noop, forEach: true, guarantee: Array.isArray(output)}
  each: {type: noop, depends_on: list}
";

    #[test]
    fn unknown_names_are_reported_with_suggestions() {
        let text = "\
playbook: a.yaml
tests:
  one:
    inputs: {cuont: 1, count: many, other: 1}
    artifacts: {note: 3, else: 3}
    answers: {lst: {}, 'list[0]': {}, 'each[0][1]': {}}
    expect: {run: completed, checks: {absent: succeeded}}
";
        let catalog = escrow_model::ProviderSpec {
            name: "noop",
            summary: "does nothing",
            ..escrow_model::ProviderSpec::PURE
        };
        let plan =
            crate::read(PLAYBOOK, "a.yaml", &[catalog], &crate::NoReferences).plan.expect("a valid playbook");
        let file = read_tests(text, "x.test.yaml").file.expect("a valid test file");
        let found = file.validate(&plan, text, "x.test.yaml");
        let shown: Vec<String> = found
            .iter()
            .map(|one| format!("{}:{} {}", one.line, one.column, one.help.as_deref().unwrap_or("-")))
            .collect();
        assert_eq!(
            shown,
            [
                "4:14 did you mean `count`?",
                "4:24 `escrow explain E0105` shows how each type of value is written",
                "4:37 the inputs are `count`",
                "5:17 did you mean `notes`?",
                "5:26 the artifacts are `notes`",
                "6:15 did you mean `list`?",
                "6:24 write `list`",
                "6:39 write `each[0]`",
                "7:39 the checks are `list`, `each`",
            ]
        );
        assert!(found.iter().all(|one| !one.label.is_empty()), "{found:?}");
    }
}
