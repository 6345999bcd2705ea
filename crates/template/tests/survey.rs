//! What a survey finds in scripts.

use escrow_template::{survey_arguments, survey_script};

fn commands(script: &str) -> Vec<String> {
    let words = |words: Vec<Option<String>>| {
        words.into_iter().map(|word| word.unwrap_or_else(|| "?".into())).collect::<Vec<_>>().join(" ")
    };
    survey_script(script).commands.into_iter().map(|command| words(command.words)).collect()
}

#[test]
fn commands_are_found_wherever_they_are() {
    for script in [
        "git push",
        "cd x && git push",
        "if true; then git push; fi",
        "f() { git push; }; f",
        "echo $(git push)",
        "echo `git push`",
        "sudo -u me env A=1 git push",
        "timeout 5 git push",
        "sh -c 'cd x; git push'",
        "bash -euc \"git push\"",
        "echo origin | xargs git push",
        "find . -exec git push {} +",
        "cat <<E\n$(git push)\nE",
        "(git push) | tee log",
    ] {
        assert!(
            commands(script).iter().any(|command| command.starts_with("git push")),
            "{script}: {:?}",
            commands(script)
        );
    }
    assert_eq!(commands("git push {{ x }} \"$y\""), ["git push ? ?"]);
    assert_eq!(commands("# git push\necho 'git push'"), ["echo git push"]);
    let listed = survey_arguments(&["sudo", "git", "push", "{{ x }}"]).commands;
    assert_eq!(listed[0].words[0], Some("sudo".to_owned()), "the wrapper and the command in it");
    assert_eq!(listed[1].words[..2], [Some("git".to_owned()), Some("push".to_owned())]);
}

#[test]
fn redirections_tell_where_they_write() {
    let found = survey_script("a > out; b >> /etc/x 2>&1; c > \"$HOME/y\"; { d; } > ../z; e < in").writes;
    let shown: Vec<(String, Option<String>)> =
        found.into_iter().map(|write| (write.path, write.variable)).collect();
    let plain = |path: &str| (path.to_owned(), None);
    assert_eq!(
        shown,
        [
            plain("out"),
            plain("/etc/x"),
            plain("1"),
            ("/y".to_owned(), Some("HOME".to_owned())),
            plain("../z")
        ]
    );
}

#[test]
fn a_pipeline_loses_the_status_of_its_left_side() {
    let lost = |script: &str| survey_script(script).lost_statuses.len();
    assert_eq!(lost("node --test | tee log"), 1);
    assert_eq!(lost("a | b | c"), 2);
    assert_eq!(lost("{ a; } | b"), 1);
    for fine in [
        "echo x | tr x y",
        "printf x | cat",
        "a || b",
        "set -o pipefail; a | b",
        "case x in a|b) c;; esac",
        "echo 'a | b'",
    ] {
        assert_eq!(lost(fine), 0, "{fine}");
    }
}
