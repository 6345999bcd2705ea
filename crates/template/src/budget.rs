//! The work budget of a rendering, and the cost of a value.
//!
//! **Invariant:** code that walks or builds more than a constant amount of data charges the budget first. minijinja's
//! fuel counts instructions, not what one instruction costs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use minijinja::value::{Object, ValueKind};
use minijinja::{Error, ErrorKind, State, Value};

use crate::limits::{NODE_UNITS, VALUE_DEPTH_MAX, WORK_UNITS_MAX};

/// The name under which a rendering finds its budget. No template can write it.
pub(crate) const BUDGET_NAME: &str = "escrow budget";

#[derive(Debug)]
pub(crate) struct Budget {
    left: AtomicU64,
    /// The values of the text are set between `parts::BEGIN` and `parts::END`.
    marks_values: bool,
}

impl Object for Budget {}

impl Budget {
    pub(crate) fn full() -> Arc<Budget> {
        Arc::new(Budget { left: AtomicU64::new(WORK_UNITS_MAX), marks_values: false })
    }

    /// The budget of a rendering whose values can be told apart from what the author wrote.
    pub(crate) fn marking_values() -> Arc<Budget> {
        Arc::new(Budget { left: AtomicU64::new(WORK_UNITS_MAX), marks_values: true })
    }

    pub(crate) fn marks_values(&self) -> bool {
        self.marks_values
    }

    pub(crate) fn of(state: &State) -> Result<Arc<Budget>, Error> {
        state
            .lookup(BUDGET_NAME)
            .and_then(|value| value.downcast_object::<Budget>())
            .ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "the rendering has no budget"))
    }

    pub(crate) fn charge(&self, units: u64) -> Result<(), Error> {
        // One rendering runs on one thread; minijinja requires `Sync`, hence the atomic.
        let left = self.left.load(Ordering::Relaxed);
        match left.checked_sub(units) {
            Some(left) => {
                self.left.store(left, Ordering::Relaxed);
                Ok(())
            }
            None => Err(over_budget()),
        }
    }

    pub(crate) fn charge_bytes(&self, bytes: usize) -> Result<(), Error> {
        self.charge(u64::try_from(bytes).unwrap_or(u64::MAX))
    }

    /// Charges a walk over a whole value, and refuses a value that nests too deeply.
    pub(crate) fn charge_walk(&self, value: &Value) -> Result<(), Error> {
        self.walk(value, 0)
    }

    fn walk(&self, value: &Value, depth: usize) -> Result<(), Error> {
        if depth > VALUE_DEPTH_MAX {
            return Err(too_deep());
        }
        self.charge(NODE_UNITS)?;
        match value.kind() {
            ValueKind::String => self.charge_bytes(value.as_str().map_or(0, str::len)),
            ValueKind::Bytes => self.charge_bytes(value.as_bytes().map_or(0, <[u8]>::len)),
            ValueKind::Seq | ValueKind::Iterable => {
                for item in value.try_iter()? {
                    self.walk(&item, depth + 1)?;
                }
                Ok(())
            }
            ValueKind::Map => {
                for key in value.try_iter()? {
                    self.walk(&key, depth + 1)?;
                    self.walk(&value.get_item(&key)?, depth + 1)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Messages of minijinja errors by which `RenderError::Limit` is recognised.
pub(crate) const OVER_BUDGET: &str = "the template builds or compares too much data";
pub(crate) const TOO_DEEP: &str = "the value nests too deeply";
pub(crate) const TOO_LONG: &str = "the text is too long";

fn over_budget() -> Error {
    Error::new(ErrorKind::InvalidOperation, OVER_BUDGET)
}

pub(crate) fn too_deep() -> Error {
    Error::new(ErrorKind::InvalidOperation, TOO_DEEP)
}

pub(crate) fn too_long() -> Error {
    Error::new(ErrorKind::InvalidOperation, TOO_LONG)
}
