//! The memory of a run.

use escrow_testkit::{Options, check, play, tells};

#[test]
fn memory_is_written_by_checks_and_read_by_expressions() {
    tells(
        r#"set {type: memory, operation: set, key: k, value: {n: 1}}
           see<set {if: "memory.get('k').n === 1"}"#,
        &[],
        "set succeeded x1
         see succeeded x1
         run.completed.ok",
    );
}

#[test]
fn every_operation_says_what_it_came_to() {
    let played = tells(
        r#"a {type: memory, operation: increment, key: n}
           b<a {type: memory, operation: increment, key: n, value: 4}
           c<b {type: memory, operation: append, key: l, value: x}
           d<c {type: memory, operation: list}
           e<d {type: memory, operation: delete, key: l}
           f<e {type: memory, operation: get, key: n}
           g<f {type: memory, operation: get, key: l}"#,
        &[],
        "a succeeded x1
         b succeeded x1
         c succeeded x1
         d succeeded x1
         e succeeded x1
         f succeeded x1
         g succeeded x1
         run.completed.ok",
    );
    let outputs: Vec<String> = ["a", "b", "c", "d", "e", "f", "g"]
        .iter()
        .map(|name| played.check(name)["output"].to_string())
        .collect();
    assert_eq!(outputs, ["1", "5", r#"["x"]"#, r#"["n","l"]"#, "true", "5", "null"]);
}

#[test]
fn what_cannot_be_counted_is_a_failure() {
    tells(
        "a {type: memory, operation: increment, key: k, value: notnum, on_fail: {run: [fix]}}; fix",
        &[],
        "
        a failed x1 memory/exception
        fix succeeded x1
        run.failed.exception",
    );
}

#[test]
fn namespaces_are_apart() {
    tells(
        r#"a {type: memory, operation: set, key: k, value: 1, namespace: x}
           b<a {if: "memory.has('k', 'x') && !memory.has('k')"}"#,
        &[],
        "a succeeded x1
         b succeeded x1
         run.completed.ok",
    );
}

#[test]
fn changes_of_memory_are_in_the_journal() {
    check(
        r#"a {type: script, content: "memory.set('k', 2); return memory.get('k')"}"#,
        &[],
        "
        started a #1
        memory k 2
        succeeded a
        run.completed.ok",
    );
}

#[test]
fn what_a_command_writes_to_its_environment_joins_env_for_later_checks() {
    tells(
        r#"a; b<a {if: "env.READY === 'yes'", note: "{{ env.READY }}"}"#,
        &["a: env READY=yes"],
        "
        a succeeded x1
        b succeeded x1
        run.completed.ok",
    );
}

#[test]
fn templates_read_memory_by_its_keys() {
    let played = play(
        r#"keep {type: memory, operation: set, key: tries, value: 3}
           say<keep {type: log, message: "{{ memory.tries }} of {{ memory.most | default(9) }}"}"#,
        &[],
        &Options::default(),
    );
    assert_eq!(played.check("say")["output"]["message"], "3 of 9");
}
