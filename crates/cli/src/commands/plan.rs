//! `escrow plan`: every effect that a playbook can have, and what stands in its way. Calls nothing.

use escrow_app::{Error, documents};
use escrow_playbook::{EffectPreview, Guard, Precaution, Preview, Question, QuestionKind, preview};

use super::playbook_file;
use super::run::directory;
use crate::arguments::{Output, PlanArguments};
use crate::exit::Exit;
use crate::terminal::{Paint, Ui, count, duration_words, printable};

pub(crate) fn plan(arguments: &PlanArguments, ui: &Ui) -> Result<Exit, Error> {
    let playbook = playbook_file::load_any(&arguments.file, &directory(None)?, ui)?;
    let preview = preview(&playbook.plan);
    match ui.output() {
        Output::Human => ui.page(&page(&preview, ui.page)),
        Output::Json | Output::Jsonl => {
            ui.data(&documents::plan(&preview));
        }
    }
    let open = preview.unguarded().count();
    if arguments.fail_on_unguarded && open > 0 {
        let effects = if open == 1 { "effect has" } else { "effects have" };
        ui.say(&format!(
            "{open} {effects} no guard: add `if`, `assume` or `requires_approval`, or a contract before it"
        ));
        return Ok(Exit::PersonMustAct);
    }
    Ok(Exit::Completed)
}

fn page(preview: &Preview, paint: Paint) -> String {
    let mut text = format!("{}\n", paint.bold(&printable(&preview.playbook)));
    if preview.effects.is_empty() {
        text.push_str("  no effects: nothing outside can change\n");
    }
    for effect in &preview.effects {
        text.push_str(&show_effect(effect, paint));
    }
    if !preview.people.is_empty() {
        text.push_str("\nasked\n");
    }
    for question in &preview.people {
        text.push_str(&format!("  {}\n", asked(question)));
    }
    text
}

fn show_effect(effect: &EffectPreview, paint: Paint) -> String {
    let name = printable(&effect.check);
    let mut text = format!("\n  {}  {}\n", paint.bold(&name), paint.dim(&effect.provider));
    if let Some(request) = &effect.request {
        for line in request.trim_end().lines() {
            text.push_str(&format!("    {}\n", printable(line)));
        }
    }
    if effect.guards.is_empty() {
        text.push_str(&format!("    {}\n", paint.red("guarded by nothing")));
    }
    for guard in &effect.guards {
        text.push_str(&format!("    guard: {}\n", guarded(guard)));
    }
    text.push_str(&format!("    {}\n", attempts(effect)));
    text
}

fn guarded(guard: &Guard) -> String {
    let (check, kind) = (printable(&guard.check), guard.kind.as_str());
    match guard.text.as_str() {
        "" => format!("{kind} of `{check}`"),
        text => format!("{kind} of `{check}`: {}", printable(text)),
    }
}

fn attempts(effect: &EffectPreview) -> String {
    let per = match effect.for_each.last() {
        Some(parent) => format!(" for each item of `{}`", printable(parent)),
        None => String::new(),
    };
    let again = match effect.before_another_attempt {
        Precaution::Idempotent => "repeating it is declared harmless",
        Precaution::Reconcile => "`reconcile` is asked before each further one",
        Precaution::EffectKey => "its key is looked up in the ledger first",
        Precaution::Person => "a person is asked if one may have happened",
    };
    let attempts = usize::try_from(effect.attempts_max).unwrap_or(usize::MAX);
    format!("at most {}{per}; {again}", count(attempts, "attempt"))
}

fn asked(question: &Question) -> String {
    let check = printable(&question.check);
    let who = printable(&question.terms.in_words());
    let what = match question.kind {
        QuestionKind::Approval => "to approve",
        QuestionKind::Input => "to answer",
    };
    format!("{who}, {what} `{check}` within {}", duration_words(question.expires_ms))
}
