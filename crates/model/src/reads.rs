//! What a plan reads of the world. It is known before the run, so nothing else is read.

use std::collections::BTreeSet;

use escrow_expr::Program;
use escrow_template::{PathStep, TemplateRead};

use crate::{Check, Field, Plan, Routing, Tree};

/// The names that the sources of a plan use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanReads {
    pub names: BTreeSet<String>,
    /// Variables of the environment that are named literally.
    pub env: BTreeSet<String>,
}

impl PlanReads {
    pub fn of(plan: &Plan) -> PlanReads {
        let mut reads = PlanReads::default();
        for text in plan.env.values() {
            reads.template(text.reads());
        }
        for text in plan.title.iter().chain(plan.concurrency.as_ref().map(|rule| &rule.group)) {
            reads.template(text.reads());
        }
        for condition in plan.artifacts.expected.iter().filter_map(|one| one.condition.as_ref()) {
            reads.program(condition);
        }
        for check in &plan.checks {
            reads.check(check);
        }
        reads
    }

    /// Whether something asks for changed files or branches.
    pub fn wants_git(&self) -> bool {
        ["filesChanged", "filesCount", "branch", "baseBranch"].iter().any(|name| self.names.contains(*name))
    }

    /// What one check reads. A variable counts as read when a script names it, too.
    pub fn of_check(check: &Check) -> PlanReads {
        let mut reads = PlanReads::default();
        reads.check(check);
        let scripts = check
            .fields
            .values()
            .chain(check.reconcile.as_ref().and_then(|reconcile| reconcile.exec.as_ref()));
        for field in scripts {
            if let Field::Shell(script) = field {
                reads.env.extend(variables_in(script.script()).map(str::to_owned));
            }
        }
        reads
    }

    fn check(&mut self, check: &Check) {
        let gates = check.condition.iter().chain(&check.assume).chain(&check.guarantee).chain(&check.fail_if);
        for expression in gates {
            self.program(expression);
        }
        if let Some(condition) = check.step.as_ref().and_then(|step| step.condition.as_ref()) {
            self.template(condition.reads());
        }
        for routing in check.routings() {
            self.routing(routing);
        }
        for text in check.env.values() {
            self.template(text.reads());
        }
        for field in check.fields.values() {
            self.field(field);
        }
        if let Some(prompt) = check.requires_approval.as_ref().and_then(|rule| rule.prompt.as_ref()) {
            self.template(prompt.reads());
        }
        if let Some(reconcile) = &check.reconcile {
            reconcile.exec.iter().for_each(|exec| self.field(exec));
            reconcile.expressions().for_each(|(_, expression)| self.program(expression));
            reconcile.output.iter().for_each(|expression| self.program(expression));
        }
        if let Some(key) = &check.effect_key {
            self.template(key.reads());
        }
    }

    /// The variables that the `exec` and `env` of a check name, in templates or as `$NAME`.
    pub fn environment_of(check: &Check) -> BTreeSet<String> {
        let mut reads = PlanReads::default();
        for text in check.env.values() {
            reads.template(text.reads());
        }
        for field in check.fields.values() {
            reads.field(field);
            match field {
                Field::Shell(shell) => reads.shell_variables(shell.source()),
                Field::Argv(texts) => texts.iter().for_each(|text| reads.shell_variables(text.source())),
                Field::Text(_)
                | Field::Texts(_)
                | Field::Tree(_)
                | Field::Block(_)
                | Field::Plain(_)
                | Field::Url(_)
                | Field::Message(_) => {}
            }
        }
        reads.env
    }

    /// The variables that the templates of a check's request name, as `env.NAME`.
    pub fn rendered_by(check: &Check) -> BTreeSet<String> {
        let mut reads = PlanReads::default();
        for text in check.env.values().chain(&check.effect_key) {
            reads.template(text.reads());
        }
        let reconcile = check.reconcile.iter().filter_map(|reconcile| reconcile.exec.as_ref());
        check.fields.values().chain(reconcile).for_each(|field| reads.field(field));
        reads.env
    }

    /// Whether rendering the request of a check reads a value, which may be missing.
    pub fn renders_values(check: &Check) -> bool {
        let mut reads = PlanReads::default();
        check.env.values().chain(&check.effect_key).for_each(|text| reads.template(text.reads()));
        check.fields.values().for_each(|field| reads.field(field));
        reads != PlanReads::default()
    }

    /// `$NAME` and `${NAME…}`, wherever they stand: one too many does no harm.
    fn shell_variables(&mut self, script: &str) {
        for (at, _) in script.match_indices('$') {
            let rest = script[at + 1..].trim_start_matches('{').trim_start_matches('#');
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let name = &rest[..rest.find(|c| !is_name(c)).unwrap_or(rest.len())];
            if name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
                self.env.insert(name.to_owned());
            }
        }
    }

    fn field(&mut self, field: &Field) {
        match field {
            Field::Text(text) | Field::Url(text) => self.template(text.reads()),
            Field::Texts(texts) | Field::Argv(texts) => {
                texts.iter().for_each(|text| self.template(text.reads()));
            }
            Field::Tree(tree) | Field::Message(tree) => self.tree(tree),
            Field::Shell(shell) => self.template(shell.reads()),
            Field::Block(block) => self.program(block),
            Field::Plain(_) => {}
        }
    }

    fn routing(&mut self, routing: &Routing) {
        for transition in &routing.transitions {
            self.program(&transition.when);
        }
        for block in routing.run_js.iter().chain(&routing.goto_js) {
            self.program(block);
        }
    }

    fn tree(&mut self, tree: &Tree) {
        match tree {
            Tree::Leaf(_) => {}
            Tree::Text(text) => self.template(text.reads()),
            Tree::List(items) => items.iter().for_each(|item| self.tree(item)),
            Tree::Map(members) => members.values().for_each(|member| self.tree(member)),
        }
    }

    fn program(&mut self, program: &Program) {
        let reads = program.reads();
        self.names.extend(reads.names.iter().map(|read| read.name.clone()));
        for read in &reads.paths {
            if let [first, second, ..] = read.segments.as_slice()
                && first == "env"
            {
                self.env.insert(second.clone());
            }
        }
    }

    fn template(&mut self, reads: &[TemplateRead]) {
        for read in reads {
            self.names.insert(read.name.clone());
            if let (true, Some(PathStep::Member(name))) = (read.name == "env", read.path.first()) {
                self.env.insert(name.clone());
            }
        }
    }
}

/// The names in `$NAME` and `${NAME}`, wherever they are. Quoted ones count as well: a name too many does no harm.
fn variables_in(script: &str) -> impl Iterator<Item = &str> {
    script.split('$').skip(1).filter_map(|rest| {
        let rest = rest.strip_prefix('{').unwrap_or(rest);
        // `${#NAME}` and `${!NAME}`
        let rest = rest.strip_prefix(['#', '!']).unwrap_or(rest);
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        (end > 0).then_some(&rest[..end])
    })
}

#[cfg(test)]
mod tests {
    use super::variables_in;

    #[test]
    fn the_variables_of_a_script_are_found_by_name() {
        let names: Vec<&str> = variables_in("echo $A ${B:-x} \"${#C}\" '$D' $$ $1 $(echo $E)").collect();
        assert_eq!(names, ["A", "B", "C", "D", "1", "E"]);
    }
}
