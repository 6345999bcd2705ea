//! Small plans by chance: a bit of everything that playbooks can say.

use escrow_testkit::Dice;

/// What a family of plans may contain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flavour {
    pub(crate) routes: bool,
    /// External checks whose unknown effects wait for a person, or are looked for.
    pub(crate) unknown: bool,
    pub(crate) people: bool,
}

/// A plan in shorthand. Not every one loads: some join two fan-outs.
pub(crate) fn plan(dice: &mut Dice, flavour: Flavour) -> String {
    let size = 2 + dice.below(5);
    let mut names: Vec<String> = Vec::new();
    for place in 0..size {
        let name = if dice.chance(25) { format!("list{place}") } else { format!("c{place}") };
        names.push(name);
    }
    let mut text = String::new();
    if dice.chance(50) {
        text.push_str(&format!("@routing: {{max_loops: {}}}\n", dice.below(4)));
    }
    if dice.chance(30) {
        text.push_str(&format!("@max_parallelism: {}\n", 1 + dice.below(3)));
    }
    text.push_str("@artifacts: {expected: [{id: file, path: f, required: false}, {id: must, path: m}]}\n");
    for (place, name) in names.iter().enumerate() {
        text.push_str(&check(dice, flavour, name, &names[..place], &names));
        text.push('\n');
    }
    text
}

fn check(dice: &mut Dice, flavour: Flavour, name: &str, before: &[String], all: &[String]) -> String {
    let mut head = name.to_owned();
    let needs = needs(dice, before);
    if !needs.is_empty() {
        head.push_str(&format!("<{}", needs.join(",")));
    }
    if name.starts_with("list") {
        head.push_str(" forEach");
    } else if dice.chance(15) && !needs.is_empty() {
        head.push_str(if dice.chance(50) { " map" } else { " reduce" });
    }
    if dice.chance(25) {
        head.push_str(" external");
        return format!("{head} {{{}}}", keys(dice, flavour, name, all, true).join(", "));
    }
    if dice.chance(15) {
        head.push_str(" info");
    }
    format!("{head} {{{}}}", keys(dice, flavour, name, all, false).join(", "))
}

fn needs(dice: &mut Dice, before: &[String]) -> Vec<String> {
    let mut needs: Vec<String> = Vec::new();
    let count = if before.is_empty() { 0 } else { dice.below(3) };
    for _ in 0..count {
        let one = dice.pick(before).clone();
        let need = if dice.chance(20) {
            let other = dice.pick(before);
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

fn keys(dice: &mut Dice, flavour: Flavour, name: &str, all: &[String], external: bool) -> Vec<String> {
    let mut keys = Vec::new();
    if !name.starts_with("list") && !external && dice.chance(20) {
        keys.push("type: noop".to_owned());
    }
    if external && !flavour.unknown {
        keys.push("idempotent: true".to_owned());
    }
    if external && flavour.unknown && dice.chance(50) {
        keys.push(
            dice.pick(&[
                "reconcile: ./look",
                "reconcile: {exec: ./look, done: \"output === 'done'\", retry: \"output.length > 4\"}",
            ])
            .to_string(),
        );
    }
    if name.starts_with("list") && dice.chance(30) {
        keys.push(format!("concurrency: {}", 1 + dice.below(2)));
    }
    if dice.chance(15) {
        keys.push(r#"if: "attempt !== 2""#.to_owned());
    }
    if dice.chance(10) {
        keys.push(format!(r#"assume: "{}""#, dice.pick(&["true", "false", "attempt < 3", "event.no.such"])));
        if dice.chance(30) {
            keys.push("assume_mode: fail".to_owned());
        }
    }
    if dice.chance(25) {
        keys.push(r#"guarantee: "output === null || output.ok !== false""#.to_owned());
    }
    if dice.chance(15) {
        keys.push(r#"fail_if: "output && output.n === 3""#.to_owned());
    }
    if dice.chance(15) {
        keys.push(format!("artifacts: {}", dice.pick(&["file", "must", "[file, must]"])));
    }
    if dice.chance(15) {
        keys.push("continue_on_failure: true".to_owned());
    }
    if flavour.people && dice.chance(15) {
        keys.push("requires_approval: true".to_owned());
    }
    let mut on_fail = Vec::new();
    if dice.chance(25) {
        on_fail.push(format!("retry: {{max: {}}}", 1 + dice.below(2)));
        if dice.chance(30) {
            keys.push("retry_on: [transient, logical]".to_owned());
        }
    }
    if flavour.routes {
        routes(dice, all, "on_success", Vec::new(), 20, &mut keys);
        routes(dice, all, "on_finish", Vec::new(), 10, &mut keys);
        routes(dice, all, "on_fail", on_fail, 25, &mut keys);
    } else if !on_fail.is_empty() {
        keys.push(format!("on_fail: {{{}}}", on_fail.join(", ")));
    }
    keys
}

fn routes(
    dice: &mut Dice,
    all: &[String],
    block: &str,
    mut inside: Vec<String>,
    percent: u64,
    keys: &mut Vec<String>,
) {
    if dice.chance(percent) {
        let target = dice.pick(all);
        match dice.below(4) {
            0 => inside.push(format!("run: [{target}]")),
            1 => inside.push(format!("goto: {target}")),
            2 => inside.push(format!(r#"transitions: [{{when: "attempt < 3", to: {target}}}]"#)),
            _ => inside.push(format!(r#"goto_js: "return attempt < 3 ? '{target}' : null""#)),
        }
        if dice.chance(20) {
            inside.push("goto_event: other".to_owned());
        }
    }
    if !inside.is_empty() {
        keys.push(format!("{block}: {{{}}}", inside.join(", ")));
    }
}
