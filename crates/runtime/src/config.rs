//! `.escrow/config.toml`: the settings of a project.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::playbook_file::read_text;
use crate::project;

/// The name of the file.
const NAME: &str = "config.toml";

/// Settings are short.
const BYTES_MAX: u64 = 1 << 20;

/// What Escrow reads of the file. Other tables belong to other parts of it.
#[derive(Debug, Default, Deserialize)]
struct Config {
    #[serde(default)]
    harness: Harness,
    #[serde(default)]
    webhook: BTreeMap<String, WebhookTable>,
    #[serde(default)]
    poll: Poll,
    notify: Option<NotifyTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WebhookTable {
    secret: SecretPlace,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SecretPlace {
    env: Option<String>,
    file: Option<PathBuf>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Poll {
    github: Option<GithubTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct GithubTable {
    repos: Vec<String>,
    every: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NotifyTable {
    command: Option<toml::Value>,
    webhook: Option<String>,
}

/// What makes chains fire and tells people, as the settings of a project have it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// The secrets of webhooks, by the name of the hook.
    pub webhooks: BTreeMap<String, WebhookSecret>,
    pub github_poll: Option<GithubPolling>,
    pub notify: Option<Notify>,
}

/// Where the secret of a webhook is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebhookSecret {
    Env(String),
    /// Absolute.
    File(PathBuf),
}

impl WebhookSecret {
    /// The secret itself, or why there is none.
    pub fn read(&self) -> Result<Vec<u8>, String> {
        let secret = match self {
            WebhookSecret::Env(variable) => std::env::var_os(variable)
                .map(|value| value.into_encoded_bytes())
                .ok_or_else(|| format!("`{variable}` is not set"))?,
            WebhookSecret::File(path) => {
                let mut bytes = Vec::new();
                std::fs::File::open(path)
                    .and_then(|file| file.take(SECRET_BYTES_MAX).read_to_end(&mut bytes))
                    .map_err(|error| format!("`{}` cannot be read: {error}", path.display()))?;
                bytes
            }
        };
        let end = secret.iter().rposition(|byte| !byte.is_ascii_whitespace()).map_or(0, |last| last + 1);
        match &secret[..end] {
            short if short.len() < SECRET_BYTES_MIN => {
                Err(format!("the secret has fewer than {SECRET_BYTES_MIN} bytes"))
            }
            secret => Ok(secret.to_vec()),
        }
    }
}

const SECRET_BYTES_MIN: usize = 8;
const SECRET_BYTES_MAX: u64 = 16 * 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GithubPolling {
    /// `OWNER/NAME`.
    pub repos: Vec<String>,
    pub every_ms: u64,
}

/// How people are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notify {
    /// A script for the shell.
    Script(String),
    /// A program and its arguments.
    Argv(Vec<String>),
    Webhook(String),
}

/// Settings that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError {
    pub path: PathBuf,
    pub problem: String,
}

impl fmt::Display for SettingsError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`{}`: {}", self.path.display(), self.problem)
    }
}

/// Reads the settings beside a state directory. Without a file, nothing is set.
pub fn settings(state: &Path) -> Result<Settings, SettingsError> {
    let path = state.join(NAME);
    let failed = |problem: String| SettingsError { path: path.clone(), problem };
    if !path.is_file() {
        return Ok(Settings::default());
    }
    let text = read_text(&path, BYTES_MAX).map_err(failed)?;
    let config: Config = toml::from_str(&text).map_err(|error| failed(error.message().to_owned()))?;
    let mut settings = Settings::default();
    for (name, table) in config.webhook {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if name.is_empty() || !name.bytes().all(is_plain) {
            return Err(failed(format!("`{name}` cannot be the name of a webhook")));
        }
        let secret = match (table.secret.env, table.secret.file) {
            (Some(variable), None) => WebhookSecret::Env(variable),
            (None, Some(file)) => WebhookSecret::File(state.parent().unwrap_or(state).join(file)),
            (Some(_), Some(_)) | (None, None) => {
                return Err(failed(format!("the secret of webhook `{name}` needs `env` or `file`")));
            }
        };
        settings.webhooks.insert(name, secret);
    }
    settings.github_poll = config.poll.github.map(|table| polling(&table)).transpose().map_err(failed)?;
    settings.notify = config.notify.map(notify).transpose().map_err(failed)?;
    Ok(settings)
}

/// A poll more often than this would use up the rate that GitHub allows.
const POLL_MS_MIN: u64 = 10_000;
const POLL_MS: u64 = 60_000;

fn polling(table: &GithubTable) -> Result<GithubPolling, String> {
    for repo in &table.repos {
        let is_part = |part: &str| {
            !part.is_empty()
                && !part.starts_with('.')
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
        };
        if !repo.split_once('/').is_some_and(|(owner, name)| is_part(owner) && is_part(name)) {
            return Err(format!("`{repo}` is not a repository; write `OWNER/NAME`"));
        }
    }
    let every = table.every.as_deref().map(escrow_playbook::parse_duration).transpose();
    let every_ms = every.map_err(|why| format!("`every` of `[poll.github]`: {why}"))?.unwrap_or(POLL_MS);
    Ok(GithubPolling { repos: table.repos.clone(), every_ms: every_ms.max(POLL_MS_MIN) })
}

fn notify(table: NotifyTable) -> Result<Notify, String> {
    const WRONG: &str = "`command` of `[notify]` must be a string or a list of strings";
    match (table.command, table.webhook) {
        (Some(toml::Value::String(script)), None) => Ok(Notify::Script(script)),
        (Some(toml::Value::Array(words)), None) if !words.is_empty() => {
            let words = words.iter().map(|word| word.as_str().map(str::to_owned));
            words.collect::<Option<Vec<_>>>().map(Notify::Argv).ok_or_else(|| WRONG.to_owned())
        }
        (Some(_), None) => Err(WRONG.to_owned()),
        (None, Some(url)) => Ok(Notify::Webhook(url)),
        (None, None) | (Some(_), Some(_)) => Err("`[notify]` needs `command` or `webhook`".to_owned()),
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Harness {
    default: Option<String>,
}

/// `[harness] default` of the nearest project, or why its settings cannot be read.
pub fn default_harness(directory: &Path) -> Result<Option<String>, String> {
    let directory = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    let Ok(Some(state)) = project::nearest(&directory) else { return Ok(None) };
    let path = state.join(NAME);
    if !path.is_file() {
        return Ok(None);
    }
    let failed = |error: String| format!("`{}` cannot be read: {error}", path.display());
    let text = read_text(&path, BYTES_MAX).map_err(failed)?;
    let config: Config = toml::from_str(&text).map_err(|error| failed(error.message().to_owned()))?;
    Ok(config.harness.default)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_harness_is_read_from_the_nearest_project() {
        let root = tempfile::tempdir().unwrap();
        let inside = root.path().join("a/b");
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::create_dir(root.path().join(".escrow")).unwrap();
        assert_eq!(default_harness(&inside), Ok(None));
        let write = |text: &str| std::fs::write(root.path().join(".escrow/config.toml"), text).unwrap();
        write("[harness]\ndefault = \"codex\"\n[notify]\ncommand = \"x\"\n");
        assert_eq!(default_harness(&inside), Ok(Some("codex".into())));
        for broken in ["[harness", "[harness]\ndefualt = \"codex\""] {
            write(broken);
            assert!(default_harness(&inside).is_err(), "{broken}");
        }
    }

    #[test]
    fn settings_of_webhooks_polls_and_notifications_are_read() {
        let root = tempfile::tempdir().unwrap();
        let state = root.path().join(".escrow");
        std::fs::create_dir(&state).unwrap();
        assert_eq!(settings(&state), Ok(Settings::default()));
        let write = |text: &str| std::fs::write(state.join("config.toml"), text).unwrap();
        write(
            "[webhook.github]\nsecret = { env = \"HOOK\" }\n[webhook.deploys]\nsecret = { file = \"deploys.secret\" }\n\
             [poll.github]\nrepos = [\"octo/app\"]\nevery = \"5m\"\n[notify]\ncommand = [\"notify-send\", \"Escrow\"]\n",
        );
        let read = settings(&state).unwrap();
        assert_eq!(read.webhooks["github"], WebhookSecret::Env("HOOK".into()));
        assert_eq!(read.webhooks["deploys"], WebhookSecret::File(root.path().join("deploys.secret")));
        assert_eq!(read.github_poll.unwrap().every_ms, 300_000);
        assert_eq!(read.notify, Some(Notify::Argv(vec!["notify-send".into(), "Escrow".into()])));
        write("[notify]\ncommand = \"cat >> told\"\n");
        assert_eq!(settings(&state).unwrap().notify, Some(Notify::Script("cat >> told".into())));
        for broken in [
            "[webhook.github]\nsecret = \"inline\"",
            "[webhook.github]\nsecret = {}",
            "[webhook.\"a/b\"]\nsecret = { env = \"X\" }",
            "[poll.github]\nrepos = [\"octo\"]",
            "[poll.github]\nrepos = [\"../x\"]",
            "[notify]",
            "[notify]\ncommand = 3",
            "[notify]\ncommand = \"a\"\nwebhook = \"b\"",
        ] {
            write(broken);
            assert!(settings(&state).is_err(), "{broken}");
        }
    }
}
