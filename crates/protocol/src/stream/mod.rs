//! Many events for one resident client: JSON-RPC 2.0 over its standard input and output, a message per line.
//!
//! ```text
//!   Stream::ask ──▶ {"jsonrpc":"2.0","id":1,"method":"event/frame.opening","params":{dispatch envelope}}
//!   client      ──▶ {"jsonrpc":"2.0","id":1,"result":{callback response}} ──▶ Stream::hear ──▶ Heard::Answer
//! ```
//!
//! **Invariant:** every question is settled exactly once: by its answer, by its deadline, or by the end of the stream. The
//! stream has no clock; the caller passes the time.

mod message;
pub mod notices;
mod session;

pub use message::{LINE_LIMIT_BYTES, QuestionId, StreamError, notification};
pub use session::{Heard, Settled, Stream};
