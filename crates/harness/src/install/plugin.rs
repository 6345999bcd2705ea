//! The plugin file of OpenCode: ours from its first line to its last. What stands behind that is not, and stays.
//!
//! **Invariant:** an edit of a person is never lost. Our last line has a digest of the lines before it; lines that do not match
//! it are neither replaced nor removed.

use escrow_model::hex;
use sha2::{Digest, Sha256};

use super::json::{LineColumn, Problem};
use super::{HookFile, Installed, Uninstalled, words};
use crate::opencode;

const CHANGED: &str = "remove the file if nothing else is in it, then call the command again";
const FOREIGN: &str = "the file is not Escrow's: move it away, then call the command again";
const EDITED: &str = "move what you have added to a plugin file of its own beside this one, remove this one, then call the command again";

/// Stands in our last line in front of the digest.
const DIGEST: &str = " sha256:";
const DIGEST_BYTES: usize = 8;

pub(super) fn install(file: &HookFile, text: Option<&str>, program: &str) -> Result<String, Problem> {
    let behind = text.map_or(Ok(""), |text| behind_ours(file, text))?;
    let plugin = opencode::plugin(&words(file.host, program));
    let (body, last) = plugin.trim_end().rsplit_once('\n').unwrap_or_default();
    Ok(format!("{body}\n{last}{DIGEST}{}\n{behind}", digest(body)))
}

pub(super) fn uninstall(file: &HookFile, text: &str) -> Result<Uninstalled, Problem> {
    Ok(match behind_ours(file, text)? {
        "" => Uninstalled::Nothing,
        behind => Uninstalled::Text(behind.to_owned()),
    })
}

/// What others wrote behind our lines. Lines of ours that others have edited are an error.
fn behind_ours<'t>(file: &HookFile, text: &'t str) -> Result<&'t str, Problem> {
    refuse_foreign(text)?;
    let last = opencode::PLUGIN.lines().last().unwrap_or_default();
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        let start = end;
        end += line.len();
        let Some(rest) = line.trim_end().strip_prefix(last) else { continue };
        let body = text[..start].trim_end_matches('\n').trim_end_matches('\r');
        let is_ours = match rest.strip_prefix(DIGEST) {
            Some(written) => written == digest(body),
            // Escrow once wrote the line without a digest.
            None => rest.is_empty() && first_edit(file, body).is_none(),
        };
        if is_ours {
            return Ok(&text[end..]);
        }
        return Err(Problem {
            place: Some(LineColumn { line: first_edit(file, body).unwrap_or(1), column: 1 }),
            message: "Escrow's plugin was edited, and the edit would be lost".to_owned(),
            help: EDITED,
        });
    }
    Err(Problem {
        place: Some(LineColumn { line: text.lines().count(), column: 1 }),
        message: "the last line of Escrow's plugin is missing: what follows it cannot be told apart"
            .to_owned(),
        help: CHANGED,
    })
}

/// The ends of lines may have been converted since, which is no edit.
fn digest(body: &str) -> String {
    hex(&Sha256::digest(body.replace("\r\n", "\n"))[..DIGEST_BYTES])
}

/// The first line that differs from what this version of Escrow writes for the same program.
fn first_edit(file: &HookFile, body: &str) -> Option<usize> {
    let program = program_in(body).unwrap_or_default();
    let plugin = opencode::plugin(&words(file.host, &program));
    let (expected, _) = plugin.trim_end().rsplit_once('\n').unwrap_or_default();
    let (mut ours, mut theirs) = (expected.lines(), body.lines());
    let mut line = 0;
    loop {
        line += 1;
        match (ours.next(), theirs.next()) {
            (None, None) => return None,
            (one, other) if one == other => {}
            (_, _) => return Some(line),
        }
    }
}

pub(super) fn installed(text: &str) -> Result<Installed, Problem> {
    if refuse_foreign(text).is_err() {
        return Ok(Installed::default());
    }
    Ok(Installed {
        events: array(text, "installed").unwrap_or_default(),
        programs: program_in(text).into_iter().collect(),
    })
}

fn program_in(text: &str) -> Option<String> {
    array(text, "hook").and_then(|hook| hook.into_iter().next())
}

fn array(text: &str, name: &str) -> Option<Vec<String>> {
    let line = text.lines().find(|line| line.starts_with(&format!("const {name} = ")))?;
    let (start, end) = (line.find('[')?, line.rfind(']')?);
    serde_json::from_str(line.get(start..=end)?).ok()
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
