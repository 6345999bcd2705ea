//! Decodes one check.

use std::rc::Rc;

use escrow_model::{
    AssumeMode, Check, Criticality, CriticalityOrigin, Expression, Need, ProviderSpec, Retry,
};
use serde_json::Value;

use super::ai::AGENT_PROVIDER;
use super::schema::check_schema;
use super::{Decoder, Draft, Fanout, count, fields, items, routing, sandbox, texts};
use crate::diagnostic::Problem;
use crate::duration;
use crate::source::Stage;
use crate::yaml::{Entry, Node, span_within};

/// Replaces an unknown provider, so that the rest of the check can be decoded.
const UNKNOWN_PROVIDER: ProviderSpec = ProviderSpec::PURE;

pub(super) fn decode(decoder: &mut Decoder<'_>, index: usize, entry: &Entry) -> Draft {
    let node = &entry.value;
    decoder.sources.check = Some(index);
    let needs = node.get("depends_on").map(|node| decoder.needs(node)).unwrap_or_default();
    let on_success = decoder.routing(node.get("on_success"));
    let on_fail = decoder.routing(node.get("on_fail"));
    let on_finish = decoder.routing(node.get("on_finish"));
    let condition =
        node.get("if").and_then(|node| decoder.sources.expression("if", node, Stage::BeforeProvider));
    let assume = decoder.expressions("assume", node, Stage::BeforeProvider);
    let guarantee = decoder.expressions("guarantee", node, Stage::AfterProvider);
    let fail_if = node
        .get("fail_if")
        .and_then(|node| decoder.sources.expression("fail_if", node, Stage::AfterProvider));
    let schema = decoder.schema(node);
    let rules = decoder.rules(node);
    let outcome = node.get("outcome").and_then(|node| decoder.kind(node));
    let env = decoder.environment(node.get("env"));
    let reconcile = decoder.reconcile(node);
    let effect_key = node.get("effect_key").and_then(|node| decoder.sources.template("effect_key", node));
    let requires_approval = decoder.approval(node);
    decoder.conflicts(node);
    let provider = decoder.provider(node).unwrap_or(UNKNOWN_PROVIDER);
    let fields = fields::decode(decoder, node, &provider);
    decoder.shell_program(node, &fields);
    decoder.shell_with_code(node, &fields);
    decoder.values_in_environment(
        node,
        &env,
        &fields,
        reconcile.as_ref().and_then(|reconcile| reconcile.exec.as_ref()),
    );
    decoder.values_as_input(node, &fields);
    decoder.lost_status(node, &fields);
    let secrets = decoder.secret_names(node, &provider);
    decoder.secrets_without_grant(node, &provider, &secrets.names);
    decoder.sources.check = None;

    let flag = |key: &str| node.get(key).and_then(|node| node.bool());
    let word = |key: &str| node.get(key).and_then(|node| node.string());
    let retry_on = node.get("retry_on").map(|node| texts(Some(node)));
    let retried = |class: &str| retry_on.as_ref().map(|classes| classes.iter().any(|word| word == class));
    let retry = routing::retry(node);
    let mut check = Check {
        name: entry.key.clone(),
        provider: provider.provider(),
        step: None,
        on: texts(node.get("on")),
        tags: texts(node.get("tags")),
        condition,
        assume,
        assume_mode: if word("assume_mode") == Some("fail") { AssumeMode::Fail } else { AssumeMode::Skip },
        guarantee,
        schema,
        rules,
        fail_if,
        artifacts: texts(node.get("artifacts")),
        own_folder: false,
        outcome,
        needs,
        after: Vec::new(),
        for_each: flag("forEach").unwrap_or(false),
        fan: Vec::new(),
        concurrency: count(node.get("concurrency")),
        starts: true,
        criticality: Criticality::Info,
        criticality_origin: CriticalityOrigin::Default,
        mutating: false,
        continue_on_failure: flag("continue_on_failure").unwrap_or(false),
        continue_on_skip: flag("continue_on_skip").unwrap_or(false),
        idempotent: flag("idempotent").unwrap_or(false),
        reconcile,
        effect_key,
        requires_approval,
        retry: retry.as_ref().map(|retry| Retry { max: retry.max.unwrap_or(0), backoff: retry.backoff }),
        retry_logical: retried("logical").unwrap_or(false),
        retry_transient: retried("transient").unwrap_or(true),
        on_success,
        on_fail,
        on_finish,
        timeout_ms: node
            .get("timeout")
            .and_then(|timeout| duration::milliseconds(timeout).ok())
            .unwrap_or(provider.timeout_ms),
        env,
        secrets: secrets.names,
        secret_files: secrets.files,
        secret_descriptors: secrets.descriptors,
        fields,
    };
    sandbox::report_network(entry, &provider, decoder.sandbox.as_ref(), decoder.sources.found);
    sandbox::inherit(&mut check, &provider, decoder.sandbox.as_ref());
    let profile =
        if provider.name == AGENT_PROVIDER.name { decoder.apply_profile(entry, &mut check) } else { None };
    Draft {
        profile_artifacts: profile.map(|profile| profile.artifacts.expected.clone()).unwrap_or_default(),
        check,
        entry: entry.clone(),
        provider,
        fanout: match word("fanout") {
            Some("map") => Some(Fanout::Map),
            Some("reduce") => Some(Fanout::Reduce),
            _ => None,
        },
        start: flag("start"),
        criticality: word("criticality").and_then(Criticality::parse),
        critical: flag("critical"),
        retry_max: retry.and_then(|retry| retry.max),
    }
}

impl Decoder<'_> {
    fn provider(&self, node: &Node) -> Option<ProviderSpec> {
        let name = node.get("type")?.string()?;
        self.catalog.iter().find(|provider| provider.name == name).copied()
    }

    fn expressions(&mut self, key: &str, check: &Node, stage: Stage) -> Vec<Expression> {
        check
            .get(key)
            .map(items)
            .unwrap_or_default()
            .iter()
            .filter_map(|node| self.sources.expression(key, node, stage))
            .collect()
    }

    /// `a`, `[a, b]`, `'a|b'`.
    fn needs(&mut self, node: &Rc<Node>) -> Vec<Need> {
        let mut needs = Vec::new();
        for item in items(node) {
            let Some(text) = item.string().filter(|text| !text.is_empty()) else { continue };
            let mut any_of = Vec::new();
            let mut offset = 0;
            for part in text.split('|') {
                let name = part.trim();
                let start = offset + (part.len() - part.trim_start().len());
                let span = span_within(self.sources.text, item, &(start..start + name.len()));
                offset += part.len() + 1;
                if name.is_empty() {
                    self.found().push(
                        Problem::new(
                            "E0131",
                            item.span.clone(),
                            "`depends_on` has an empty alternative",
                        )
                        .label("`|` separates two names")
                        .help("write `'a|b'` for any of `a` and `b`; separate entries must all be satisfied"),
                    );
                    continue;
                }
                let Some(index) = self.names.find(name, "depends_on", span.clone(), self.sources.found)
                else {
                    continue;
                };
                if any_of.contains(&index) {
                    self.found().push(
                        Problem::new("E0111", span, format!("`depends_on` lists `{name}` twice"))
                            .label("second entry"),
                    );
                } else {
                    any_of.push(index);
                }
            }
            if !any_of.is_empty() {
                needs.push(Need { any_of });
            }
        }
        needs
    }

    fn schema(&mut self, check: &Node) -> Option<Value> {
        let old = check.entry("output_schema");
        let new = check.entry("schema");
        if let Some(old) = old {
            let problem = Problem::new("W0207", old.key_span.clone(), "`output_schema` is deprecated");
            let shadowed = new.filter(|new| new.value.map().is_some());
            self.found().push(match shadowed {
                Some(new) => problem
                    .label("ignored")
                    .also(new.key_span.clone(), "`schema` takes precedence")
                    .help("remove it"),
                None => problem.label("read as `schema`").help("write `schema`"),
            });
        }
        for entry in [old, new].into_iter().flatten().filter(|entry| entry.value.map().is_some()) {
            check_schema(&entry.value, &entry.key, self.sources.found);
        }
        let validated =
            new.filter(|new| new.value.map().is_some()).or(old.filter(|old| old.value.map().is_some()));
        if validated.is_none()
            && let Some(card) = new
        {
            return self.card(&card.value).map(Value::String);
        }
        validated.map(|entry| entry.value.json())
    }

    /// Reports conflicting keys, and keys that have no effect without another key.
    fn conflicts(&mut self, check: &Node) {
        if let (Some(critical), Some(criticality)) = (check.entry("critical"), check.entry("criticality")) {
            self.found().push(
                Problem::new(
                    "E0130",
                    critical.key_span.clone(),
                    "`critical` and `criticality` are mutually exclusive",
                )
                .label("`critical` is given here")
                .also(criticality.key_span.clone(), "`criticality` is given here")
                .help("keep `criticality`, which is more precise"),
            );
        }
        let retry = check.get("on_fail").is_some_and(|on_fail| on_fail.entry("retry").is_some());
        let for_each = check.get("forEach").and_then(|node| node.bool()) == Some(true);
        for (key, useful, why) in [
            ("assume_mode", check.entry("assume").is_some(), "the check has no `assume`"),
            ("retry_on", retry, "the check has no `on_fail.retry`, so nothing is retried"),
            (
                "concurrency",
                for_each,
                "it limits the items of a `forEach` check, and this check has no `forEach`",
            ),
        ] {
            if let (false, Some(entry)) = (useful, check.entry(key)) {
                self.found().push(
                    Problem::new("W0211", entry.key_span.clone(), format!("`{key}` has no effect"))
                        .label(why),
                );
            }
        }
    }
}
