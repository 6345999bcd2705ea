//! `escrow approvals`: what waits for a person, with everything that an approval is for; and what was decided.

use escrow_app::attempted::{Attempted, attempts_of};
use escrow_app::directories::directories_of;
use escrow_app::documents;
use escrow_app::messages::{all_waits, open_waits};
use escrow_app::request_words::{output_words, subject_lines};
use escrow_app::{Error, words};
use escrow_model::{ApprovalSubject, ApprovalTerms, WaitKind, rfc3339};
use escrow_runtime::now_ms;
use escrow_runtime::providers::MINIMAL_ENVIRONMENT;
use escrow_store::WaitRow;
use serde_json::{Value, json};

use crate::arguments::{ApprovalsArguments, Output, Shared};
use crate::exit::Exit;
use crate::session;
use crate::terminal::{Paint, Ui, choices, duration_words, heading, printable, visible};

pub(crate) async fn approvals(
    arguments: &ApprovalsArguments,
    shared: &Shared,
    ui: &Ui,
) -> Result<Exit, Error> {
    let app = session::app(shared, ui)?;
    let queries = app.queries()?;
    let mut waits = if arguments.all { all_waits(&*queries).await? } else { open_waits(&*queries).await? };
    // What a nested run waits for is listed as its own.
    waits.retain(|wait| wait.kind != WaitKind::Nested);
    let directories = directories_of(&*queries, &waits).await?;
    let attempts = attempts_of(app.state(), &*queries, &waits).await?;
    match ui.output() {
        Output::Json => drop(ui.data(&documents::approvals(&waits, &directories, &attempts))),
        Output::Jsonl => {
            let one = |wait| json!({ "approval": documents::approval(wait, &directories, &attempts) });
            let _all_read = waits.iter().all(|wait| ui.data(&one(wait)));
        }
        Output::Human if waits.is_empty() => ui.page("nothing waits for a person"),
        Output::Human => {
            let pages: Vec<String> = waits
                .iter()
                .map(|wait| {
                    let directory = directories.get(&wait.run).map(String::as_str);
                    page(wait, directory, attempts.of(wait), ui.page)
                })
                .collect();
            ui.page(pages.join("\n").trim_end());
        }
    }
    Ok(Exit::Completed)
}

fn page(wait: &WaitRow, directory: Option<&str>, attempted: Option<&Attempted>, paint: Paint) -> String {
    let mut page = Page { text: String::new(), paint };
    let place = format!("{}{}", wait.check, wait.scope);
    // What an approval is for is never cut, only the heading.
    let about = format!(
        "{}  {}  run {}  {}",
        paint.cyan(&wait.id),
        paint.bold(&printable(&place)),
        wait.run,
        paint.dim(&standing(wait)),
    );
    page.text = format!("{}\n", heading(&about));
    if let Some(title) =
        wait.subject.as_ref().and_then(|subject| subject.title.as_ref()).or(wait.title.as_ref())
    {
        page.lines("title", title);
    }
    page.lines("asks", &wait.prompt);
    if let Some(directory) = directory.filter(|_| attempted.is_none()) {
        page.lines("directory", directory);
    }
    for (name, value) in attempted.map(Attempted::lines).unwrap_or_default() {
        page.lines(&name, &value);
    }
    if !wait.choices.is_empty() {
        page.lines("choices", &choices(&wait.choices));
    }
    if let Some(subject) = &wait.subject {
        page.subject(subject, wait.run.as_str());
        page.lines("digest", &wait.digest);
    }
    for given in wait.approvals.iter().chain(&wait.recorded_approvals).filter(|_| wait.approvals_needed() > 1)
    {
        let note = given.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
        let claim = given.claim.as_ref().map(|claim| format!(" (as {claim})")).unwrap_or_default();
        let by = given.by.as_deref().unwrap_or("an unknown actor");
        page.lines("approved", &format!("{by}{claim}, {}{note}", rfc3339(given.at)));
    }
    if wait.resolved_at.is_some()
        && let Some(note) = &wait.note
    {
        page.lines("note", note);
    }
    if let Some(next) = documents::next_of_wait(wait) {
        let other = match wait.kind {
            WaitKind::Approval | WaitKind::Input
                if !wait.has_recorded_decision && !wait.is_past(now_ms()) =>
            {
                format!("    or  escrow deny {}", wait.id)
            }
            WaitKind::Approval | WaitKind::Input | WaitKind::UnknownEffect | WaitKind::Nested => {
                String::new()
            }
        };
        page.lines("next", &format!("{next}{other}"));
    }
    page.text
}

/// Since when it waits and how long, or who decided and when.
fn standing(wait: &WaitRow) -> String {
    if let (Some(resolution), Some(at)) = (&wait.resolution, wait.resolved_at) {
        let by = wait.resolved_by.as_ref().map(|by| format!(" by {}", printable(by))).unwrap_or_default();
        let claim =
            wait.claim.as_ref().map(|claim| format!(" (as {})", printable(claim))).unwrap_or_default();
        return format!("{}{by}{claim}  {}", resolution.replace('_', " "), rfc3339(at));
    }
    let asked = format!("asked {}", rfc3339(wait.started_at));
    if wait.has_recorded_decision {
        return format!("{asked}  decided, not delivered yet");
    }
    match wait.expires_at.map(|at| at.saturating_sub(now_ms())) {
        None => asked,
        Some(0) => format!("{asked}  expired"),
        Some(left) => format!("{asked}  expires in {}", duration_words(left)),
    }
}

struct Page {
    text: String,
    paint: Paint,
}

impl Page {
    fn subject(&mut self, subject: &ApprovalSubject, run: &str) {
        self.lines("playbook", &format!("{} ({} check)", subject.playbook, subject.criticality.as_str()));
        for (name, value) in subject_lines(subject) {
            self.lines(&name, &value);
        }
        for (name, value) in subject.request.env.iter().chain(&subject.request.handed_env) {
            self.lines("env", &format!("{name}={value}"));
        }
        let environment = subject.request.environment.iter().flatten();
        let (minimal, named): (Vec<_>, Vec<_>) =
            environment.partition(|(name, _)| MINIMAL_ENVIRONMENT.contains(&name.as_str()));
        for (name, value) in named {
            self.lines("environment", &format!("{name}={value}"));
        }
        for (name, value) in minimal {
            self.lines("environment", &format!("{name}={value}"));
        }
        for (name, value) in &subject.inputs {
            self.lines("input", &format!("{name} = {}", text(value)));
        }
        for output in &subject.outputs {
            self.lines("output", &output_words(output, run));
        }
        for outcome in &subject.outcomes {
            let passed = match outcome.passed {
                Some(true) => "passed",
                Some(false) => "not passed",
                None => "no verdict",
            };
            let line = format!("{} {} ({passed}): {}", outcome.kind, outcome.name, outcome.summary);
            self.lines("outcome", &format!("{line}  sha256 {}", outcome.sha256));
        }
        for file in &subject.artifacts {
            let line =
                format!("{} ({}) {} bytes, verified by `{}`", file.id, file.path, file.size, file.check);
            self.lines("artifact", &format!("{line}  sha256 {}", file.sha256));
        }
        if subject.terms != ApprovalTerms::default() {
            self.lines("needs", &terms(&subject.terms));
        }
    }

    /// Every line of a text, whole: what a person does not see, they do not approve.
    fn lines(&mut self, label: &str, text: &str) {
        for (number, line) in text.lines().enumerate() {
            let label = if number == 0 { label } else { "" };
            let (label, shown) = (self.paint.dim(&format!("{label:>11}")), visible(line));
            self.text.push_str(&format!("{label}  {shown}\n"));
        }
    }
}

fn terms(terms: &ApprovalTerms) -> String {
    let mut text = words::count(usize::try_from(terms.count).unwrap_or(usize::MAX), "approval");
    if !terms.by.is_empty() {
        text.push_str(&format!(" of {}", terms.by.join(", ")));
    }
    if terms.independent {
        text.push_str(", not by those who started or resumed the run");
    }
    text
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
