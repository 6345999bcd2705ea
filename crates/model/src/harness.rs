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
    let mut name = without_vendor(name);
    while let Some(shorter) = without_version(name).or_else(|| without_date(name)) {
        name = shorter;
    }
    name.to_owned()
}

/// `us.anthropic.claude-…` is `claude-…`; the point of `gpt-5.5` is part of the name.
fn without_vendor(name: &str) -> &str {
    match name.split_once('.') {
        Some((vendor, rest))
            if !vendor.is_empty() && vendor.bytes().all(|byte| byte.is_ascii_lowercase()) =>
        {
            without_vendor(rest)
        }
        Some(_) | None => name,
    }
}

/// `…-v1:0` is how a service numbers its deployments of a model.
fn without_version(name: &str) -> Option<&str> {
    let (front, version) = name.rsplit_once("-v")?;
    let (major, minor) = version.split_once(':')?;
    (is_number(major) && is_number(minor)).then_some(front)
}

/// The date at the end in any of its forms (`20250929`, `2025-09-29`, `09-29`, `0929`, `09-2025`), or `latest`.
fn without_date(name: &str) -> Option<&str> {
    let (front, end) = name.rsplit_once(['-', '@', ':'])?;
    let is_whole = end == "latest"
        || (end.len() == 8 && is_number(end))
        || (end.len() == 4 && is_number(end) && is_month_and_day(&end[..2], &end[2..]));
    if is_whole {
        return Some(front);
    }
    let (front, month) = front.rsplit_once(['-', '@', ':'])?;
    if end.len() == 4 && is_number(end) && is_month_and_day(month, "01") {
        return Some(front);
    }
    if !is_month_and_day(month, end) {
        return None;
    }
    let year = front.rsplit_once(['-', '@', ':']).filter(|(_, year)| year.len() == 4 && is_number(year));
    Some(year.map_or(front, |(front, _)| front))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_month_and_day(month: &str, day: &str) -> bool {
    let within =
        |text: &str, max: u8| text.len() == 2 && text.parse().is_ok_and(|one: u8| (1..=max).contains(&one));
    within(month, 12) && within(day, 31)
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
            ("gpt-5.5-2026-01-01", "gpt-5.5"),
            ("gpt-5.5-20260101", "GPT-5.5-2026-02-02"),
            ("gemini-2.5-pro-preview-05-06", "gemini-2.5-pro-preview"),
            ("gemini-2.5-flash-preview-09-2025", "gemini-2.5-flash-preview"),
            ("gpt-4-0613", "gpt-4"),
            ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5@20250929"),
        ] {
            assert!(claude.may_be_same_model(one, other), "{one} {other}");
            assert!(claude.may_be_same_model(other, one), "{other} {one}");
        }
        for (one, other) in [
            ("sonnet", "opus"),
            ("claude-sonnet-4-5", "claude-sonnet-4"),
            ("haiku", "claude-haiku-4-5"),
            ("gpt-5.5", "gpt-5.1"),
            ("llama-3.1-8b", "llama-3.1-70b"),
        ] {
            assert!(!claude.may_be_same_model(one, other), "{one} {other}");
        }
    }
}
