//! Sends telemetry: where to, and the thread that does it. `app::telemetry` builds what is sent.

mod sender;
mod settings;

pub use sender::{Export, Sender};
pub use settings::{Parent, Settings, Target, Temporality};
