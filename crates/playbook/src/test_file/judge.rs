//! Whether a test speaks of a playbook as it is.

use escrow_model::Plan;

use super::{MessageAct, Place, TestCase, TestFile};
use crate::diagnostic::{Diagnostics, Problem};
use crate::suggest::near_or_all;

pub(super) fn judge(file: &TestFile, plan: &Plan, found: &mut Diagnostics) {
    let mut judge = Judge { plan, found };
    for case in &file.tests {
        judge.case(case);
    }
}

struct Judge<'a> {
    plan: &'a Plan,
    found: &'a mut Diagnostics,
}

impl Judge<'_> {
    fn case(&mut self, case: &TestCase) {
        let places = case.answers.iter().map(|(place, _)| place);
        let places = places.chain(case.expect.checks.iter().map(|(place, _)| place));
        for place in places.chain(case.expect.issues.iter().map(|(place, _)| place)).chain(&case.only) {
            self.place(place);
        }
        for message in &case.messages {
            match &message.act {
                MessageAct::Approve(place)
                | MessageAct::Deny(place)
                | MessageAct::Answer(place, _)
                | MessageAct::Assume(place, _) => self.place(place),
                MessageAct::Cancel | MessageAct::Wait { .. } => {}
            }
        }
        self.inputs(case);
        for artifact in case.artifacts.iter().flatten() {
            let ids = self.plan.artifacts.expected.iter().map(|expected| expected.id.as_str());
            if !ids.clone().any(|id| id == artifact.id) {
                let help = near_or_all(&artifact.id, ids, "artifacts");
                self.found.push(
                    Problem::new(
                        "E0102",
                        artifact.span.clone(),
                        format!("the playbook promises no artifact `{}`", artifact.id),
                    )
                    .label("the playbook does not have it")
                    .help(help),
                );
            }
        }
        if case.artifacts.is_none() && case.expect.missing.is_some() {
            self.found.push(
                Problem::new("E0106", case.span.clone(), "a test that expects `missing` needs `artifacts`")
                    .label("without `artifacts` the artifact contract is no part of the test"),
            );
        }
    }

    fn place(&mut self, place: &Place) {
        let Some(index) = self.plan.find(&place.check) else {
            let names = self.plan.checks.iter().map(|check| check.name.as_str());
            self.found.push(
                Problem::new("E0102", place.span.clone(), format!("no check is called `{}`", place.check))
                    .label("the playbook does not have it")
                    .help(near_or_all(&place.check, names, "checks")),
            );
            return;
        };
        let depth = self.plan.check(index).fan.len();
        if !place.scope.is_root() && place.scope.depth() != depth {
            let label = match depth {
                0 => format!("`{}` has no items", place.check),
                1 => "its items have one index".to_owned(),
                _ => format!("its items have {depth} indices"),
            };
            let message = format!("`{}{}` is no item", place.check, place.scope);
            let help = match depth {
                0 => format!("write `{}`", place.check),
                _ => format!("write `{}{}`", place.check, "[0]".repeat(depth)),
            };
            self.found.push(Problem::new("E0117", place.span.clone(), message).label(label).help(help));
        }
    }

    fn inputs(&mut self, case: &TestCase) {
        for input in &case.inputs {
            match self.plan.inputs.get(&input.name) {
                None => {
                    let names = self.plan.inputs.keys().map(String::as_str);
                    let message = format!("the playbook has no input `{}`", input.name);
                    self.found.push(
                        Problem::new("E0102", input.span.clone(), message)
                            .label("the playbook does not have it")
                            .help(near_or_all(&input.name, names, "inputs")),
                    );
                }
                Some(declared) if !declared.kind.admits(&input.value) => {
                    let message = format!("`{}` must be {}", input.name, declared.kind.with_article());
                    let label = format!("`{}` is given", input.value);
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
                        format!("the playbook needs the input `{name}`"),
                    )
                    .label("give it under `inputs`"),
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
    fn what_the_playbook_does_not_have_is_told_with_what_it_has() {
        let text = "\
playbook: a.yaml
tests:
  one:
    inputs: {cuont: 1, count: many, other: 1}
    artifacts: {note: 3, else: 3}
    answers: {lst: {}, 'list[0]': {}, 'each[0][1]': {}}
    expect: {run: completed, checks: {nobody: succeeded}}
";
        let catalog = escrow_model::ProviderSpec {
            name: "noop",
            summary: "does nothing",
            keys: &[],
            mutates: escrow_model::Mutates::Never,
            home: escrow_model::Home::Engine,
            timeout_ms: 0,
        };
        let plan = crate::read(PLAYBOOK, "a.yaml", &[catalog]).plan.expect("a good playbook");
        let file = read_tests(text, "x.test.yaml").file.expect("a good test file");
        let found = file.judge(&plan, text, "x.test.yaml");
        let told: Vec<String> = found
            .iter()
            .map(|one| format!("{}:{} {}", one.line, one.column, one.help.as_deref().unwrap_or("-")))
            .collect();
        assert_eq!(
            told,
            [
                "4:14 did you mean `count`?",
                "4:24 `escrow explain E0105` shows how each kind of value is written",
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
