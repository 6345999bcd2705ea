//! The register of our own children, and the tokens that mark their descendants.
//!
//! Escrow adopts orphans (it is a subreaper), so its children are of three kinds: those it started and waits
//! for (registered here), those that were there before it began (spared), and the orphans of attempts.
//!
//! **Invariant:** a child is started and registered under one lock, and orphans are looked for under the same
//! lock. So a scan never mistakes a child for an orphan, and never reaps a process that is being waited for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The variable that marks every process of an attempt. Attempts of an Escrow inside an attempt of another
/// add their token to the outer one, so that both find what is theirs.
pub(super) const TOKEN_VARIABLE: &str = "ESCROW_ATTEMPT_TOKEN";

#[derive(Default)]
pub(super) struct Known {
    /// Process ids of our children with a reference count: the kernel can reuse an id before `remove_child` is called.
    children: BTreeMap<i32, u32>,
    /// Attempts whose processes may live.
    active: BTreeSet<u64>,
    /// Children that were there before us, as after `sleep 9 & exec escrow`.
    pub(super) spared: BTreeSet<i32>,
    serial: u64,
}

impl Known {
    pub(super) fn lock() -> MutexGuard<'static, Known> {
        static KNOWN: OnceLock<Mutex<Known>> = OnceLock::new();
        let known = KNOWN.get_or_init(|| {
            let mut known = Known::default();
            super::descendants::prepare(&mut known);
            Mutex::new(known)
        });
        known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin(&mut self) -> Token {
        self.serial += 1;
        self.active.insert(self.serial);
        Token(self.serial)
    }

    pub(super) fn end(&mut self, token: Token) {
        self.active.remove(&token.0);
    }

    pub(super) fn add_child(&mut self, pid: i32) {
        *self.children.entry(pid).or_default() += 1;
    }

    pub(super) fn remove_child(&mut self, pid: i32) {
        if let Some(count) = self.children.get_mut(&pid) {
            *count -= 1;
            if *count == 0 {
                self.children.remove(&pid);
            }
        }
    }

    #[cfg(target_os = "linux")]
    pub(super) fn is_child(&self, pid: i32) -> bool {
        self.children.contains_key(&pid)
    }

    #[cfg(target_os = "linux")]
    pub(super) fn is_active(&self, serial: u64) -> bool {
        self.active.contains(&serial)
    }

    #[cfg(target_os = "linux")]
    pub(super) fn active_count(&self) -> usize {
        self.active.len()
    }
}

/// The mark of one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token(u64);

impl Token {
    /// What the processes of the attempt carry in `TOKEN_VARIABLE`.
    pub(super) fn text(self) -> String {
        let own = format!("{}.{}", mark(), self.0);
        match std::env::var(TOKEN_VARIABLE) {
            Ok(outer) if !outer.is_empty() => format!("{outer}/{own}"),
            _ => own,
        }
    }

    #[cfg(target_os = "linux")]
    pub(super) fn serial(self) -> u64 {
        self.0
    }
}

/// The serial that this Escrow gave, if the text has one.
#[cfg(target_os = "linux")]
pub(super) fn serial_in(token_text: &str) -> Option<u64> {
    token_text.split('/').find_map(|part| {
        let (mark_text, serial) = part.split_once('.')?;
        if mark_text == mark() { serial.parse().ok() } else { None }
    })
}

/// Tells this Escrow from others on the machine.
fn mark() -> &'static str {
    static MARK: OnceLock<String> = OnceLock::new();
    MARK.get_or_init(|| {
        let chance = crate::entropy::random_u64().unwrap_or_else(|_| crate::entropy::now_ms());
        format!("{:x}-{chance:x}", std::process::id())
    })
}
