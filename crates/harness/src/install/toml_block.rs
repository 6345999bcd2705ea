//! A block of our own at the end of a TOML file, between two comments.
//!
//! The first comment says what else the installation added, so that the removal is exact.

use std::fmt::Write;

use super::json::{LineColumn, Problem};
use super::{HookFile, Installed, Uninstalled};

const BEGIN: &str = "# Escrow's hooks begin here";
const END: &str = "# Escrow's hooks end here; `escrow harness uninstall` removes them\n";
const CREATED: &str = " (Escrow created this file)";
const LINE_BREAK: &str = " (Escrow added the line break before)";

const REPAIR: &str = "repair the file, then call the command again; Escrow has not changed it";
const INLINE: &str = "write the hooks of the file as tables, `[[hooks.Stop]]`, then call the command again";

pub(super) fn install(file: &HookFile, text: Option<&str>, program: &str) -> Result<String, Problem> {
    if let Some(text) = text {
        check(text)?;
    }
    // A block from before is replaced where it is.
    let (before, after) = match text.map(|text| (text, block_in(text))) {
        Some((text, Some(block))) => (text[..block.start].to_owned(), text[block.end..].to_owned()),
        Some((text, None)) => (text.to_owned(), String::new()),
        None => (String::new(), String::new()),
    };
    let remark = match text.and_then(block_in) {
        Some(block) => block.remark,
        None if text.is_none() => CREATED,
        None if before.is_empty() || before.ends_with('\n') => "",
        None => LINE_BREAK,
    };
    let mut block = String::new();
    if remark == LINE_BREAK {
        block.push('\n');
    }
    writeln!(block, "{BEGIN}{remark}").expect("text takes every write");
    for event in file.events() {
        let command = file.command(program, event.name);
        let name = event.name;
        write!(
            block,
            "[[hooks.{name}]]\n[[hooks.{name}.hooks]]\ntype = \"command\"\ncommand = {}\n",
            serde_json::Value::from(command)
        )
        .expect("text takes every write");
    }
    block.push_str(END);
    let installed = format!("{before}{block}{after}");
    check(&installed).map_err(|problem| Problem {
        message: format!("the hooks do not fit into this file: {}", problem.message),
        help: INLINE,
        place: None,
    })?;
    Ok(installed)
}

pub(super) fn uninstall(text: &str) -> Result<Uninstalled, Problem> {
    check(text)?;
    let Some(block) = block_in(text) else { return Ok(Uninstalled::Text(text.to_owned())) };
    let left = format!("{}{}", &text[..block.start], &text[block.end..]);
    if left.is_empty() && block.remark == CREATED {
        return Ok(Uninstalled::Nothing);
    }
    Ok(Uninstalled::Text(left))
}

pub(super) fn installed(file: &HookFile, text: &str) -> Result<Installed, Problem> {
    check(text)?;
    let mut installed = Installed::default();
    let Some(block) = block_in(text) else { return Ok(installed) };
    let commands = text[block.start..block.end].lines().filter_map(|line| line.strip_prefix("command = "));
    let commands: Vec<String> = commands.filter_map(|quoted| serde_json::from_str(quoted).ok()).collect();
    for event in file.events() {
        for program in commands.iter().filter_map(|command| file.program_in(command, event.name)) {
            installed.events.push(event.name.to_owned());
            if !installed.programs.contains(&program) {
                installed.programs.push(program);
            }
        }
    }
    Ok(installed)
}

struct Block {
    start: usize,
    end: usize,
    remark: &'static str,
}

/// Our block, with the line break that was added in front of it.
fn block_in(text: &str) -> Option<Block> {
    let begin = text
        .match_indices(BEGIN)
        .map(|(at, _)| at)
        .find(|at| *at == 0 || text.as_bytes()[at - 1] == b'\n')?;
    let rest = &text[begin..];
    let length = rest.find(END)? + END.len();
    let line = rest.lines().next().unwrap_or_default();
    let remark = [CREATED, LINE_BREAK].into_iter().find(|remark| line.ends_with(remark)).unwrap_or("");
    let start = if remark == LINE_BREAK { begin.saturating_sub(1) } else { begin };
    Some(Block { start, end: begin + length, remark })
}

fn check(text: &str) -> Result<(), Problem> {
    match toml::from_str::<toml::Table>(text) {
        Ok(_) => Ok(()),
        Err(error) => Err(Problem {
            place: error.span().map(|span| LineColumn::of(text, span.start)),
            message: error.message().to_owned(),
            help: REPAIR,
        }),
    }
}
