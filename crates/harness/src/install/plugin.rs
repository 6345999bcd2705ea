//! The plugin file of OpenCode: all of it is ours.

use super::json::{LineColumn, Problem};
use super::{HookFile, Installed, Uninstalled, words};
use crate::opencode;

const FOREIGN: &str = "the file is not Escrow's: move it away, then call the command again";

pub(super) fn install(file: &HookFile, text: Option<&str>, program: &str) -> Result<String, Problem> {
    if let Some(text) = text {
        refuse_foreign(text)?;
    }
    Ok(opencode::plugin(&words(file.host, program)))
}

pub(super) fn uninstall(text: &str) -> Result<Uninstalled, Problem> {
    refuse_foreign(text)?;
    Ok(Uninstalled::Nothing)
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
