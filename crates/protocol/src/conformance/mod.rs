//! Conformance fixtures: documents that declare whether they are valid.
//!
//! **Invariant:** fixtures are checked by the functions that handle live traffic, except for the kinds that exist only
//! as fixtures.

mod fixture;
mod judge;

pub use fixture::{Expectation, Fixture, FixtureOutcome, FixtureRow};
