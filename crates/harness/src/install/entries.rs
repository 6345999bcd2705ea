//! Our entries in `hooks.<event>[]` of a JSON file.
//!
//! ```text
//!   event has entries      … LAST,␣OURS …           the comma and the space are ours
//!   event is empty         [OURS …                  nothing between: `[` was there
//!   event is absent        …,␣"Stop": [␣OURS␣]      space behind `[`: the array is ours
//!   `hooks` is empty       {"Stop": [␣OURS␣] …      nothing between: `{` was there
//!   `hooks` is absent      …,␣"hooks": {␣…␣}        space behind `{`: the object is ours
//!   no file                {␣…␣}                    space behind `{`: the file is ours
//! ```

use serde_json::{Value, json};

use super::json::{Node, Problem, parse};
use super::{EntryForm, HookFile, Installed, Uninstalled};
use crate::HookEvent;

const SHAPE: &str = "the file has another shape than the host reads; repair it, then call the command again";

const EMPTY: &str = "remove the file, or write `{}` into it, then call the command again";

pub(super) fn install(
    file: &HookFile,
    form: EntryForm,
    text: Option<&str>,
    program: &str,
) -> Result<String, Problem> {
    let Some(text) = text else { return Ok(created(file, form, program)) };
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        return Err(Problem::at(text, 0, "the file is empty", EMPTY));
    }
    let root = document(text)?;
    let indent = indent_of(text);
    let mut edits = Edits::default();
    let mut absent = Vec::new();
    let hooks = hooks_in(text, &root)?;
    for event in file.events() {
        let entry = entry(file, form, program, event);
        let Some(array) = hooks.and_then(|hooks| hooks.member(event.name)) else {
            absent.push((event.name, entry));
            continue;
        };
        let elements = elements_of(text, array)?;
        let found: Vec<_> =
            elements.iter().flat_map(|node| our_hooks(file, form, node, event.name)).collect();
        // The command alone: the host may have written the entry anew.
        for hook in found.iter().filter(|hook| hook.program != program) {
            let text = json!(file.command(program, event.name)).to_string();
            edits.replace(hook.command.start, hook.command.end, text);
        }
        if found.is_empty() {
            match elements.last() {
                Some(last) => edits.insert(last.end, format!(",{}{entry}", break_at(&indent, 3))),
                None => edits.insert(array.start + 1, entry.to_string()),
            }
        }
    }
    if !absent.is_empty() {
        let members = |depth| {
            let member = |(name, entry): &(&str, Value)| {
                let (inner, outer) = (break_at(&indent, depth + 1), break_at(&indent, depth));
                format!("{}: [{inner}{entry}{outer}]", json!(name))
            };
            absent.iter().map(member).collect::<Vec<_>>().join(&format!(",{}", break_at(&indent, depth)))
        };
        match hooks {
            Some(hooks) => match hooks.members().and_then(<[_]>::last) {
                Some(last) => edits.insert(last.node.end, format!(",{}{}", break_at(&indent, 2), members(2))),
                None => edits.insert(hooks.start + 1, members(2)),
            },
            None => {
                let (inner, outer) = (break_at(&indent, 2), break_at(&indent, 1));
                let hooks = format!("\"hooks\": {{{inner}{}{outer}}}", members(2));
                match root.members().and_then(<[_]>::last) {
                    Some(last) => {
                        edits.insert(last.node.end, format!(",{}{hooks}", break_at(&indent, 1)));
                    }
                    None => edits.insert(root.start + 1, hooks),
                }
            }
        }
    }
    Ok(edits.apply(text))
}

fn created(file: &HookFile, form: EntryForm, program: &str) -> String {
    let mut events = serde_json::Map::new();
    for event in file.events() {
        events.insert(event.name.to_owned(), json!([entry(file, form, program, event)]));
    }
    let document = match form {
        EntryForm::Matcher => json!({"hooks": events}),
        EntryForm::Bash | EntryForm::Command => json!({"version": 1, "hooks": events}),
    };
    format!("{document:#}\n")
}

pub(super) fn installed(file: &HookFile, form: EntryForm, text: &str) -> Result<Installed, Problem> {
    let root = document(text)?;
    let mut installed = Installed::default();
    let Some(hooks) = hooks_in(text, &root)? else { return Ok(installed) };
    for member in hooks.members().unwrap_or_default() {
        for element in member.node.elements().unwrap_or_default() {
            for hook in our_hooks(file, form, element, &member.key) {
                if !installed.events.contains(&member.key) {
                    installed.events.push(member.key.clone());
                }
                if !installed.programs.contains(&hook.program) {
                    installed.programs.push(hook.program);
                }
            }
        }
    }
    Ok(installed)
}

/// Takes out our entries, and the containers that we created for them.
pub(super) fn uninstall(file: &HookFile, form: EntryForm, text: &str) -> Result<Uninstalled, Problem> {
    let root = document(text)?;
    let Some(hooks) = hooks_in(text, &root)? else { return Ok(Uninstalled::Text(text.to_owned())) };
    let mut edits = Edits::default();
    let members = hooks.members().unwrap_or_default();
    let mut gone = Vec::new();
    for (index, member) in members.iter().enumerate() {
        let elements = member.node.elements().unwrap_or_default();
        let mut is_ours = Vec::new();
        let mut is_touched = false;
        for element in elements {
            let ours = our_hooks(file, form, element, &member.key);
            let group = hooks_of(form, element);
            is_ours.push(!ours.is_empty() && ours.len() == group.len());
            is_touched |= !ours.is_empty();
            if ours.is_empty() || ours.len() == group.len() {
                continue;
            }
            // Another program has added its hook to our group: the group stays, with that hook.
            let spans: Vec<_> = group.iter().map(|hook| (hook.start, hook.end)).collect();
            let inside = element.member("hooks").map_or(element.start, |hooks| hooks.start) + 1;
            edits.remove_items(text, inside, &spans, |index| ours.iter().any(|hook| hook.index == index));
        }
        if !is_touched {
            continue;
        }
        let is_created =
            elements.first().is_some_and(|first| has_space(text, member.node.start, first.start));
        if is_created && is_ours.iter().all(|is| *is) && is_bare(text, &member.node, elements) {
            gone.push(index);
        } else {
            let spans: Vec<_> = elements.iter().map(|node| (node.start, node.end)).collect();
            edits.remove_items(text, member.node.start + 1, &spans, |index| is_ours[index]);
        }
    }
    let spans: Vec<_> = members.iter().map(|member| (member.start, member.node.end)).collect();
    let hooks_are_created = spans.first().is_some_and(|first| has_space(text, hooks.start, first.0));
    if gone.len() < members.len() || !hooks_are_created || !is_bare_members(text, hooks, &spans) {
        edits.remove_items(text, hooks.start + 1, &spans, |index| gone.contains(&index));
        return Ok(Uninstalled::Text(edits.apply(text)));
    }
    let root_members = root.members().unwrap_or_default();
    let is_version = |key: &str| key == "version" && form != EntryForm::Matcher;
    let only_ours = root_members.iter().all(|member| member.key == "hooks" || is_version(&member.key));
    let file_is_created =
        root_members.first().is_some_and(|first| has_space(text, root.start, first.start)) && only_ours;
    if file_is_created && text == created_with(file, form, text) {
        return Ok(Uninstalled::Nothing);
    }
    let spans: Vec<_> = root_members.iter().map(|member| (member.start, member.node.end)).collect();
    edits.remove_items(text, root.start + 1, &spans, |index| root_members[index].key == "hooks");
    Ok(Uninstalled::Text(edits.apply(text)))
}

/// What an installation would create for the program that the text names.
fn created_with(file: &HookFile, form: EntryForm, text: &str) -> String {
    let program = installed(file, form, text).ok().and_then(|found| found.programs.first().cloned());
    program.map(|program| created(file, form, &program)).unwrap_or_default()
}

fn document(text: &str) -> Result<Node, Problem> {
    let root = parse(text)?;
    match root.members() {
        Some(_) => Ok(root),
        None => Err(Problem::at(text, root.start, "the file is not a JSON object", SHAPE)),
    }
}

fn hooks_in<'n>(text: &str, root: &'n Node) -> Result<Option<&'n Node>, Problem> {
    match root.member("hooks") {
        Some(hooks) if hooks.members().is_none() => {
            Err(Problem::at(text, hooks.start, "`hooks` is not an object", SHAPE))
        }
        hooks => Ok(hooks),
    }
}

fn elements_of<'n>(text: &str, array: &'n Node) -> Result<&'n [Node], Problem> {
    let wrong = || Problem::at(text, array.start, "the hooks of an event are not an array", SHAPE);
    array.elements().ok_or_else(wrong)
}

fn entry(file: &HookFile, form: EntryForm, program: &str, event: &HookEvent) -> Value {
    let command = file.command(program, event.name);
    match form {
        EntryForm::Matcher => {
            let hooks = json!([{"type": "command", "command": command}]);
            match event.tool() {
                Some(tool) => json!({"matcher": tool, "hooks": hooks}),
                None => json!({"hooks": hooks}),
            }
        }
        EntryForm::Bash => json!({"type": "command", "bash": command}),
        EntryForm::Command => json!({"command": command}),
    }
}

/// A hook of ours inside an element of `hooks.<event>`.
struct OurHook<'n> {
    /// Among the hooks of its element.
    index: usize,
    command: &'n Node,
    program: String,
}

fn our_hooks<'n>(file: &HookFile, form: EntryForm, element: &'n Node, event: &str) -> Vec<OurHook<'n>> {
    let key = if form == EntryForm::Bash { "bash" } else { "command" };
    let ours = |(index, hook): (usize, &'n Node)| {
        let command = hook.member(key)?;
        Some(OurHook { index, command, program: file.program_in(command.text()?, event)? })
    };
    hooks_of(form, element).iter().enumerate().filter_map(ours).collect()
}

/// The hooks of an element: those of its group, or the element itself.
fn hooks_of(form: EntryForm, element: &Node) -> &[Node] {
    match form {
        EntryForm::Matcher => element.member("hooks").and_then(Node::elements).unwrap_or_default(),
        EntryForm::Bash | EntryForm::Command => std::slice::from_ref(element),
    }
}

/// Whether a container was created by us: white space follows its bracket.
fn has_space(text: &str, bracket: usize, first: usize) -> bool {
    first > bracket + 1 && text[bracket + 1..first].trim().is_empty()
}

/// Whether an array has nothing beside its elements: no comment that would be lost.
fn is_bare(text: &str, array: &Node, elements: &[Node]) -> bool {
    let spans: Vec<_> = elements.iter().map(|node| (node.start, node.end)).collect();
    is_bare_members(text, array, &spans)
}

fn is_bare_members(text: &str, container: &Node, spans: &[(usize, usize)]) -> bool {
    let mut at = container.start + 1;
    for (start, end) in spans {
        if !is_separator(&text[at..*start]) {
            return false;
        }
        at = *end;
    }
    is_separator(&text[at..container.end - 1])
}

fn is_separator(text: &str) -> bool {
    text.chars().all(|char| char.is_ascii_whitespace() || char == ',')
}

/// The indentation of the first indented line; `None` for a file of one line.
fn indent_of(text: &str) -> Option<String> {
    if !text.trim_end().contains('\n') {
        return None;
    }
    let indented = text.lines().find_map(|line| {
        let rest = line.trim_start_matches([' ', '\t']);
        let is_text = !rest.is_empty() && !rest.starts_with(['/', '*']);
        (is_text && rest.len() < line.len()).then(|| line[..line.len() - rest.len()].to_owned())
    });
    Some(indented.unwrap_or_else(|| "  ".to_owned()))
}

fn break_at(indent: &Option<String>, depth: usize) -> String {
    match indent {
        Some(indent) => format!("\n{}", indent.repeat(depth)),
        None => " ".to_owned(),
    }
}

/// Changes of a text, each at its place.
#[derive(Default)]
struct Edits(Vec<(usize, usize, String)>);

impl Edits {
    fn insert(&mut self, at: usize, text: String) {
        self.0.push((at, at, text));
    }

    fn replace(&mut self, start: usize, end: usize, text: String) {
        self.0.push((start, end, text));
    }

    /// Removes items of a list that starts at `inside`, each with one comma.
    fn remove_items(
        &mut self,
        text: &str,
        inside: usize,
        spans: &[(usize, usize)],
        is_removed: impl Fn(usize) -> bool,
    ) {
        let mut kept_end = None;
        for (index, (start, end)) in spans.iter().copied().enumerate() {
            if !is_removed(index) {
                kept_end = Some(end);
                continue;
            }
            let before = if index == 0 { inside } else { spans[index - 1].1 };
            let gap = &text[before..start];
            match (kept_end, spans.get(index + 1)) {
                // The comma in front is ours, with the space behind it.
                (Some(_), _) if is_separator(gap) => self.replace(before, end, String::new()),
                (Some(_), _) => {
                    let comma = before + comma_in(gap).unwrap_or(0);
                    self.replace(comma, comma + usize::from(comma_in(gap).is_some()), String::new());
                    self.replace(start, end, String::new());
                }
                // The first one: the comma behind it goes, if another one follows.
                (None, Some((next, _))) => {
                    let gap = &text[end..*next];
                    let cut =
                        if is_separator(gap) { *next } else { end + comma_in(gap).map_or(0, |at| at + 1) };
                    self.replace(start, cut, String::new());
                }
                (None, None) => self.replace(start, end, String::new()),
            }
        }
    }

    fn apply(mut self, text: &str) -> String {
        self.0.sort_by_key(|(start, end, _)| (*start, *end));
        let mut result = String::with_capacity(text.len());
        let mut at = 0;
        for (start, end, new) in self.0 {
            result.push_str(&text[at..start.max(at)]);
            result.push_str(&new);
            at = end.max(at);
        }
        result.push_str(&text[at..]);
        result
    }
}

/// The first comma that is in no comment.
fn comma_in(gap: &str) -> Option<usize> {
    let mut at = 0;
    while let Some(rest) = gap.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            at += rest.find("*/").map_or(rest.len(), |end| end + 2);
        } else if rest.starts_with(',') {
            return Some(at);
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    None
}
