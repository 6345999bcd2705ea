//! `escrow rules check`: whether items keep rules, one item or a stream of lines in constant memory.

use std::io::{self, BufRead, BufWriter, IsTerminal, Read, Write};

use escrow_app::{Diagnosed, Error};
use escrow_contract::rules::RuleSet;
use escrow_model::BrokenRule;
use escrow_playbook::read_rules;
use escrow_runtime::playbook_file::find_rules;
use serde_json::{Value, json};

use crate::arguments::{Output, RulesAction, RulesArguments, RulesCheck};
use crate::exit::Exit;
use crate::terminal::{Ui, count, printable};

/// An item may be this long.
const ITEM_BYTES_MAX: usize = 64 << 20;

pub(crate) fn rules(arguments: &RulesArguments, ui: &Ui) -> Result<Exit, Error> {
    match &arguments.action {
        RulesAction::Check(check) => Ok(self::check(check, ui)?),
    }
}

fn check(arguments: &RulesCheck, ui: &Ui) -> Result<Exit, Error> {
    let rules = load(&arguments.rules)?;
    if rules.is_empty() {
        ui.say("warning: no rule is enabled, so nothing is judged");
    }
    if io::stdin().is_terminal() {
        ui.say(&format!("{} read; pass items on stdin to judge them", count(rules.len(), "rule")));
        return Ok(Exit::Completed);
    }
    let mut desk = Desk::new(&rules, ui);
    let mut items = Items { input: io::stdin().lock(), line: Vec::new(), number: 0 };
    while let Some(item) = items.next()? {
        let continues = match item {
            Ok(item) => desk.judge(items.number, &item),
            Err(why) => desk.refuse(items.number, &why),
        };
        if !continues {
            return Ok(desk.exit()); // the reader has closed the pipe
        }
    }
    if items.number == 0 {
        return Err(Error::author("no_item", "no item on stdin")
            .help(format!("escrow rules check {} < item.json", arguments.rules)));
    }
    desk.finish();
    Ok(desk.exit())
}

/// The rules of a file, or everything that is wrong with them.
fn load(name: &str) -> Result<RuleSet, Error> {
    let here = std::env::current_dir().unwrap_or_default();
    let nothing = || {
        Error::author("no_such_file", format!("rules file `{name}` not found"))
            .help("give a path, or the name of a file in `.escrow/rules/`")
    };
    let found = find_rules(name, None, &here).ok_or_else(nothing)?;
    let text = found
        .text
        .map_err(|why| Error::world("unreadable", format!("cannot read `{}`: {why}", found.file)))?;
    let file = found.file.strip_prefix(&format!("{}/", here.display())).unwrap_or(&found.file).to_owned();
    let reading = read_rules(&text, &file);
    let rules = reading.rules.and_then(|rules| RuleSet::compile(&rules).ok());
    rules.ok_or_else(|| {
        let message =
            format!("`{file}` has {}; nothing was judged", count(reading.diagnostics.len(), "problem"));
        Error::author("bad_rules", message).diagnosed(Diagnosed::new(reading.diagnostics, text, &[]))
    })
}

/// Items from stdin: a line each, or one that takes several lines.
struct Items<R> {
    input: R,
    line: Vec<u8>,
    number: u64,
}

impl<R: BufRead> Items<R> {
    /// The next item, or why it is none; nothing at the end.
    fn next(&mut self) -> Result<Option<Result<Value, String>>, Error> {
        loop {
            self.line.clear();
            if self.more(true)? == 0 {
                return Ok(None);
            }
            if !self.line.iter().all(u8::is_ascii_whitespace) {
                break;
            }
        }
        self.number += 1;
        let parsed = match serde_json::from_slice(&self.line) {
            // One item that is spread over lines: it is the only one.
            Err(error) if error.is_eof() && self.number == 1 => {
                self.more(false)?;
                serde_json::from_slice(&self.line)
            }
            parsed => parsed,
        };
        if self.line.len() > ITEM_BYTES_MAX {
            return Err(Error::author(
                "bad_input",
                format!("item {} is longer than {ITEM_BYTES_MAX} bytes", self.number),
            ));
        }
        Ok(Some(parsed.map_err(|error| error.to_string())))
    }

    /// Reads on, to the end of the line or of everything, and never more than an item may have.
    fn more(&mut self, line: bool) -> Result<usize, Error> {
        let room = (ITEM_BYTES_MAX + 1).saturating_sub(self.line.len());
        let mut limited = self.input.by_ref().take(room as u64);
        let read = if line {
            limited.read_until(b'\n', &mut self.line)
        } else {
            limited.read_to_end(&mut self.line)
        };
        read.map_err(|error| Error::world("io", format!("cannot read stdin: {error}")))
    }
}

/// Says what the rules say.
struct Desk<'a> {
    rules: &'a RuleSet,
    ui: &'a Ui,
    output: BufWriter<io::StdoutLock<'static>>,
    /// In JSON, the first answer, until it is known whether it is the only one.
    first: Option<Value>,
    items: u64,
    failed: u64,
    bad: u64,
}

impl<'a> Desk<'a> {
    fn new(rules: &'a RuleSet, ui: &'a Ui) -> Desk<'a> {
        let output = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        Desk { rules, ui, output, first: None, items: 0, failed: 0, bad: 0 }
    }

    /// False when the reader has closed the pipe.
    fn judge(&mut self, number: u64, item: &Value) -> bool {
        let broken = self.rules.judge(item);
        self.failed += u64::from(!broken.is_empty());
        if broken.is_empty() && self.ui.output() == Output::Jsonl {
            // Most lines of a good file, so they are not built up.
            self.items += 1;
            let written = writeln!(self.output, "{{\"item\":{number},\"passed\":true,\"errors\":[]}}");
            return self.ui.is_answered(written);
        }
        self.answer(number, &broken, None)
    }

    fn refuse(&mut self, number: u64, why: &str) -> bool {
        self.bad += 1;
        self.answer(number, &[], Some(why))
    }

    fn answer(&mut self, number: u64, broken: &[BrokenRule], bad: Option<&str>) -> bool {
        self.items += 1;
        if self.ui.output() == Output::Human {
            let written = self.tell(number, broken, bad);
            return self.ui.is_written(written);
        }
        let document = match bad {
            Some(why) => {
                json!({ "item": number, "passed": null, "errors": [], "error": format!("not JSON: {why}") })
            }
            None => json!({ "item": number, "passed": broken.is_empty(), "errors": broken }),
        };
        let written = match (self.ui.output(), self.items) {
            (Output::Jsonl | Output::Human, _) => writeln!(self.output, "{document}"),
            (Output::Json, 1) => {
                self.first = Some(document);
                Ok(())
            }
            (Output::Json, _) => match self.first.take() {
                Some(first) => writeln!(self.output, "{{\"results\": [\n{first},\n{document}"),
                None => writeln!(self.output, ",{document}"),
            },
        };
        self.ui.is_answered(written)
    }

    fn tell(&mut self, number: u64, broken: &[BrokenRule], bad: Option<&str>) -> io::Result<()> {
        let page = self.ui.page;
        if let Some(why) = bad {
            return writeln!(self.output, "{} item {number}: not JSON: {}", page.red("✗"), printable(why));
        }
        for one in broken {
            let rule = page.dim(&format!("({}, {})", printable(&one.rule_id), one.check.as_str()));
            writeln!(self.output, "{} item {number}: {} {rule}", page.red("✗"), printable(&one.message))?;
        }
        Ok(())
    }

    fn finish(&mut self) {
        let written = match (self.first.take(), self.ui.output()) {
            (Some(only), _) => {
                let text = serde_json::to_string_pretty(&only).unwrap_or_default();
                writeln!(self.output, "{text}")
            }
            (None, Output::Json) => {
                let (items, failed, bad) = (self.items, self.failed, self.bad);
                writeln!(self.output, "], \"items\": {items}, \"failed\": {failed}, \"bad\": {bad}}}")
            }
            (None, Output::Human | Output::Jsonl) => Ok(()),
        };
        let written = written.and_then(|()| self.output.flush());
        match self.ui.output() {
            Output::Human => self.ui.is_written(written),
            Output::Json | Output::Jsonl => self.ui.is_answered(written),
        };
        let paint = self.ui.paint;
        let items = usize::try_from(self.items).unwrap_or(usize::MAX);
        let judged = format!("{} judged by {}", count(items, "item"), count(self.rules.len(), "rule"));
        let verdict = match (self.failed, self.bad) {
            (0, 0) => paint.green("all passed"),
            (failed, 0) => paint.red(&format!("{failed} failed")),
            (failed, bad) => paint.red(&format!("{failed} failed, {bad} not JSON")),
        };
        self.ui.say(&format!("{judged}: {verdict}"));
    }

    fn exit(&self) -> Exit {
        match (self.bad, self.failed) {
            (0, 0) => Exit::Completed,
            (0, _) => Exit::WorkFailed,
            (_, _) => Exit::AuthorMustAct,
        }
    }
}
