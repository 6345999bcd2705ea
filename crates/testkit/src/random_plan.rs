//! Small random plans that use a bit of everything in the playbook language.

use crate::Rng;

/// What random plans may contain.
#[derive(Clone, Copy, Debug)]
pub struct PlanFeatures {
    pub routes: bool,
    /// External checks whose unknown effects wait for a person, or have a `reconcile` command.
    pub unknown: bool,
    /// Checks that require approval.
    pub people: bool,
    /// External checks that share keys of effects.
    pub keys: bool,
}

/// A plan in shorthand. Not every one loads: some join two fan-outs.
pub fn random_plan(rng: &mut Rng, features: PlanFeatures) -> String {
    random_plan_nesting(rng, features, &[])
}

/// A plan in shorthand that may nest the playbooks of these names.
pub fn random_plan_nesting(rng: &mut Rng, features: PlanFeatures, nested: &[String]) -> String {
    let size = 2 + rng.below(5);
    let mut names: Vec<String> = Vec::new();
    for place in 0..size {
        let name = if rng.chance(25) { format!("list{place}") } else { format!("c{place}") };
        names.push(name);
    }
    let mut text = String::new();
    if rng.chance(50) {
        text.push_str(&format!("@routing: {{max_loops: {}}}\n", rng.below(4)));
    }
    if rng.chance(30) {
        text.push_str(&format!("@max_parallelism: {}\n", 1 + rng.below(3)));
    }
    text.push_str("@artifacts: {expected: [{id: file, path: f, required: false}, {id: must, path: m}]}\n");
    for (place, name) in names.iter().enumerate() {
        let nests = !nested.is_empty() && !name.starts_with("list") && rng.chance(50);
        let kind = if nests { Kind::Nested(rng.pick(nested).as_str()) } else { Kind::Any };
        text.push_str(&check(rng, features, name, kind, &names[..place], &names));
        text.push('\n');
    }
    text
}

#[derive(Clone, Copy)]
enum Kind<'a> {
    Any,
    /// A check of type `playbook`, with the name of the playbook.
    Nested(&'a str),
}

fn check(
    rng: &mut Rng,
    features: PlanFeatures,
    name: &str,
    kind: Kind<'_>,
    before: &[String],
    all: &[String],
) -> String {
    let mut head = name.to_owned();
    let needs = needs(rng, before);
    if !needs.is_empty() {
        head.push_str(&format!("<{}", needs.join(",")));
    }
    if name.starts_with("list") {
        head.push_str(" forEach");
    } else if rng.chance(15) && !needs.is_empty() {
        head.push_str(if rng.chance(50) { " map" } else { " reduce" });
    }
    if let Kind::Nested(playbook) = kind {
        let mut keys = keys(rng, features, name, all, false);
        keys.retain(|key| key != "type: noop");
        return format!("{head} {{type: playbook, playbook: {playbook}, {}}}", keys.join(", "));
    }
    if rng.chance(25) {
        head.push_str(" external");
        return format!("{head} {{{}}}", keys(rng, features, name, all, true).join(", "));
    }
    if rng.chance(15) {
        head.push_str(" info");
    }
    format!("{head} {{{}}}", keys(rng, features, name, all, false).join(", "))
}

fn needs(rng: &mut Rng, before: &[String]) -> Vec<String> {
    let mut needs: Vec<String> = Vec::new();
    let count = if before.is_empty() { 0 } else { rng.below(3) };
    for _ in 0..count {
        let one = rng.pick(before).clone();
        let need = if rng.chance(20) {
            let other = rng.pick(before);
            if *other == one { one } else { format!("{one}|{other}") }
        } else {
            one
        };
        if !needs.contains(&need) {
            needs.push(need);
        }
    }
    needs
}

fn keys(rng: &mut Rng, features: PlanFeatures, name: &str, all: &[String], external: bool) -> Vec<String> {
    let mut keys = Vec::new();
    if !name.starts_with("list") && !external && rng.chance(20) {
        keys.push("type: noop".to_owned());
    }
    if external && !features.unknown {
        keys.push("idempotent: true".to_owned());
    }
    if external && features.unknown && rng.chance(50) {
        keys.push(
            rng.pick(&[
                "reconcile: ./look",
                "reconcile: {exec: ./look, done: \"output === 'done'\", retry: \"output.length > 4\"}",
            ])
            .to_string(),
        );
    }
    if external && features.keys && rng.chance(60) {
        // Few keys, so that checks and nested runs share them. One of a map scope names its item.
        let key = if rng.chance(75) { "k" } else { "k{{ item }}" };
        keys.push(format!("effect_key: \"{key}{}\"", rng.below(2)));
        keys.push("exec: ./post".to_owned());
    }
    if name.starts_with("list") && rng.chance(30) {
        keys.push(format!("concurrency: {}", 1 + rng.below(2)));
    }
    if rng.chance(15) {
        keys.push(r#"if: "attempt !== 2""#.to_owned());
    }
    if rng.chance(10) {
        keys.push(format!(r#"assume: "{}""#, rng.pick(&["true", "false", "attempt < 3", "event.no.such"])));
        if rng.chance(30) {
            keys.push("assume_mode: fail".to_owned());
        }
    }
    if rng.chance(25) {
        keys.push(r#"guarantee: "output === null || output.ok !== false""#.to_owned());
    }
    if rng.chance(15) {
        keys.push(r#"fail_if: "output && output.n === 3""#.to_owned());
    }
    if rng.chance(15) {
        keys.push(format!("artifacts: {}", rng.pick(&["file", "must", "[file, must]"])));
    }
    if rng.chance(15) {
        keys.push("continue_on_failure: true".to_owned());
    }
    if rng.chance(20) {
        keys.push("continue_on_skip: true".to_owned());
    }
    if rng.chance(10) {
        keys.push("on: [other]".to_owned());
    }
    if features.people && rng.chance(15) {
        keys.push("requires_approval: true".to_owned());
        if !keys.iter().any(|key| key == "type: noop" || key.starts_with("exec: ")) && rng.chance(50) {
            // What is approved shows the output of another check, which may change before this one starts.
            keys.push(format!("exec: [./post, \"{{{{ outputs.{} | default('') }}}}\"]", rng.pick(all)));
        }
    }
    let mut on_fail = Vec::new();
    if rng.chance(25) {
        on_fail.push(format!("retry: {{max: {}}}", 1 + rng.below(2)));
        if rng.chance(30) {
            keys.push("retry_on: [transient, logical]".to_owned());
        }
    }
    if features.routes {
        routes(rng, all, "on_success", Vec::new(), 20, &mut keys);
        routes(rng, all, "on_finish", Vec::new(), 10, &mut keys);
        routes(rng, all, "on_fail", on_fail, 25, &mut keys);
    } else if !on_fail.is_empty() {
        keys.push(format!("on_fail: {{{}}}", on_fail.join(", ")));
    }
    keys
}

fn routes(
    rng: &mut Rng,
    all: &[String],
    block: &str,
    mut inside: Vec<String>,
    percent: u64,
    keys: &mut Vec<String>,
) {
    if rng.chance(percent) {
        let target = rng.pick(all);
        match rng.below(4) {
            0 => inside.push(format!("run: [{target}]")),
            1 => inside.push(format!("goto: {target}")),
            2 => inside.push(format!(r#"transitions: [{{when: "attempt < 3", to: {target}}}]"#)),
            _ => inside.push(format!(r#"goto_js: "return attempt < 3 ? '{target}' : null""#)),
        }
        if rng.chance(20) {
            inside.push("goto_event: other".to_owned());
        }
    }
    if !inside.is_empty() {
        keys.push(format!("{block}: {{{}}}", inside.join(", ")));
    }
}
