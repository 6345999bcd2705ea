//! The command line.

mod attention;
mod chain;
mod chain_loop;
mod effects;
mod harness;
mod outcomes;
mod studio;

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};
use escrow_app::Error;
use escrow_model::is_harmless;

use crate::exit::Exit;
use crate::terminal::harmless;

pub(crate) use attention::{
    AttentionAction, AttentionArguments, AttentionList, DismissArguments, InvocationAction,
    InvocationArguments, InvocationEndArguments, InvocationList, InvocationShow, InvocationStart,
    OverrideArguments, ShowArguments, WaitArguments,
};
pub(crate) use chain::{ChainAction, ChainArguments, ChainRunsArguments, DefineArguments, FireArguments};
pub(crate) use chain_loop::{ChainCheckArguments, ChainDaemonArguments};
pub(crate) use effects::{EffectsAction, EffectsArguments, EffectsList, ResolveArguments, ResolvedAs};
pub(crate) use harness::{HarnessAction, HarnessArguments, HarnessTarget};
pub(crate) use outcomes::{
    AddArguments, OutcomesAction, OutcomesArguments, OutcomesExport, OutcomesList, OutcomesWhich,
    RulesAction, RulesArguments, RulesCheck,
};

pub(crate) use studio::{StudioAction, StudioArguments, TokenAction, TokenRole};

/// Runs agent work under contract, and releases it only when the contract is met.
#[derive(Debug, Parser)]
#[command(name = "escrow", version, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) shared: Shared,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The heading that the options of every command have in the help, below those of the command itself.
const GLOBAL: &str = "Global options";

/// Options of every command.
#[derive(Debug, Clone, Args)]
pub(crate) struct Shared {
    /// The format of results on stdout
    #[arg(long, global = true, help_heading = GLOBAL, value_enum, default_value_t = Output::Human, value_name = "FORMAT")]
    pub(crate) output: Output,
    /// Print only errors on stderr
    #[arg(long, short, global = true, help_heading = GLOBAL)]
    pub(crate) quiet: bool,
    /// The state directory, instead of the nearest `.escrow/`
    #[arg(long, global = true, help_heading = GLOBAL, env = "ESCROW_STATE", value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    Human,
    Json,
    Jsonl,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a playbook
    Run(RunArguments),
    /// Check a playbook without running it
    Check(CheckArguments),
    /// Show every effect that a playbook can have, and what stands in its way
    Plan(PlanArguments),
    /// Give one task to an agent, under the contract of its profile
    Agent(AgentArguments),
    /// Run a show of plays with gates, or show where its plays stand
    Play(PlayArguments),
    /// Test playbooks with scripted answers, without starting a process
    Test(TestArguments),
    /// List runs, or show one
    Runs(RunsArguments),
    /// Wait until a run ends or pauses, and exit with its code
    Wait(WaitArguments),
    /// Define, fire and list chains, which run playbooks and actions one after another
    Chain(ChainArguments),
    /// Start, end, list or show invocations, which group the runs of one request
    Invocation(InvocationArguments),
    /// List what needs a person, grouped by cause, with the next command
    Attention(AttentionArguments),
    /// List what a run promised and delivered, or fetch one of its files
    Artifacts(ArtifactsArguments),
    /// Show the output of a run's commands
    Logs(LogsArguments),
    /// End a run and every process it started
    Cancel(CancelArguments),
    /// Resume a run that was interrupted, waits or failed
    Resume(ResumeArguments),
    /// Show why a run or a check ended the way it did, or explain a code
    Explain(ExplainArguments),
    /// Decide recorded runs again under another playbook, without executing anything
    Replay(ReplayArguments),
    /// Verify that a run, an exported run or the whole state is complete and unchanged
    Verify(VerifyArguments),
    /// Copy the whole state to a new directory, at any time
    Backup(BackupArguments),
    /// Remove ended runs with their artifacts and output
    Gc(GcArguments),
    /// List, show, add or export outcomes
    Outcomes(OutcomesArguments),
    /// List effects of external checks, or settle one that is unknown
    Effects(EffectsArguments),
    /// Judge JSON by rules
    Rules(RulesArguments),
    /// List approvals and questions that wait for a person
    Approvals(ApprovalsArguments),
    /// Approve a waiting check
    Approve(ApproveArguments),
    /// Deny a waiting check; the run ends
    Deny(ApproveArguments),
    /// Answer a question of a run
    Answer(AnswerArguments),
    /// Speak the lifecycle wire of AI harnesses: events, envelopes, receipts
    #[command(disable_help_flag = true)]
    Lifecycle(LifecycleArguments),
    /// Install hooks into harnesses, and show what they report
    Harness(HarnessArguments),
    /// Report an event of a harness; harnesses call this
    #[command(disable_help_flag = true)]
    Hook(LifecycleArguments),
    /// Serve web pages that show what was delivered, and why not
    Studio(StudioArguments),
    /// Evaluate an expression
    Eval(EvalArguments),
    /// Print a JSON Schema, for editors
    Schema(SchemaArguments),
    /// Create `.escrow/` with a first playbook
    Init(InitArguments),
    /// Show what this machine offers for running playbooks safely
    Doctor,
    /// Print a completion script for a shell
    Completions(CompletionsArguments),
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// The playbook
    #[arg(required = true)]
    pub(crate) file: Option<PathBuf>,
    /// The event that triggers the run, with its payload from a JSON file
    #[arg(long, value_name = "NAME[=FILE]")]
    pub(crate) event: Option<String>,
    /// An input of the playbook; may be repeated
    #[arg(long = "input", value_name = "KEY=VALUE")]
    pub(crate) inputs: Vec<String>,
    /// Run only this check and what it depends on; may be repeated
    #[arg(long, value_name = "CHECK")]
    pub(crate) only: Vec<String>,
    /// Run only checks with one of these tags, and what they depend on
    #[arg(long, value_name = "TAG", value_delimiter = ',')]
    pub(crate) tags: Vec<String>,
    /// Exclude checks with one of these tags
    #[arg(long, value_name = "TAG", value_delimiter = ',')]
    pub(crate) exclude_tags: Vec<String>,
    /// The number of checks that run in parallel, unless the playbook allows fewer [default: the number of cores]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) jobs: Option<u32>,
    /// Print the output of commands as it comes, each line behind its check [default in CI: when `CI` is set and stderr
    /// is no terminal]
    #[arg(long)]
    pub(crate) stream: bool,
    /// With `--stream`: begin every line with the time
    #[arg(long)]
    pub(crate) timestamps: bool,
    /// Print the output of every check when it has finished, not only of those that failed
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// Exit with 4 when something was skipped by `assume`, by a contract or by safe mode
    #[arg(long)]
    pub(crate) fail_on_skip: bool,
    /// Skip external checks, and show what they would have done
    #[arg(long)]
    pub(crate) safe_mode: bool,
    /// Run this check although its effect has happened, under a new key; may be repeated
    #[arg(long, value_name = "CHECK")]
    pub(crate) again: Vec<String>,
    #[command(flatten)]
    pub(crate) frame: Frame,
    /// Also write a report of the run: `junit=FILE` or `sarif=FILE`; may be repeated
    #[arg(long = "report", value_name = "FORMAT=FILE")]
    pub(crate) reports: Vec<crate::report::Order>,
}

/// The surroundings of a run, shared by `run` and `agent`.
#[derive(Debug, Clone, Args)]
pub(crate) struct Frame {
    /// The artifact directory, instead of `.escrow/artifacts/<run>/`
    #[arg(long, value_name = "DIR")]
    pub(crate) artifacts: Option<PathBuf>,
    /// End the run after this time, e.g. `30m`
    #[arg(long, value_name = "DURATION")]
    pub(crate) timeout: Option<String>,
    /// The working directory, instead of the current one
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// The invocation that this run belongs to
    #[arg(long, env = "ESCROW_INVOCATION", value_name = "ID")]
    pub(crate) invocation: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct AgentArguments {
    /// The agent: a profile `NAME.md` in `.escrow/agents/`
    pub(crate) name: String,
    /// The task; `-` reads it from stdin
    #[arg(allow_hyphen_values = true)]
    pub(crate) prompt: String,
    #[command(flatten)]
    pub(crate) frame: Frame,
}

#[derive(Debug, Args)]
pub(crate) struct ArtifactsArguments {
    /// A run: its id, a unique beginning of it, or `last`
    #[arg(default_value = "last")]
    pub(crate) run: String,
    /// Print one delivered file: by its id, its path, a pattern such as `notes/*.md`, or the beginning of its digest
    #[arg(long, value_name = "ID | PATH | PATTERN | DIGEST")]
    pub(crate) get: Option<String>,
    /// Write it to a file instead of stdout; several files to a directory
    #[arg(long, value_name = "FILE | DIR", requires = "get")]
    pub(crate) to: Option<PathBuf>,
    /// Fetch it even though it has changed since it was verified
    #[arg(long, requires = "get")]
    pub(crate) changed: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// The playbook
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct PlanArguments {
    /// The playbook
    pub(crate) file: PathBuf,
    /// Exit with 4 if nothing stands in the way of an effect
    #[arg(long)]
    pub(crate) fail_on_unguarded: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PlayArguments {
    #[command(subcommand)]
    pub(crate) action: PlayAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PlayAction {
    /// Run the plays of a show
    Run(PlayRunArguments),
    /// Show where the plays of a show stand
    Status(PlayStatusArguments),
}

#[derive(Debug, Args)]
pub(crate) struct PlayRunArguments {
    /// The show
    pub(crate) file: PathBuf,
    /// An input of the show; can be repeated
    #[arg(long = "input", value_name = "KEY=VALUE")]
    pub(crate) inputs: Vec<String>,
    /// How many plays run at once; default: the cores
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) jobs: Option<u32>,
    /// The directory in which the plays work
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct PlayStatusArguments {
    /// A run of a show: its id, a unique beginning of it, or `last`; without it, the newest ones
    pub(crate) run: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct TestArguments {
    /// Test files, or folders that contain `*.test.yaml`
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Only tests whose name contains this text
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct RunsArguments {
    #[command(subcommand)]
    pub(crate) action: Option<RunsAction>,
    #[command(flatten)]
    pub(crate) list: RunsList,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RunsAction {
    /// List runs, newest first
    List(RunsList),
    /// Show one run
    Show(ShowArguments),
    /// Replace the status of an ended run; the journal keeps who, why, and the earlier status
    Override(OverrideArguments),
    /// Write a complete run as one JSON document
    Export(ExportArguments),
    /// Import an exported run
    Import(ImportArguments),
}

#[derive(Debug, Default, Args)]
pub(crate) struct RunsList {
    /// Also runs of chains and shows
    #[arg(long)]
    pub(crate) all: bool,
    /// Only runs with this status
    #[arg(long)]
    pub(crate) status: Option<String>,
    /// Only runs of this invocation
    #[arg(long, value_name = "ID")]
    pub(crate) invocation: Option<String>,
    /// Only runs of this playbook
    #[arg(long, value_name = "NAME")]
    pub(crate) playbook: Option<String>,
    /// Only runs that started within this time, e.g. `7d`
    #[arg(long, value_name = "DURATION")]
    pub(crate) since: Option<String>,
    /// At most this many
    #[arg(long, default_value_t = 50, value_parser = at_least_one)]
    pub(crate) limit: usize,
}

#[derive(Debug, Args)]
pub(crate) struct LogsArguments {
    /// A run: its id, a unique beginning of it, or `last`
    #[arg(default_value = "last")]
    pub(crate) run: String,
    /// Only this check
    pub(crate) check: Option<String>,
    /// Only what was written to stderr
    #[arg(long, conflicts_with = "stdout")]
    pub(crate) stderr: bool,
    /// Only what was written to stdout
    #[arg(long)]
    pub(crate) stdout: bool,
    /// Print output as it comes, until the run ends or pauses; also of a run that another process drives
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Send control characters to the terminal as they were printed, instead of showing them
    #[arg(long)]
    pub(crate) raw: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CancelArguments {
    /// A run: its id, a unique beginning of it, or `last`
    pub(crate) run: String,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArguments {
    /// A run: its id, a unique beginning of it, or `last`
    #[arg(required_unless_present = "all")]
    pub(crate) run: Option<String>,
    /// Resume every run whose process is gone, one after another
    #[arg(long, conflicts_with_all = ["run", "failed", "assume"])]
    pub(crate) all: bool,
    /// With `--all`, the number of runs that are resumed at once [default: 1]
    #[arg(long, short, value_name = "N", conflicts_with = "run")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Run failed checks and their dependents again
    #[arg(long, conflicts_with = "assume")]
    pub(crate) failed: bool,
    /// The result of an unknown effect; may be repeated
    #[arg(long, value_name = "CHECK=done|failed|retry")]
    pub(crate) assume: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ApprovalsArguments {
    /// Include what was decided, newest first
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ApproveArguments {
    /// The id that `escrow approvals` shows
    pub(crate) id: String,
    /// A name to keep beside the current user, who decides; it does not count
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
    /// The reason
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    /// Only record the message; do not resume the run
    #[arg(long)]
    pub(crate) no_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AnswerArguments {
    /// The id that `escrow approvals` shows
    pub(crate) id: String,
    pub(crate) text: String,
    /// Only record the message; do not resume the run
    #[arg(long)]
    pub(crate) no_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LifecycleArguments {
    /// The verb and its arguments; without a verb, all verbs are listed
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "VERB")]
    pub(crate) words: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct EvalArguments {
    /// The expression
    #[arg(required_unless_present = "batch", allow_hyphen_values = true)]
    pub(crate) expression: Option<String>,
    /// A JSON file that defines the names in the expression
    #[arg(long, value_name = "FILE")]
    pub(crate) context: Option<PathBuf>,
    /// The text is a block of statements, as in `script`
    #[arg(long)]
    pub(crate) block: bool,
    /// Show the value of every part
    #[arg(long, conflicts_with = "batch")]
    pub(crate) explain: bool,
    /// Answer lines `{"expr": …, "context": {…}, "block": false}` from stdin
    #[arg(long, conflicts_with_all = ["expression", "context", "block"])]
    pub(crate) batch: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    /// A run (its id, a unique beginning of it, or `last`), a diagnostic (`E0102`) or a reason
    /// (`run.failed.missing_artifact`)
    #[arg(value_name = "RUN | CODE")]
    pub(crate) subject: String,
    /// A check of the run, or one of its items: `review`, `review[2]`
    pub(crate) check: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArguments {
    /// A run: its id, a unique beginning of it, or `last`
    #[arg(required_unless_present = "last")]
    pub(crate) run: Option<String>,
    /// The newest N ended runs of the playbook
    #[arg(long, value_name = "N", conflicts_with = "run", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) last: Option<u32>,
    /// The playbook to decide by, instead of the recorded one
    #[arg(long = "with", value_name = "FILE")]
    pub(crate) with: PathBuf,
    /// Exit with 1 if anything differs
    #[arg(long)]
    pub(crate) fail_on_diff: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// A run: its id, a unique beginning of it, or `last`
    #[arg(default_value = "last")]
    pub(crate) run: String,
    /// The file to write, instead of stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    /// A file written by `runs export`
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// A run (its id, a unique beginning of it, or `last`), or a file written by `runs export`
    #[arg(default_value = "last", value_name = "RUN | FILE")]
    pub(crate) subject: String,
    /// Verify every run, the rows that are derived from journals, the list of runs and the layout of the database
    #[arg(long, conflicts_with = "subject")]
    pub(crate) all: bool,
    /// The hash that an earlier `verify` printed; exit with 3 if it differs
    #[arg(long, value_name = "HASH")]
    pub(crate) expect: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct BackupArguments {
    /// The copy: a directory that does not exist yet
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("retention").required(true).multiple(true))]
pub(crate) struct GcArguments {
    /// Remove runs that ended longer ago than this, e.g. `30d`
    #[arg(long, value_name = "DURATION", group = "retention")]
    pub(crate) older_than: Option<String>,
    /// Keep the newest N runs, whatever other options say; without other options, remove the rest
    #[arg(long, value_name = "N", group = "retention")]
    pub(crate) keep: Option<usize>,
    /// Remove the oldest runs until all runs together take no more than this, e.g. `500M`, `2G`
    #[arg(long, value_name = "SIZE", group = "retention")]
    pub(crate) max_size: Option<String>,
    /// Only list what would be removed
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SchemaArguments {
    /// `playbook`, `chain`, `test`, `agent`, `rules`, or an outcome kind such as `review_verdict`
    pub(crate) subject: String,
}

#[derive(Debug, Args)]
pub(crate) struct InitArguments {
    /// The directory, instead of the current one
    pub(crate) dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    pub(crate) shell: clap_complete::Shell,
}

/// Prints a clap error. Help and version exit with 0; everything else is a usage error.
pub(crate) fn refuse(error: &clap::Error) -> ExitCode {
    let printed = print(error);
    let good = !error.use_stderr();
    if !good && asks_for_json(std::env::args_os()) {
        let text = error.render().to_string();
        let (message, usage) = text.split_once("\n\nUsage:").unwrap_or((&text, ""));
        let help = usage.lines().next().map_or("see `--help`", str::trim);
        let failure = Error::author("usage", message.trim_start_matches("error:").trim()).help(help);
        let mut stdout = io::stdout().lock();
        if writeln!(stdout, "{}", failure.document()).and_then(|()| stdout.flush()).is_err() {
            return Exit::WorldFailed.into();
        }
    }
    // A reader that has seen enough closes the pipe.
    let read = printed.as_ref().err().is_none_or(|error| error.kind() == io::ErrorKind::BrokenPipe);
    match (good, read) {
        (true, true) => Exit::Completed.into(),
        (true, false) => Exit::WorldFailed.into(),
        (false, _) => Exit::AuthorMustAct.into(),
    }
}

/// What was typed is repeated in the error, and must not drive the terminal.
fn print(error: &clap::Error) -> io::Result<()> {
    let plain = error.render().to_string();
    let is_typed_harmlessly = std::env::args_os()
        .all(|word| word.to_string_lossy().chars().all(|c| is_harmless(c) || matches!(c, '\n' | '\t')));
    if is_typed_harmlessly || !error.use_stderr() {
        return error.print();
    }
    write!(io::stderr().lock(), "{}", harmless(&plain))
}

/// A number of things to list. None at all would look like an empty list.
fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("it must be at least 1".to_owned()),
        Ok(number) => Ok(number),
        Err(error) => Err(format!("{error}")),
    }
}

/// Whether an invalid command line asks for JSON: `--output json`, `--output=jsonl`.
fn asks_for_json(words: impl Iterator<Item = OsString>) -> bool {
    let words: Vec<OsString> = words.collect();
    let is_format = |word: &OsStr| word == "json" || word == "jsonl";
    words.iter().any(|word| word == "--output=json" || word == "--output=jsonl")
        || words.windows(2).any(|pair| pair[0] == "--output" && is_format(&pair[1]))
}
