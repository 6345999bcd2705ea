//! The lines of scripted runs, as a live view, a page or a log would list them.

use escrow_app::timeline::{Item, Line, Mark, Timeline};
use escrow_testkit::{Options, play};

/// Plays a plan in a scripted world and compares the lines of its timeline. Spaces do not matter.
#[track_caller]
fn check(plan: &str, script: &[&str], expected: &str) {
    let played = play(plan, script, &Options::default());
    let whole: Vec<Line> = lines(&Timeline::new(played.run.plan_of()).read(&played.journal));
    let mut timeline = Timeline::new(played.run.plan_of());
    let one_by_one: usize =
        played.journal.iter().map(|entry| lines(&timeline.read(std::slice::from_ref(entry))).len()).sum();
    assert!(one_by_one >= whole.len(), "smaller batches lose nothing");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let told: Vec<String> = whole.iter().map(|line| words(&show(line))).collect();
    let expected: Vec<String> = expected.lines().map(words).filter(|line| !line.is_empty()).collect();
    assert_eq!(told, expected, "\n{}\n", told.join("\n"));
}

fn lines(items: &[Item<'_>]) -> Vec<Line> {
    items.iter().flat_map(Item::lines).collect()
}

fn show(line: &Line) -> String {
    let mark = match line.mark {
        Mark::Succeeded => "+",
        Mark::Failed => "x",
        Mark::Retrying => "~",
        Mark::Skipped => "-",
        Mark::Routed => ">",
        Mark::Remark => "!",
    };
    format!("{mark} {} {}", line.label, line.note)
}

#[test]
fn the_longest_list_is_known_once_it_is_given() {
    let played = play("list forEach; each<list", &["list: [1,2,3]"], &Options::default());
    let mut timeline = Timeline::new(played.run.plan_of());
    assert_eq!(timeline.items_max(), 0);
    drop(timeline.read(&played.journal));
    assert_eq!(timeline.items_max(), 3);
}

#[test]
fn a_verdict_and_a_skip_are_lines_of_their_own() {
    check(
        "a; b<a",
        &["a: exit 1"],
        "
        x a exit code 1
        - b a dependency did not succeed: `a` did not succeed
        ",
    );
}

#[test]
fn a_skip_by_an_evaluation_error_is_not_said_to_be_unneeded() {
    check(
        "n; a<n {if: outputs.n.x.y > 1}; b<n {assume: outputs.n.x.y > 1}; c<n {if: outputs.n > 2}",
        &["n: 1"],
        "
        + n
        ! a `if` could not be evaluated: TypeError: Cannot read properties of undefined (reading 'y')
        - a `if` could not be evaluated: TypeError: Cannot read properties of undefined (reading 'y')
        - c not needed: `outputs.n > 2` is false
        ! b `assume` could not be evaluated: TypeError: Cannot read properties of undefined (reading 'y')
        - b `assume` could not be evaluated: TypeError: Cannot read properties of undefined (reading 'y')
        ",
    );
}

#[test]
fn a_retry_and_the_verdict_that_led_to_it_are_one_line() {
    check(
        "a {on_fail: {retry: {max: 1}}}",
        &["a: exit 1 then 1"],
        "
        ~ a exit code 1: retry 1 in 1.0s
        + a flaky: failed once before
        ",
    );
}

#[test]
fn a_fan_out_is_one_line_and_its_failed_items_are_named() {
    check(
        "list forEach; each<list",
        &["list: [1,2,3]", "each[1]: exit 1"],
        "
        + list
        x each[1] exit code 1
        x each 2 of 3 items succeeded, 1 failed
        ",
    );
}
