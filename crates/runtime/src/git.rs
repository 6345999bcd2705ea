//! Git facts of a directory: its branches, and the files that changed.
//!
//! Asks the `git` program and changes nothing: no locks, no hooks of a file system monitor.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use escrow_model::GitFacts;
use serde_json::{Map, Value};

use crate::process::{End, Process, find_program, run};

/// How long git may take, all questions together.
const DEADLINE: Duration = Duration::from_secs(10);

/// What the files of a run are compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// With where the branch left its base.
    Branch,
    /// The commits of an event are compared, whatever is checked out: a job of `pull_request_target` has the base.
    PullRequest { base: String, head: String },
    /// Without a commit before it, the branch is new.
    Push { before: Option<String>, after: String },
}

impl Comparison {
    /// As the payload of an event of GitHub asks for.
    pub fn of(payload: &Map<String, Value>) -> Comparison {
        let pull = payload.get("pull_request");
        let side = |name: &str| commit(pull?.get(name)?.get("sha")?);
        if let Some((base, head)) = side("base").zip(side("head")) {
            return Comparison::PullRequest { base, head };
        }
        match payload.get("after").and_then(commit) {
            Some(after) => Comparison::Push { before: payload.get("before").and_then(commit), after },
            None => Comparison::Branch,
        }
    }
}

/// A whole id of a commit. Nothing else becomes an argument of git; zeros stand for none.
fn commit(value: &Value) -> Option<String> {
    let text = value.as_str()?;
    let is_id = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_id && text.bytes().any(|byte| byte != b'0')).then(|| text.to_owned())
}

/// Branch, base branch, and the files that differ from where the branch left its base, or between the commits of an event:
/// committed, not committed and untracked, without `.escrow`. Paths are relative to the root of the repository. The error is
/// a text for people; outside a repository there are no facts.
pub async fn git_facts(directory: &Path, comparison: &Comparison) -> Result<GitFacts, String> {
    let mut git = Git::new(directory)?;
    git.directory = PathBuf::from(git.line(&["rev-parse", "--show-toplevel"]).await?);
    let branch = git.line_if_any(&["symbolic-ref", "--quiet", "--short", "HEAD"]).await?;
    let base = Base::find(&git).await?;
    let mut files = BTreeSet::new();
    let head = git.line_if_any(&["rev-parse", "--quiet", "--verify", "HEAD"]).await?;
    let compared = match (comparison, base.as_ref()) {
        (Comparison::PullRequest { base, head }, _) => {
            git.must_have(base).await?;
            git.must_have(head).await?;
            Some((git.left_at(base, head).await?, head.clone()))
        }
        (Comparison::Push { before: Some(before), after }, _) => {
            git.must_have(before).await?;
            git.must_have(after).await?;
            Some((before.clone(), after.clone()))
        }
        (Comparison::Push { before: None, after }, Some(base)) => {
            git.must_have(after).await?;
            Some((git.left_at(&base.reference, after).await?, after.clone()))
        }
        (Comparison::Branch, Some(base)) => match &head {
            Some(head) => Some((git.left_at(&base.reference, head).await?, head.clone())),
            None => None,
        },
        (Comparison::Push { before: None, .. } | Comparison::Branch, None) => None,
    };
    if let Some((left_at, head)) = &compared {
        let question = ["diff-tree", "-r", "--name-only", "--no-renames", "-z", left_at, head];
        add_names(&mut files, git.text(&question).await?.split('\0'));
    }
    // `diff` would do as well, but it writes the index when times differ, and may be in the way of a commit.
    let status = git.text(&["status", "--porcelain", "--no-renames", "--untracked-files=all", "-z"]).await?;
    add_names(&mut files, status.split('\0').filter_map(|entry| entry.get(STATUS_LETTERS..)));
    Ok(GitFacts {
        files_changed: files.into_iter().collect(),
        branch,
        base_branch: base.map(|base| base.name),
    })
}

/// The directory that all worktrees of a repository share.
pub(crate) async fn common_directory(directory: &Path) -> Result<PathBuf, String> {
    let git = Git::new(directory)?;
    Ok(directory.join(git.line(&["rev-parse", "--git-common-dir"]).await?))
}

/// `git status` prints two status letters and a space before each name.
const STATUS_LETTERS: usize = 3;

fn add_names<'a>(names: &mut BTreeSet<String>, found: impl Iterator<Item = &'a str>) {
    let ours = |name: &&str| !name.is_empty() && !name.split('/').any(|part| part == ".escrow");
    names.extend(found.filter(ours).map(str::to_owned));
}

/// The branch that changes will be merged into.
struct Base {
    /// `main`
    name: String,
    /// `refs/remotes/origin/main`
    reference: String,
}

impl Base {
    /// The default branch of the remote, else a local `main` or `master`, else one of the remote.
    async fn find(git: &Git) -> Result<Option<Base>, String> {
        const HEAD: &str = "refs/remotes/origin/HEAD";
        const LIKELY: [&str; 4] = [
            "refs/heads/main",
            "refs/heads/master",
            "refs/remotes/origin/main",
            "refs/remotes/origin/master",
        ];
        let mut question = vec!["for-each-ref", "--format=%(refname) %(symref)", HEAD];
        question.extend(LIKELY);
        let answer = git.text(&question).await?;
        let references: Vec<_> = answer.lines().filter_map(|line| line.split_once(' ')).collect();
        let told = references.iter().find(|(name, target)| *name == HEAD && !target.is_empty());
        let likely = LIKELY.iter().find(|likely| references.iter().any(|(name, _)| name == *likely));
        let reference = told.map(|(_, target)| *target).or(likely.copied());
        Ok(reference.map(|reference| {
            let short = reference
                .strip_prefix("refs/remotes/origin/")
                .or_else(|| reference.strip_prefix("refs/heads/"))
                .unwrap_or(reference);
            Base { name: short.to_owned(), reference: reference.to_owned() }
        }))
    }
}

struct Git {
    program: PathBuf,
    directory: PathBuf,
    until: Instant,
}

impl Git {
    fn new(directory: &Path) -> Result<Git, String> {
        let path = std::env::var_os("PATH");
        let program =
            find_program(OsStr::new("git"), path.as_deref(), directory).map_err(|error| error.message())?;
        Ok(Git { program, directory: directory.to_owned(), until: Instant::now() + DEADLINE })
    }

    /// A shallow clone lacks most commits. To compare nothing would show that nothing changed.
    async fn must_have(&self, commit: &str) -> Result<(), String> {
        let peeled = format!("{commit}^{{commit}}");
        match self.ask(&["rev-parse", "--quiet", "--verify", &peeled]).await? {
            (0, _) => Ok(()),
            (_, _) => Err(format!(
                "git does not have the commit {commit} of the event; fetch it (`fetch-depth: 0` of `actions/checkout`)"
            )),
        }
    }

    /// The commit at which `head` left its base.
    async fn left_at(&self, base: &str, head: &str) -> Result<String, String> {
        self.line_if_any(&["merge-base", base, head]).await?.ok_or_else(|| {
            let base = base.rsplit('/').next().unwrap_or(base);
            format!("git knows no common commit with `{base}`; a shallow clone needs more history")
        })
    }

    async fn line(&self, question: &[&str]) -> Result<String, String> {
        Ok(self.text(question).await?.trim_end_matches('\n').to_owned())
    }

    /// `None` when git says no by its exit code.
    async fn line_if_any(&self, question: &[&str]) -> Result<Option<String>, String> {
        match self.ask(question).await? {
            (0, text) => Ok(Some(text.trim_end_matches('\n').to_owned()).filter(|line| !line.is_empty())),
            (1, _) => Ok(None),
            (_, problem) => Err(problem),
        }
    }

    async fn text(&self, question: &[&str]) -> Result<String, String> {
        match self.ask(question).await? {
            (0, text) => Ok(text),
            (_, problem) => Err(problem),
        }
    }

    /// The exit code with what git answered, or with its complaint when it failed.
    async fn ask(&self, question: &[&str]) -> Result<(i32, String), String> {
        let mut command = Command::new(&self.program);
        command
            .args(["-c", "core.fsmonitor=false", "-c", "core.quotePath=false"])
            .args(question)
            .current_dir(&self.directory)
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C");
        // A hook of git sets these for its own repository; the directory says which one is meant.
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
            command.env_remove(name);
        }
        let left = self.until.saturating_duration_since(Instant::now());
        let process = Process { deadline: Some(left), ..Process::new(command) };
        let finished = run(process).await.map_err(|error| error.message())?;
        match finished.end {
            End::Exited(0) if finished.stdout.is_truncated() => Err("git lists too many files".into()),
            End::Exited(0) => Ok((0, finished.stdout.text())),
            End::Exited(code) => {
                let stderr = finished.stderr.text();
                let complaint = stderr.lines().next().unwrap_or("git failed");
                Ok((code, complaint.trim_start_matches("fatal: ").to_owned()))
            }
            End::TimedOut => Err(format!("git took longer than {} s", DEADLINE.as_secs())),
            End::Signalled(_) | End::Cancelled | End::Lost => Err("git was ended".into()),
        }
    }
}
