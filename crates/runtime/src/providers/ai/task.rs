//! What the harness is asked to do, read from the rendered request.

use escrow_harness::{Auth, CommandLine, Harness, Order, Permission, Unsupported};
use escrow_model::{Budget, FaultCode, HarnessFacts, Known, ProviderFault, Request, Sandbox};
use serde_json::Value;

use super::super::Attempt;
use super::independence::Judged;
use super::program;
use crate::sandbox::Confinement;

pub(super) struct Task<'r> {
    pub(super) harness: &'static dyn Harness,
    pub(super) prompt: &'r str,
    pub(super) model: Option<&'r str>,
    pub(super) permission: Permission,
    /// Where the kernel cannot enforce the permission, the harness is trusted to.
    pub(super) is_advisory: bool,
    pub(super) auth: Auth,
    /// What is left of it.
    pub(super) budget: Budget,
    pub(super) schema: Option<&'r Value>,
    pub(super) sandbox: Option<Sandbox>,
    /// The conversation to continue.
    pub(super) resumed: Option<Resumed>,
    pub(super) keeps_conversation: bool,
    /// An attempt without an answer is a fault.
    pub(super) answer_is_owed: bool,
    /// `not_same_as`: who did the work that this check judges.
    pub(super) judged: Option<Judged>,
}

/// A conversation of an earlier attempt, as its answer recorded it.
#[derive(Clone, Debug, serde::Deserialize, serde::Serialize)]
pub(super) struct Resumed {
    pub(super) id: String,
    /// The label of the attempt that began it: its home is named after it.
    pub(super) home: String,
    /// What the harness had added up by then, where it adds up per conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) input_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) output_tokens: Option<u64>,
}

impl<'r> Task<'r> {
    pub(super) fn read(request: &'r Request, attempt: &Attempt) -> Result<Task<'r>, ProviderFault> {
        let word = |key: &str| request.fields.get(key).and_then(Value::as_str);
        let harness = match word("harness") {
            Some(name) => escrow_harness::find(name)
                .ok_or_else(|| malformed(&format!("there is no harness `{name}`")))?,
            None => program::first_on_path(attempt).ok_or_else(program::none_found)?,
        };
        let budget = match request.fields.get(Budget::FIELD) {
            Some(budget) => serde_json::from_value(budget.clone())
                .map_err(|error| malformed(&format!("`budget` cannot be read: {error}")))?,
            None => Budget::default(),
        };
        let resumed = match request.fields.get("conversation") {
            Some(conversation) => Some(
                serde_json::from_value(conversation.clone())
                    .map_err(|error| malformed(&format!("`conversation` cannot be read: {error}")))?,
            ),
            None => None,
        };
        // A template may have rendered to nothing: the harness chooses.
        let model = word("model").map(str::trim).filter(|model| !model.is_empty());
        if let Some(problem) = model.and_then(HarnessFacts::problem_of_model) {
            return Err(malformed(&format!("`model` {problem}")));
        }
        let judged = match request.fields.get("not_same_as") {
            Some(judged) => Some(
                serde_json::from_value(judged.clone())
                    .map_err(|error| malformed(&format!("`not_same_as` cannot be read: {error}")))?,
            ),
            None => None,
        };
        Ok(Task {
            harness,
            prompt: word("prompt").ok_or_else(|| malformed("`prompt` is missing"))?,
            model,
            permission: match word("permission") {
                Some("full") => Permission::Full,
                Some("edit") => Permission::Edit,
                Some(_) | None => Permission::Read,
            },
            is_advisory: word("permission_enforcement") == Some("advisory"),
            auth: if word("auth") == Some("login") { Auth::Login } else { Auth::Key },
            budget,
            schema: request.fields.get("schema"),
            sandbox: Confinement::declared(request)?,
            resumed,
            keeps_conversation: request.fields.get("keep_conversation") == Some(&Value::Bool(true)),
            answer_is_owed: word("answer") == Some("required"),
            judged,
        })
    }

    /// A budget that is spent, and one that this harness cannot keep, start nothing.
    pub(super) fn refuse_if_nothing_is_left(&self) -> Result<(), ProviderFault> {
        let Budget { usd, turns, tokens } = self.budget;
        if usd.is_some_and(|usd| usd <= 0.0) || turns == Some(0) || tokens == Some(0) {
            let message = "nothing is left of the budget: the attempts before have spent it, or did not tell what they spent";
            return Err(ProviderFault::logical(FaultCode::BudgetExhausted, message));
        }
        let facts = self.harness.spec().facts();
        for (key, is_limited, known) in [
            ("usd", usd.is_some(), facts.usd),
            ("turns", turns.is_some(), facts.turns),
            ("tokens", tokens.is_some(), facts.tokens),
        ] {
            if is_limited && known == Known::Never {
                let name = facts.name;
                return Err(unsupported(&format!(
                    "`budget.{key}` cannot be kept: `{name}` does not tell it"
                )));
            }
        }
        Ok(())
    }

    /// The variables that are handed over beyond the minimum.
    pub(super) fn variables(&self) -> impl Iterator<Item = &'static str> {
        let spec = self.harness.spec();
        let keys = match self.auth {
            Auth::Key => spec.key_variables,
            // A key would take precedence over the login.
            Auth::Login => &[],
        };
        keys.iter().chain(spec.service_variables).copied()
    }

    /// The command line. A harness that takes no schema gets it in the prompt alone, and Escrow judges the answer.
    pub(super) fn command_line(&self, order: &Order<'_>) -> Result<CommandLine, ProviderFault> {
        let line = match self.harness.command(order) {
            Err(Unsupported::Schema { .. }) => self.harness.command(&Order { schema: None, ..*order }),
            other => other,
        };
        line.map_err(|error| unsupported(&error.to_string()))
    }
}

fn unsupported(message: &str) -> ProviderFault {
    ProviderFault::logical(FaultCode::own("unsupported"), message)
}

fn malformed(message: &str) -> ProviderFault {
    ProviderFault::logical(FaultCode::own("request"), message)
}
