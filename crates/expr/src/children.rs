//! The children of a node, in source order.

use crate::tree::{Body, Function, Node, NodeId, Property, Statement, StatementId, Target, TargetId, Tree};

/// The direct child expressions of a node; the body of a function counts as children of the function.
pub(crate) fn of_node(tree: &Tree, id: NodeId) -> Vec<NodeId> {
    let mut below = Vec::new();
    match tree.node(id) {
        Node::Number(_)
        | Node::Text(_)
        | Node::Bool(_)
        | Node::Null
        | Node::Undefined
        | Node::Regex(_)
        | Node::Name(_)
        | Node::Local(..)
        | Node::Constant(_)
        | Node::Free(_)
        | Node::Standard(_) => {}
        Node::Template { holes: nodes, .. } | Node::Sequence(nodes) => below.extend(nodes.iter().copied()),
        Node::Array(items) => below.extend(items.iter().map(|item| item.node())),
        Node::Object(properties) => {
            for property in properties {
                match property {
                    Property::Named(_, value) | Property::Spread(value) => below.push(*value),
                    Property::Computed(key, value) => below.extend([*key, *value]),
                }
            }
        }
        Node::Function(function) => of_function(tree, tree.function(*function), &mut below),
        Node::Member { object: node, .. }
        | Node::Chain(node)
        | Node::Unary(_, node)
        | Node::Delete(node)
        | Node::Update { target: node, .. } => below.push(*node),
        Node::Index { object: left, index: right, .. }
        | Node::Binary(_, left, right)
        | Node::Logical(_, left, right)
        | Node::Compound { target: left, value: right, .. } => below.extend([*left, *right]),
        Node::Call { callee, arguments, .. } | Node::New { callee, arguments } => {
            below.push(*callee);
            below.extend(arguments.iter().map(|item| item.node()));
        }
        Node::Conditional { test, then, otherwise } => below.extend([*test, *then, *otherwise]),
        Node::Assign { target, value } => {
            of_target(tree, *target, &mut below);
            below.push(*value);
        }
    }
    below
}

pub(crate) fn of_function(tree: &Tree, function: &Function, below: &mut Vec<NodeId>) {
    match &function.body {
        Body::Expression(node) => below.push(*node),
        Body::Block(body) => body.iter().for_each(|statement| of_statement(tree, *statement, below)),
    }
}

fn of_target(tree: &Tree, id: TargetId, below: &mut Vec<NodeId>) {
    match tree.target(id) {
        Target::Simple(_) => {}
        Target::Default { target, value } => {
            of_target(tree, *target, below);
            below.push(*value);
        }
        Target::Array { items, rest } => {
            items.iter().flatten().chain(rest).for_each(|item| of_target(tree, *item, below))
        }
        Target::Object { members, rest } => {
            members
                .iter()
                .map(|(_, member)| member)
                .chain(rest)
                .for_each(|item| of_target(tree, *item, below));
        }
    }
}

fn of_statement(tree: &Tree, id: StatementId, below: &mut Vec<NodeId>) {
    match tree.statement(id) {
        Statement::Empty | Statement::Break(_) | Statement::Continue(_) => {}
        Statement::Expression(node) | Statement::Throw(node) => below.push(*node),
        Statement::Return(node) => below.extend(*node),
        Statement::Declare { items, .. } => below.extend(items.iter().filter_map(|(_, value)| *value)),
        Statement::If { test, then, otherwise } => {
            below.push(*test);
            of_statement(tree, *then, below);
            otherwise.iter().for_each(|statement| of_statement(tree, *statement, below));
        }
        Statement::For { start, test, update, body, .. } => {
            start.iter().for_each(|statement| of_statement(tree, *statement, below));
            below.extend(*test);
            below.extend(*update);
            of_statement(tree, *body, below);
        }
        Statement::Each { subject: node, body, .. }
        | Statement::While { test: node, body }
        | Statement::DoWhile { test: node, body } => {
            below.push(*node);
            of_statement(tree, *body, below);
        }
        Statement::Switch { subject, cases, .. } => {
            below.push(*subject);
            for case in cases {
                below.extend(case.test);
                case.body.iter().for_each(|statement| of_statement(tree, *statement, below));
            }
        }
        Statement::Try { body, handler, finalizer } => {
            of_statement(tree, *body, below);
            handler.iter().for_each(|handler| of_statement(tree, handler.body, below));
            finalizer.iter().for_each(|statement| of_statement(tree, *statement, below));
        }
        Statement::Block { body, .. } => {
            body.iter().for_each(|statement| of_statement(tree, *statement, below))
        }
        Statement::Labeled(_, body) => of_statement(tree, *body, below),
    }
}
