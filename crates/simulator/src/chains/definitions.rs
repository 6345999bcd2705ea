//! Random definitions of chains over a few playbooks, read by the real reader.

use std::sync::Arc;

use escrow_model::{ChainConcurrency, ChainId, Plan, PlanKind};
use escrow_testkit::{NestedPlans, PlanFeatures, Rng, random_plan, try_plan_nesting};

/// The playbook whose ends fire the first chain that listens to runs.
const REVIEW: &str = "
@name: review
@inputs: {pr: {type: any, default: 0}, effort: {default: low}}
read
verdict<read {exec: ./review, outcome: review_verdict}";

/// The playbook whose ends fire the second one.
const CI: &str = "
@name: ci
@inputs: {scope: {default: part}}
list forEach
test<list {on_fail: {retry: {max: 1}}}
result<test {exec: ./collect, outcome: ci_result, continue_on_failure: true}";

/// Has effects of its own, one of them behind a person.
const RELEASE: &str = "
@name: release
build {guarantee: \"output.ok !== false\"}
tag<build external {exec: ./tag}
publish<tag external {exec: ./publish, requires_approval: {expires: 2h}}";

/// Nests another playbook, and tries it twice.
const TRAIN: &str = "
@name: train
ci {type: playbook, playbook: ci, on_fail: {retry: {max: 1}}}
announce<ci external {idempotent: true, exec: ./announce}";

const FIXED: [(&str, &str); 4] = [("review", REVIEW), ("ci", CI), ("release", RELEASE), ("train", TRAIN)];

/// How many random playbooks a world has beside those above.
const RANDOM_PLAYBOOKS: u64 = 3;

/// A chain with two definitions: it is defined anew while it runs.
pub(super) struct Chain {
    pub(super) id: ChainId,
    pub(super) name: String,
    pub(super) concurrency: ChainConcurrency,
    pub(super) listens: Listens,
    pub(super) definitions: [Definition; 2],
    /// The one that is active.
    pub(super) active: usize,
}

#[derive(Clone)]
pub(super) struct Definition {
    pub(super) text: String,
    pub(super) plan: Arc<Plan>,
}

/// What a chain waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listens {
    /// Deliveries of a sender.
    Webhook,
    Clock,
    /// Files of the project.
    Files,
    /// The end of every run of this playbook.
    Runs(&'static str),
}

impl Chain {
    pub(super) fn active(&self) -> &Definition {
        &self.definitions[self.active]
    }
}

/// The chains of a world: every way to overlap with every kind of trigger, and two that may fire one another.
pub(super) fn chains(rng: &mut Rng) -> Vec<Chain> {
    let nested = playbooks(rng);
    let mut all = Vec::new();
    for concurrency in ChainConcurrency::ALL {
        for listens in [Listens::Webhook, Listens::Clock] {
            all.push((concurrency, listens));
        }
    }
    all.push((ChainConcurrency::Queue, Listens::Files));
    all.push((ChainConcurrency::Skip, Listens::Runs("review")));
    all.push((ChainConcurrency::Queue, Listens::Runs("ci")));
    let names: Vec<String> = nested.keys().cloned().collect();
    (0..)
        .zip(all)
        .map(|(number, (concurrency, listens)): (u32, _)| {
            let name = format!("chain-{number}");
            let definitions = [0, 1].map(|_| definition(rng, &name, concurrency, listens, &names, &nested));
            let id = ChainId::of(&name);
            Chain { id, name, concurrency, listens, definitions, active: 0 }
        })
        .collect()
}

fn playbooks(rng: &mut Rng) -> NestedPlans {
    let mut nested = NestedPlans::new();
    for (name, text) in FIXED {
        let plan = try_plan_nesting(text, &nested).unwrap_or_else(|problem| panic!("`{name}`: {problem}"));
        nested.insert(name.to_owned(), plan);
    }
    for number in 0..RANDOM_PLAYBOOKS {
        let features = PlanFeatures { routes: rng.chance(30), unknown: true, people: true, keys: false };
        // Not every random plan loads.
        let plan = (0..20).find_map(|_| try_plan_nesting(&random_plan(rng, features), &nested).ok());
        nested.extend(plan.map(|plan| (format!("random{number}"), plan)));
    }
    nested
}

fn definition(
    rng: &mut Rng,
    name: &str,
    concurrency: ChainConcurrency,
    listens: Listens,
    playbooks: &[String],
    nested: &NestedPlans,
) -> Definition {
    let trigger = match listens {
        Listens::Webhook => "{event: pr.opened, filter: {base: main}}".to_owned(),
        Listens::Clock => {
            "{schedule: '*/5 * * * *', timezone: Europe/Berlin, catch_up: once, jitter: 30s}".to_owned()
        }
        Listens::Files => "{event: file.changed, paths: ['docs/*.md'], debounce: 1ms}".to_owned(),
        Listens::Runs(playbook) => format!("{{event: run.completed, filter: {{playbook: {playbook}}}}}"),
    };
    let mut text =
        format!("name: {name}\nconcurrency: {}\ntrigger: {trigger}\nsteps:\n", concurrency.as_str());
    for place in 0..=rng.below(4) {
        text.push_str(&step(rng, place, playbooks));
    }
    let plan = try_plan_nesting(&text, nested).unwrap_or_else(|problem| panic!("{problem}"));
    debug_assert!(matches!(plan.kind, PlanKind::Chain(_)));
    Definition { text, plan }
}

fn step(rng: &mut Rng, place: u64, playbooks: &[String]) -> String {
    let mut keys = vec![format!("name: s{place}")];
    if place == 0 || rng.chance(55) {
        // The first step is mostly one that gives an outcome.
        let skill = if rng.chance(50) { "review" } else { rng.pick(playbooks) };
        keys.push(format!("skill: {skill}"));
        if skill == "review" {
            keys.push("with: {pr: '{{ trigger.n | default(0) }}', effort: '{{ trigger.name }}'}".to_owned());
        }
    } else {
        let action = match rng.below(3) {
            0 => {
                "action: http, with: {url: 'https://example.org/{{ trigger.n | default(0) }}', method: POST}"
            }
            _ => "action: shell, with: {exec: './act'}",
        };
        keys.push(action.to_owned());
        match rng.below(6) {
            0 => keys.push("idempotent: true".to_owned()),
            1 => keys.push("reconcile: ./look".to_owned()),
            _ => {}
        }
    }
    if place > 0 && rng.chance(60) {
        let other = rng.below(place);
        let condition = match rng.below(6) {
            0 => format!("steps[{other}].outcome.verdict == 'APPROVE'"),
            1 => format!("steps.s{other}.outcome.passed"),
            2 => format!("not steps[{other}].outcome.passed"),
            3 => format!("steps[{other}].status == 'failed'"),
            4 => format!("steps.s{other}.outcome.passed or trigger.n | default(0) > 3"),
            _ => format!("steps[{other}].status != 'failed' and trigger.name"),
        };
        keys.push(format!("condition: \"{{{{ {condition} }}}}\""));
    }
    if rng.chance(20) {
        keys.push((*rng.pick(&["requires_approval: true", "requires_approval: {expires: 1h}"])).to_owned());
    }
    if rng.chance(25) {
        keys.push(format!("retry: {{max: {}}}", 1 + rng.below(2)));
    }
    if rng.chance(10) {
        keys.push(format!("timeout: {}ms", 20 + rng.below(2_000)));
    }
    format!("  - {{{}}}\n", keys.join(", "))
}
