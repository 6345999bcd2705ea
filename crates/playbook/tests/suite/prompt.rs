//! Playbooks with `prompt` instead of `checks`.

use escrow_model::Field;
use escrow_playbook::{NoReferences, read};

use crate::support::CATALOG;

const REVIEW: &str = "
name: code-review
model: claude/sonnet
prompt: |
  Review the changes in {target} and write review.md.
artifacts:
  expected:
    - { id: review, path: review.md }
";

#[test]
fn a_prompt_is_one_check_called_main() {
    let reading = read(REVIEW, "code-review.playbook.yaml", CATALOG, &NoReferences);
    assert_eq!(reading.diagnostics, []);
    let plan = reading.plan.expect("valid");
    let check = &plan.checks[0];
    assert_eq!((check.name.as_str(), check.provider.as_str(), check.timeout_ms), ("main", "ai", 1_800_000));
    let Field::Text(prompt) = &check.fields["prompt"] else { panic!("a prompt is text") };
    assert_eq!(prompt.source(), "Review the changes in {{ inputs.target }} and write review.md.\n");
    assert_eq!(check.fields["harness"], Field::Plain("claude".into()));
    let Field::Text(model) = &check.fields["model"] else { panic!("a model is text") };
    assert_eq!(model.source(), "sonnet");
    assert!(plan.inputs["target"].required);
    assert_eq!(plan.artifacts.expected.len(), 1);
}

#[test]
fn an_unknown_harness_is_reported_at_the_model() {
    let reading = read(&REVIEW.replace("claude/", "cloude/"), "x.yaml", CATALOG, &NoReferences);
    let found = &reading.diagnostics[0];
    assert_eq!((found.code, found.line), ("E0108", 3));
    assert_eq!(found.help.as_deref(), Some("did you mean `claude`?"));
}

#[test]
fn the_default_name_is_the_file_name() {
    let text = "checks: { a: { type: ai, prompt: hi } }";
    for (file, name) in
        [("a/b/review.playbook.yaml", "review"), ("x.yml", "x"), ("plain", "plain"), (".yaml", "playbook")]
    {
        assert_eq!(read(text, file, CATALOG, &NoReferences).plan.expect("valid").name, name);
    }
}
