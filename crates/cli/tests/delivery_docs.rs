//! Every example of the pages about delivery, run in a shell as a reader would.

mod desk;

use std::process::Stdio;

use desk::{Desk, Done};

/// The fenced blocks of a page: language and text.
fn blocks(page: &str) -> Vec<(&str, String)> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let inside: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            blocks.push((language, inside.join("\n")));
        }
    }
    blocks
}

/// What differs from run to run, made the same: ids and times.
fn steady(text: &str) -> String {
    let words = text.split_inclusive([' ', '\n']).map(|word| {
        let bare = word.trim_end();
        let rest = &word[bare.len()..];
        let bare = bare.trim_matches(|c| "()`".contains(c));
        let is_id = bare.len() == 22 && ["o_", "r_", "i_"].iter().any(|prefix| bare.starts_with(prefix));
        let shape: String = bare.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
        let is_time = ["9999-99-99", "99:99:99", "9999-99-99T99:99:99.999Z"].contains(&shape.as_str())
            || ["ms", "s"]
                .iter()
                .any(|unit| bare.strip_suffix(unit).is_some_and(|number| number.parse::<f64>().is_ok()));
        if is_id {
            format!("ID{rest}")
        } else if bare.starts_with('/') && bare.ends_with("/out") {
            format!("DIRECTORY{rest}")
        } else if is_time {
            format!("TIME{rest}")
        } else {
            word.to_owned()
        }
    });
    // Columns are as wide as what stands in them, which varies with it.
    let squeezed = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    words.collect::<String>().lines().map(squeezed).collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

fn check(page: &str, shown_min: usize) {
    let desk = Desk::new();
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_escrow")).parent().expect("its folder");
    let mut shown = 0;
    for (language, text) in blocks(page) {
        let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
        match (language, first.strip_prefix("# ")) {
            // The page names the file in a comment that the file itself does not have.
            ("json" | "markdown", Some(name)) => drop(desk.write(name, &format!("{rest}\n"))),
            ("yaml", Some(name)) => drop(desk.write(name, &text)),
            ("console", _) => {
                let command = first.strip_prefix("$ ").expect("a command");
                let mut shell = desk.command(&[]);
                let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
                let mut sh = std::process::Command::new("sh");
                sh.args(["-c", &format!("{{ {command}; }} 2>&1")]).current_dir(desk.path()).env("PATH", path);
                for (name, value) in shell.stdin(Stdio::null()).get_envs() {
                    if value.is_none() {
                        sh.env_remove(name);
                    }
                }
                let done = Done::from(sh.stdin(Stdio::null()).output().expect("a shell"));
                // Ui is not buffered and data is, so their order in one pipe is not that of a terminal.
                let sorted = |text: &str| {
                    let text = steady(text);
                    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
                    lines.sort();
                    lines
                };
                assert_eq!(sorted(&done.stdout), sorted(rest), "{command}\n{}", done.stdout);
                shown += 1;
            }
            _ => {}
        }
    }
    assert!(shown >= shown_min, "{shown} commands were shown");
}

#[test]
fn what_the_page_about_rules_shows_is_what_is_printed() {
    check(include_str!("../../../docs/rules.md"), 5);
}

#[test]
fn what_the_page_about_outcomes_shows_is_what_is_printed() {
    check(include_str!("../../../docs/outcomes.md"), 5);
}

#[test]
fn what_the_page_about_invocations_shows_is_what_is_printed() {
    check(include_str!("../../../docs/invocations.md"), 6);
}

#[test]
fn what_the_page_about_attention_shows_is_what_is_printed() {
    check(include_str!("../../../docs/attention.md"), 6);
}

#[test]
fn what_the_page_about_artifacts_shows_is_what_is_printed() {
    check(include_str!("../../../docs/artifacts.md"), 6);
}

#[test]
fn what_the_page_about_ai_checks_shows_is_what_is_printed() {
    check(include_str!("../../../docs/ai.md"), 1);
}

#[test]
fn what_the_page_about_agents_shows_is_what_is_printed() {
    check(include_str!("../../../docs/agents.md"), 5);
}
