//! A prompt is a playbook of one agent.

use escrow_model::Field;
use escrow_playbook::read;

use crate::support::AI;

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
    let reading = read(REVIEW, "code-review.playbook.yaml", &[AI]);
    assert_eq!(reading.diagnostics, []);
    let plan = reading.plan.expect("it is good");
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
fn a_harness_that_there_is_not_is_said_where_the_model_is() {
    let reading = read(&REVIEW.replace("claude/", "cloude/"), "x.yaml", &[AI]);
    let found = &reading.diagnostics[0];
    assert_eq!((found.code, found.line), ("E0108", 3));
    assert_eq!(found.help.as_deref(), Some("did you mean `claude`?"));
}

#[test]
fn a_playbook_without_a_name_is_called_as_its_file() {
    let text = "checks: { a: { type: ai, prompt: hi } }";
    for (file, name) in
        [("a/b/review.playbook.yaml", "review"), ("x.yml", "x"), ("plain", "plain"), (".yaml", "playbook")]
    {
        assert_eq!(read(text, file, &[AI]).plan.expect("it is good").name, name);
    }
}
