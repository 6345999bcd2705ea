//! Every example of `docs/templates.md`, run.

use escrow_expr::JsonScope;
use escrow_template::{ShellScript, Template};
use serde_json::Value;

const PAGE: &str = include_str!("../../../docs/templates.md");

/// The fenced blocks of the page with their language, and the `given` comments as blocks of their own.
fn blocks() -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut lines = PAGE.lines();
    while let Some(line) = lines.next() {
        if let Some(given) = line.strip_prefix("<!-- given: ") {
            blocks.push(("given".to_owned(), given.trim_end_matches(" -->").to_owned()));
        } else if let Some(language) = line.strip_prefix("```") {
            let body: Vec<_> = lines.by_ref().take_while(|line| *line != "```").collect();
            blocks.push((language.to_owned(), body.join("\n")));
        }
    }
    blocks
}

#[test]
fn template_examples_print_what_the_page_says() {
    let blocks = blocks();
    let mut count = 0;
    for example in blocks.windows(3) {
        let [(template, source), (given, scope), (_, expected)] = example else { continue };
        if template != "jinja" {
            continue;
        }
        assert_eq!(given, "given", "{source}");
        let scope: Value = serde_json::from_str(scope).unwrap();
        let printed = Template::parse(source).unwrap().render(&JsonScope(&scope)).unwrap();
        assert_eq!(printed.trim_end(), expected.trim_end());
        count += 1;
    }
    assert_eq!(count, blocks.iter().filter(|(language, _)| language == "jinja").count());
    assert!(count > 0);
}

#[test]
fn scripts_are_rewritten_as_the_page_says() {
    let blocks = blocks();
    let mut count = 0;
    for example in blocks.windows(2) {
        let [(exec, source), (_, expected)] = example else { continue };
        if exec == "exec" {
            assert_eq!(ShellScript::parse(source).unwrap().script(), expected);
            count += 1;
        }
    }
    assert!(count > 0);
}

#[test]
fn refused_scripts_are_refused_and_their_replacements_are_not() {
    let rows: Vec<_> = PAGE.lines().filter(|line| line.starts_with("| `")).collect();
    assert!(rows.len() >= 15, "{rows:?}");
    for row in rows {
        let row = row.replace("\\|", "\u{1}");
        let cells: Vec<_> = row.trim_matches('|').split('|').map(|cell| code(cell.trim())).collect();
        let [refused, instead] = cells.as_slice() else { panic!("{row}") };
        let refused = refused.clone().expect("the left cell is code");
        assert!(ShellScript::parse(&refused).is_err(), "{refused} is accepted");
        if let Some(instead) = instead {
            ShellScript::parse(instead).unwrap_or_else(|errors| panic!("{instead}: {errors:?}"));
        }
    }
}

/// The code of a cell that is all code; two pieces separated by `…` are a here-document.
fn code(cell: &str) -> Option<String> {
    let cell = cell.replace('\u{1}', "|");
    if let Some(inner) = cell.strip_prefix("`` ").and_then(|cell| cell.strip_suffix(" ``")) {
        return Some(inner.to_owned());
    }
    let inner = cell.strip_prefix('`')?.strip_suffix('`')?;
    match inner.split_once("` … `") {
        Some((start, body)) => Some(format!("{start}\n{body}\nEOF\n")),
        None if inner.contains('`') => None,
        None => Some(inner.to_owned()),
    }
}

#[test]
fn the_page_names_every_filter() {
    let list = PAGE.split("Filters: ").nth(1).unwrap().split("\n\n").next().unwrap();
    let named: Vec<_> = list.split('`').skip(1).step_by(2).collect();
    let unknown = Template::parse("{{ x | no_such_filter }}").unwrap_err().help.unwrap();
    assert_eq!(unknown, format!("there are: {}", named.join(", ")));
}

#[test]
fn every_statement_that_the_page_names_exists() {
    for source in [
        "{% if x %}{% endif %}",
        "{% for a in x %}{% endfor %}",
        "{% set a = x %}",
        "{% with a = x %}{% endwith %}",
        "{% macro a() %}{% endmacro %}",
        "{% macro a() %}{% endmacro %}{% call a() %}{% endcall %}",
        "{% filter upper %}{% endfilter %}",
        "{% macro a() %}{% endmacro %}{% do a() %}",
        "{% raw %}{% endraw %}",
    ] {
        Template::parse(source).unwrap_or_else(|error| panic!("{source}: {error}"));
    }
}
