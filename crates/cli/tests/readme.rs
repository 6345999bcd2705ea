//! What the README shows is what happens.

mod desk;

use desk::Desk;

const README: &str = include_str!("../../../README.md");

fn playbook() -> &'static str {
    let start = README.find("```yaml\n").expect("a playbook") + "```yaml\n".len();
    let length = README[start..].find("```").expect("its end");
    &README[start..start + length]
}

#[test]
fn the_playbook_of_the_readme_waits_for_approval_and_then_delivers() {
    let desk = Desk::new();
    let (code, document) = desk.run(playbook());
    assert_eq!(code, Some(4), "{document}");
    assert_eq!(document["run"]["reason"]["code"], "run.waiting.approval");
    let waits = desk.escrow(&["approvals", "--output", "json"]).json();
    let id = waits["approvals"][0]["id"].as_str().expect("a wait").to_owned();
    assert_eq!(desk.escrow(&["approve", &id]).code, Some(0));
    assert_eq!(desk.show("last")["artifacts"]["status"], "passed");
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
