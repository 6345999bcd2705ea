//! Whether two names of models may stand for one model, as far as names tell.
//!
//! Services name one model in many ways: `claude-sonnet-4-5-20250929`, `us.anthropic.claude-sonnet-4-5-20250929-v1:0`,
//! `claude-sonnet-4-5@20250929`, `anthropic/claude-4.5-sonnet:thinking`. A name is reduced to the parts that tell models apart.
//!
//! **Invariant:** in doubt, two names are one model. A judge that is refused is a nuisance; one that judges its own work is a
//! broken promise.

use std::collections::BTreeSet;

/// Whether two names may stand for one model.
pub fn may_be_one_model(one: &str, other: &str) -> bool {
    let (one, other) = (ModelName::read(one), ModelName::read(other));
    match (&one, &other) {
        (ModelName::Any, _) | (_, ModelName::Any) => true,
        (ModelName::Of(one), ModelName::Of(other)) => {
            key(one) == key(other) || is_family_of(one, other) || is_family_of(other, one)
        }
    }
}

enum ModelName {
    /// A name of whatever a program or a service chooses.
    Any,
    /// The parts that tell models apart.
    Of(Vec<String>),
}

/// Names that leave the choice to the program.
const CHOOSERS: [&str; 7] = ["auto", "best", "coder-model", "default", "inherit", "opusplan", "vision-model"];

/// Names of resources that say nothing of the model behind them.
const OPAQUE: [&str; 3] =
    ["application-inference-profile/", "provisioned-model/", "custom-model-deployment/"];

/// What stands behind a `:` and makes no other model. Other words there, such as `8b`, are sizes.
const VARIANTS: [&str; 9] =
    ["beta", "exacto", "extended", "floor", "free", "latest", "nitro", "online", "thinking"];

/// What stands at the end and makes no other model.
const STAGES: [&str; 6] = ["beta", "exp", "experimental", "latest", "maas", "preview"];

/// How hard a model of OpenAI thinks.
const EFFORTS: [&str; 6] = ["none", "minimal", "low", "medium", "high", "xhigh"];

impl ModelName {
    fn read(name: &str) -> ModelName {
        let name = name.trim().to_ascii_lowercase();
        if OPAQUE.iter().any(|opaque| name.contains(opaque)) {
            return ModelName::Any;
        }
        let name = name.rsplit('/').next().unwrap_or_default();
        let name = name.split('[').next().unwrap_or_default();
        if CHOOSERS.contains(&name) || name.starts_with("auto-") {
            return ModelName::Any;
        }
        let mut name = without_vendor(name);
        while let Some(shorter) = without_variant(name)
            .or_else(|| without_deployment(name))
            .or_else(|| without_date(name))
            .or_else(|| without_stage(name))
        {
            name = shorter;
        }
        ModelName::Of(name.split(['-', '.', '_', ':', '@', ' ']).flat_map(part).collect())
    }
}

/// `3p1` and `v3p1` are how some services write `3.1`.
fn part(text: &str) -> Vec<String> {
    let numbers = text.strip_prefix('v').unwrap_or(text).split_once('p');
    match numbers {
        Some((major, minor)) if is_number(major) && is_number(minor) => {
            vec![major.to_owned(), minor.to_owned()]
        }
        Some(_) | None if text.is_empty() => Vec::new(),
        Some(_) | None => vec![text.to_owned()],
    }
}

/// Equal for names that differ in separators alone. The words of Claude's models come in any order.
fn key(parts: &[String]) -> String {
    let mut parts = parts.to_vec();
    if parts.iter().any(|part| part == "claude") {
        parts.sort();
    }
    parts.concat()
}

/// A name without a number, such as `sonnet` or `gemini-flash`, is any model of its family.
fn is_family_of(family: &[String], model: &[String]) -> bool {
    let model: BTreeSet<&String> = model.iter().collect();
    let is_numberless = !family.iter().any(|part| part.bytes().any(|byte| byte.is_ascii_digit()));
    !family.is_empty() && is_numberless && family.iter().all(|part| model.contains(part))
}

/// `us.anthropic.claude-…` is `claude-…`; the point of `gpt-5.5` is part of the name.
fn without_vendor(name: &str) -> &str {
    let is_word =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    match name.split_once('.') {
        Some((vendor, rest))
            if is_word(vendor) && rest.starts_with(|first: char| first.is_ascii_lowercase()) =>
        {
            without_vendor(rest)
        }
        Some(_) | None => name,
    }
}

/// `…:free`, `…-preview`, `gpt-5-high` and the like.
fn without_variant(name: &str) -> Option<&str> {
    name.rsplit_once(':').filter(|(_, variant)| VARIANTS.contains(variant)).map(|(front, _)| front)
}

fn without_stage(name: &str) -> Option<&str> {
    let (front, end) = name.rsplit_once('-')?;
    let is_openai = name.starts_with("gpt-")
        || name.starts_with('o') && name[1..].starts_with(|first: char| first.is_ascii_digit());
    let is_stage = STAGES.contains(&end)
        // The revision of a model: `gemini-2.0-flash-001`.
        || (end.len() == 3 && end.starts_with("00") && is_number(end))
        || (is_openai && EFFORTS.contains(&end))
        || (name.starts_with("claude-") && end == "thinking");
    is_stage.then_some(front)
}

/// How services number their deployments of a model: `…-v1:0`, `…-1:0`, `…-v1:0:200k`, and `…-v2` in front of `@`.
fn without_deployment(name: &str) -> Option<&str> {
    if let Some((front, date)) = name.rsplit_once('@')
        && let Some((model, version)) = front.rsplit_once("-v")
        && is_number(version)
        && without_date(&format!("m@{date}")).is_some()
    {
        return Some(model);
    }
    let (front, version) = name.rsplit_once('-')?;
    let (major, minor) = version.split_once(':')?;
    let (minor, size) = minor.split_once(':').unwrap_or((minor, "0k"));
    let is_size = size.strip_suffix('k').is_some_and(is_number);
    (is_number(major.strip_prefix('v').unwrap_or(major)) && is_number(minor) && is_size).then_some(front)
}

/// The date at the end in any of its forms: `20250929`, `2025-09-29`, `09-29`, `0929`, `2509`, `09-2025`.
fn without_date(name: &str) -> Option<&str> {
    let (front, end) = name.rsplit_once(['-', '@', ':'])?;
    let is_whole = is_number(end)
        && match end.len() {
            8 => true,
            4 => is_month_and_day(&end[..2], &end[2..]) || is_year_and_month(&end[..2], &end[2..]),
            _ => false,
        };
    if is_whole || (end == "latest" && !front.is_empty()) {
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

fn is_year_and_month(year: &str, month: &str) -> bool {
    year.parse().is_ok_and(|year: u8| (23..=39).contains(&year)) && is_month_and_day(month, "01")
}

fn is_month_and_day(month: &str, day: &str) -> bool {
    let within =
        |text: &str, max: u8| text.len() == 2 && text.parse().is_ok_and(|one: u8| (1..=max).contains(&one));
    within(month, 12) && within(day, 31)
}

#[cfg(test)]
mod tests {
    use super::may_be_one_model;

    /// Each line is one model, in names that services and programs really use.
    const ONE: [&[&str]; 14] = [
        &[
            "claude-sonnet-4-5",
            "claude-sonnet-4-5-20250929",
            "claude-sonnet-4-5@20250929",
            "claude-sonnet-4-5@2025-09-29",
            "claude-sonnet-4-5@latest",
            "claude-sonnet-4-5[1m]",
            "Claude-Sonnet-4.5",
            "claude-4.5-sonnet",
            "claude-4.5-sonnet-thinking",
            "anthropic/claude-sonnet-4.5",
            "openrouter/anthropic/claude-sonnet-4.5:thinking",
            "anthropic.claude-sonnet-4-5-20250929-v1:0",
            "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "global.anthropic.claude-sonnet-4-5-20250929-v1:0[1m]",
            "bedrock/eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "arn:aws:bedrock:us-east-2:1234:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "projects/p/locations/global/publishers/anthropic/models/claude-sonnet-4-5@20250929",
            "vertex_ai/claude-sonnet-4-5@20250929",
            "sonnet",
            " Sonnet[1m] ",
        ],
        &[
            "claude-3-5-sonnet-20241022",
            "anthropic.claude-3-5-sonnet-20241022-v2:0",
            "claude-3-5-sonnet-v2@20241022",
        ],
        &["anthropic.claude-3-sonnet-20240229-v1:0:200k", "claude-3-sonnet-20240229"],
        &["claude-3-opus-latest", "claude-3-opus-20240229", "opus", "claude-opus"],
        &[
            "gpt-5.5",
            "gpt-5.5-2026-01-01",
            "gpt-5.5-20260101",
            "GPT-5.5-2026-02-02",
            "openai/gpt-5.5",
            "azure/gpt-5.5",
            "gpt-5.5-high",
        ],
        &["gpt-4", "gpt-4-0613", "gpt-4-latest"],
        &["o3-mini", "o3-mini-high", "o3-mini-2025-01-31"],
        &["openai.gpt-oss-120b-1:0", "gpt-oss-120b", "openai/gpt-oss-120b:free"],
        &[
            "gemini-2.5-pro",
            "models/gemini-2.5-pro",
            "google/gemini-2.5-pro-preview-05-06",
            "gemini-2.5-pro-exp-03-25",
            "pro",
            "gemini-pro-latest",
        ],
        &[
            "gemini-2.5-flash",
            "gemini-2.5-flash-preview-09-2025",
            "gemini-2.5-flash-001",
            "gemini-flash-latest",
            "flash",
        ],
        &[
            "meta.llama3-1-70b-instruct-v1:0",
            "llama-3.1-70b-instruct",
            "accounts/fireworks/models/llama-v3p1-70b-instruct",
            "meta-llama/Llama-3.1-70B-Instruct",
        ],
        &["mistral-large-2411", "mistral-large", "mistral-large-latest", "mistralai/mistral-large-2411"],
        &["qwen3-coder-plus", "qwen3-coder-plus-2025-09-23", "qwen/qwen3-coder-plus"],
        &["llama3", "llama3:latest"],
    ];

    #[test]
    fn another_name_of_one_model_is_no_other_model() {
        for names in ONE {
            for (one, other) in names.iter().flat_map(|one| names.iter().map(move |other| (one, other))) {
                assert!(may_be_one_model(one, other), "{one} {other}");
            }
        }
    }

    #[test]
    fn models_stay_apart() {
        for (one, other) in [
            ("sonnet", "opus"),
            ("claude-sonnet-4-5", "claude-sonnet-4"),
            ("claude-sonnet-4-5", "claude-opus-4-5"),
            ("claude-3-5-sonnet-20241022", "claude-3-7-sonnet-20250219"),
            ("haiku", "claude-sonnet-4-5"),
            ("gpt-5.5", "gpt-5.1"),
            ("gpt-5.1-codex", "gpt-5.1-codex-max"),
            ("gpt-5.1-codex-mini", "gpt-5.1-codex"),
            ("o3", "o3-mini"),
            ("gemini-2.5-pro", "gemini-2.5-flash"),
            ("gemini-3-pro-preview", "gemini-2.5-pro"),
            ("llama-3.1-8b", "llama-3.1-70b"),
            ("llama3:8b", "llama3:70b"),
            ("mistral-small-2501", "mistral-large-2411"),
            ("deepseek-v3", "deepseek-r1"),
        ] {
            assert!(!may_be_one_model(one, other), "{one} {other}");
            assert!(!may_be_one_model(other, one), "{other} {one}");
        }
    }

    #[test]
    fn a_name_that_leaves_the_choice_open_may_be_any_model() {
        for name in [
            "auto",
            "default",
            "opusplan",
            "openrouter/auto",
            "auto-gemini-3",
            "arn:aws:bedrock:us-east-1:1234:application-inference-profile/abc123",
        ] {
            assert!(may_be_one_model(name, "claude-sonnet-4-5"), "{name}");
            assert!(may_be_one_model("gpt-5.5", name), "{name}");
        }
    }

    #[test]
    fn odd_names_are_read_without_harm() {
        for name in ["", "-", "o", "@", ":", "é", "[", "/", "-v:", "@-v1", "a@é-01", "１２３４-0101"] {
            let _ = may_be_one_model(name, "o-é-latest");
        }
    }
}
