//! The table of commands that change the world outside a run. A check that runs one is `external` unless its
//! criticality is written.
//!
//! The table is a safety net and not a proof: it knows commands by their words, and a script of the author's is a word.

use escrow_template::{Survey, SurveyedCommand, SurveyedWrite};

/// One program, and which of its uses change the world.
pub(crate) struct WorldCommand {
    pub(crate) program: &'static str,
    /// Options before the subcommand that have an argument of their own.
    takes: &'static [&'static str],
    /// Subcommands, word by word. `*` stands for any word, and at the end of a word for any ending. An empty form
    /// means every use.
    pub(crate) forms: &'static [&'static str],
}

const fn always(program: &'static str) -> WorldCommand {
    WorldCommand { program, takes: &[], forms: &[""] }
}

const fn forms(program: &'static str, forms: &'static [&'static str]) -> WorldCommand {
    WorldCommand { program, takes: &[], forms }
}

const KUBE_OPTIONS: &[&str] = &[
    "-n",
    "--namespace",
    "--context",
    "--kubeconfig",
    "--cluster",
    "--user",
    "-s",
    "--server",
    "--kube-context",
];

const TERRAFORM_FORMS: &[&str] =
    &["apply", "destroy", "force-unlock", "import", "state mv", "state push", "state rm", "taint", "untaint"];

const KUBE_FORMS: &[&str] = &[
    "annotate",
    "apply",
    "autoscale",
    "cordon",
    "cp",
    "create",
    "delete",
    "drain",
    "edit",
    "exec",
    "expose",
    "label",
    "patch",
    "replace",
    "rollout",
    "run",
    "scale",
    "set",
    "taint",
    "uncordon",
];

const CLOUD_VERBS: &[&str] = &[
    "s3 cp",
    "s3 mb",
    "s3 mv",
    "s3 rb",
    "s3 rm",
    "s3 sync",
    "* add-*",
    "* attach-*",
    "* cancel-*",
    "* copy-*",
    "* create-*",
    "* delete-*",
    "* deploy*",
    "* deregister-*",
    "* detach-*",
    "* disable-*",
    "* enable-*",
    "* execute-*",
    "* import-*",
    "* invoke*",
    "* modify-*",
    "* publish*",
    "* put-*",
    "* reboot-*",
    "* register-*",
    "* remove-*",
    "* reset-*",
    "* restore-*",
    "* run-*",
    "* send-*",
    "* set-*",
    "* start-*",
    "* stop-*",
    "* tag-*",
    "* terminate-*",
    "* untag-*",
    "* update-*",
    "* upload-*",
];

pub(crate) const WORLD_COMMANDS: &[WorldCommand] = &[
    WorldCommand {
        program: "git",
        takes: &["-C", "-c", "--git-dir", "--work-tree", "--namespace"],
        forms: &["push", "send-email"],
    },
    WorldCommand {
        program: "gh",
        takes: &["-R", "--repo"],
        forms: &[
            "gist create",
            "gist delete",
            "gist edit",
            "issue close",
            "issue comment",
            "issue create",
            "issue delete",
            "issue edit",
            "issue reopen",
            "issue transfer",
            "label create",
            "label delete",
            "label edit",
            "pr close",
            "pr comment",
            "pr create",
            "pr edit",
            "pr merge",
            "pr ready",
            "pr reopen",
            "pr review",
            "release create",
            "release delete",
            "release edit",
            "release upload",
            "repo archive",
            "repo create",
            "repo delete",
            "repo edit",
            "repo rename",
            "run cancel",
            "run delete",
            "run rerun",
            "secret delete",
            "secret set",
            "variable delete",
            "variable set",
            "workflow disable",
            "workflow enable",
            "workflow run",
        ],
    },
    WorldCommand {
        program: "glab",
        takes: &["-R", "--repo"],
        forms: &[
            "issue close",
            "issue create",
            "issue note",
            "mr approve",
            "mr close",
            "mr create",
            "mr merge",
            "mr note",
            "mr update",
            "release create",
            "release delete",
        ],
    },
    WorldCommand {
        program: "npm",
        takes: &["--prefix", "-C", "-w", "--workspace"],
        forms: &["access", "deprecate", "dist-tag", "owner", "publish", "unpublish"],
    },
    WorldCommand { program: "pnpm", takes: &["-C", "--dir", "-F", "--filter"], forms: &["publish"] },
    WorldCommand { program: "yarn", takes: &["--cwd"], forms: &["npm publish", "npm tag", "publish"] },
    forms("bun", &["publish"]),
    WorldCommand {
        program: "cargo",
        takes: &["-C", "--config", "--manifest-path"],
        forms: &["owner", "publish", "yank"],
    },
    forms("twine", &["upload"]),
    forms("poetry", &["publish"]),
    forms("uv", &["publish"]),
    forms("gem", &["push", "yank"]),
    forms("mvn", &["deploy", "release:*"]),
    forms("gradle", &["publish"]),
    forms("dotnet", &["nuget push", "nuget delete"]),
    WorldCommand {
        program: "docker",
        takes: &["--context", "-c", "-H", "--host", "--config", "-l"],
        forms: &["image push", "manifest push", "push", "service create", "service update", "stack deploy"],
    },
    forms("podman", &["image push", "push"]),
    forms("skopeo", &["copy", "delete", "sync"]),
    forms("crane", &["append", "copy", "delete", "mutate", "push", "tag"]),
    WorldCommand { program: "kubectl", takes: KUBE_OPTIONS, forms: KUBE_FORMS },
    WorldCommand { program: "oc", takes: KUBE_OPTIONS, forms: KUBE_FORMS },
    WorldCommand {
        program: "helm",
        takes: KUBE_OPTIONS,
        forms: &["delete", "install", "push", "rollback", "uninstall", "upgrade"],
    },
    forms("terraform", TERRAFORM_FORMS),
    forms("tofu", TERRAFORM_FORMS),
    forms("pulumi", &["cancel", "destroy", "import", "refresh", "up", "update"]),
    always("ansible"),
    always("ansible-playbook"),
    WorldCommand {
        program: "aws",
        takes: &["--profile", "--region", "--output", "--endpoint-url", "--query"],
        forms: CLOUD_VERBS,
    },
    WorldCommand {
        program: "gcloud",
        takes: &["--project", "--account", "--configuration"],
        forms: &[
            "* * create",
            "* * delete",
            "* * deploy",
            "* * update",
            "* create",
            "* delete",
            "* deploy",
            "* submit",
            "* update",
            "app deploy",
            "run deploy",
            "storage cp",
            "storage mv",
            "storage rm",
            "storage rsync",
        ],
    },
    WorldCommand {
        program: "az",
        takes: &["--subscription"],
        forms: &[
            "* * create",
            "* * delete",
            "* * update",
            "* create",
            "* delete",
            "* restart",
            "* start",
            "* stop",
            "* update",
        ],
    },
    forms("gsutil", &["cp", "mb", "mv", "rb", "rm", "rsync"]),
    forms("rclone", &["copy", "copyto", "delete", "move", "moveto", "purge", "sync"]),
    forms("cdk", &["deploy", "destroy"]),
    forms("serverless", &["deploy", "remove"]),
    forms("sls", &["deploy", "remove"]),
    forms("fly", &["deploy", "destroy", "scale", "secrets"]),
    forms("flyctl", &["deploy", "destroy", "scale", "secrets"]),
    forms("vercel", &["", "deploy", "promote", "rollback"]),
    forms("netlify", &["deploy"]),
    forms("heroku", &["*"]),
    forms("firebase", &["deploy"]),
    forms("wrangler", &["delete", "deploy", "publish", "rollback"]),
    forms("systemctl", &["disable", "enable", "mask", "reload", "restart", "start", "stop"]),
    always("ssh"),
    always("scp"),
    always("sftp"),
    always("sendmail"),
    always("mail"),
    always("mailx"),
];

/// Other commands are known by their options, see `changes_by_options`: this is how the page describes them.
#[cfg(test)]
const BY_OPTIONS: &[(&str, &str)] = &[
    (
        "curl",
        "with `-X` or `--request` and a method other than `GET` and `HEAD`, or with `-d`, `--data…`, `--json`, `-F`, `--form`, `-T` or `--upload-file` (unless `-G`)",
    ),
    (
        "wget",
        "with `--post-data`, `--post-file`, `--body-data`, `--body-file`, or `--method` other than `GET` and `HEAD`",
    ),
    ("http", "with `POST`, `PUT`, `PATCH` or `DELETE`"),
    (
        "gh",
        "`api` with `-X` or `--method` other than `GET`, or with `-f`, `-F`, `--field`, `--raw-field` or `--input`",
    ),
    ("docker", "`build` or `buildx` with `--push`"),
    ("rsync", "with a remote side (`host:path`, `rsync://`)"),
];

/// The first thing in a script that changes the world: how it is called, and where it is.
pub(crate) fn changes_world(survey: &Survey) -> Option<(String, std::ops::Range<usize>)> {
    let command = survey.commands.iter().find_map(|command| Some((name_of(command)?, command.span.clone())));
    command.or_else(|| {
        let write = survey.writes.iter().find(|write| leaves_the_run(write))?;
        let variable = write.variable.as_ref().map_or_else(String::new, |name| format!("${name}"));
        Some((format!("> {variable}{}", write.path), write.span.clone()))
    })
}

/// What messages call a command that changes the world, or nothing for one that does not.
fn name_of(command: &SurveyedCommand) -> Option<String> {
    let program = command.words.first()?.as_deref()?;
    let program = program.rsplit('/').next().unwrap_or(program);
    let arguments = &command.words[1..];
    let literal = || arguments.iter().flatten().map(String::as_str);
    if literal()
        .any(|word| matches!(word, "--dry-run" | "--dryrun" | "--dry-run=client" | "--dry-run=server"))
    {
        return None;
    }
    if changes_by_options(program, &literal().collect::<Vec<_>>()) {
        return Some(program.to_owned());
    }
    let known = WORLD_COMMANDS.iter().find(|known| known.program == program)?;
    let subcommands = known.subcommands(arguments);
    known.forms.iter().find_map(|form| {
        let mut words = vec![program];
        words.extend(matches_form(form, &subcommands)?);
        Some(words.join(" "))
    })
}

impl WorldCommand {
    /// The words of a command that are neither options nor their arguments.
    fn subcommands<'w>(&self, arguments: &'w [Option<String>]) -> Vec<&'w str> {
        let mut found = Vec::new();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.as_deref() {
                Some(option) if self.takes.contains(&option) => drop(words.next()),
                Some(option) if option.starts_with(['-', '+']) => {}
                Some(word) => found.push(word),
                // What is known only at run time is no subcommand that could be judged.
                None => found.push("?"),
            }
        }
        found
    }
}

/// The words that a form stands for, if the subcommands begin with it.
fn matches_form<'w>(form: &str, subcommands: &'w [&'w str]) -> Option<&'w [&'w str]> {
    let parts: Vec<&str> = form.split_whitespace().collect();
    let words = subcommands.get(..parts.len())?;
    let is_meant = |(part, word): (&&str, &&str)| match part.strip_suffix('*') {
        Some(beginning) => word.starts_with(beginning) && *word != "?",
        None => part == word,
    };
    parts.iter().zip(words).all(is_meant).then_some(words)
}

fn changes_by_options(program: &str, words: &[&str]) -> bool {
    let after = |options: &[&str]| {
        let place = words.iter().position(|word| options.contains(word));
        place.and_then(|place| words.get(place + 1)).copied()
    };
    let joined = |options: &[&str]| {
        words.iter().find_map(|word| options.iter().find_map(|option| word.strip_prefix(option)))
    };
    let reads = |method: &str| matches!(method.to_ascii_uppercase().as_str(), "GET" | "HEAD");
    let begins =
        |options: &[&str]| words.iter().any(|word| options.iter().any(|option| word.starts_with(option)));
    match program {
        "curl" => {
            let method = after(&["-X", "--request"])
                .or_else(|| joined(&["--request=", "-X"]).filter(|word| !word.is_empty()));
            let sends = begins(&["--data", "--json", "--form", "--upload-file"])
                || words.iter().any(|word| {
                    word.starts_with('-') && !word.starts_with("--") && word[1..].starts_with(['d', 'F', 'T'])
                        || is_cluster_with(word, &['d', 'F', 'T'])
                });
            let is_query =
                words.iter().any(|word| matches!(*word, "-G" | "--get") || is_cluster_with(word, &['G']));
            method.map_or(sends && !is_query, |method| !reads(method))
        }
        "wget" => {
            begins(&["--post-data", "--post-file", "--body-data", "--body-file"])
                || joined(&["--method="])
                    .or_else(|| after(&["--method"]))
                    .is_some_and(|method| !reads(method))
        }
        "http" | "https" | "xh" => {
            words.iter().any(|word| matches!(*word, "POST" | "PUT" | "PATCH" | "DELETE"))
        }
        "gh" => {
            words.first() == Some(&"api")
                && (after(&["-X", "--method"])
                    .or_else(|| joined(&["--method=", "-X"]).filter(|word| !word.is_empty()))
                    .map_or_else(
                        || {
                            words.iter().any(|word| {
                                matches!(*word, "-f" | "-F" | "--field" | "--raw-field" | "--input")
                            })
                        },
                        |method| !reads(method),
                    ))
        }
        "docker" => words.contains(&"--push") && words.contains(&"build"),
        "rsync" => words.iter().any(|word| {
            !word.starts_with('-')
                && (word.starts_with("rsync://")
                    || word.split_once(':').is_some_and(|(host, _)| !host.is_empty() && !host.contains('/')))
        }),
        _ => false,
    }
}

/// Whether a cluster of short options (`-sSd`) ends with one of these.
fn is_cluster_with(word: &str, options: &[char]) -> bool {
    word.strip_prefix('-').is_some_and(|rest| {
        !rest.starts_with('-') && rest.chars().all(|c| c.is_ascii_alphabetic()) && rest.ends_with(options)
    })
}

/// Whether a redirection writes outside the run's directories: where it runs, its artifacts, and temporary files.
fn leaves_the_run(write: &SurveyedWrite) -> bool {
    const OWN: &[&str] = &["/dev/", "/tmp/", "/var/tmp/", "/proc/self/fd/"];
    match write.variable.as_deref() {
        Some("HOME") => true,
        // Whatever else a variable holds is not known.
        Some(_) => false,
        None => {
            let path = write.path.as_str();
            let is_outside =
                path.starts_with('/') || path.starts_with('~') || path == ".." || path.starts_with("../");
            is_outside && !OWN.iter().any(|own| path.starts_with(own)) || path.contains("/../")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use escrow_template::{survey_arguments, survey_script};

    fn found(script: &str) -> Option<String> {
        changes_world(&survey_script(script)).map(|(name, _)| name)
    }

    #[test]
    fn commands_that_change_the_world_are_known_by_their_words() {
        for (script, name) in [
            ("git push", "git push"),
            ("git -C repo push origin {{ x }}", "git push"),
            ("cd x && sudo git push --force", "git push"),
            ("sh -c 'git push'", "git push"),
            ("gh pr merge 3 --squash", "gh pr merge"),
            ("gh -R a/b issue create", "gh issue create"),
            ("gh api -X DELETE repos/a", "gh"),
            ("gh api graphql -f query=x", "gh"),
            ("curl -X POST https://x", "curl"),
            ("curl -XDELETE https://x", "curl"),
            ("curl -sS -d @file https://x", "curl"),
            ("curl -sd a=1 https://x", "curl"),
            ("curl --data-raw x https://x", "curl"),
            ("curl -F file=@x https://x", "curl"),
            ("wget --post-data=x https://x", "wget"),
            ("npm publish", "npm publish"),
            ("npm --prefix a publish", "npm publish"),
            ("cargo +nightly publish", "cargo publish"),
            ("docker push a/b", "docker push"),
            ("docker buildx build --push .", "docker"),
            ("kubectl -n prod apply -f x.yaml", "kubectl apply"),
            ("terraform apply -auto-approve", "terraform apply"),
            ("terraform -chdir=x destroy", "terraform destroy"),
            ("aws s3 cp a s3://b", "aws s3 cp"),
            ("aws --region eu ec2 run-instances", "aws ec2 run-instances"),
            ("ssh host uptime", "ssh"),
            ("scp a host:b", "scp"),
            ("rsync -a x/ host:y/", "rsync"),
            ("helm upgrade a b", "helm upgrade"),
            ("make && twine upload dist/*", "twine upload"),
            ("echo x > /etc/motd", "> /etc/motd"),
            ("echo x >> ~/.profile", "> ~/.profile"),
            ("echo x > \"$HOME/.netrc\"", "> $HOME/.netrc"),
            ("echo x > ../sibling/file", "> ../sibling/file"),
        ] {
            assert_eq!(found(script).as_deref(), Some(name), "{script}");
        }
    }

    #[test]
    fn reading_changes_nothing() {
        for script in [
            "git log --grep push",
            "git status; git fetch; git commit -m push",
            "git push --dry-run",
            "gh pr view 3",
            "gh api repos/a/b",
            "gh api -X GET repos/a -f per_page=1",
            "curl -fsS https://x",
            "curl -G -d q=1 https://x",
            "curl -X GET https://x",
            "npm test; npm ci; npm run publish-docs",
            "cargo publish --dry-run",
            "docker build .",
            "kubectl get pods",
            "kubectl apply --dry-run=client -f x",
            "terraform plan",
            "aws s3 ls",
            "aws ec2 describe-instances",
            "rsync -a a/ b/",
            "ssh-keygen -l",
            "echo git push",
            "echo x > out.txt; echo x > \"$ESCROW_ARTIFACTS/a\"; echo x >/dev/null 2>&1; echo x > /tmp/y",
        ] {
            assert_eq!(found(script), None, "{script}");
        }
    }

    #[test]
    fn lists_are_known_too() {
        let found = |words: &[&str]| changes_world(&survey_arguments(words)).map(|(name, _)| name);
        assert_eq!(found(&["git", "push", "origin", "{{ x }}"]).as_deref(), Some("git push"));
        assert_eq!(found(&["sh", "-c", "npm publish"]).as_deref(), Some("npm publish"));
        assert_eq!(found(&["git", "log"]), None);
    }

    #[test]
    fn the_page_about_commands_has_the_whole_table() {
        const PAGE: &str = include_str!("../../../docs/commands.md");
        for known in WORLD_COMMANDS {
            assert!(PAGE.contains(&row(known)), "missing: {}", row(known));
        }
        for (program, when) in BY_OPTIONS {
            assert!(PAGE.contains(&format!("| `{program}` | {when} |")), "missing: {program}");
        }
    }

    fn row(known: &WorldCommand) -> String {
        let forms: Vec<String> =
            known.forms.iter().filter(|form| !form.is_empty()).map(|form| format!("`{form}`")).collect();
        let forms = if forms.len() < known.forms.len() || forms.is_empty() {
            "always".to_owned()
        } else {
            forms.join(", ")
        };
        format!("| `{}` | {forms} |", known.program)
    }

    #[test]
    fn programs_are_unique() {
        let mut names: Vec<&str> = WORLD_COMMANDS.iter().map(|known| known.program).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
