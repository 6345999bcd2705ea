//! Decodes `requires_approval`: `true`, or a map that says who approves, how many and how long.

use std::collections::BTreeSet;

use escrow_model::{ApprovalRule, ApprovalTerms};

use super::{Decoder, count, items, texts};
use crate::diagnostic::Problem;
use crate::duration;
use crate::yaml::Node;

impl Decoder<'_> {
    pub(super) fn approval(&mut self, check: &Node) -> Option<ApprovalRule> {
        let node = check.get("requires_approval")?;
        if node.map().is_none() {
            return node.bool().filter(|wanted| *wanted).map(|_| ApprovalRule::default());
        }
        let prompt = node.get("prompt").and_then(|prompt| self.sources.template("prompt", prompt));
        let expires = node.get("expires").and_then(|expires| duration::milliseconds(expires).ok());
        let terms = ApprovalTerms {
            by: texts(node.get("by")),
            count: count(node.get("count")).unwrap_or(1),
            independent: node.get("independent").and_then(|node| node.bool()).unwrap_or(false),
        };
        self.check_approvers(node, &terms);
        Some(ApprovalRule { prompt, terms, expires_ms: expires.unwrap_or(ApprovalRule::EXPIRES_MS) })
    }

    /// An approval that can never be complete is a mistake.
    fn check_approvers(&mut self, node: &Node, terms: &ApprovalTerms) {
        if let (true, Some(entry)) = (terms.by.is_empty(), node.entry("by")) {
            self.found().push(
                Problem::new("E0105", entry.value.span.clone(), "`by` must name at least one approver")
                    .label("the list is empty")
                    .help("name who may approve, or remove the key to let anyone approve"),
            );
        }
        for name in node.get("by").map(items).unwrap_or_default() {
            let Some((kind, _)) = name.string().and_then(|text| text.split_once(':')) else { continue };
            if !matches!(kind, "os" | "token") {
                self.found().push(
                    Problem::new("E0108", name.span.clone(), format!("`{kind}:` is no kind of actor"))
                        .label("unknown kind")
                        .help("write `os:NAME` for a user of this machine, `token:NAME`, or the bare name"),
                );
            }
        }
        let named = u32::try_from(approvers(&terms.by).len()).unwrap_or(u32::MAX);
        if let (true, Some(entry)) = (named > 0 && terms.count > named, node.entry("count")) {
            self.found().push(
                Problem::new(
                    "E0122",
                    entry.value.span.clone(),
                    format!("`count` is {}, but `by` names only {named}", terms.count),
                )
                .label("it could never be approved")
                .help("each name is one approver: name more of them, or lower `count`"),
            );
        }
    }
}

/// The different approvers. A bare name stands for a user or for a token and is one approver all the same, so `os:ann` adds
/// nothing to `ann`.
fn approvers(by: &[String]) -> BTreeSet<&str> {
    let is_named = |bare: &str| by.iter().any(|other| other == bare);
    let names = by.iter().map(|name| match name.split_once(':') {
        Some((_, bare)) if is_named(bare) => bare,
        Some(_) | None => name.as_str(),
    });
    names.collect()
}
