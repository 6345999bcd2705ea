//! Documents and command lines made from seeds. The tests of `escrow lifecycle` use them too.

#![allow(dead_code, reason = "every test file uses its own part of this")]
#![allow(clippy::unwrap_used, reason = "a test that cannot continue should stop")]

pub(crate) mod cases;
pub(crate) mod random;
