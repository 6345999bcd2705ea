//! `impact_report`: what a change touches, and how risky that is.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Block, Card, Digest, Kind, Row, Tone, as_written, fields, optional_text, strict_schema, summary,
};

pub(super) const KIND: Kind = Kind {
    name: "impact_report",
    about: "what a change touches, and how risky that is",
    schema,
    normalise: as_written,
    digest,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    #[serde(rename = "outcome_kind")]
    _kind: Option<String>,
    summary: Option<String>,
    passed: Option<bool>,
    change: String,
    #[serde(default)]
    areas: Vec<Area>,
    overall_risk: Option<Risk>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Area {
    name: String,
    risk: Risk,
    detail: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Risk {
    None,
    Low,
    Medium,
    High,
    Critical,
}

impl Risk {
    const ALL: [Risk; 5] = [Risk::None, Risk::Low, Risk::Medium, Risk::High, Risk::Critical];

    fn as_str(self) -> &'static str {
        match self {
            Risk::None => "none",
            Risk::Low => "low",
            Risk::Medium => "medium",
            Risk::High => "high",
            Risk::Critical => "critical",
        }
    }

    fn tone(self) -> Tone {
        if self >= Risk::High { Tone::Bad } else { Tone::Neutral }
    }
}

fn schema() -> Value {
    let words = Risk::ALL.map(Risk::as_str);
    let overall: Vec<Value> = words.iter().map(|word| json!(word)).chain([Value::Null]).collect();
    strict_schema(
        KIND.name,
        KIND.about,
        json!({
            "change": {"type": "string", "description": "What is changed."},
            "areas": {"type": "array", "description": "What it touches.", "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "The part."},
                    "risk": {"enum": words, "description": "How risky the change is there."},
                    "detail": optional_text("Why."),
                },
                "required": ["name", "risk"],
                "additionalProperties": false,
            }},
            "overall_risk": {"enum": overall, "description": "The highest risk; derived when absent."},
        }),
        &["change"],
    )
}

fn digest(content: &Value) -> Result<Digest, Vec<String>> {
    let report: Fields = fields(content)?;
    let worst = report.areas.iter().max_by_key(|area| area.risk);
    if let (Some(overall), Some(worst)) = (report.overall_risk, worst)
        && overall < worst.risk
    {
        let (overall, risk) = (overall.as_str(), worst.risk.as_str());
        return Err(vec![format!("`overall_risk` is {overall}, but that of `{}` is {risk}", worst.name)]);
    }
    let overall = report.overall_risk.or_else(|| worst.map(|area| area.risk));
    let mut blocks: Vec<Block> = Block::text(None, report.summary.as_ref()).into_iter().collect();
    blocks.extend(Block::text(Some("Change"), Some(&report.change)));
    if !report.areas.is_empty() {
        let rows = report.areas.iter().map(|area| Row {
            label: area.name.clone(),
            value: match &area.detail {
                Some(detail) => format!("{}: {detail}", area.risk.as_str()),
                None => area.risk.as_str().to_owned(),
            },
            tone: area.risk.tone(),
        });
        blocks.push(Block::Rows { heading: Some("Areas".into()), rows: rows.collect() });
    }
    let word = overall.map_or("unknown", Risk::as_str);
    let card = Card {
        title: format!("IMPACT: {} RISK", word.to_uppercase()),
        tone: overall.map_or(Tone::Neutral, Risk::tone),
        aside: None,
        blocks,
    };
    let summary = summary(report.summary, || format!("{}: {word} risk", report.change));
    Ok(Digest { summary, passed: report.passed, card })
}
