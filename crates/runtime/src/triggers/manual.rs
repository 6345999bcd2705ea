//! Fires by hand. A person names the chain, so no source is looked at.

use super::TriggerKind;

pub struct Manual;

impl TriggerKind for Manual {
    fn name(&self) -> &'static str {
        "manual"
    }

    fn is_outside(&self) -> bool {
        true
    }
}
