//! Lexical scopes: which slot a name has, and which variables inner functions capture.

use super::{Resolved, Resolver};
use crate::tree::{Declaration, Frame, NameId, Slot};

pub(super) struct Binding {
    pub(super) name: NameId,
    pub(super) slot: Slot,
    pub(super) kind: Declaration,
    pub(super) captured: bool,
}

/// One function on the path from the whole source to the current node.
#[derive(Default)]
pub(super) struct FunctionScope {
    pub(super) blocks: Vec<Vec<Binding>>,
    pub(super) slots: u32,
    pub(super) captures: Vec<Capture>,
}

pub(super) struct Capture {
    pub(super) name: NameId,
    pub(super) outer: Slot,
    pub(super) inner: Slot,
    pub(super) kind: Declaration,
}

impl Resolver<'_> {
    pub(super) fn current(&mut self) -> &mut FunctionScope {
        if self.functions.is_empty() {
            self.functions.push(FunctionScope::default());
        }
        let last = self.functions.len() - 1;
        &mut self.functions[last]
    }

    pub(super) fn new_slot(&mut self) -> Slot {
        let level = self.current();
        level.slots += 1;
        level.slots - 1
    }

    pub(super) fn open(&mut self, frame: &mut Frame) {
        let mut bindings = Vec::with_capacity(frame.declares.len());
        for &(name, kind) in &frame.declares {
            let slot = self.new_slot();
            bindings.push(Binding { name, slot, kind, captured: false });
            if kind == Declaration::Var {
                frame.vars.push(slot);
            }
        }
        self.current().blocks.push(bindings);
    }

    /// Function declarations of a block, which may call each other.
    pub(super) fn hoisted(&mut self, frame: &mut Frame) -> Resolved<()> {
        for (name, slot, function) in &mut frame.functions {
            if let Some((found, _)) = self.lookup(self.functions.len() - 1, *name) {
                *slot = found;
            }
            self.inner_function(*function)?;
        }
        Ok(())
    }

    pub(super) fn close(&mut self, frame: &mut Frame) {
        let bindings = self.current().blocks.pop().unwrap_or_default();
        frame.cells =
            bindings.iter().filter(|binding| binding.captured).map(|binding| binding.slot).collect();
    }

    /// The slot of a name as the function at `level` sees it.
    pub(super) fn lookup(&mut self, level: usize, name: NameId) -> Option<(Slot, Declaration)> {
        let here = &self.functions[level];
        for block in here.blocks.iter().rev() {
            if let Some(binding) = block.iter().rev().find(|binding| binding.name == name) {
                return Some((binding.slot, binding.kind));
            }
        }
        if let Some(capture) = here.captures.iter().find(|capture| capture.name == name) {
            return Some((capture.inner, capture.kind));
        }
        if level == 0 {
            return None;
        }
        let (outer, kind) = self.lookup(level - 1, name)?;
        for block in self.functions[level - 1].blocks.iter_mut() {
            for binding in block.iter_mut().filter(|binding| binding.slot == outer) {
                binding.captured = true;
            }
        }
        let here = &mut self.functions[level];
        let inner = here.slots;
        here.slots += 1;
        here.captures.push(Capture { name, outer, inner, kind });
        Some((inner, kind))
    }
}
