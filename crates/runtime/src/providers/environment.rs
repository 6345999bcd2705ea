//! Which variables of Escrow's own environment a process gets to see.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::Command;
use std::sync::OnceLock;

/// What processes inherit. Declared secrets are never among it.
#[derive(Clone, Debug)]
pub enum Environment {
    /// Everything, less these names.
    Inherit { secrets: Vec<String> },
    /// `MINIMAL_ENVIRONMENT` and the names in `also`, less the secrets: `safety: strict`, and `ai` always.
    Minimal { also: Vec<String>, secrets: Vec<String> },
    /// These and nothing else: what was captured when an approval was asked for.
    Captured { variables: BTreeMap<String, String> },
    /// Everything as in `rest`, but these as they were when the run started; `None` was not set then.
    Fixed { variables: BTreeMap<String, Option<String>>, rest: Box<Environment> },
}

/// The least that programs need to find their tools, their home and their language.
pub const MINIMAL_ENVIRONMENT: &[&str] =
    &["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "TMPDIR", "LANG", "LC_ALL", "LC_CTYPE"];

/// Set for each attempt. Those of an outer Escrow are not passed on.
const OF_AN_ATTEMPT: &[&str] = &[
    "ESCROW_STATE",
    "ESCROW_RUN",
    "ESCROW_RUNS_AROUND",
    "ESCROW_GRANTED_SECRETS",
    "ESCROW_INVOCATION",
    "ESCROW_CHECK",
    "ESCROW_ATTEMPT",
    "ESCROW_IDEMPOTENCY_KEY",
    "ESCROW_ITEM",
    "ESCROW_CONTEXT",
    "ESCROW_ARTIFACTS",
    "ESCROW_ENV",
];

/// Those of them that are set, mostly none: Escrow may run inside an attempt of another.
fn of_an_attempt_around_us<'a>() -> impl Iterator<Item = &'a str> {
    static SET: OnceLock<Vec<&str>> = OnceLock::new();
    let is_set = |name: &&str| std::env::var_os(name).is_some();
    SET.get_or_init(|| OF_AN_ATTEMPT.iter().copied().filter(is_set).collect()).iter().copied()
}

impl Environment {
    pub fn apply(&self, command: &mut Command) {
        match self {
            Environment::Inherit { secrets } => {
                for name in of_an_attempt_around_us().chain(secrets.iter().map(String::as_str)) {
                    command.env_remove(name);
                }
            }
            Environment::Minimal { also, secrets } => {
                command.env_clear();
                for name in kept(also, secrets) {
                    if let Some(value) = std::env::var_os(name) {
                        command.env(name, value);
                    }
                }
            }
            Environment::Captured { variables } => {
                command.env_clear().envs(variables);
            }
            Environment::Fixed { variables, rest } => {
                rest.apply(command);
                for (name, value) in variables {
                    match value {
                        Some(value) => command.env(name, value),
                        None => command.env_remove(name),
                    };
                }
            }
        }
    }

    /// The same, with these variables as they were when the run started.
    pub fn fixed(self, variables: BTreeMap<String, Option<String>>) -> Environment {
        if variables.is_empty() { self } else { Environment::Fixed { variables, rest: Box::new(self) } }
    }

    /// The variables of `MINIMAL_ENVIRONMENT` and these names, less the secrets, as they are now.
    pub fn capture<'n>(&self, names: impl Iterator<Item = &'n str>) -> BTreeMap<String, String> {
        let names = MINIMAL_ENVIRONMENT.iter().copied().chain(names);
        let names = names.filter(|name| !OF_AN_ATTEMPT.contains(name));
        let text = |name: &str| self.value(name).and_then(|value| value.into_string().ok());
        names.filter_map(|name| Some((name.to_owned(), text(name)?))).collect()
    }

    /// Whether a process gets ours with some changes, and not an own one.
    pub fn is_inherited(&self) -> bool {
        match self {
            Environment::Inherit { .. } => true,
            Environment::Fixed { rest, .. } => rest.is_inherited(),
            Environment::Minimal { .. } | Environment::Captured { .. } => false,
        }
    }

    /// The same, less these names.
    pub fn without<'n>(&self, names: impl Iterator<Item = &'n str>) -> Environment {
        let mut narrowed = self.clone();
        match &mut narrowed {
            Environment::Inherit { secrets } | Environment::Minimal { secrets, .. } => {
                secrets.extend(names.map(str::to_owned));
            }
            Environment::Captured { variables } => names.for_each(|name| drop(variables.remove(name))),
            Environment::Fixed { variables, rest } => {
                let names: Vec<&str> = names.collect();
                variables.retain(|name, _| !names.contains(&name.as_str()));
                **rest = rest.without(names.into_iter());
            }
        }
        narrowed
    }

    /// The minimum, with these names as they are now: what a harness inherits, whatever the safety of its playbook.
    pub fn minimal_with<'n>(&self, names: impl Iterator<Item = &'n str>) -> Environment {
        match self {
            Environment::Inherit { secrets } => {
                Environment::Minimal { also: names.map(str::to_owned).collect(), secrets: secrets.clone() }
            }
            Environment::Minimal { also, secrets } => Environment::Minimal {
                also: also.iter().cloned().chain(names.map(str::to_owned)).collect(),
                secrets: secrets.clone(),
            },
            // Keys are read anew, as secrets are.
            Environment::Captured { variables } => {
                let mut variables = variables.clone();
                for name in names {
                    if let Ok(value) = std::env::var(name) {
                        variables.insert(name.to_owned(), value);
                    }
                }
                Environment::Captured { variables }
            }
            // What a harness inherits is keys and addresses, which are read anew.
            Environment::Fixed { rest, .. } => rest.minimal_with(names),
        }
    }

    /// A setting of the operator, such as a proxy: as it was when an approval fixed it, otherwise as it is now.
    pub fn setting(&self, name: &str) -> Option<String> {
        match self {
            Environment::Captured { variables } => variables.get(name).cloned(),
            Environment::Inherit { .. } | Environment::Minimal { .. } | Environment::Fixed { .. } => {
                std::env::var(name).ok()
            }
        }
        .filter(|value| !value.is_empty())
    }

    /// The value that a process would inherit.
    pub fn value(&self, name: &str) -> Option<OsString> {
        let passes = match self {
            Environment::Inherit { secrets } => !secrets.iter().any(|secret| secret == name),
            Environment::Minimal { also, secrets } => kept(also, secrets).any(|kept| kept == name),
            Environment::Captured { variables } => return variables.get(name).map(OsString::from),
            Environment::Fixed { variables, rest } => {
                return match variables.get(name) {
                    Some(value) => value.as_ref().map(OsString::from),
                    None => rest.value(name),
                };
            }
        };
        if passes { std::env::var_os(name) } else { None }
    }
}

/// The names of a minimal environment.
fn kept<'n>(also: &'n [String], secrets: &'n [String]) -> impl Iterator<Item = &'n str> {
    let names = MINIMAL_ENVIRONMENT.iter().copied().chain(also.iter().map(String::as_str));
    names.filter(move |name| !secrets.iter().any(|secret| secret == name))
}
