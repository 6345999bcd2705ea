//! A schema is judged within a budget: neither hostile output nor a hostile schema can exhaust time or memory.

mod desk;

use std::time::{Duration, Instant};

use desk::Desk;

/// Runs a check with this schema, given in one line, and this output.
#[track_caller]
fn refused(schema: &str, output: &str, says: &str) {
    let desk = Desk::new();
    desk.write("output.json", output);
    let began = Instant::now();
    let (code, document) = desk.run(&format!(
        "version: '1.0'\nchecks:\n  it:\n    type: command\n    exec: cat output.json\n    schema: {schema}\n"
    ));
    assert_eq!(code, Some(1), "{document}");
    let issue = &document["checks"]["it"]["issues"][0];
    assert_eq!(issue["rule_id"], "contract/schema_validation_failed", "{document}");
    assert!(issue["message"].as_str().is_some_and(|message| message.contains(says)), "{issue}");
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
}

#[test]
fn output_that_doubles_the_work_with_each_level_breaks_the_contract() {
    let alternative = "{properties: {child: {$ref: '#/$defs/node'}}, required: [never]}";
    let schema =
        format!("{{$ref: '#/$defs/node', $defs: {{node: {{anyOf: [{alternative}, {alternative}]}}}}}}");
    for depth in [18, 24, 60] {
        let output = format!("{}{{}}{}", r#"{"child":"#.repeat(depth), "}".repeat(depth));
        refused(&schema, &output, "not valid");
    }
}

#[test]
fn definitions_that_multiply_break_the_contract() {
    let next = |number: usize| format!("{{$ref: '#/$defs/d{}'}}", number + 1);
    let definitions = (0..18).map(|number| {
        let next = next(number);
        format!("d{number}: {{allOf: [{next}, {next}, {next}, {next}]}}, ")
    });
    let definitions: String = definitions.collect();
    let schema = format!("{{$ref: '#/$defs/d0', $defs: {{{definitions}d18: {{type: object}}}}}}");
    refused(&schema, "{}", "more than 20000000 steps");
}

#[test]
fn a_schema_that_refers_to_itself_and_never_ends_does_not_load() {
    for schema in
        ["{$ref: '#'}", "{$defs: {a: {$ref: '#/$defs/b'}, b: {$ref: '#/$defs/a'}}, $ref: '#/$defs/a'}"]
    {
        let desk = Desk::new();
        desk.write(
            "playbook.yaml",
            &format!("version: '1.0'\nchecks:\n  it: {{type: command, exec: echo, schema: {schema}}}\n"),
        );
        let done = desk.escrow(&["check", "playbook.yaml"]);
        assert_eq!(done.code, Some(2), "{}", done.stderr);
        assert!(done.stderr.contains("E0120"), "{}", done.stderr);
        assert!(done.stderr.contains("the schema refers to itself"), "{}", done.stderr);
    }
}
