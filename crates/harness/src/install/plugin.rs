//! The plugin file of OpenCode: ours from its first line to its last. What stands behind that is not, and stays.

use super::json::{LineColumn, Problem};
use super::{HookFile, Installed, Uninstalled, words};
use crate::opencode;

const CHANGED: &str = "remove the file if nothing else is in it, then call the command again";
const FOREIGN: &str = "the file is not Escrow's: move it away, then call the command again";

pub(super) fn install(file: &HookFile, text: Option<&str>, program: &str) -> Result<String, Problem> {
    let behind = text.map_or(Ok(""), behind_ours)?;
    Ok(format!("{}{behind}", opencode::plugin(&words(file.host, program))))
}

pub(super) fn uninstall(text: &str) -> Result<Uninstalled, Problem> {
    Ok(match behind_ours(text)? {
        "" => Uninstalled::Nothing,
        behind => Uninstalled::Text(behind.to_owned()),
    })
}

/// What others wrote behind our lines.
fn behind_ours(text: &str) -> Result<&str, Problem> {
    refuse_foreign(text)?;
    let last = opencode::PLUGIN.lines().last().unwrap_or_default();
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        end += line.len();
        if line.trim_end() == last {
            return Ok(&text[end..]);
        }
    }
    Err(Problem {
        place: Some(LineColumn { line: text.lines().count(), column: 1 }),
        message: "the last line of Escrow's plugin is missing: what follows it cannot be told apart"
            .to_owned(),
        help: CHANGED,
    })
}

pub(super) fn installed(text: &str) -> Result<Installed, Problem> {
    if refuse_foreign(text).is_err() {
        return Ok(Installed::default());
    }
    let array = |name: &str| -> Option<Vec<String>> {
        let line = text.lines().find(|line| line.starts_with(&format!("const {name} = ")))?;
        let (start, end) = (line.find('[')?, line.rfind(']')?);
        serde_json::from_str(line.get(start..=end)?).ok()
    };
    Ok(Installed {
        events: array("installed").unwrap_or_default(),
        programs: array("hook").and_then(|hook| hook.into_iter().next()).into_iter().collect(),
    })
}

fn refuse_foreign(text: &str) -> Result<(), Problem> {
    if text.lines().next() == opencode::PLUGIN.lines().next() {
        return Ok(());
    }
    let place = Some(LineColumn { line: 1, column: 1 });
    Err(Problem {
        place,
        message: "the file does not begin as Escrow's plugin does".to_owned(),
        help: FOREIGN,
    })
}
