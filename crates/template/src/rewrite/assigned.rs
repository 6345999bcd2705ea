//! Collects the names that a template assigns, by loops, `set`, `with` and macros.

use std::collections::BTreeSet;

use crate::syntax::{Expr, Macro, Stmt};

pub(super) fn parameter_names<'a>(decl: &Macro<'a>) -> Vec<&'a str> {
    let mut names = Vec::new();
    decl.args.iter().for_each(|arg| targets(arg, &mut names));
    names
}

pub(super) fn targets<'a>(target: &Expr<'a>, names: &mut Vec<&'a str>) {
    match target {
        Expr::Var(var) => names.push(var.id),
        Expr::Tuple(tuple) => tuple.items.iter().for_each(|item| targets(item, names)),
        Expr::List(list) => list.items.iter().for_each(|item| targets(item, names)),
        _ => {}
    }
}

pub(super) fn collect_assigned<'a>(statements: &[Stmt<'a>], names: &mut BTreeSet<&'a str>) {
    let add = |target: &Expr<'a>, names: &mut BTreeSet<&'a str>| {
        let mut found = Vec::new();
        targets(target, &mut found);
        names.extend(found);
    };
    for statement in statements {
        match statement {
            Stmt::Template(template) => collect_assigned(&template.children, names),
            Stmt::EmitExpr(_) | Stmt::EmitRaw(_) | Stmt::Do(_) => {}
            Stmt::Block(_) | Stmt::Import(_) | Stmt::FromImport(_) | Stmt::Extends(_) | Stmt::Include(_) => {}
            Stmt::ForLoop(each) => {
                add(&each.target, names);
                names.insert("loop");
                collect_assigned(&each.body, names);
                collect_assigned(&each.else_body, names);
            }
            Stmt::IfCond(branch) => {
                collect_assigned(&branch.true_body, names);
                collect_assigned(&branch.false_body, names);
            }
            Stmt::WithBlock(with) => {
                with.assignments.iter().for_each(|(target, _)| add(target, names));
                collect_assigned(&with.body, names);
            }
            Stmt::Set(set) => add(&set.target, names),
            Stmt::SetBlock(set) => {
                add(&set.target, names);
                collect_assigned(&set.body, names);
            }
            Stmt::AutoEscape(block) => collect_assigned(&block.body, names),
            Stmt::FilterBlock(block) => collect_assigned(&block.body, names),
            Stmt::Macro(decl) => {
                names.insert(decl.name);
                names.insert("caller");
                decl.args.iter().for_each(|arg| add(arg, names));
                collect_assigned(&decl.body, names);
            }
            Stmt::CallBlock(block) => {
                block.macro_decl.args.iter().for_each(|arg| add(arg, names));
                collect_assigned(&block.macro_decl.body, names);
            }
        }
    }
}
