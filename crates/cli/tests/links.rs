//! Every relative link in the README, the documentation and the examples points to an existing file.

use std::fs;
use std::path::{Path, PathBuf};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The Markdown files below a folder.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// The targets of inline links, outside fenced blocks.
fn targets(text: &str) -> Vec<&str> {
    let mut fenced = false;
    let prose = text.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    });
    prose.flat_map(|line| line.split("](").skip(1).filter_map(|rest| rest.split(')').next())).collect()
}

/// The anchors of a page, as GitHub derives them from its headings.
fn anchors(text: &str) -> Vec<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let kept = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    headings
        .map(|line| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            title.chars().filter(|c| kept(*c)).collect::<String>().replace(' ', "-")
        })
        .collect()
}

#[test]
fn every_relative_link_points_to_an_existing_file() {
    let root = Path::new(ROOT);
    let mut found = vec![root.join("README.md"), root.join("ARCHITECTURE.md"), root.join("CHANGELOG.md")];
    pages(&root.join("docs"), &mut found);
    pages(&root.join("examples"), &mut found);
    let mut broken = Vec::new();
    let mut links = 0;
    for page in found {
        let text = fs::read_to_string(&page).expect("a readable page");
        for target in targets(&text).into_iter().filter(|target| !target.contains("://")) {
            links += 1;
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = match path {
                "" => page.clone(),
                _ => page.parent().expect("a page is in a folder").join(path),
            };
            let is_there = match anchor {
                "" => file.exists(),
                _ => {
                    fs::read_to_string(&file).is_ok_and(|text| anchors(&text).iter().any(|one| one == anchor))
                }
            };
            if !is_there {
                broken.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    assert!(links > 30, "{links} links were found");
}
