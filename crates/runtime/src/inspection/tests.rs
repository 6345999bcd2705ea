use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use escrow_model::{ArtifactPath, Count, ExpectedArtifact, Location, Source};
use serde_json::json;
use tempfile::TempDir;

use super::*;

fn expect(location: Location) -> ExpectedArtifact {
    ExpectedArtifact::new("it", location, Source::Playbook)
}

fn at(path: &str) -> ExpectedArtifact {
    expect(Location::Path(ArtifactPath::parse(path).unwrap()))
}

fn matching(pattern: &str) -> ExpectedArtifact {
    expect(Location::Glob { pattern: pattern.into(), count: Count { min: 1, max: None } })
}

/// A directory `a` made by a script that runs inside it, beside `outside/secret`.
fn layout(script: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a", "outside"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    fs::write(folder.path().join("outside/secret"), "secret").unwrap();
    let script = format!("set -e; {script}");
    let status =
        Command::new("bash").args(["-c", &script]).current_dir(folder.path().join("a")).status().unwrap();
    assert!(status.success(), "{script}");
    folder
}

/// What is seen, by either way of resolving names: paths with their sizes, `absent`, or the refusal.
fn look(script: &str, expected: &ExpectedArtifact) -> String {
    let folder = layout(script);
    let directory = folder.path().join("a");
    let mut answers = [Resolver::Kernel, Resolver::Steps].map(|resolver| {
        let sighting =
            inspect_with(resolver, &directory, std::slice::from_ref(expected), Depth::Full).remove(0);
        let identity = inspect_with(resolver, &directory, std::slice::from_ref(expected), Depth::Identity);
        assert_eq!(
            identity[0].files.iter().map(|file| (&file.path, file.inode)).collect::<Vec<_>>(),
            sighting.files.iter().map(|file| (&file.path, file.inode)).collect::<Vec<_>>(),
        );
        let files: Vec<_> =
            sighting.files.iter().map(|file| format!("{}:{}", file.path, file.size)).collect();
        match sighting.refused {
            Some(refused) => refused.detail,
            None if files.is_empty() => "absent".into(),
            None => files.join(" "),
        }
    });
    assert_eq!(answers[0], answers[1], "both ways of resolving must agree: {script}");
    std::mem::take(&mut answers[0])
}

#[test]
fn a_path_leads_to_a_file_beneath_the_directory_or_nowhere() {
    const OUTSIDE: &str = "a link leads out of the directory";
    const NOT_REGULAR: &str = "not a regular file";
    for (script, path, seen) in [
        // Plain files.
        ("printf hello > r", "r", "r:5"),
        ("mkdir -p d/e; printf hello > d/e/r", "d/e/r", "d/e/r:5"),
        (": > r", "r", "r:0"),
        ("printf x > 'a b'", "a b", "a b:1"),
        ("printf x > ünï", "ünï", "ünï:1"),
        ("printf x > ..r", "..r", "..r:1"),
        ("printf x > -r", "-r", "-r:1"),
        ("truncate -s 5000000 r", "r", "r:5000000"),
        // Nothing there.
        ("true", "r", "absent"),
        ("printf x > R", "r", "absent"),
        ("printf x > r.md", "r", "absent"),
        ("printf x > 'r '", "r", "absent"),
        ("mkdir d", "d/r", "absent"),
        ("printf x > d", "d/r", "absent"),
        ("printf x > $'r\\n'", "r", "absent"),
        ("printf x > $'r\\xff'", "r", "absent"),
        // No files.
        ("mkdir r", "r", NOT_REGULAR),
        ("mkfifo r", "r", NOT_REGULAR),
        ("python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"r\")'", "r", NOT_REGULAR),
        ("mkdir d; ln -s d r", "r", NOT_REGULAR),
        ("ln -s . r", "r", NOT_REGULAR),
        ("mkfifo f; ln -s f r", "r", NOT_REGULAR),
        // Links that stay.
        ("printf hello > f; ln -s f r", "r", "r:5"),
        ("printf hello > f; ln -s ./f r", "r", "r:5"),
        ("printf hello > f; ln -s .//./f r", "r", "r:5"),
        ("mkdir d; printf hello > f; ln -s ../f d/r", "d/r", "d/r:5"),
        ("mkdir d e; printf hello > e/f; ln -s e l; ln -s ../l/f d/r", "d/r", "d/r:5"),
        ("mkdir d; printf hello > d/r; ln -s d l", "l/r", "l/r:5"),
        ("mkdir d; printf hello > d/r; ln -s d/ l", "l/r", "l/r:5"),
        ("printf x > l0; for i in $(seq 30); do ln -s l$((i-1)) l$i; done", "l30", "l30:1"),
        ("printf hello > f; ln f r", "r", "r:5"),
        ("mkdir -p d/e; printf x > f; ln -s ../../f d/e/r", "d/e/r", "d/e/r:1"),
        // Links that lead out.
        ("ln -s /etc/passwd r", "r", OUTSIDE),
        ("ln -s ../outside/secret r", "r", OUTSIDE),
        ("ln -s ../outside l", "l/secret", OUTSIDE),
        ("ln -s .. l", "l/outside/secret", OUTSIDE),
        ("ln -s / l", "l/etc/passwd", OUTSIDE),
        ("mkdir d; ln -s ../../outside/secret d/r", "d/r", OUTSIDE),
        ("ln -s ../outside/secret l; ln -s l r", "r", OUTSIDE),
        ("ln -s ../outside l; ln -s l/secret r", "r", OUTSIDE),
        ("mkdir d; ln -s d/../../outside/secret r", "r", OUTSIDE),
        ("ln -s ../a/f r; printf x > f", "r", OUTSIDE),
        ("printf x > f; ln -s $PWD/f r", "r", OUTSIDE),
        ("ln -s ../../../../../../../../etc/passwd r", "r", OUTSIDE),
        ("ln -s .. l; ln -s l/../../etc/passwd r", "r", OUTSIDE),
        ("ln -s /proc/self/root/etc/passwd r", "r", OUTSIDE),
        ("ln -s /proc/self/fd/0 r", "r", OUTSIDE),
        ("ln -s /dev/zero r", "r", OUTSIDE),
        ("ln -s /dev/stdin r", "r", OUTSIDE),
        ("ln -s /no/such/place r", "r", OUTSIDE),
        ("ln -s ../no/such/place r", "r", OUTSIDE),
        // A hard link to a file outside is a regular file here; its creator could have copied it.
        ("ln ../outside/secret r", "r", "r:6"),
        // Links to nothing, and in circles.
        ("ln -s nothing r", "r", "absent"),
        ("ln -s d/nothing r; mkdir d", "r", "absent"),
        ("printf x > f; ln -s f/ r", "r", "absent"),
        ("printf x > f; ln -s f/. r", "r", "absent"),
        ("ln -s r r", "r", "too many links"),
        ("ln -s q r; ln -s r q", "r", "too many links"),
        ("ln -s ./d/r r; mkdir d; ln -s ../r d/r", "r", "too many links"),
        ("printf x > l0; for i in $(seq 60); do ln -s l$((i-1)) l$i; done", "l60", "too many links"),
        ("ln -s . l; printf x > r", "l/l/l/l/r", "l/l/l/l/r:1"),
    ] {
        assert_eq!(look(script, &at(path)), seen, "{script} # {path}");
    }
}

#[test]
fn device_nodes_are_no_files() {
    // Only root can make them.
    let may =
        Command::new("sh").args(["-c", "d=$(mktemp -d) && mknod $d/n c 1 5 && rm -r $d"]).output().unwrap();
    if may.status.success() {
        for node in ["mknod r c 1 5", "mknod r c 5 0", "mknod r b 7 0", "mknod r c 99 99"] {
            assert_eq!(look(node, &at("r")), "not a regular file", "{node}");
        }
    }
}

#[test]
fn very_long_names_and_paths_are_fine() {
    let name = "x".repeat(255);
    assert_eq!(look(&format!("printf x > {name}"), &at(&name)), format!("{name}:1"));
    let deep = vec!["d".repeat(60); 15].join("/");
    assert_eq!(
        look(&format!("mkdir -p {deep}; printf x > {deep}/r"), &at(&format!("{deep}/r"))),
        format!("{deep}/r:1")
    );
    assert_eq!(look("true", &at(&name)), "absent");
}

#[test]
fn a_pattern_finds_files_in_order() {
    for (script, pattern, seen) in [
        ("printf x > b.md; printf xy > a.md; printf x > c.txt", "*.md", "a.md:2 b.md:1"),
        ("mkdir -p d/e; printf x > a.md; printf x > d/b.md; printf x > d/e/c.md", "*.md", "a.md:1"),
        (
            "mkdir -p d/e; printf x > a.md; printf x > d/b.md; printf x > d/e/c.md",
            "**/*.md",
            "a.md:1 d/b.md:1 d/e/c.md:1",
        ),
        ("mkdir -p d/e; printf x > d/b.md; printf x > d/e/c.md", "d/*", "d/b.md:1"),
        ("printf x > a.md; printf x > b.txt; printf x > c.rs", "*.{md,rs}", "a.md:1 c.rs:1"),
        ("printf x > a1; printf x > a2; printf x > ab", "a[0-9]", "a1:1 a2:1"),
        ("printf x > .hidden.md", "*.md", ".hidden.md:1"),
        ("printf x > A.MD", "*.md", "absent"),
        ("true", "*.md", "absent"),
        ("mkdir x.md; mkfifo y.md; printf x > z.md", "*.md", "z.md:1"),
        ("mkdir x.md", "*.md", "absent"),
        ("mkfifo y.md", "*.md", "`y.md`: not a regular file"),
        // Links to files beneath count, links out do not, links to directories are not followed.
        ("printf x > f; ln -s f l.md", "*.md", "l.md:1"),
        ("ln -s /etc/passwd l.md; printf x > a.md", "*.md", "a.md:1"),
        ("ln -s /etc/passwd l.md", "*.md", "`l.md`: a link leads out of the directory"),
        ("ln -s ../outside o", "**/secret", "absent"),
        ("ln -s .. up; printf x > r", "**/r", "r:1"),
        ("mkdir d; printf x > d/r; ln -s d l; ln -s ../d d/circle", "**/r", "d/r:1"),
        // Names that are no UTF-8 match nothing, and hide nothing.
        ("printf x > $'\\xff.md'; printf x > a.md", "*.md", "a.md:1"),
        ("mkdir $'\\xff'; printf x > $'\\xff/a.md'; printf x > b.md", "**/*.md", "b.md:1"),
        ("printf x > $'a\\nb.md'", "*.md", "a\nb.md:1"),
    ] {
        assert_eq!(look(script, &matching(pattern)), seen, "{script} # {pattern}");
    }
}

#[test]
fn a_pattern_that_is_none_is_told() {
    let told = look("true", &matching("a{b"));
    assert!(told.contains("a{b"), "{told}");
}

#[test]
fn a_walk_has_limits() {
    let deep = vec!["d"; 32].join("/");
    let told = look(&format!("mkdir -p {deep}; printf x > r"), &matching("**/r"));
    assert_eq!(told, "directories deeper than 32 in the artifact directory");
    let almost = vec!["d"; 31].join("/");
    assert_eq!(look(&format!("mkdir -p {almost}; printf x > r"), &matching("**/r")), "r:1");
    // Names of two files: links are made faster than files.
    let many = "mkdir d; cd d; touch a b; \
                python3 -c 'import os; [os.link(\"ab\"[n % 2], str(n)) for n in range(99999)]'";
    let told = look(many, &matching("*.md"));
    assert_eq!(told, "more than 100000 entries in the artifact directory");
}

#[test]
fn a_wide_tree_needs_few_descriptors() {
    let folder = layout("seq 3000 | sed 's/^/d/' | xargs mkdir; printf x > d2999/r");
    let sightings = inspect(&folder.path().join("a"), &[matching("*/r")], Depth::Full);
    assert_eq!(sightings[0].files[0].path, "d2999/r");
}

#[test]
fn in_a_directory_that_is_not_there_everything_is_absent() {
    let folder = tempfile::tempdir().unwrap();
    let expected = [at("r"), matching("*.md")];
    for sighting in inspect(&folder.path().join("gone"), &expected, Depth::Full) {
        assert!(sighting.files.is_empty() && sighting.refused.is_none());
    }
    fs::write(folder.path().join("file"), "").unwrap();
    let told = inspect(&folder.path().join("file"), &expected, Depth::Full);
    assert_eq!(
        told[0].refused.as_ref().map(|refused| refused.detail.as_str()),
        Some("the artifact directory is not a directory")
    );
}

#[test]
fn a_full_look_has_the_digest_and_identity_does_not() {
    let folder = layout("printf abc > r");
    let directory = folder.path().join("a");
    let full = inspect(&directory, &[at("r")], Depth::Full).remove(0).files.remove(0);
    assert_eq!(full.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert!(full.changed_ns > 1_600_000_000_000_000_000);
    let identity = inspect(&directory, &[at("r")], Depth::Identity).remove(0).files.remove(0);
    assert_eq!((identity.sha256.as_str(), identity.inode), ("", full.inode));
    assert_eq!(identity.changed_ns, full.changed_ns);
}

#[test]
fn a_rewritten_file_has_another_change_time_and_a_replaced_one_another_inode() {
    let folder = layout("printf abc > r");
    let directory = folder.path().join("a");
    let identity = || {
        let file = inspect(&directory, &[at("r")], Depth::Identity).remove(0).files.remove(0);
        (file.inode, file.changed_ns)
    };
    let before = identity();
    std::thread::sleep(std::time::Duration::from_millis(20));
    fs::write(directory.join("r"), "abc").unwrap();
    let rewritten = identity();
    assert_eq!(before.0, rewritten.0);
    assert_ne!(before.1, rewritten.1);
    fs::write(directory.join("new"), "abc").unwrap();
    fs::rename(directory.join("new"), directory.join("r")).unwrap();
    assert_ne!(identity().0, rewritten.0);
}

#[test]
fn content_and_type_are_looked_at_only_when_asked() {
    let folder = layout(
        "printf '{\"a\": 1}' > r; printf '{\"a\":' > bad; head -c 17000000 /dev/zero | tr '\\0' '1' > large",
    );
    let directory = folder.path().join("a");
    let see = |expected: &ExpectedArtifact| {
        let file = inspect(&directory, std::slice::from_ref(expected), Depth::Full).remove(0).files.remove(0);
        (file.content, file.mime_type)
    };
    assert_eq!(see(&at("r")), (None, None));
    let schema = |path| ExpectedArtifact { schema: Some(json!({})), ..at(path) };
    assert_eq!(see(&schema("r")), (Some(json!({"a": 1})), None));
    assert_eq!(see(&schema("bad")), (None, None));
    assert_eq!(see(&schema("large")), (None, None), "beyond 16 MiB nothing is parsed");
    let kind = ExpectedArtifact { kind: Some("review_verdict".into()), ..at("r") };
    assert_eq!(see(&kind).0, Some(json!({"a": 1})));
    let typed = |path| ExpectedArtifact { mime_type: Some("application/json".into()), ..at(path) };
    assert_eq!(see(&typed("r")).1.as_deref(), Some("application/json"));
    assert_eq!(see(&typed("bad")).1.as_deref(), Some("text/plain"));
    assert_eq!(see(&typed("large")).1.as_deref(), Some("text that is too long to be parsed"));
}

#[test]
fn a_file_that_claims_to_be_enormous_is_refused_at_once() {
    assert_eq!(look("truncate -s 100G r", &ExpectedArtifact { mime_type: None, ..at("f") }), "absent");
    let folder = layout("truncate -s 100G r");
    let directory = folder.path().join("a");
    let told = inspect(&directory, &[at("r")], Depth::Full).remove(0);
    assert_eq!(told.refused.as_ref().map(|refused| refused.detail.as_str()), Some("larger than 64 GiB"));
    assert_eq!(inspect(&directory, &[at("r")], Depth::Identity)[0].files[0].size, 100 << 30);
}

#[test]
fn a_file_that_is_swapped_for_a_link_never_shows_what_is_outside() {
    let folder = layout("mkdir d; printf hello > d/r; printf hello > r");
    let directory = folder.path().join("a");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (good, bad) = (directory.join("good"), directory.join("bad"));
            while !stop.load(Ordering::Relaxed) {
                symlink("../outside/secret", &bad).unwrap();
                fs::rename(&bad, directory.join("r")).unwrap();
                fs::write(&good, "hello").unwrap();
                fs::rename(&good, directory.join("r")).unwrap();
                // The directory on the way is swapped as well.
                fs::rename(directory.join("d"), directory.join("e")).unwrap();
                symlink("../outside", directory.join("d")).unwrap();
                fs::remove_file(directory.join("d")).unwrap();
                fs::rename(directory.join("e"), directory.join("d")).unwrap();
            }
        });
        let expected = [at("r"), at("d/r"), at("d/secret"), matching("**/*")];
        for round in 0..2_000 {
            let resolver = if round % 2 == 0 { Resolver::Kernel } else { Resolver::Steps };
            for sighting in inspect_with(resolver, &directory, &expected, Depth::Full) {
                for file in sighting.files {
                    assert!(!file.path.ends_with("secret"), "{}", file.path);
                    assert_ne!(file.size, 6, "the secret has six bytes: {}", file.path);
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_file_that_grows_while_it_is_read_is_told_or_caught_between_two_writes() {
    let folder = layout("printf x > r");
    let directory = folder.path().join("a");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            use std::io::Write;
            let mut file = fs::OpenOptions::new().append(true).open(directory.join("r")).unwrap();
            while !stop.load(Ordering::Relaxed) {
                file.write_all(&[b'x'; 512]).unwrap();
                // Enough to be at it all the time, without filling the disk.
                std::thread::sleep(std::time::Duration::from_micros(50));
            }
        });
        for _ in 0..50 {
            let sighting = inspect(&directory, &[at("r")], Depth::Full).remove(0);
            match sighting.files.first() {
                Some(file) => assert_eq!(file.sha256.len(), 64),
                None => {
                    let refused = sighting.refused.as_ref().map(|refused| refused.detail.as_str());
                    assert_eq!(refused, Some("it changes while it is read"));
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}
