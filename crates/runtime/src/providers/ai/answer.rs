//! Turns the report of a harness into an answer: figures, output, and a fault unless it ended well.

use std::time::Duration;

use escrow_harness::{ErrorKind, Exit, HarnessError, HarnessSpec, Report};
use escrow_model::{Answer, Ending, FaultCode, ProviderFault};
use serde_json::{Map, Value, json};

use super::super::Attempt;
use super::super::command::{record, words};
use super::final_text;
use super::independence::Moment;
use super::listener::{Exceeded, Listener, over, over_usd};
use super::program;
use super::task::Resumed;
use crate::process::{End, Finished};

impl Listener<'_> {
    /// The answer of a process that has ended.
    pub(super) fn answer(mut self, finished: &Finished, attempt: &Attempt, timeout_ms: u64) -> Answer {
        self.end_line();
        let exit = match finished.end {
            End::Exited(code) => Exit::Code(code),
            End::Signalled(signal) => Exit::Signal(signal),
            End::TimedOut => Exit::TimedOut,
            // It was asked to end.
            End::Cancelled | End::Lost => Exit::Signal(15),
        };
        let report = self.parser.finish(exit, &finished.stderr.text());
        let spec = self.task.harness.spec();
        let (before_in, before_out) = self.tokens_before();
        let figures = Report {
            input_tokens: report.input_tokens.map(|tokens| tokens.saturating_sub(before_in)),
            output_tokens: report.output_tokens.map(|tokens| tokens.saturating_sub(before_out)),
            model: report.model.clone().or_else(|| self.task.model.map(str::to_owned)),
            tool_calls: report.tool_calls.filter(|_| !self.has_unread_lines),
            ..report.clone()
        };
        let fault =
            self.fault(&figures, finished, attempt, timeout_ms).or_else(|| self.budget_fault(&figures));
        let fault = fault.or_else(|| self.dependence_fault(&figures));
        let fault = fault.map(|fault| match never_acted(&report) && !self.has_unread_lines {
            true => fault,
            false => fault.with_unknown_effect(),
        });
        let mut record = record(finished);
        record.insert("harness".into(), harness_record(spec, &self.interrupted.added_to(figures)));
        if let Some(id) = &report.session_id {
            let conversation = Resumed {
                id: id.clone(),
                home: self.home.label().to_owned(),
                input_tokens: report.input_tokens.filter(|_| spec.usage_is_cumulative),
                output_tokens: report.output_tokens.filter(|_| spec.usage_is_cumulative),
            };
            record.insert("conversation".into(), json!(conversation));
        }
        let output = output(&report, &mut record);
        let ending = fault.map_or(Ending::Done, Ending::Fault);
        Answer { ending, output, record, ..Answer::done(Value::Null) }
    }

    /// Why the attempt failed, unless the harness ended well.
    fn fault(
        &self,
        report: &Report,
        finished: &Finished,
        attempt: &Attempt,
        timeout_ms: u64,
    ) -> Option<ProviderFault> {
        let ended = match finished.unended {
            0 => "ended with all its children".to_owned(),
            1 => "ended, but 1 process could not be".to_owned(),
            count => format!("ended, but {count} processes could not be"),
        };
        match (&self.exceeded, finished.end) {
            (Some(Exceeded::Budget(message)), _) => {
                let message = format!("{message}: {ended}");
                return Some(ProviderFault::logical(FaultCode::BudgetExhausted, message));
            }
            (Some(Exceeded::Output), _) => {
                let message = format!("it printed more than 1 GiB: {ended}");
                return Some(ProviderFault::logical(FaultCode::own("output_too_large"), message));
            }
            (None, End::TimedOut) => {
                let limit = words::duration(Duration::from_millis(timeout_ms));
                let message = format!("still running after {limit}: {ended}");
                return Some(ProviderFault::transient(FaultCode::Timeout, message));
            }
            (None, End::Cancelled) if attempt.cancellation.is_cancelled() => {
                let after = words::duration(finished.duration);
                let message = format!("cancelled after {after}: {ended}");
                return Some(ProviderFault::transient(FaultCode::Cancelled, message));
            }
            (None, End::Cancelled | End::Exited(_) | End::Signalled(_) | End::Lost) => {}
        }
        if report.completed && !report.is_error {
            let is_silent = report.structured.is_none()
                && report.final_text.as_ref().is_none_or(|text| text.trim().is_empty());
            return (is_silent && self.task.answer_is_owed).then(|| {
                let message = "it ended without an answer, and the answer is what the check delivers";
                ProviderFault::transient(FaultCode::own("empty"), message)
            });
        }
        let unsaid = HarnessError { kind: ErrorKind::Other, message: "it did not end well".to_owned() };
        Some(fault_of(report.error.as_ref().unwrap_or(&unsaid), self.task.harness.spec()))
    }

    /// A judge that turns out to be the model that did the work.
    fn dependence_fault(&self, report: &Report) -> Option<ProviderFault> {
        let judged = self.task.judged.as_ref()?;
        judged.refuse_same(self.task.harness.spec(), report.model.as_deref(), Moment::After).err()
    }

    /// Figures that are known at the end fail the attempt afterwards. A figure that stays unknown cannot be within its
    /// limit.
    fn budget_fault(&self, report: &Report) -> Option<ProviderFault> {
        let budget = &self.task.budget;
        let tokens = report.input_tokens.zip(report.output_tokens);
        let tokens = tokens.map(|(input, output)| input.saturating_add(output));
        let spent = over_usd(report.cost_usd.unwrap_or(0.0), budget.usd)
            .or_else(|| over("turns", report.turns.unwrap_or(0), budget.turns))
            .or_else(|| over("tokens", tokens.unwrap_or(0), budget.tokens));
        if let Some(message) = spent {
            return Some(ProviderFault::logical(FaultCode::BudgetExhausted, message));
        }
        let name = self.task.harness.spec().name;
        let unknown = [
            ("usd", budget.usd.is_some() && report.cost_usd.is_none()),
            ("turns", budget.turns.is_some() && report.turns.is_none()),
            ("tokens", budget.tokens.is_some() && tokens.is_none()),
        ];
        let (key, _) = unknown.into_iter().find(|(_, is_unknown)| *is_unknown)?;
        let message = format!("`{name}` did not tell what it spent of `budget.{key}`");
        Some(ProviderFault::logical(FaultCode::own("budget_unknown"), message))
    }
}

/// Whether it is certain that the agent changed nothing: the program refused to begin, or the service refused it before the
/// first tool was called. Every other failure leaves open what the agent did before it failed.
fn never_acted(report: &Report) -> bool {
    let refused = report.error.as_ref().is_some_and(|error| match error.kind {
        ErrorKind::Auth | ErrorKind::Login | ErrorKind::Usage | ErrorKind::Blocked => true,
        ErrorKind::Api
        | ErrorKind::RateLimit
        | ErrorKind::TurnLimit
        | ErrorKind::Budget
        | ErrorKind::Truncated
        | ErrorKind::Killed
        | ErrorKind::Empty
        | ErrorKind::Other => false,
    });
    refused && report.tool_calls.unwrap_or(0) == 0
}

/// `result.harness`: unknown figures are null.
pub(super) fn harness_record(spec: &HarnessSpec, report: &Report) -> Value {
    json!({
        "name": spec.name,
        "session_id": report.session_id,
        "model": report.model,
        "turns": report.turns,
        "input_tokens": report.input_tokens,
        "output_tokens": report.output_tokens,
        "cost_usd": report.cost_usd,
        "is_error": report.is_error,
        "error": report.error,
        "permission_denials": report.permission_denials,
        "tool_calls": report.tool_calls,
        "final_text": report.final_text,
        "completed": report.completed,
    })
}

fn output(report: &Report, record: &mut Map<String, Value>) -> Value {
    if let Some(structured) = &report.structured {
        return structured.clone();
    }
    let Some(text) = &report.final_text else { return Value::Null };
    if report.final_text_is_cut {
        record.insert("truncated".into(), true.into());
        return text.as_str().into();
    }
    record.insert("truncated".into(), false.into());
    let (output, repeated_key) = final_text::output(text);
    if let Some(path) = repeated_key {
        record.insert("repeated_key".into(), path.into());
    }
    output
}

/// The fault of an error, with what to do about it.
fn fault_of(error: &HarnessError, spec: &HarnessSpec) -> ProviderFault {
    let HarnessError { kind, message } = error;
    let keys = || {
        let names: Vec<String> = spec.key_variables.iter().map(|name| format!("`{name}`")).collect();
        names.join(", ")
    };
    let own = FaultCode::own;
    match kind {
        ErrorKind::Api => ProviderFault::transient(own("api"), message),
        ErrorKind::RateLimit => ProviderFault::transient(own("rate_limit"), message),
        ErrorKind::Auth => {
            ProviderFault::logical(own("auth"), format!("{message}; check the key in one of {}", keys()))
        }
        ErrorKind::Login => {
            let lend = match spec.login {
                Some(_) => format!(", or log in with `{}` and write `auth: login`", spec.name),
                None => String::new(),
            };
            ProviderFault::logical(own("login"), format!("{message}; set one of {}{lend}", keys()))
        }
        ErrorKind::Blocked => ProviderFault::logical(own("blocked"), message),
        ErrorKind::TurnLimit | ErrorKind::Budget => {
            ProviderFault::logical(FaultCode::BudgetExhausted, message)
        }
        ErrorKind::Truncated => ProviderFault::transient(own("truncated"), message),
        ErrorKind::Killed => ProviderFault::transient(FaultCode::Signal, message),
        ErrorKind::Usage => {
            let help = format!(
                "its version may be too old; tested is {}: `npm install --global {}`, or name another program in `{}`",
                spec.tested_versions.join(", "),
                spec.package,
                program::variable(spec)
            );
            ProviderFault::logical(own("usage"), format!("{message}; {help}"))
        }
        ErrorKind::Empty => ProviderFault::transient(own("empty"), message),
        ErrorKind::Other => ProviderFault::transient(own("failed"), message),
    }
}
