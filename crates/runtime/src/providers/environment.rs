//! Which variables of Escrow's own environment a process gets to see.

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
}

/// The least that programs need to find their tools, their home and their language.
pub const MINIMAL_ENVIRONMENT: &[&str] =
    &["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "TMPDIR", "LANG", "LC_ALL", "LC_CTYPE"];

/// Set for each attempt. Those of an outer Escrow are not passed on.
const OF_AN_ATTEMPT: &[&str] = &[
    "ESCROW_STATE",
    "ESCROW_RUN",
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
            Environment::Minimal { .. } => {
                command.env_clear();
                for name in self.kept() {
                    if let Some(value) = std::env::var_os(name) {
                        command.env(name, value);
                    }
                }
            }
        }
    }

    /// Whether a process gets ours with some changes, and not an own one.
    pub fn is_inherited(&self) -> bool {
        matches!(self, Environment::Inherit { .. })
    }

    /// The same, less these names.
    pub fn without<'n>(&self, names: impl Iterator<Item = &'n str>) -> Environment {
        let mut narrowed = self.clone();
        let (Environment::Inherit { secrets } | Environment::Minimal { secrets, .. }) = &mut narrowed;
        secrets.extend(names.map(str::to_owned));
        narrowed
    }

    /// The value that a process would inherit.
    pub fn value(&self, name: &str) -> Option<OsString> {
        let passes = match self {
            Environment::Inherit { secrets } => !secrets.iter().any(|secret| secret == name),
            Environment::Minimal { .. } => self.kept().any(|kept| kept == name),
        };
        if passes { std::env::var_os(name) } else { None }
    }

    fn kept(&self) -> impl Iterator<Item = &str> {
        let (also, secrets): (&[String], &[String]) = match self {
            Environment::Inherit { secrets } => (&[], secrets),
            Environment::Minimal { also, secrets } => (also, secrets),
        };
        let names = MINIMAL_ENVIRONMENT.iter().copied().chain(also.iter().map(String::as_str));
        names.filter(move |name| !secrets.iter().any(|secret| secret == name))
    }
}
