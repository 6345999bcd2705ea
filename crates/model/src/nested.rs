//! The playbooks that a plan nests, as they were when the outermost run started.
//!
//! **Invariant:** a nested run begins from this table and never from a file, so what is edited while a run works or
//! waits for a person has no influence on it.

use std::collections::BTreeSet;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::{Check, Field, Plan, ProviderName};

/// Every file once, whatever names it. A playbook that nests itself is one entry.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NestedPlaybooks {
    /// The file that each name in a check of the plan itself leads to.
    pub names: IndexMap<String, String>,
    /// By file. The plan of each has its own names, and no files: those are here.
    pub files: IndexMap<String, NestedPlaybook>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct NestedPlaybook {
    pub plan: Arc<Plan>,
    /// Of this plan alone, as it is stored.
    pub sha256: String,
}

impl NestedPlaybooks {
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.files.is_empty()
    }

    /// The file and every file that it nests, directly or through others, in the order of the table.
    pub fn reachable(&self, file: &str) -> Vec<(&str, &NestedPlaybook)> {
        let mut found = BTreeSet::new();
        let mut open = vec![file];
        while let Some(file) = open.pop() {
            let Some((file, nested)) = self.files.get_key_value(file) else { continue };
            if found.insert(file.as_str()) {
                open.extend(nested.plan.nested.names.values().map(String::as_str));
            }
        }
        let files = self.files.iter().map(|(file, nested)| (file.as_str(), nested));
        files.filter(|(file, _)| found.contains(file)).collect()
    }
}

impl Plan {
    /// The playbook that a check names, with its file. Its plan has the playbooks that it nests itself.
    pub fn nested_plan(&self, name: &str) -> Option<(String, Plan)> {
        let file = self.nested.names.get(name)?;
        let mut plan = Plan::clone(&self.nested.files.get(file)?.plan);
        let owned = |(file, nested): (&str, &NestedPlaybook)| (file.to_owned(), nested.clone());
        plan.nested.files = if plan.nested.names.is_empty() {
            IndexMap::new()
        } else {
            let files = plan.nested.names.values().flat_map(|file| self.nested.reachable(file));
            files.map(owned).collect()
        };
        Some((file.clone(), plan))
    }
}

impl Check {
    /// The name of the playbook that the check nests.
    pub fn nested_name(&self) -> Option<&str> {
        match self.fields.get("playbook") {
            Some(Field::Plain(name)) if self.provider == ProviderName::NESTED => name.as_str(),
            Some(_) | None => None,
        }
    }
}
