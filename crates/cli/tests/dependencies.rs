//! What `deny.toml` says of dependencies, checked without `cargo deny` and without the network: their licences, their
//! sources, and those that are banned. The advisory database is the one part that needs both.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The strings between `[` and `]` behind a key of `deny.toml`, comments left out.
fn listed(key: &str) -> Vec<String> {
    let text = read("deny.toml");
    let begin = text.find(&format!("\n{key} = [")).unwrap_or_else(|| panic!("`{key}` is in deny.toml"));
    let lines = text[begin + 1..].lines().take_while(|line| *line != "]");
    lines.filter_map(|line| line.split('#').next()?.split('"').nth(1)).map(str::to_owned).collect()
}

/// Every package of the lock file: its name, and where it comes from.
fn locked() -> Vec<(String, Option<String>)> {
    let field = |block: &str, name: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(&format!("{name} = \"")))?;
        Some(line.trim_end_matches('"').to_owned())
    };
    let lock = read("Cargo.lock");
    let packages = lock.split("[[package]]").skip(1);
    packages.map(|block| (field(block, "name").expect("a name"), field(block, "source"))).collect()
}

/// Whether an SPDX expression can be met with the allowed licences alone. `AND` binds closer than `OR`.
fn is_met(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words: Vec<&str> = spaced.split_whitespace().collect();
    words.reverse();
    let met = either(&mut words, allowed);
    assert!(words.is_empty(), "`{expression}` is not a licence expression");
    met
}

fn either(words: &mut Vec<&str>, allowed: &[String]) -> bool {
    let mut met = both(words, allowed);
    while words.last() == Some(&"OR") {
        words.pop();
        met |= both(words, allowed);
    }
    met
}

fn both(words: &mut Vec<&str>, allowed: &[String]) -> bool {
    let mut met = one(words, allowed);
    while words.last() == Some(&"AND") {
        words.pop();
        met &= one(words, allowed);
    }
    met
}

fn one(words: &mut Vec<&str>, allowed: &[String]) -> bool {
    match words.pop().expect("a licence") {
        "(" => {
            let met = either(words, allowed);
            assert_eq!(words.pop(), Some(")"), "a bracket is not closed");
            met
        }
        licence => {
            let mut name = licence.to_owned();
            if words.last() == Some(&"WITH") {
                words.pop();
                name = format!("{name} WITH {}", words.pop().expect("an exception"));
            }
            allowed.contains(&name)
        }
    }
}

#[test]
fn every_dependency_has_an_allowed_licence() {
    let allowed = listed("allow");
    assert!(allowed.len() > 5, "{allowed:?}");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--locked", "--offline"]);
    cargo.args(["--filter-platform", &host()]);
    let told = cargo.current_dir(root()).output().expect("cargo runs");
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    let metadata: Value = serde_json::from_slice(&told.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("a list of packages");
    assert!(packages.len() > 100, "{} packages", packages.len());
    let refused: Vec<String> = packages
        .iter()
        .filter(|package| !is_met(package["license"].as_str().unwrap_or("none"), &allowed))
        .map(|package| format!("{} {}: {}", package["name"], package["version"], package["license"]))
        .collect();
    assert_eq!(refused, Vec::<String>::new());
}

/// Packages for other systems are not downloaded, so their licences cannot be read here. The same holds for optional
/// dependencies that no build of the workspace enables.
fn host() -> String {
    let told = Command::new("rustc").arg("-vV").current_dir(root()).output().expect("rustc runs");
    let text = String::from_utf8(told.stdout).expect("text");
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.expect("rustc names its host").to_owned()
}

#[test]
fn every_dependency_comes_from_the_registry_and_none_is_banned() {
    let registries = listed_inline("allow-registry");
    let banned: Vec<String> = read("deny.toml")
        .lines()
        .filter_map(|line| line.trim().strip_prefix("{ crate = \"")?.split('"').next().map(str::to_owned))
        .collect();
    assert!(banned.len() >= 3, "{banned:?}");
    let locked = locked();
    assert!(locked.len() > 100, "{} packages", locked.len());
    for (name, source) in locked {
        assert!(!banned.contains(&name), "`{name}` is banned");
        let is_ours = source.is_none() && name.starts_with("escrow");
        let is_known = source.as_ref().is_some_and(|source| {
            source.strip_prefix("registry+").is_some_and(|from| registries.iter().any(|known| known == from))
        });
        assert!(is_ours || is_known, "`{name}` comes from {source:?}");
    }
}

fn listed_inline(key: &str) -> Vec<String> {
    let text = read("deny.toml");
    let line = text.lines().find(|line| line.starts_with(&format!("{key} = ["))).expect("a list");
    line.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn licence_expressions_are_read_as_written() {
    let allowed = ["MIT", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned);
    for met in
        ["MIT", "MIT OR GPL-3.0", "GPL-3.0/MIT", "(GPL-3.0 OR MIT) AND MIT", "Apache-2.0 WITH LLVM-exception"]
    {
        assert!(is_met(met, &allowed), "{met}");
    }
    for unmet in ["GPL-3.0", "MIT AND GPL-3.0", "Apache-2.0", "none", "MIT AND (GPL-3.0 OR ISC)"] {
        assert!(!is_met(unmet, &allowed), "{unmet}");
    }
}
