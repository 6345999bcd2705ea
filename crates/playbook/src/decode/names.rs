//! Names of checks to their places, with "did you mean" for those that there are not.

use std::collections::BTreeMap;
use std::ops::Range;

use escrow_model::CheckIndex;

use crate::diagnostic::{Diagnostics, Problem};
use crate::suggest::near_or_all;
use crate::yaml::Entry;

/// Every check of the file, by name.
pub(super) struct Names {
    places: BTreeMap<String, CheckIndex>,
    in_order: Vec<String>,
}

impl Names {
    pub(super) fn of(entries: &[Entry]) -> Names {
        let in_order: Vec<String> = entries.iter().map(|entry| entry.key.clone()).collect();
        let places =
            in_order.iter().enumerate().map(|(place, name)| (name.clone(), CheckIndex::at(place))).collect();
        Names { places, in_order }
    }

    /// The check of this name; `key` is where it was named.
    pub(super) fn find(
        &self,
        name: &str,
        key: &str,
        span: Range<usize>,
        found: &mut Diagnostics,
    ) -> Option<CheckIndex> {
        if let Some(place) = self.places.get(name) {
            return Some(*place);
        }
        // What is only counted needs no help; looking for a near name costs time for every name that there is.
        let names = self.in_order.iter().map(String::as_str);
        let help = if found.is_full() { String::new() } else { near_or_all(name, names, "checks") };
        found.push(
            Problem::new("E0102", span, format!("`{key}` names a check that does not exist"))
                .label(format!("no check is called `{name}`"))
                .help(help),
        );
        None
    }
}
