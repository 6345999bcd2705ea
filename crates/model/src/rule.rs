//! Rules over the fields of a result, as data: they can be stored, sent and read back.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One rule, as it is written. Whether its `params` make sense is for `contract` to say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Unique among the rules that it is applied with.
    pub rule_id: String,
    /// Where the value is: `a.b[0].c`.
    pub field: String,
    pub check: RuleCheck,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub params: Map<String, Value>,
    /// Replaces the usual message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub enabled: bool,
}

fn yes() -> bool {
    true
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_yes(enabled: &bool) -> bool {
    *enabled
}

/// What a rule asks of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleCheck {
    Required,
    Type,
    Range,
    Pattern,
    Custom,
}

impl RuleCheck {
    pub const ALL: [RuleCheck; 5] =
        [RuleCheck::Required, RuleCheck::Type, RuleCheck::Range, RuleCheck::Pattern, RuleCheck::Custom];

    pub fn as_str(self) -> &'static str {
        match self {
            RuleCheck::Required => "required",
            RuleCheck::Type => "type",
            RuleCheck::Range => "range",
            RuleCheck::Pattern => "pattern",
            RuleCheck::Custom => "custom",
        }
    }

    pub fn parse(text: &str) -> Option<RuleCheck> {
        RuleCheck::ALL.into_iter().find(|check| check.as_str() == text)
    }
}

/// A rule that was broken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokenRule {
    pub rule_id: Arc<str>,
    pub field: Arc<str>,
    pub check: RuleCheck,
    pub message: String,
}
