//! Whether a test speaks of a playbook as it is.

use escrow_model::Plan;

use super::{LetterAct, Place, TestCase, TestFile};
use crate::diagnostic::{Diagnostics, Problem};
use crate::suggest::did_you_mean;

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
        for letter in &case.letters {
            match &letter.act {
                LetterAct::Approve(place)
                | LetterAct::Deny(place)
                | LetterAct::Answer(place, _)
                | LetterAct::Assume(place, _) => self.place(place),
                LetterAct::Cancel | LetterAct::Wait { .. } => {}
            }
        }
        self.inputs(case);
        for artifact in case.artifacts.iter().flatten() {
            let mut ids = self.plan.artifacts.expected.iter().map(|expected| expected.id.as_str());
            if !ids.clone().any(|id| id == artifact.id) {
                let help = did_you_mean(&artifact.id, ids.by_ref());
                self.found.push(
                    Problem::new(
                        "E0102",
                        artifact.span.clone(),
                        format!("the playbook promises no artifact `{}`", artifact.id),
                    )
                    .maybe_help(help),
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
                    .maybe_help(did_you_mean(&place.check, names)),
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
            self.found.push(Problem::new("E0117", place.span.clone(), message).label(label));
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
                            .maybe_help(did_you_mean(&input.name, names)),
                    );
                }
                Some(declared) if !declared.kind.admits(&input.value) => {
                    let message = format!("`{}` must be {}", input.name, declared.kind.with_article());
                    self.found.push(Problem::new("E0105", input.span.clone(), message));
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
