//! Looks up checks by name, with suggestions for unknown names.

use std::collections::BTreeMap;
use std::ops::Range;

use escrow_model::CheckIndex;

use crate::diagnostic::{Diagnostics, Problem};
use crate::suggest::suggest_or_list;
use crate::yaml::Entry;

/// The checks of the file, by name.
pub(super) struct Names {
    indices: BTreeMap<String, CheckIndex>,
    in_order: Vec<String>,
}

impl Names {
    pub(super) fn of(entries: &[Entry]) -> Names {
        let in_order: Vec<String> = entries.iter().map(|entry| entry.key.clone()).collect();
        let indices =
            in_order.iter().enumerate().map(|(index, name)| (name.clone(), CheckIndex::at(index))).collect();
        Names { indices, in_order }
    }

    /// The check of this name. `key` is the key that names it.
    pub(super) fn find(
        &self,
        name: &str,
        key: &str,
        span: Range<usize>,
        found: &mut Diagnostics,
    ) -> Option<CheckIndex> {
        if let Some(index) = self.indices.get(name) {
            return Some(*index);
        }
        // An error that is only counted needs no help, and a search compares every name.
        let names = self.in_order.iter().map(String::as_str);
        let help = if found.is_full() { String::new() } else { suggest_or_list(name, names, "checks") };
        found.push(
            Problem::new("E0102", span, format!("`{key}` names a check that does not exist"))
                .label(format!("no check `{name}`"))
                .help(help),
        );
        None
    }
}
