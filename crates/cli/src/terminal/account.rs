//! An explanation for people: the chain of causes, the expression with its values, the remedy.

use escrow_app::attempted::Attempted;
use escrow_engine::{Account, Evaluation, Moment, MomentKind};

use super::given::{given_words, title_words};
use super::paint::Paint;
use super::table::TextTable;
use super::words::{message, printable, visible};

/// `attempted` is what the run waits to hear about, `next` the command that lets it continue.
pub(crate) fn show_account(
    account: &Account,
    attempted: Option<&Attempted>,
    next: Option<&str>,
    paint: Paint,
) -> String {
    let reason = account.reason.as_ref().map(|reason| reason.code.as_str()).unwrap_or_default();
    let status = account.status.as_str().replace('_', " ");
    let mut text = format!(
        "run {}  {}{}  {status}  {}\n",
        paint.cyan(account.run.as_str()),
        paint.bold(&printable(&account.playbook)),
        title_words(account.title.as_deref()),
        paint.dim(reason)
    );
    let event = account.event.as_ref().and_then(|event| event.get("name")).and_then(|name| name.as_str());
    let given = given_words(event, account.inputs.as_object());
    if !given.is_empty() {
        text.push_str(&format!("{}\n", paint.dim(&given)));
    }
    text.push_str(&format!("\n{}\n", paint.bold(&message(&account.cause.summary))));
    for (name, value) in attempted.map(Attempted::lines).unwrap_or_default() {
        for (number, line) in value.lines().enumerate() {
            let name = if number == 0 { name.as_str() } else { "" };
            text.push_str(&format!("  {}  {}\n", paint.dim(&format!("{name:>9}")), visible(line)));
        }
    }
    if account.path.len() > 1 {
        text.push_str(&path(account, paint));
    }
    for evaluation in account.cause.evaluations.iter().filter(|one| one.decisive) {
        text.push_str(&values(evaluation, paint));
    }
    let kept: Vec<&Evaluation> = account.cause.evaluations.iter().filter(|one| !one.decisive).collect();
    if !kept.is_empty() && kept.len() == account.cause.evaluations.len() {
        text.push('\n');
        for evaluation in kept {
            let source = evaluation.explanation.source.trim();
            text.push_str(&format!(
                "  {} {} {source}  {}\n",
                paint.green("✓"),
                evaluation.construct.as_str(),
                paint.dim(&format!("= {}", evaluation.explanation.result))
            ));
        }
    }
    if !account.differs.is_empty() {
        text.push_str(&format!("\n{}\n", paint.bold("to differ")));
        for line in &account.differs {
            text.push_str(&format!("  {}\n", paint.yellow(&message(&line.to_string()))));
        }
    }
    text.push_str(&timeline(account, paint));
    if let Some(next) = next {
        text.push_str(&format!("\n{} {}\n", paint.dim("next:"), visible(next)));
    }
    text
}

/// Each check because of the one below it.
fn path(account: &Account, paint: Paint) -> String {
    let mut text = String::from("\n");
    for (depth, link) in account.path.iter().enumerate() {
        let lead = if depth == 0 { "  ".to_owned() } else { format!("  {}└ ", "  ".repeat(depth - 1)) };
        let word = match link.status {
            "failed" => paint.red("failed"),
            "succeeded" => paint.green("succeeded"),
            other => paint.yellow(other),
        };
        text.push_str(&format!(
            "{lead}{}  {word}  {}\n",
            paint.bold(&format!("{}{}", link.check, link.scope)),
            paint.dim(&link.code)
        ));
    }
    text
}

/// The expression, with the value of every part below it.
fn values(evaluation: &Evaluation, paint: Paint) -> String {
    let mut text = format!("\n{}\n", paint.bold(evaluation.construct.as_str()));
    for line in evaluation.explanation.to_string().lines() {
        text.push_str(&format!("  {}\n", message(line)));
    }
    text
}

/// What happened, when there is more to it than one attempt.
fn timeline(account: &Account, paint: Paint) -> String {
    let is_plain = |moment: &Moment| match moment.kind {
        MomentKind::FirstAttempt => !moment.what.contains('\n'),
        MomentKind::Skipped => true,
        MomentKind::Other => false,
    };
    if account.timeline.iter().all(is_plain) {
        return String::new();
    }
    let mut table = TextTable::new();
    for moment in &account.timeline {
        let entry = format!("  {}", moment.entry);
        let mut lines = moment.what.lines();
        table.row(&[(&entry, paint.dim(&entry)), ("", message(lines.next().unwrap_or_default()))]);
        for line in lines {
            table.row(&[("", String::new()), ("", paint.dim(&format!("  {}", message(line))))]);
        }
        if let Some(evaluation) = &moment.evaluation {
            let source = format!("when {}", evaluation.explanation.source.trim());
            table.row(&[("", String::new()), ("", paint.dim(&source))]);
        }
    }
    format!("\n{}\n{}", paint.bold("timeline"), table.render())
}
