//! Every test that `docs/security.md` names is there.

use std::fs;
use std::path::Path;

#[test]
fn every_promise_names_a_test_that_exists() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = fs::read_to_string(crates.join("../docs/security.md")).expect("the page");
    let named: Vec<(&str, &str)> =
        page.split('`').skip(1).step_by(2).filter_map(|code| code.split_once(".rs::")).collect();
    assert!(named.len() > 50, "{}", named.len());
    for (file, test) in named {
        let path = crates.join(format!("{file}.rs"));
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}.rs: {error}"));
        let function = format!("fn {test}(");
        let at = text.find(&function).unwrap_or_else(|| panic!("{file}.rs has no `{test}`"));
        let before = text[..at].lines().rev().take(8).collect::<Vec<_>>().join(" ");
        assert!(before.contains("#[test]") || before.contains("proptest!"), "`{test}` is no test");
    }
    let rows = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| promise"));
    let promises = rows.skip_while(|line| !line.contains(".rs::"));
    for row in promises {
        assert!(row.contains(".rs::"), "a promise without a test: {row}");
    }
}
