//! Derives the criticality of each check, and the defaults that depend on it.

use std::ops::Range;

use escrow_model::{
    Criticality, CriticalityOrigin, Field, Mutates, ProviderName, Reconcile, Routing, Safety,
};
use escrow_template::{is_posix_shell, survey_arguments, survey_script};
use serde_json::Value;

use super::graph::Graph;
use crate::ReferenceResolver;
use crate::decode::Draft;
use crate::world_commands::changes_world;

const RETRIES: u32 = 3;
const RETRIES_CRITICAL: u32 = 2;

pub(super) fn resolve(
    drafts: &mut [Draft],
    graph: &Graph,
    references: &dyn ReferenceResolver,
    safety: Safety,
) {
    // First the criticality of each check by itself, then what follows from the checks after it.
    for draft in drafts.iter_mut() {
        let mutates = mutates(draft, references);
        let (criticality, origin) = stated(draft, own(draft, mutates));
        draft.check.criticality = criticality;
        draft.check.criticality_origin = origin;
        draft.check.mutating = mutates || criticality == Criticality::External;
        if mutates && draft.provider.finds_its_effects {
            draft.check.reconcile.get_or_insert_with(Reconcile::by_provider);
        }
    }
    let guarding = before_external(drafts, graph);
    let guards = guards_that_read_memory(drafts);
    let feeding: Vec<bool> = drafts.iter().map(|draft| feeds_guard(draft, &guards)).collect();
    for (index, draft) in drafts.iter_mut().enumerate() {
        let judges = !draft.check.guarantee.is_empty() || draft.check.fail_if.is_some();
        let inferred = draft.check.criticality_origin == CriticalityOrigin::Default;
        if inferred && judges && guarding[index] {
            draft.check.criticality = Criticality::Policy;
            draft.check.criticality_origin = CriticalityOrigin::GuardsExternal;
        }
        if inferred && feeding[index] {
            draft.check.criticality = Criticality::Internal;
            draft.check.criticality_origin = CriticalityOrigin::FeedsGuard;
        }
        let default = if draft.check.is_critical() { RETRIES_CRITICAL } else { RETRIES };
        let default = match safety {
            Safety::Standard => default,
            Safety::Strict => default / 2,
        };
        if let Some(retry) = &mut draft.check.retry {
            retry.max = draft.retry_max.unwrap_or(default);
        }
    }
}

/// The criticality from keys or tags; otherwise the inferred one.
fn stated(draft: &Draft, inferred: (Criticality, CriticalityOrigin)) -> (Criticality, CriticalityOrigin) {
    if let Some(criticality) = draft.criticality {
        return (criticality, CriticalityOrigin::Declared);
    }
    match draft.critical {
        Some(true) => return (inferred.0.max(Criticality::Policy), CriticalityOrigin::Declared),
        Some(false) => return (Criticality::Info, CriticalityOrigin::Declared),
        None => {}
    }
    let tags = &draft.check.tags;
    let word = tags.iter().filter_map(|tag| Criticality::parse(tag)).max();
    let critical = tags.iter().any(|tag| tag == "critical");
    match (word, critical) {
        (Some(word), false) => (word, CriticalityOrigin::Tag),
        (Some(word), true) => (word.max(Criticality::Policy), CriticalityOrigin::Tag),
        (None, true) => (inferred.0.max(Criticality::Policy), CriticalityOrigin::Tag),
        (None, false) => inferred,
    }
}

fn own(draft: &Draft, mutates: bool) -> (Criticality, CriticalityOrigin) {
    if mutates {
        (Criticality::External, CriticalityOrigin::MutatingProvider)
    } else if world_change(draft).is_some() {
        (Criticality::External, CriticalityOrigin::WorldCommand)
    } else if draft.check.for_each || draft.check.routings().any(|routing| !Routing::is_empty(routing)) {
        (Criticality::Internal, CriticalityOrigin::DrivesRouting)
    } else {
        (Criticality::Info, CriticalityOrigin::Default)
    }
}

/// What in the check's command changes the world, and where in `exec` it is.
pub(super) fn world_change(draft: &Draft) -> Option<(String, Range<usize>)> {
    if draft.check.provider != ProviderName::COMMAND {
        return None;
    }
    let survey = match draft.check.fields.get("exec")? {
        Field::Shell(script) => match draft.check.fields.get("shell") {
            // Another program interprets the script: `[ssh, host]`, `[python3, -c]`.
            Some(Field::Plain(Value::Array(words))) => {
                let mut words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
                if words.first().is_some_and(|program| is_posix_shell(program)) {
                    survey_script(script.source())
                } else {
                    words.push(script.source());
                    survey_arguments(&words)
                }
            }
            _ => survey_script(script.source()),
        },
        Field::Argv(words) => {
            let sources: Vec<&str> = words.iter().map(|word| word.source()).collect();
            survey_arguments(&sources)
        }
        Field::Text(_)
        | Field::Texts(_)
        | Field::Tree(_)
        | Field::Block(_)
        | Field::Plain(_)
        | Field::Url(_)
        | Field::Message(_) => return None,
    };
    changes_world(&survey).or_else(|| match draft.check.fields.get("stdin") {
        Some(Field::Text(input)) if survey.reads_code => {
            let (name, _) = changes_world(&survey_script(input.source()))?;
            Some((name, 0..0))
        }
        Some(_) | None => None,
    })
}

fn mutates(draft: &Draft, references: &dyn ReferenceResolver) -> bool {
    match draft.provider.mutates {
        Mutates::Never => false,
        Mutates::Always => true,
        Mutates::AsNested => match draft.check.fields.get("playbook") {
            Some(Field::Plain(Value::String(file))) => references.nested_is_mutating(file),
            Some(_) | None => false,
        },
        Mutates::UnlessKeyIs { key, words, default } => {
            let word = match draft.check.fields.get(key) {
                None => Some(default),
                Some(Field::Plain(Value::String(word))) => Some(word.as_str()),
                // A value known only at run time may be mutating.
                Some(_) => None,
            };
            !word.is_some_and(|word| words.iter().any(|safe| safe.eq_ignore_ascii_case(word)))
        }
    }
}

/// The sources of every `if`, `assume`, `guarantee` and `fail_if` that reads memory.
fn guards_that_read_memory(drafts: &[Draft]) -> Vec<String> {
    let guards = drafts.iter().flat_map(|draft| {
        let check = &draft.check;
        check.condition.iter().chain(&check.assume).chain(&check.guarantee).chain(&check.fail_if)
    });
    let reading = guards.filter(|guard| {
        let reads = guard.reads();
        reads.uses("memory") || reads.helpers.iter().any(|call| call.name.starts_with("memory"))
    });
    reading.map(|guard| guard.source().to_owned()).collect()
}

/// Whether a check writes memory that a guard reads. A key that is known only at run time may be any.
fn feeds_guard(writer: &Draft, guards: &[String]) -> bool {
    let keys = memory_writes(writer);
    guards.iter().any(|guard| keys.iter().any(|key| key.is_none_or(|key| guard.contains(key))))
}

/// The keys of memory that a check writes, with `operation` or in the `content` of a script; `None` for one that is known
/// only at run time.
fn memory_writes(writer: &Draft) -> Vec<Option<&str>> {
    let fields = &writer.check.fields;
    match writer.provider.name {
        "memory" => {
            let writes = match fields.get("operation") {
                Some(Field::Plain(Value::String(operation))) => !matches!(operation.as_str(), "get" | "list"),
                Some(_) | None => false,
            };
            let key = match fields.get("key") {
                Some(Field::Text(key)) if key.reads().is_empty() => Some(key.source()),
                Some(_) | None => None,
            };
            if writes { vec![key] } else { Vec::new() }
        }
        "script" => match fields.get("content") {
            Some(Field::Block(content)) => {
                content.reads().memory_writes.iter().map(Option::as_deref).collect()
            }
            Some(_) | None => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// The checks that lead to an external check by dependencies or routes, directly or indirectly.
fn before_external(drafts: &[Draft], graph: &Graph) -> Vec<bool> {
    let mut before = vec![false; graph.count()];
    let mut open: Vec<usize> = (0..graph.count())
        .filter(|index| drafts[*index].check.criticality == Criticality::External)
        .collect();
    while let Some(index) = open.pop() {
        let leading = graph.needs[index].iter().copied().chain(graph.sources(index).map(|route| route.from));
        for source in leading {
            if !std::mem::replace(&mut before[source], true) {
                open.push(source);
            }
        }
    }
    before
}
