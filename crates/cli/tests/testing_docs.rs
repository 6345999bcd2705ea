//! Every example of `docs/testing.md`, run.

mod desk;

use desk::Desk;

const PAGE: &str = include_str!("../../../docs/testing.md");

/// The fenced blocks of the page: language and text.
fn blocks() -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut lines = PAGE.lines();
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let inside: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            blocks.push((language.to_owned(), inside.join("\n")));
        }
    }
    blocks
}

/// A desk with every file of the page.
fn desk() -> Desk {
    let desk = Desk::new();
    for (_, text) in blocks().iter().filter(|(language, _)| language == "yaml") {
        let name = text.lines().next().and_then(|line| line.strip_prefix("# ")).expect("a name");
        desk.write(name, text);
    }
    desk
}

#[test]
fn what_the_page_shows_is_what_is_printed() {
    let desk = desk();
    let mut shown = 0;
    for (_, text) in blocks().iter().filter(|(language, _)| language == "console") {
        let (command, expected) = text.split_once('\n').expect("a command and its output");
        let words: Vec<&str> = command.strip_prefix("$ escrow ").expect("a command").split(' ').collect();
        let done = desk.escrow(&words);
        let printed = format!("{}{}", done.stderr, done.stdout);
        assert_eq!(printed.trim_end(), expected, "{command}");
        shown += 1;
    }
    assert_eq!(shown, 3);
}

#[test]
fn the_good_files_pass_and_the_others_say_why_not() {
    let desk = desk();
    for (file, code) in
        [("release.test.yaml", 0), ("notes.test.yaml", 0), ("wrong.test.yaml", 1), ("slip.test.yaml", 2)]
    {
        let done = desk.escrow(&["test", file, "--output", "json"]);
        assert_eq!(done.code, Some(code), "{file}: {}", done.stdout);
        assert_eq!(done.json()["files"][0]["file"], file);
    }
    assert_eq!(desk.escrow(&["test", "."]).code, Some(2), "a bad file is worse than a failed test");
    assert_eq!(desk.escrow(&["test", "no-such.test.yaml"]).code, Some(2));
    assert_eq!(desk.escrow(&["test", "release.test.yaml", "--filter", "no such test"]).code, Some(2));
    assert_eq!(desk.escrow(&["test", "wrong.test.yaml", "--filter", "too short"]).code, Some(1));
}
