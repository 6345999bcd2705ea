//! What the README shows is what happens.

mod desk;

use desk::Desk;

const README: &str = include_str!("../../../README.md");

fn first_yaml(page: &'static str) -> &'static str {
    let start = page.find("```yaml\n").expect("a playbook") + "```yaml\n".len();
    let length = page[start..].find("```").expect("its end");
    &page[start..start + length]
}

#[test]
fn the_playbook_of_the_readme_waits_for_approval_and_then_delivers() {
    let desk = Desk::new();
    let (code, document) = desk.run(first_yaml(README));
    assert_eq!(code, Some(4), "{document}");
    assert_eq!(document["run"]["reason"]["code"], "run.waiting.approval");
    let waits = desk.escrow(&["approvals", "--output", "json"]).json();
    let id = waits["approvals"][0]["id"].as_str().expect("a wait").to_owned();
    assert_eq!(desk.escrow(&["approve", &id]).code, Some(0));
    assert_eq!(desk.show("last")["artifacts"]["status"], "passed");
}

#[test]
fn the_playbook_of_the_reference_delivers() {
    const PAGE: &str = include_str!("../../../docs/playbooks.md");
    let desk = Desk::new();
    let (code, document) = desk.run(first_yaml(PAGE));
    assert_eq!(code, Some(0), "{document}");
    assert_eq!(document["artifacts"]["produced"].as_array().map(Vec::len), Some(2));
    assert_eq!(document["artifacts"]["missing_optional"][0]["id"], "notes");
}

#[test]
fn the_playbook_about_commands_delivers() {
    const PAGE: &str = include_str!("../../../docs/commands.md");
    let (code, document) = Desk::new().run(first_yaml(PAGE));
    assert_eq!(code, Some(0), "{document}");
}

#[test]
fn every_key_and_every_provider_is_in_the_reference() {
    const PAGE: &str = include_str!("../../../docs/playbooks.md");
    let desk = Desk::new();
    let schema = desk.escrow(&["schema", "playbook"]).json();
    let top = schema["properties"].as_object().expect("the keys of a playbook");
    for key in top.keys().filter(|key| !["prompt", "model"].contains(&key.as_str())) {
        assert!(PAGE.contains(&format!("`{key}")), "`{key}` is not in the reference");
    }
    for provider in escrow_runtime::catalog() {
        assert!(
            PAGE.contains(&format!("| `{}` |", provider.name)),
            "`{}` is not in the reference",
            provider.name
        );
    }
}

#[test]
fn every_verb_is_in_the_readme() {
    let desk = Desk::new();
    let help = desk.escrow(&["--help"]).stdout;
    let verbs = help.lines().skip_while(|line| !line.starts_with("Commands:")).skip(1);
    for line in verbs.take_while(|line| !line.is_empty()) {
        let Some(verb) = line.split_whitespace().next().filter(|verb| *verb != "help") else { continue };
        assert!(README.contains(&format!("`{verb}")), "`{verb}` is not in the README");
    }
}
