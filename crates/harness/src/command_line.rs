//! What the caller starts: arguments, environment, private files and standard input.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::stream::plain;
use crate::{HookDialect, Order};

/// The longest single argument that Linux passes to a program is 128 KiB, with its final NUL.
const ARGUMENT_BYTES_MAX: usize = (128 << 10) - 1;

/// A program's arguments, without the program. `env` is added to what the caller hands over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandLine {
    pub arguments: Vec<String>,
    pub env: Vec<(String, String)>,
    pub files: Vec<PrivateFile>,
    /// `None`: standard input is closed.
    pub stdin: Option<String>,
}

/// A file that the caller writes below `Order::home` before the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivateFile {
    pub path: PathBuf,
    pub contents: String,
}

/// An order that a harness cannot carry out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    #[error("`{harness}` cannot be asked for structured output")]
    Schema { harness: &'static str },
    #[error("`{harness}` needs a `model` when `{variable}` is set")]
    ModelRequired { harness: &'static str, variable: &'static str },
    #[error("`{harness}` takes prompts of at most {bytes_max} bytes, not {bytes}")]
    PromptTooLong { harness: &'static str, bytes: usize, bytes_max: usize },
    #[error("`{harness}` keeps its login in no file")]
    Login { harness: &'static str },
    #[error("`{id}` is not a session id")]
    SessionId { id: String },
    #[error("the path `{}` is not UTF-8", path.display())]
    Path { path: PathBuf },
}

impl CommandLine {
    pub(crate) fn arguments(&mut self, words: &[&str]) -> &mut Self {
        self.arguments.extend(words.iter().map(|word| (*word).to_owned()));
        self
    }

    /// A flag with its value, if there is one.
    pub(crate) fn option(&mut self, flag: &str, value: Option<&str>) -> &mut Self {
        if let Some(value) = value {
            self.arguments(&[flag, value]);
        }
        self
    }

    pub(crate) fn env(&mut self, name: &str, value: &str) -> &mut Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn file(&mut self, path: PathBuf, contents: String) -> &mut Self {
        self.files.push(PrivateFile { path, contents });
        self
    }

    pub(crate) fn json_file(&mut self, path: PathBuf, contents: &Value) -> &mut Self {
        self.file(path, format!("{contents:#}\n"))
    }
}

/// A path as an argument.
pub(crate) fn utf8(path: &Path) -> Result<&str, Unsupported> {
    path.to_str().ok_or_else(|| Unsupported::Path { path: path.to_path_buf() })
}

/// A session id as an argument. Ids come from the output of programs, so that one could be a flag.
pub(crate) fn session_id(id: &str) -> Result<&str, Unsupported> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if id.is_empty() || id.starts_with('-') || !id.bytes().all(is_plain) {
        return Err(Unsupported::SessionId { id: plain(id, 256) });
    }
    Ok(id)
}

/// A prompt as an argument. Two characters in front of a leading dash keep it from being read as a flag.
pub(crate) fn prompt_argument(harness: &'static str, prompt: &str) -> Result<String, Unsupported> {
    let argument = if prompt.starts_with('-') { format!(" \n{prompt}") } else { prompt.to_owned() };
    if argument.len() > ARGUMENT_BYTES_MAX {
        return Err(Unsupported::PromptTooLong {
            harness,
            bytes: prompt.len(),
            bytes_max: ARGUMENT_BYTES_MAX - 2,
        });
    }
    Ok(argument)
}

/// The shell command that runs `hook` for an event.
pub(crate) fn hook_command(hook: &[String], event: &str) -> String {
    let words = hook.iter().map(String::as_str).chain(["--event", event]);
    words.map(quoted).collect::<Vec<_>>().join(" ")
}

/// The `hooks` object that Claude Code, Gemini CLI and Qwen Code share: event, matchers, commands.
pub(crate) fn hook_settings(order: &Order<'_>, dialect: &HookDialect) -> Option<Value> {
    let hook = order.hook?;
    let mut events = Map::new();
    for event in dialect.installed() {
        let command = json!({"type": "command", "command": hook_command(hook, event.name)});
        let mut entry = json!({"hooks": [command]});
        if let Some(tool) = event.tool() {
            entry["matcher"] = tool.into();
        }
        events.insert(event.name.to_owned(), json!([entry]));
    }
    Some(Value::Object(events))
}

/// A word that a POSIX shell reads back unchanged.
fn quoted(word: &str) -> String {
    let is_plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/' | b':' | b'=');
    if !word.is_empty() && word.bytes().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The one word that `quoted` made a text from.
pub(crate) fn unquoted(text: &str) -> Option<String> {
    let word = match text.strip_prefix('\'') {
        Some(rest) => rest.strip_suffix('\'')?.replace(r"'\''", "'"),
        None => text.to_owned(),
    };
    (quoted(&word) == text).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::{ARGUMENT_BYTES_MAX, Unsupported, hook_command, prompt_argument};

    #[test]
    fn a_hook_command_survives_the_shell() {
        let hook = ["/opt/my tools/escrow".to_owned(), "hook".to_owned(), "it's".to_owned()];
        assert_eq!(hook_command(&hook, "Stop"), r"'/opt/my tools/escrow' hook 'it'\''s' --event Stop");
    }

    #[test]
    fn a_prompt_is_never_a_flag_and_never_too_long() {
        assert_eq!(prompt_argument("qwen", "Look").as_deref(), Ok("Look"));
        assert_eq!(prompt_argument("qwen", "--help").as_deref(), Ok(" \n--help"));
        let long = "x".repeat(ARGUMENT_BYTES_MAX + 1);
        assert!(matches!(prompt_argument("qwen", &long), Err(Unsupported::PromptTooLong { .. })));
    }
}
