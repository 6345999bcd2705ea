//! What playbooks are checked against when they name a harness.

/// The moment at which a figure becomes known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Known {
    /// While the program runs: a limit can end it.
    Streamed,
    /// With the terminal line: a limit fails the attempt afterwards.
    AtEnd,
    /// Not at all: a limit cannot be kept.
    Never,
}

/// A harness, as far as a playbook depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HarnessFacts {
    pub name: &'static str,
    /// When the figures of a budget are known.
    pub usd: Known,
    pub turns: Known,
    pub tokens: Known,
    /// Its login is a file, which can be lent.
    pub has_login_file: bool,
    /// Words that stand for the newest model of a family: `sonnet` for `claude-sonnet-4-5`.
    pub model_aliases: &'static [&'static str],
}

impl HarnessFacts {
    /// Why a text cannot name a model. It is an argument of a program, and must not be taken for one of its options.
    pub fn problem_of_model(name: &str) -> Option<&'static str> {
        const BYTES_MAX: usize = 256;
        if name.starts_with('-') {
            return Some("begins with `-`, as options of a program do");
        }
        if name.chars().any(char::is_control) {
            return Some("contains a control character");
        }
        (name.len() > BYTES_MAX).then_some("is longer than 256 bytes")
    }

    /// Whether two names may stand for one model, as far as names tell: letter case, the date or `-latest` at the end, the
    /// vendor in front and a variant in brackets do not make another model, and an alias is any model of its family.
    pub fn may_be_same_model(&self, one: &str, other: &str) -> bool {
        let (one, other) = (model_family(one), model_family(other));
        let is_alias_of = |alias: &str, model: &str| {
            self.model_aliases.contains(&alias) && model.split(['-', '.', '_']).any(|part| part == alias)
        };
        one == other || is_alias_of(&one, &other) || is_alias_of(&other, &one)
    }
}

/// The name of a model without what does not tell models apart.
fn model_family(name: &str) -> String {
    let name = name.trim().to_ascii_lowercase();
    let name = name.rsplit('/').next().unwrap_or_default();
    let name = name.split('[').next().unwrap_or_default();
    let is_date =
        |end: &str| end == "latest" || (end.len() == 8 && end.bytes().all(|byte| byte.is_ascii_digit()));
    match name.rsplit_once(['-', '@', ':']) {
        Some((family, end)) if is_date(end) => family.to_owned(),
        Some(_) | None => name.to_owned(),
    }
}

/// `budget` of an `ai` check. An absent limit is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Budget {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// Input and output together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

impl Budget {
    /// The key of a check.
    pub const FIELD: &str = "budget";
}

#[cfg(test)]
mod tests {
    use super::{HarnessFacts, Known};

    #[test]
    fn another_name_of_one_model_is_no_other_model() {
        let claude = HarnessFacts {
            name: "claude",
            usd: Known::AtEnd,
            turns: Known::AtEnd,
            tokens: Known::AtEnd,
            has_login_file: true,
            model_aliases: &["sonnet", "opus"],
        };
        for (one, other) in [
            ("sonnet", "sonnet"),
            ("sonnet", " Sonnet[1m] "),
            ("sonnet", "claude-sonnet-4-5"),
            ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
            ("claude-3-opus-latest", "opus"),
            ("anthropic/claude-sonnet-4-5", "claude-sonnet-4-5"),
        ] {
            assert!(claude.may_be_same_model(one, other), "{one} {other}");
            assert!(claude.may_be_same_model(other, one), "{other} {one}");
        }
        for (one, other) in
            [("sonnet", "opus"), ("claude-sonnet-4-5", "claude-sonnet-4"), ("haiku", "claude-haiku-4-5")]
        {
            assert!(!claude.may_be_same_model(one, other), "{one} {other}");
        }
    }
}
