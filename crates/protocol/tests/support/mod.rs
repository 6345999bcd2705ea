//! What the tests share: a scripted world, and cases made from seeds.

#![allow(dead_code, reason = "every test file uses its own part of this")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

pub(crate) mod cases;
pub(crate) mod random;
pub(crate) mod world;
