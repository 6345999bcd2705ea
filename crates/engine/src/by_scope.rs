//! A map from the scopes of a check to values. Most checks have only the root scope, which is stored without a tree.

use std::collections::BTreeMap;
use std::ops::Bound;

use escrow_model::ScopePath;

/// A map in the order of the scopes: the root, then its items.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ByScope<T> {
    root: Option<T>,
    items: BTreeMap<ScopePath, T>,
}

static ROOT: ScopePath = ScopePath::root();

impl<T> Default for ByScope<T> {
    fn default() -> ByScope<T> {
        ByScope { root: None, items: BTreeMap::new() }
    }
}

impl<T> ByScope<T> {
    pub(crate) fn of_root(root: T) -> ByScope<T> {
        ByScope { root: Some(root), items: BTreeMap::new() }
    }

    pub(crate) fn get(&self, scope: &ScopePath) -> Option<&T> {
        if scope.is_root() { self.root.as_ref() } else { self.items.get(scope) }
    }

    pub(crate) fn get_mut(&mut self, scope: &ScopePath) -> Option<&mut T> {
        if scope.is_root() { self.root.as_mut() } else { self.items.get_mut(scope) }
    }

    pub(crate) fn get_or_default(&mut self, scope: ScopePath) -> &mut T
    where
        T: Default,
    {
        if scope.is_root() { self.root.get_or_insert_default() } else { self.items.entry(scope).or_default() }
    }

    pub(crate) fn insert(&mut self, scope: ScopePath, value: T) {
        if scope.is_root() {
            self.root = Some(value);
        } else {
            self.items.insert(scope, value);
        }
    }

    pub(crate) fn remove(&mut self, scope: &ScopePath) -> Option<T> {
        if scope.is_root() { self.root.take() } else { self.items.remove(scope) }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&ScopePath, &T)> {
        self.root.iter().map(|root| (&ROOT, root)).chain(&self.items)
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &ScopePath> {
        self.iter().map(|(scope, _)| scope)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &T> {
        self.root.iter().chain(self.items.values())
    }

    /// What is at a scope and in the scopes inside it.
    pub(crate) fn below<'a>(&'a self, scope: &'a ScopePath) -> impl Iterator<Item = (&'a ScopePath, &'a T)> {
        let root = self.root.iter().filter(|_| scope.is_root()).map(|root| (&ROOT, root));
        let items = self.items.range((Bound::Included(scope), Bound::Unbounded));
        root.chain(items.take_while(|(path, _)| path.starts_with(scope)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(indices: &[u32]) -> ScopePath {
        ScopePath::new(indices.to_vec())
    }

    #[test]
    fn it_is_the_map_that_it_stands_for() {
        let mut ours = ByScope::default();
        let mut plain = BTreeMap::new();
        let scopes: [&[u32]; 7] = [&[1], &[], &[0, 2], &[1, 0], &[0], &[2], &[0, 0]];
        for (value, scope) in scopes.iter().enumerate() {
            ours.insert(path(scope), value);
            plain.insert(path(scope), value);
            assert!(ours.iter().eq(&plain));
        }
        for scope in &scopes {
            let scope = path(scope);
            let inside = plain.iter().filter(|(path, _)| path.starts_with(&scope));
            assert!(ours.below(&scope).eq(inside), "below {scope}");
            assert_eq!(ours.get(&scope), plain.get(&scope));
        }
        for scope in &scopes {
            *ours.get_or_default(path(scope)) += 10;
            *plain.entry(path(scope)).or_default() += 10;
            assert!(ours.keys().eq(plain.keys()) && ours.values().eq(plain.values()));
            assert_eq!(ours.remove(&path(scope)), plain.remove(&path(scope)));
            assert_eq!(ours.get_mut(&path(scope)), None);
        }
        assert_eq!(ours, ByScope::default());
    }
}
