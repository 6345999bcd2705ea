//! Every way out of the artifact directory that we could think of, tried with real files by both ways of resolving
//! names. None leads out: what lies outside is never seen.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use escrow_model::{ArtifactPath, Count, ExpectedArtifact, Location, Problem, Source};
use tempfile::TempDir;

use super::*;

/// `a` is the artifact directory; beside it lies what must not be seen.
struct Layout {
    _folder: TempDir,
    /// Where it really is: the directory for temporary files may be a link.
    root: std::path::PathBuf,
}

const SECRET: &str = "what lies outside";
const INSIDE: &str = "inside";

impl Layout {
    fn new() -> Layout {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a/d/e", "outside/deep", "a-sibling"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        for name in ["outside/secret", "outside/deep/secret", "a-sibling/secret", "secret"] {
            fs::write(folder.path().join(name), SECRET).unwrap();
        }
        let root = folder.path().canonicalize().unwrap();
        Layout { _folder: folder, root }
    }

    fn root(&self) -> &Path {
        &self.root
    }

    fn artifacts(&self) -> std::path::PathBuf {
        self.root().join("a")
    }

    /// What both ways of resolving say of an expected artifact: they must say the same, and see nothing outside.
    fn look(&self, location: Location, told: &str) -> InspectedArtifact {
        let expected = ExpectedArtifact {
            min_size: 0,
            fresh: false,
            mime_type: Some("text/plain".into()),
            schema: Some(serde_json::json!({})),
            ..ExpectedArtifact::new("it", location, Source::Playbook)
        };
        let outside = sha256(SECRET.as_bytes());
        let mut answers = [Resolver::Kernel, Resolver::Steps].map(|resolver| {
            let seen =
                inspect_with(resolver, &self.artifacts(), std::slice::from_ref(&expected), Depth::Full)
                    .remove(0);
            for file in &seen.files {
                assert_ne!(file.sha256, outside, "{told}: {resolver:?} has seen `{}` outside", file.path);
            }
            seen
        });
        assert_eq!(answers[0], answers[1], "{told}: both ways of resolving must agree");
        answers[1].files.truncate(1);
        answers[1].clone()
    }

    fn at(&self, path: &str, told: &str) -> InspectedArtifact {
        self.look(Location::Path(ArtifactPath::parse(path).unwrap()), told)
    }

    fn matching(&self, pattern: &str, told: &str) -> InspectedArtifact {
        let count = Count { min: 0, max: None };
        self.look(Location::Glob { pattern: pattern.into(), count }, told)
    }
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Where links lead that try to leave; `{root}` is the folder around the artifact directory.
const WAYS_OUT: &[&str] = &[
    "../outside/secret",
    "./../outside/secret",
    "..//outside//secret",
    "../outside/./secret",
    "../outside/../outside/secret",
    "../outside/deep/../secret",
    "../a/../outside/secret",
    "d/../../outside/secret",
    "d/e/../../../outside/secret",
    "./d/./../.././outside/secret",
    "../a-sibling/secret",
    "../secret",
    "../../../../../../../../../../{root}/outside/secret",
    "{root}/outside/secret",
    "/{root}/outside/secret",
    "{root}/a/../outside/secret",
    "/proc/self/root/{root}/outside/secret",
    "/proc/self/cwd/../../../{root}/outside/secret",
    "/dev/fd/../../{root}/outside/secret",
];

/// How a link is laid so that a path of ours leads over it: makes the layout, and says which path to look at.
type Lay = fn(&Layout, &str) -> Looked;

enum Looked {
    Path(&'static str),
    Pattern(&'static str),
}

fn folder_of(target: &str) -> &str {
    target.rsplit_once('/').map_or(".", |(folder, _)| folder)
}

const LAYOUTS: &[(&str, Lay)] = &[
    ("the file is a link", |place, target| {
        symlink(target, place.artifacts().join("r")).unwrap();
        Looked::Path("r")
    }),
    ("a link to a link", |place, target| {
        symlink(target, place.artifacts().join("m")).unwrap();
        symlink("m", place.artifacts().join("r")).unwrap();
        Looked::Path("r")
    }),
    ("a chain through a folder and back", |place, target| {
        symlink(target, place.artifacts().join("m")).unwrap();
        symlink("../m", place.artifacts().join("d/n")).unwrap();
        symlink("d/n", place.artifacts().join("r")).unwrap();
        Looked::Path("r")
    }),
    ("the folder is a link", |place, target| {
        symlink(folder_of(target), place.artifacts().join("l")).unwrap();
        Looked::Path("l/secret")
    }),
    ("the folder is a link to a link with a slash behind it", |place, target| {
        symlink(folder_of(target), place.artifacts().join("m")).unwrap();
        symlink("m/", place.artifacts().join("l")).unwrap();
        Looked::Path("l/secret")
    }),
    ("a link below a folder that is a link to its own parent", |place, target| {
        symlink("..", place.artifacts().join("d/up")).unwrap();
        symlink(target, place.artifacts().join("r")).unwrap();
        Looked::Path("d/up/r")
    }),
    ("a pattern matches the link", |place, target| {
        symlink(target, place.artifacts().join("r.md")).unwrap();
        Looked::Pattern("*.md")
    }),
    ("a pattern would walk through the link", |place, target| {
        symlink(folder_of(target), place.artifacts().join("l")).unwrap();
        Looked::Pattern("**/secret")
    }),
];

#[test]
fn no_link_leads_out_however_it_is_laid_and_spelt() {
    let (mut cases, mut open_doors) = (0, 0);
    for way in WAYS_OUT {
        for (layout, lay) in LAYOUTS {
            let place = Layout::new();
            let root = place.root().display().to_string();
            let target = way.replace("{root}", root.trim_start_matches('/')).replacen("//", "/", 1);
            let absolute = way.starts_with("{root}");
            let target = if absolute { format!("/{target}") } else { target };
            let told = format!("{layout}, to {way}");
            let seen = match lay(&place, &target) {
                Looked::Path(path) => {
                    let naive = fs::read_to_string(place.artifacts().join(path));
                    open_doors += usize::from(naive.is_ok_and(|text| text == SECRET));
                    place.at(path, &told)
                }
                Looked::Pattern(pattern) => place.matching(pattern, &told),
            };
            assert_eq!(seen.files, [], "{told}");
            if let Some(refused) = &seen.refused {
                assert_eq!(refused.problem, Problem::Outside, "{told}: {}", refused.detail);
            }
            cases += 1;
        }
    }
    assert!(cases >= 150, "only {cases} cases");
    assert!(open_doors >= 90, "only {open_doors} would have led out for somebody who joins paths");
}

/// What people and machines have tried as paths. None of them may be a promise.
const REFUSED: &[&str] = &[
    "",
    ".",
    "..",
    "/",
    "//",
    "./",
    "../",
    "/etc/passwd",
    "//etc/passwd",
    "///",
    "../secret",
    "../../secret",
    "../../../../../../../../etc/passwd",
    "./secret",
    "././secret",
    "a/../secret",
    "a/..",
    "a/.",
    "a/./b",
    "a//b",
    "a/",
    "d/e/../../../outside/secret",
    "d/../../outside/secret",
    "..\\secret",
    "..\\..\\secret",
    "a\\b",
    "\\",
    "\\\\host\\share",
    "\\\\?\\C:\\x",
    "C:",
    "C:x",
    "C:/x",
    "C:\\x",
    "c:secret",
    "z:../secret",
    "~",
    "~/secret",
    "~root/secret",
    "a\0b",
    "\0",
    "secret\0.md",
    "a\nb",
    "a\rb",
    "a\tb",
    "\u{7f}",
    "\u{1b}[2J",
    "a\u{85}b",
    "*",
    "*.md",
    "a?",
    "[a]",
    "a]b",
    "d/*",
    "d/**/r",
];

/// Odd names that are names and nothing more: each is looked for as it is written.
const MERELY_ODD: &[&str] = &[
    "...",
    "....",
    "..a",
    "a..",
    "a..b",
    ".hidden",
    "-rf",
    "--help",
    " ",
    " a ",
    "a b",
    "%2e%2e",
    "%2e%2e%2fsecret",
    "..%2fsecret",
    "..;",
    "&#46;&#46;",
    "．．",
    "‥",
    "a／b",
    "∕etc∕passwd",
    "ｃ：x",
    "\u{202e}dm.review",
    "\u{200b}",
    "ünï",
    "u\u{308}n",
    "{x}.md",
    "a,b",
    "a;b",
    "a|b",
    "a&b",
    "$(id)",
    "`id`",
    "$HOME",
    "a'b",
    "a\"b",
    "!",
    "#",
    "con",
    "nul",
    "aux.md",
    "file:secret",
    "ab:c",
    "http:",
    "r~",
    "a~b",
];

#[test]
fn a_path_that_could_lead_elsewhere_is_no_promise() {
    for path in REFUSED {
        assert!(ArtifactPath::parse(path).is_err(), "{path:?} is refused when the playbook is read");
    }
    for pattern in ["../*", "/etc/*", "a/../*", "**/../x", "~/*", "C:*", "\0*", "a\\*", "./*", "a//*"] {
        assert!(ArtifactPath::check_pattern(pattern).is_err(), "{pattern:?}");
    }
    let long = ["x".repeat(256), vec!["d"; 600].join("/"), "é".repeat(128)];
    for path in &long {
        assert!(ArtifactPath::parse(path).is_err(), "{} bytes", path.len());
    }
}

#[test]
fn an_odd_name_is_looked_for_as_it_is_written_and_as_nothing_else() {
    for name in MERELY_ODD {
        let place = Layout::new();
        let told = format!("{name:?}");
        assert_eq!(place.at(name, &told).files, [], "{told}: nothing is there yet");
        fs::write(place.artifacts().join(name), INSIDE).unwrap();
        let seen = place.at(name, &told);
        assert_eq!(seen.files.len(), 1, "{told}");
        assert_eq!(
            (seen.files[0].path.as_str(), seen.files[0].sha256.as_str()),
            (*name, sha256(INSIDE.as_bytes()).as_str())
        );
    }
    let tried = REFUSED.len() + MERELY_ODD.len() + WAYS_OUT.len() * LAYOUTS.len();
    assert!(tried >= 250, "only {tried} hostile paths and layouts");
}

#[test]
fn a_name_in_another_case_or_another_composition_is_another_file() {
    let place = Layout::new();
    for (there, wanted) in [("Review.md", "review.md"), ("REVIEW.MD", "review.md"), ("e\u{301}.md", "é.md")]
    {
        fs::write(place.artifacts().join(there), INSIDE).unwrap();
        // A file system that folds names gives the file under either; it is inside all the same.
        let folds = place.artifacts().join(wanted).exists();
        assert_eq!(place.at(wanted, wanted).files.len(), usize::from(folds), "{there} is not {wanted}");
    }
}

#[test]
fn a_hard_link_is_a_file_and_freshness_still_knows_it() {
    // Who can link to a file could have copied it; that it is old is told by its change time.
    let place = Layout::new();
    fs::write(place.artifacts().join("old"), INSIDE).unwrap();
    let before = inspect(&place.artifacts(), &[expected("r")], Depth::Identity);
    assert_eq!(before[0].files, []);
    fs::hard_link(place.artifacts().join("old"), place.artifacts().join("r")).unwrap();
    let seen = place.at("r", "a hard link");
    assert_eq!(seen.files[0].sha256, sha256(INSIDE.as_bytes()));
}

fn expected(path: &str) -> ExpectedArtifact {
    ExpectedArtifact::new("it", Location::Path(ArtifactPath::parse(path).unwrap()), Source::Playbook)
}

#[test]
fn what_is_fetched_is_beneath_as_well() {
    let place = Layout::new();
    symlink("../outside/secret", place.artifacts().join("r")).unwrap();
    symlink("../outside", place.artifacts().join("l")).unwrap();
    assert!(open_beneath(&place.artifacts(), "r").is_err());
    assert!(open_beneath(&place.artifacts(), "l/secret").is_err());
    assert!(open_beneath(&place.artifacts(), "../outside/secret").is_err());
    assert!(open_beneath(&place.artifacts(), "/etc/passwd").is_err());
    assert!(open_beneath(&place.artifacts(), "d").is_err());
    assert!(open_beneath(&place.artifacts(), "nothing").unwrap().is_none());
    assert!(open_beneath(&place.root().join("nowhere"), "r").unwrap().is_none());
    fs::write(place.artifacts().join("good"), INSIDE).unwrap();
    let mut copied = Vec::new();
    let told = open_beneath(&place.artifacts(), "good").unwrap().unwrap().copy(&mut copied).unwrap();
    assert_eq!((told.0, told.1, copied.as_slice()), (6, sha256(INSIDE.as_bytes()), INSIDE.as_bytes()));
}

#[test]
fn a_directory_that_became_a_link_is_not_followed() {
    let itself = Layout::new();
    fs::remove_dir_all(itself.artifacts()).unwrap();
    symlink("outside", itself.artifacts()).unwrap();
    nothing_is_seen_in(&itself.artifacts());

    let above = Layout::new();
    fs::create_dir_all(above.root().join("outside/e")).unwrap();
    fs::write(above.root().join("outside/e/secret"), SECRET).unwrap();
    fs::remove_dir_all(above.artifacts().join("d")).unwrap();
    symlink("../outside", above.artifacts().join("d")).unwrap();
    nothing_is_seen_in(&above.artifacts().join("d/e"));
}

fn nothing_is_seen_in(directory: &Path) {
    assert!(directory.join("secret").exists(), "a reader that follows links sees it");
    let pattern = Location::Glob { pattern: "**".into(), count: Count { min: 1, max: None } };
    let wanted = [expected("secret"), ExpectedArtifact { location: pattern, ..expected("any") }];
    for resolver in [Resolver::best(), Resolver::Steps] {
        for seen in inspect_with(resolver, directory, &wanted, Depth::Full) {
            assert_eq!(seen.files, [], "{resolver:?}");
            assert_eq!(seen.refused.map(|refused| refused.problem), Some(Problem::Outside), "{resolver:?}");
        }
    }
}
