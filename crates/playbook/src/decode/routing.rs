//! Decodes `on_success`, `on_fail` and `on_finish`, and `retry` of `on_fail`.

use std::rc::Rc;

use escrow_model::{Backoff, BackoffMode, CheckIndex, Routing, Transition};

use super::{Decoder, count, items};
use crate::diagnostic::Problem;
use crate::source::Stage;
use crate::yaml::Node;

/// The default delay before a retry.
const BACKOFF_DELAY_MS: u64 = 1_000;

/// `on_fail.retry` as written. The default of `max` depends on the criticality, which is not known yet.
pub(super) struct DeclaredRetry {
    pub(super) max: Option<u32>,
    pub(super) backoff: Backoff,
}

pub(super) fn retry(check: &Node) -> Option<DeclaredRetry> {
    let retry = check.get("on_fail")?.get("retry")?;
    retry.map()?;
    let backoff = retry.get("backoff");
    let mode = match backoff.and_then(|backoff| backoff.get("mode")).and_then(|mode| mode.string()) {
        Some("fixed") => BackoffMode::Fixed,
        _ => BackoffMode::Exponential,
    };
    let delay_ms = backoff
        .and_then(|backoff| backoff.get("delay_ms"))
        .and_then(|delay| delay.number())
        .and_then(serde_json::Number::as_u64)
        .unwrap_or(BACKOFF_DELAY_MS);
    Some(DeclaredRetry { max: count(retry.get("max")), backoff: Backoff { mode, delay_ms } })
}

impl Decoder<'_> {
    pub(super) fn routing(&mut self, node: Option<&Rc<Node>>) -> Routing {
        let Some(node) = node.filter(|node| node.map().is_some()) else { return Routing::default() };
        let run = node
            .get("run")
            .map(items)
            .unwrap_or_default()
            .iter()
            .filter_map(|item| self.target("run", item))
            .collect();
        let transitions = node.get("transitions").and_then(|list| list.list()).unwrap_or_default();
        let routing = Routing {
            run,
            run_js: node
                .get("run_js")
                .and_then(|block| self.sources.block("run_js", block, Stage::AfterProvider)),
            transitions: transitions.iter().filter_map(|item| self.transition(item)).collect(),
            goto_js: node
                .get("goto_js")
                .and_then(|block| self.sources.block("goto_js", block, Stage::AfterProvider)),
            goto: node.get("goto").and_then(|target| self.target("goto", target)),
            goto_event: text(node.get("goto_event")),
        };
        let routes =
            ["run", "run_js", "transitions", "goto_js", "goto"].iter().any(|key| node.entry(key).is_some());
        if let (false, Some(event)) = (routes, node.entry("goto_event")) {
            self.found().push(
                Problem::new("W0211", event.key_span.clone(), "`goto_event` has no effect")
                    .label("this block does not route to a check"),
            );
        }
        routing
    }

    fn transition(&mut self, item: &Rc<Node>) -> Option<Transition> {
        let when =
            item.get("when").and_then(|when| self.sources.expression("when", when, Stage::AfterProvider));
        let to = item.get("to").filter(|to| !to.is_null()).map(|to| self.target("to", to));
        let to = match to {
            Some(None) => return None,
            Some(Some(target)) => Some(target),
            None => None,
        };
        Some(Transition { when: when?, to, goto_event: text(item.get("goto_event")) })
    }

    pub(super) fn target(&mut self, key: &str, node: &Rc<Node>) -> Option<CheckIndex> {
        let name = node.string().filter(|name| !name.is_empty())?;
        self.names.find(name, key, node.span.clone(), self.sources.found)
    }
}

fn text(node: Option<&Rc<Node>>) -> Option<String> {
    node.and_then(|node| node.string()).map(str::to_owned)
}
