//! The table of commands that change the world outside a run. A check that runs one is `external` unless its
//! criticality is written.
//!
//! The table is a heuristic: it matches program names and subcommands, and cannot see into the author's own scripts.

mod options;

use escrow_template::{Survey, SurveyedCommand, SurveyedWrite};

use options::changes_by_options;

/// How many words are looked through for a subcommand.
const WORDS_MAX: usize = 64;

/// One program, and which of its uses change the world.
pub(crate) struct WorldCommand {
    pub(crate) program: &'static str,
    /// Subcommands, word by word. `*` stands for any word, and at the end of a word for any ending. An empty form
    /// means every use.
    pub(crate) forms: &'static [&'static str],
    place: SubcommandPlace,
}

/// Where the subcommand is among the words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SubcommandPlace {
    /// It is the first word that is no option and no argument of one.
    First,
    /// Each word is one: `mvn clean deploy`.
    Any,
}

const fn always(program: &'static str) -> WorldCommand {
    forms(program, &[""])
}

const fn forms(program: &'static str, forms: &'static [&'static str]) -> WorldCommand {
    WorldCommand { program, forms, place: SubcommandPlace::First }
}

const fn goals(program: &'static str, forms: &'static [&'static str]) -> WorldCommand {
    WorldCommand { program, forms, place: SubcommandPlace::Any }
}

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
    forms(
        "git",
        &["lfs push", "p4 submit", "push", "send-email", "send-pack", "subtree push", "svn dcommit"],
    ),
    forms("hg", &["push"]),
    forms("jj", &["git push"]),
    forms("svn", &["ci", "commit"]),
    forms(
        "gh",
        &[
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
    ),
    forms(
        "glab",
        &[
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
    ),
    forms("npm", &["access", "deprecate", "dist-tag", "owner", "publish", "unpublish"]),
    forms("pnpm", &["publish"]),
    forms("yarn", &["npm publish", "npm tag", "publish"]),
    forms("bun", &["publish"]),
    forms("cargo", &["owner", "publish", "yank"]),
    forms("twine", &["upload"]),
    forms("poetry", &["publish"]),
    forms("uv", &["publish"]),
    forms("gem", &["push", "yank"]),
    goals("mvn", &["deploy", "deploy:*", "release:*"]),
    goals("mvnw", &["deploy", "deploy:*", "release:*"]),
    goals("gradle", &["publish"]),
    goals("gradlew", &["publish"]),
    forms("dotnet", &["nuget push", "nuget delete"]),
    forms(
        "docker",
        &[
            "compose push",
            "image push",
            "manifest push",
            "push",
            "service create",
            "service update",
            "stack deploy",
        ],
    ),
    forms("docker-compose", &["push"]),
    forms("podman", &["image push", "manifest push", "push"]),
    forms("buildah", &["push"]),
    forms("skopeo", &["copy", "delete", "sync"]),
    forms("crane", &["append", "copy", "delete", "mutate", "push", "tag"]),
    forms("kubectl", KUBE_FORMS),
    forms("oc", KUBE_FORMS),
    forms("helm", &["delete", "install", "push", "rollback", "uninstall", "upgrade"]),
    forms("terraform", TERRAFORM_FORMS),
    forms("tofu", TERRAFORM_FORMS),
    forms("pulumi", &["cancel", "destroy", "import", "refresh", "up", "update"]),
    always("ansible"),
    always("ansible-playbook"),
    forms("aws", CLOUD_VERBS),
    forms(
        "gcloud",
        &[
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
    ),
    forms(
        "az",
        &[
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
    ),
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
    let arguments: Vec<Option<&str>> = command.words[1..].iter().map(Option::as_deref).collect();
    let spelled = spelled_out(command);
    if changes_by_options(program, &spelled) && !is_dry(&arguments) {
        return Some(program.to_owned());
    }
    // `python -m twine upload` is `twine upload`.
    if program.starts_with("python")
        && let Some(at) = arguments.iter().position(|word| *word == Some("-m"))
    {
        return named(arguments.get(at + 1).copied().flatten()?, &arguments[at + 2..]);
    }
    named(program, &arguments)
}

/// The arguments of a command. An option that is joined to a value which is known only at run time is two words: `-X$M` is
/// `-X $M`.
fn spelled_out(command: &SurveyedCommand) -> Vec<Option<&str>> {
    let mut words = Vec::with_capacity(command.words.len());
    for (word, beginning) in command.words.iter().zip(&command.beginnings).skip(1) {
        if word.is_none() && beginning.len() > 1 && beginning.starts_with('-') {
            words.push(Some(beginning.trim_end_matches('=')));
        }
        words.push(word.as_deref());
    }
    words
}

fn is_dry(arguments: &[Option<&str>]) -> bool {
    let words = ["--dry-run", "--dryrun", "--dry-run=client", "--dry-run=server"];
    arguments.iter().flatten().any(|word| words.contains(word))
}

fn named(program: &str, arguments: &[Option<&str>]) -> Option<String> {
    if is_dry(arguments) {
        return None;
    }
    if changes_by_options(program, arguments) {
        return Some(program.to_owned());
    }
    let known = WORLD_COMMANDS.iter().find(|known| known.program == program)?;
    known.forms.iter().find_map(|form| {
        let parts: Vec<&str> = form.split_whitespace().collect();
        let words = match known.place {
            SubcommandPlace::First => subcommands(&parts, arguments)?,
            SubcommandPlace::Any => vec![*arguments.iter().flatten().find(|word| is_goal(&parts, word))?],
        };
        let mut name = vec![program];
        name.extend(words);
        Some(name.join(" "))
    })
}

/// The words that a form stands for, if it may be the subcommand. Which options have an argument of their own is not
/// known, so the word behind one may be its argument or not, and a word that is known only at run time may be an option.
pub(crate) fn subcommands<'w>(form: &[&str], words: &[Option<&'w str>]) -> Option<Vec<&'w str>> {
    let Some((part, rest)) = form.split_first() else { return Some(Vec::new()) };
    let mut may_be_argument = false;
    for (at, word) in words.iter().enumerate().take(WORDS_MAX) {
        let matched = match word {
            Some(word) if word.starts_with(['-', '+']) => {
                may_be_argument = may_have_argument(word);
                continue;
            }
            Some(word) => is_meant(part, word).then_some(*word),
            None => (*part == "*").then_some("…"),
        };
        if let Some(matched) = matched
            && let Some(behind) = subcommands(rest, &words[at + 1..])
        {
            return Some(std::iter::once(matched).chain(behind).collect());
        }
        if word.is_some() && !may_be_argument {
            return None;
        }
        may_be_argument = false;
    }
    None
}

/// Whether the word behind an option may be its argument.
fn may_have_argument(option: &str) -> bool {
    const FLAGS: &[&str] = &[
        "--debug",
        "--help",
        "--quiet",
        "--silent",
        "--verbose",
        "--version",
        "--yes",
        "--",
        "-h",
        "-q",
        "-y",
    ];
    !option.starts_with('+')
        && !option.contains('=')
        && !option.starts_with("--no-")
        && !FLAGS.contains(&option)
}

fn is_meant(part: &str, word: &str) -> bool {
    match part.strip_suffix('*') {
        Some(beginning) => word.starts_with(beginning),
        None => part == word,
    }
}

/// Whether a word is the goal of a form: `deploy`, or in Gradle that of a project, `:api:publish`.
fn is_goal(form: &[&str], word: &str) -> bool {
    let task = word.rsplit(':').next().unwrap_or(word);
    form.first().is_some_and(|goal| is_meant(goal, word) || *goal == task)
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
    use super::options::BY_OPTIONS;
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
            ("curl -X $M https://x", "curl"),
            ("curl -X$M https://x", "curl"),
            ("curl -sX\"$M\" https://x", "curl"),
            ("curl --request=$M https://x", "curl"),
            ("wget --method=$M https://x", "wget"),
            ("gh api --method=$M repos/a", "gh"),
            ("http $M https://x", "http"),
            ("http --timeout 3 $M x.org/y", "http"),
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
            // Options in one word.
            ("curl -sX POST https://x", "curl"),
            ("curl -kXDELETE https://x", "curl"),
            ("curl -sLX PUT https://x", "curl"),
            ("curl -sSfX POST https://x", "curl"),
            ("curl -sSfLX=PATCH https://x", "curl"),
            ("curl --request=POST https://x", "curl"),
            ("curl -X \"$METHOD\" https://x", "curl"),
            ("curl -H 'A: b' --json '{}' https://x", "curl"),
            ("curl -sT file https://x", "curl"),
            ("curl -fsSL https://x --next -d a=1 https://y", "curl"),
            ("curl -X GET https://x -: -Fa=1 https://y", "curl"),
            ("curl -Q 'DELE a' ftp://x", "curl"),
            ("env X=1 curl -sX POST https://x", "curl"),
            ("cat urls | xargs curl -X POST", "curl"),
            ("xargs -n1 curl -sX POST <urls", "curl"),
            ("wget --method PUT --body-file=x https://x", "wget"),
            ("wget --post-file x https://x", "wget"),
            ("http POST https://x a=1", "http"),
            ("http --ignore-stdin https://x a=1", "http"),
            ("https x.org/y name:=3", "https"),
            ("xh delete https://x", "xh"),
            ("gh api --hostname h -XPOST repos/a", "gh"),
            ("gh api repos/a -ftitle=x", "gh"),
            ("gh api repos/a --raw-field=title=x", "gh"),
            ("gh api -iX DELETE repos/a", "gh"),
            ("gh api repos/a --input=body.json", "gh"),
            // Options with values before the subcommand.
            ("npm --registry https://x publish", "npm publish"),
            ("npm --prefix x publish", "npm publish"),
            ("npm publish x", "npm publish"),
            ("poetry -C x publish --build", "poetry publish"),
            ("uv --directory x publish", "uv publish"),
            ("git --git-dir x --exec-path y push", "git push"),
            ("git $OPTIONS push", "git push"),
            ("git subtree push --prefix a origin b", "git subtree push"),
            ("docker --log-level debug push a/b", "docker push"),
            ("docker --config x image push a/b", "docker image push"),
            ("docker compose -f x.yaml push", "docker compose push"),
            ("docker buildx build --output type=registry .", "docker"),
            ("kubectl --as admin apply -f x", "kubectl apply"),
            ("kubectl -s https://x delete pod a", "kubectl delete"),
            ("gh pr -R a/b merge 3", "gh pr merge"),
            ("cargo --color never publish", "cargo publish"),
            ("cargo -Z x publish", "cargo publish"),
            ("aws --cli-read-timeout 3 s3 rm s3://a", "aws s3 rm"),
            ("aws \"$SERVICE\" create-thing", "aws … create-thing"),
            ("terraform -chdir x apply", "terraform apply"),
            ("mvn -q -P release clean deploy", "mvn deploy"),
            ("./gradlew clean :api:publish", "gradlew :api:publish"),
            ("python3 -m twine upload dist/*", "twine upload"),
            // Code within code.
            ("eval \"git push\"", "git push"),
            ("eval git push", "git push"),
            ("trap \"git push\" EXIT", "git push"),
            ("trap -- 'git push' EXIT", "git push"),
            ("command git push", "git push"),
            ("exec git push", "git push"),
            ("bash -euo pipefail -c 'git push'", "git push"),
            ("bash -ceu 'git push'", "git push"),
            ("sh -c \"git push origin $BRANCH\"", "git push"),
            ("su deploy -c 'git push'", "git push"),
            ("flock lock -c 'git push'", "git push"),
            ("env -S 'git push'", "git push"),
            ("echo 'git push' | sh", "git push"),
            ("bash -s <<'EOF'\ncd x\ngit push\nEOF", "git push"),
            ("bash <<< 'git push'", "git push"),
            ("alias p='git push'; p", "git push"),
            ("find . -name x -exec scp {} host: \\;", "scp"),
            ("npx --package wrangler wrangler deploy", "wrangler deploy"),
            ("poetry run twine upload dist/*", "twine upload"),
            ("docker run --rm -v a:b node npm publish", "npm publish"),
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
            "curl -H\"A: $T\" --user=$U -o$F https://x",
            "http $URL",
            "http $URL a==1 Accept:$T",
            "http --timeout $T https://x",
            "http GET $URL",
            "http -v HEAD $URL a==1",
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
            "curl -so out https://x; curl -sSLo POST https://x; curl -sH 'X-Post: -d' https://x",
            "curl -sX GET -d a=1 https://x",
            "curl -sGd a=1 https://x",
            "curl -sI https://x; curl -X HEAD https://x",
            "curl -A '-X POST' https://x",
            "wget -q --method=GET https://x",
            "http GET https://x a==1 H:b",
            "http --ignore-stdin https://x q==1 Accept:text/plain",
            "gh api -iX GET repos/a",
            "npm --silent test publish",
            "git --no-pager log push",
            "poetry run pytest; uv run pytest",
            "eval \"$(ssh-agent -s)\"",
            "trap 'rm -rf tmp' EXIT",
            "sh script.sh push; bash -e script.sh",
            "cat <<EOF\ngit push\nEOF",
            "mvn verify; gradle build publishToMavenLocal",
            "docker run --rm node npm test",
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
        assert_eq!(found(&["curl", "-sX", "POST", "https://x"]).as_deref(), Some("curl"));
        assert_eq!(
            found(&["npm", "--registry", "{{ inputs.registry }}", "publish"]).as_deref(),
            Some("npm publish")
        );
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
