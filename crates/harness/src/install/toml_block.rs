//! A block of our own at the end of a TOML file, between two comments.
//!
//! The first comment says what else the installation added, so that the removal is exact. Programs that rewrite the
//! file may drop the comments, or put their own tables between them. Then our entries are found by their commands, and
//! everything else stays.

use std::fmt::Write;

use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike, Value};

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
    let installed = text.map(|text| installed(file, text)).transpose()?.unwrap_or_default();
    let is_intact = text.is_none_or(|text| block_in(text).is_some_and(|block| block.is_intact(file, text)));
    if !is_intact && !installed.events.is_empty() {
        // Entries that another program has rewritten are replaced by a block of ours.
        let text = text.unwrap_or_default();
        return match without_entries(file, text)? {
            Uninstalled::Text(left) => install(file, Some(&left), program),
            Uninstalled::Nothing => install(file, None, program),
        };
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
    let installed = format!("{before}{}{after}", block(file, program, remark));
    check(&installed).map_err(|problem| Problem {
        message: format!("the hooks do not fit into this file: {}", problem.message),
        help: INLINE,
        place: None,
    })?;
    Ok(installed)
}

/// Our block, with what was added in front of it.
fn block(file: &HookFile, program: &str, remark: &str) -> String {
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
    block
}

pub(super) fn uninstall(file: &HookFile, text: &str) -> Result<Uninstalled, Problem> {
    check(text)?;
    let Some(block) = block_in(text).filter(|block| block.is_intact(file, text)) else {
        return without_entries(file, text);
    };
    let left = format!("{}{}", &text[..block.start], &text[block.end..]);
    if left.is_empty() && block.remark == CREATED {
        return Ok(Uninstalled::Nothing);
    }
    Ok(Uninstalled::Text(left))
}

pub(super) fn installed(file: &HookFile, text: &str) -> Result<Installed, Problem> {
    let document = check(text)?;
    let mut installed = Installed::default();
    let Some(hooks) = document.get("hooks").and_then(Item::as_table_like) else { return Ok(installed) };
    for (event, groups) in hooks.iter() {
        for hook in tables_of(groups).into_iter().filter_map(|group| group.get("hooks")).flat_map(tables_of) {
            let Some(program) = program_of(file, event, hook) else { continue };
            if !installed.events.iter().any(|known| known == event) {
                installed.events.push(event.to_owned());
            }
            if !installed.programs.contains(&program) {
                installed.programs.push(program);
            }
        }
    }
    Ok(installed)
}

/// The program that a hook calls, if the hook is ours.
fn program_of(file: &HookFile, event: &str, hook: &dyn TableLike) -> Option<String> {
    file.program_in(hook.get("command")?.as_str()?, event)
}

/// The tables of a list, in either way of writing one.
fn tables_of(list: &Item) -> Vec<&dyn TableLike> {
    match list {
        Item::ArrayOfTables(tables) => tables.iter().map(|table| table as &dyn TableLike).collect(),
        Item::Value(Value::Array(values)) => {
            values.iter().filter_map(Value::as_inline_table).map(|table| table as &dyn TableLike).collect()
        }
        Item::Value(_) | Item::Table(_) | Item::None => Vec::new(),
    }
}

/// The text without our entries and our two comments. Groups, events and the table of hooks go only if our entries were
/// all that they held.
fn without_entries(file: &HookFile, text: &str) -> Result<Uninstalled, Problem> {
    let mut document = check(text)?;
    let is_created = text.lines().any(|line| line.starts_with(BEGIN) && line.ends_with(CREATED));
    let mut is_empty = false;
    if let Some(hooks) = document.get_mut("hooks").and_then(Item::as_table_like_mut) {
        let events: Vec<String> = hooks.iter().map(|(event, _)| event.to_owned()).collect();
        for event in events {
            let is_ours = |hook: &dyn TableLike| program_of(file, &event, hook).is_some();
            let Some(groups) = hooks.get_mut(&event) else { continue };
            let had = tables_of(groups).len();
            retain(groups, &mut |group| {
                let Some(list) = group.get_mut("hooks") else { return true };
                let had = tables_of(list).len();
                retain(list, &mut |hook| !is_ours(hook));
                let left = tables_of(list).len();
                left == had || left > 0
            });
            if had > 0 && tables_of(groups).is_empty() {
                hooks.remove(&event);
                is_empty = hooks.is_empty();
            }
        }
    }
    if is_empty {
        document.remove("hooks");
    }
    let left = document.to_string();
    let is_ours = |line: &str| line.starts_with(BEGIN) || line.trim_end() == END.trim_end();
    let left: String = left.split_inclusive('\n').filter(|line| !is_ours(line)).collect();
    if is_created && left.trim().is_empty() {
        return Ok(Uninstalled::Nothing);
    }
    Ok(Uninstalled::Text(left))
}

/// Keeps the tables of a list for which `is_kept` says so; what is no table stays.
fn retain(list: &mut Item, is_kept: &mut dyn FnMut(&mut dyn TableLike) -> bool) {
    match list {
        Item::ArrayOfTables(tables) => {
            let kept: ArrayOfTables = std::mem::take(tables)
                .into_iter()
                .filter_map(|mut table: Table| is_kept(&mut table).then_some(table))
                .collect();
            *tables = kept;
        }
        Item::Value(Value::Array(values)) => {
            let is_kept = |value: &mut Value| match value.as_inline_table_mut() {
                Some(table) => is_kept(table as &mut InlineTable),
                None => true,
            };
            retain_values(values, is_kept);
        }
        Item::Value(_) | Item::Table(_) | Item::None => {}
    }
}

fn retain_values(values: &mut Array, mut is_kept: impl FnMut(&mut Value) -> bool) {
    let mut index = 0;
    while let Some(value) = values.get_mut(index) {
        if is_kept(value) {
            index += 1;
        } else {
            values.remove(index);
        }
    }
}

struct Block {
    start: usize,
    end: usize,
    remark: &'static str,
}

impl Block {
    /// Whether the block is as we wrote it, for whatever program.
    fn is_intact(&self, file: &HookFile, text: &str) -> bool {
        let text = &text[self.start..self.end];
        let commands = text.lines().filter_map(|line| line.strip_prefix("command = "));
        let commands: Vec<String> = commands.filter_map(|quoted| serde_json::from_str(quoted).ok()).collect();
        let programs = file.events().zip(&commands);
        let mut programs = programs.filter_map(|(event, command)| file.program_in(command, event.name));
        programs.next().is_some_and(|program| text == block(file, &program, self.remark))
    }
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

fn check(text: &str) -> Result<DocumentMut, Problem> {
    text.parse().map_err(|error: toml_edit::TomlError| Problem {
        place: error.span().map(|span| LineColumn::of(text, span.start)),
        message: error.message().to_owned(),
        help: REPAIR,
    })
}
