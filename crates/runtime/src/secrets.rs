//! The values of a run's secrets: read once by the process that drives the run, held here and nowhere else.
//!
//! **Invariant:** a value leaves this module in one way only, to a process whose check asked for it. It is never journaled, printed or rendered; errors name the secret, never its value.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use escrow_harness::HARNESSES;
use escrow_model::{Plan, ProviderName, RunId, Secret, SecretSource};
use serde_json::Value;
use thiserror::Error;

use crate::granted_secrets;
use crate::process::{End, Process, find_program, run};
use crate::providers::Environment;
use crate::redaction::{Redactor, SHORTEST};

/// Longer values do not belong into an environment variable.
pub(crate) const LONGEST: usize = 16 * 1024;

/// How long a command may take to print a secret. A person may have to unlock something first.
const COMMAND_DEADLINE: Duration = Duration::from_secs(60);

/// What was read, and what is to be withheld whether it was read or not.
pub struct Secrets {
    values: BTreeMap<String, Vec<u8>>,
    /// Values that are only redacted.
    foreign: Vec<Vec<u8>>,
    withheld: BTreeSet<String>,
    redactor: Arc<Redactor>,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Secrets").field(&self.values.keys().collect::<Vec<_>>()).finish()
    }
}

/// Why a secret that a check asks for is not there.
#[derive(Debug, Error)]
pub enum SecretError {
    #[error("secret `{name}` is missing: the environment variable `{variable}` is not set")]
    Unset { name: String, variable: String },
    #[error("secret `{name}` is missing: `{path}` cannot be read: {error}")]
    File { name: String, path: String, error: io::Error },
    /// Without what the command printed, which may be half a secret.
    #[error("secret `{name}` is missing: `{program}` {problem}")]
    Command { name: String, program: String, problem: String },
    #[error("secret `{name}` {problem}")]
    Unusable { name: String, problem: &'static str },
}

impl SecretError {
    /// Whether the declaration of the secret must change; otherwise the world failed.
    pub fn is_of_the_author(&self) -> bool {
        match self {
            SecretError::Unset { .. } | SecretError::File { .. } | SecretError::Unusable { .. } => true,
            SecretError::Command { .. } => false,
        }
    }
}

/// A secret that was found where none may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundSecret {
    Declared(String),
    OfARunAround,
}

impl fmt::Display for FoundSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FoundSecret::Declared(name) => write!(formatter, "secret `{name}`"),
            FoundSecret::OfARunAround => formatter.write_str("a secret of the run around it"),
        }
    }
}

impl Secrets {
    pub fn none() -> Secrets {
        Secrets {
            values: BTreeMap::new(),
            foreign: Vec::new(),
            withheld: BTreeSet::new(),
            redactor: Redactor::none(),
        }
    }

    /// Reads what the plan declares. A secret that a check asks for must be there; one that no check asks for is
    /// taken if it is there, so that it is redacted, but no command is run for it.
    pub async fn read(plan: &Plan, directory: &Path) -> Result<Secrets, SecretError> {
        Secrets::read_for(plan, directory, None).await
    }

    /// Reads the secrets of a run that is nested in another. The commands that print them count as processes of the
    /// run around it: when Escrow is killed, they are ended before that run is resumed.
    pub async fn read_within(plan: &Plan, directory: &Path, around: &RunId) -> Result<Secrets, SecretError> {
        Secrets::read_for(plan, directory, Some(around)).await
    }

    async fn read_for(plan: &Plan, directory: &Path, run: Option<&RunId>) -> Result<Secrets, SecretError> {
        let mut values = BTreeMap::new();
        for secret in &plan.secrets {
            let asked_for = plan.checks.iter().any(|check| check.secrets.contains(&secret.name));
            let value = match (&secret.from, asked_for) {
                (SecretSource::Command(words), true) => {
                    Some(printed(secret, words, plan, directory, run).await?)
                }
                (SecretSource::Command(_), false) => None,
                (_, true) => Some(at_rest(secret, directory)?),
                (_, false) => at_rest(secret, directory).ok(),
            };
            if let Some(value) = value {
                if asked_for {
                    check(secret, &value)?;
                }
                values.insert(secret.name.clone(), value);
            }
        }
        Ok(Secrets::new(plan, values).also_knowing(harness_keys(plan)))
    }

    /// What can be read without running anything; what cannot is left out. For messages about a run that this
    /// process does not drive.
    ///
    /// A command of a run has the secrets that it was granted in its environment, under their own names.
    pub fn at_hand(plan: &Plan, directory: &Path) -> Secrets {
        let known = |secret: &Secret| Some((secret.name.clone(), at_hand(secret, directory)?));
        Secrets::new(plan, plan.secrets.iter().filter_map(known).collect()).also_knowing(granted_here(plan))
    }

    /// Everything that can be read, programs included; what cannot is left out. For texts that are written down here and
    /// that no process redacts later.
    pub async fn known(plan: &Plan, directory: &Path) -> Secrets {
        let mut values = BTreeMap::new();
        for secret in &plan.secrets {
            let value = match &secret.from {
                SecretSource::Command(words) => printed(secret, words, plan, directory, None).await.ok(),
                SecretSource::Env(_) | SecretSource::File(_) => at_hand(secret, directory),
            };
            values.extend(value.map(|value| (secret.name.clone(), value)));
        }
        Secrets::new(plan, values).also_knowing(granted_here(plan))
    }

    /// The same secrets, whose redactor also knows those of the run around. They are granted to no check of this one.
    #[must_use]
    pub fn inside(self, outer: &Secrets) -> Secrets {
        let theirs = outer.values.values().chain(&outer.foreign).cloned().collect();
        let withheld = outer.withheld.iter().cloned();
        let mut inside = self.also_knowing(theirs);
        inside.withheld.extend(withheld);
        inside
    }

    /// The same secrets, whose redactor also knows those of runs whose command this process is. Their variables are
    /// inherited as any others: the command that was granted them has started this process.
    #[must_use]
    pub fn started_within(self, around: &Secrets) -> Secrets {
        self.also_knowing(around.values.values().chain(&around.foreign).cloned().collect())
    }

    /// What the command that has started this process was granted, by this run or another one around it.
    pub fn granted_to_this_process() -> Secrets {
        Secrets::none().also_knowing(granted_secrets::values())
    }

    fn also_knowing(self, mut foreign: Vec<Vec<u8>>) -> Secrets {
        if foreign.is_empty() {
            return self;
        }
        keep_out_of_dumps();
        foreign.extend(self.foreign);
        let redactor = Redactor::of(self.values.values().chain(&foreign).map(Vec::as_slice));
        Secrets { foreign, redactor: Arc::new(redactor), ..self }
    }

    /// The redactor of what can be read without running anything, for messages about a playbook that may not
    /// even load.
    pub fn redactor_of(secrets: &[Secret], directory: &Path) -> Arc<Redactor> {
        let values: Vec<Vec<u8>> =
            secrets.iter().filter_map(|secret| at_rest(secret, directory).ok()).collect();
        Arc::new(Redactor::of(values.iter().map(Vec::as_slice)))
    }

    fn new(plan: &Plan, values: BTreeMap<String, Vec<u8>>) -> Secrets {
        let redactor = Arc::new(Redactor::of(values.values().map(Vec::as_slice)));
        if !values.is_empty() {
            keep_out_of_dumps();
        }
        Secrets { values, foreign: Vec::new(), withheld: withheld(plan), redactor }
    }

    pub fn redactor(&self) -> &Arc<Redactor> {
        &self.redactor
    }

    /// The variables that no process inherits.
    pub fn withheld(&self) -> impl Iterator<Item = &str> {
        self.withheld.iter().map(String::as_str)
    }

    pub fn is_withheld(&self, variable: &str) -> bool {
        self.withheld.contains(variable)
    }

    /// The name of a secret whose value is in this value, in any spelling. Those of a run around this one have no
    /// name here.
    pub fn found_in(&self, value: &Value) -> Option<FoundSecret> {
        let has = |redactor: Redactor| Arc::new(redactor).value(&mut value.clone());
        if self.redactor.is_empty() || !self.redactor.value(&mut value.clone()) {
            return None;
        }
        let own = self.values.iter().find(|(_, secret)| has(Redactor::of([secret.as_slice()])));
        Some(own.map_or(FoundSecret::OfARunAround, |(name, _)| FoundSecret::Declared(name.clone())))
    }

    pub fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// For the environment of a process of the check that names these.
    pub fn granted(&self, names: &[String]) -> Vec<(String, OsString)> {
        let value = |name: &String| Some((name.clone(), OsString::from_vec(self.values.get(name)?.clone())));
        names.iter().filter_map(value).collect()
    }
}

/// Neither a core dump nor a debugger of the same user sees the memory of this process. Programs that it starts are not
/// affected.
///
/// The system then also hides its environment, by which Escrow finds what a killed run has left behind. So a process that
/// is itself a command of a run does this only when it knows a secret.
pub fn keep_out_of_dumps() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // It fails only where the kernel does not know the request.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}

/// The keys of the harnesses that the plan starts. They are secrets, declared or not: a harness can write its key into
/// what it delivers.
fn harness_keys(plan: &Plan) -> Vec<Vec<u8>> {
    if plan.checks.iter().all(|check| check.provider != ProviderName::AI) {
        return Vec::new();
    }
    let variables = HARNESSES.iter().flat_map(|harness| harness.spec().key_variables);
    let values = variables.filter_map(std::env::var_os).map(OsString::into_vec);
    values.filter(|key| key.len() >= HARNESS_KEY_BYTES_MIN).collect()
}

/// A shorter value is a stand-in, such as `none`, which other texts contain by chance.
const HARNESS_KEY_BYTES_MIN: usize = 12;

/// What this process was granted, when it is a command of a run itself: the variables, or the files that they name. A
/// path that can be read is no secret.
fn granted_here(plan: &Plan) -> Vec<Vec<u8>> {
    let mut granted = Vec::new();
    for secret in &plan.secrets {
        let Some(variable) = std::env::var_os(&secret.name) else { continue };
        let is_path = plan.checks.iter().any(|check| {
            check.secret_files.contains(&secret.name) || check.secret_descriptors.contains(&secret.name)
        });
        let is_path = is_path && Path::new(&variable).is_absolute();
        let content = is_path.then(|| read_file(Path::new(&variable)).ok()).flatten();
        granted.push(content.unwrap_or_else(|| variable.into_vec()));
    }
    granted
}

fn withheld(plan: &Plan) -> BTreeSet<String> {
    plan.secrets.iter().flat_map(Secret::variables).map(str::to_owned).collect()
}

fn check(secret: &Secret, value: &[u8]) -> Result<(), SecretError> {
    let problem = match value {
        [] => "is empty",
        short if short.len() < SHORTEST => {
            "has fewer than 4 bytes: text that short occurs by chance, so it cannot be redacted"
        }
        long if long.len() > LONGEST => "has more than 16 KiB",
        value if value.contains(&0) => "has a NUL byte, which no environment variable can hold",
        _ => return Ok(()),
    };
    Err(SecretError::Unusable { name: secret.name.clone(), problem })
}

/// As [`at_rest`], if it is there. What this process was granted as a file is not: its variable has a path.
fn at_hand(secret: &Secret, directory: &Path) -> Option<Vec<u8>> {
    match &secret.from {
        SecretSource::Env(variable) if granted_secrets::is_path(variable) => None,
        _ => at_rest(secret, directory).ok(),
    }
}

/// From the environment or a file.
fn at_rest(secret: &Secret, directory: &Path) -> Result<Vec<u8>, SecretError> {
    let name = || secret.name.clone();
    match &secret.from {
        SecretSource::Env(variable) => match std::env::var_os(variable) {
            Some(value) => Ok(value.into_vec()),
            None => Err(SecretError::Unset { name: name(), variable: variable.clone() }),
        },
        SecretSource::File(path) => match read_file(&directory.join(expanded(path))) {
            Ok(bytes) => Ok(without_newline(bytes)),
            Err(error) => Err(SecretError::File { name: name(), path: path.clone(), error }),
        },
        SecretSource::Command(words) => Err(SecretError::Command {
            name: name(),
            program: words.first().cloned().unwrap_or_default(),
            problem: "was not run".into(),
        }),
    }
}

pub(crate) fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // A little more than is allowed, so that what is too long is seen to be.
    File::open(path)?.take(LONGEST as u64 + 3).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// `~/` is the home directory, as in a shell.
fn expanded(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => Path::new(&home).join(rest),
        _ => PathBuf::from(path),
    }
}

/// One newline at the end belongs to the file or to the program's manners, not to the secret.
fn without_newline(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.ends_with(b"\n") {
        bytes.pop();
        if bytes.ends_with(b"\r") {
            bytes.pop();
        }
    }
    bytes
}

/// What a command prints.
async fn printed(
    secret: &Secret,
    words: &[String],
    plan: &Plan,
    directory: &Path,
    run_around: Option<&RunId>,
) -> Result<Vec<u8>, SecretError> {
    let program = words.first().cloned().unwrap_or_default();
    let failed = |problem: String| SecretError::Command {
        name: secret.name.clone(),
        program: program.clone(),
        problem,
    };
    let environment = Environment::Inherit { secrets: withheld(plan).into_iter().collect() };
    let path = environment.value("PATH");
    let found = find_program(OsStr::from_bytes(program.as_bytes()), path.as_deref(), directory)
        .map_err(|_| failed("cannot be found".into()))?;
    let mut command = Command::new(found);
    command.args(words.iter().skip(1)).current_dir(directory);
    environment.apply(&mut command);
    if let Some(run) = run_around {
        command.env("ESCROW_RUN", run.as_str());
    }
    let process = Process {
        deadline: Some(COMMAND_DEADLINE),
        stdout_tail_bytes_max: LONGEST + 2,
        ..Process::new(command)
    };
    let finished = run(process).await.map_err(|_| failed("cannot be started".into()))?;
    match finished.end {
        End::Exited(0) if finished.stdout.is_truncated() => Err(failed("printed more than 16 KiB".into())),
        End::Exited(0) => Ok(without_newline(finished.stdout.tail)),
        End::Exited(code) => Err(failed(format!("exited with {code}"))),
        End::TimedOut => Err(failed(format!("took longer than {} s", COMMAND_DEADLINE.as_secs()))),
        End::Signalled(signal) => Err(failed(format!("was ended by signal {signal}"))),
        End::Cancelled | End::Lost => Err(failed("was ended".into())),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use rustix::process::{DumpableBehavior, dumpable_behavior};

    #[test]
    fn a_process_that_knows_a_secret_cannot_be_dumped() {
        keep_out_of_dumps();
        assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::NotDumpable);
    }
}
