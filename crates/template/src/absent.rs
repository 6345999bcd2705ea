//! A value that is not there and must not be an error: false, empty, and the same below any member.

use std::fmt;
use std::sync::Arc;

use minijinja::value::{Enumerator, Object, ObjectRepr, Value};

/// What a template sees of [`escrow_expr::ScopeValue::Absent`].
#[derive(Debug)]
pub(crate) struct Absent;

impl Object for Absent {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Map
    }

    fn get_value(self: &Arc<Self>, _key: &Value) -> Option<Value> {
        Some(absent())
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Empty
    }

    fn is_true(self: &Arc<Self>) -> bool {
        false
    }

    fn render(self: &Arc<Self>, _formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

pub(crate) fn absent() -> Value {
    Value::from_object(Absent)
}

pub(crate) fn is_absent(value: &Value) -> bool {
    value.downcast_object_ref::<Absent>().is_some()
}
