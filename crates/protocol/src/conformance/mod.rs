//! Fixtures: small documents that say of themselves whether they are valid.
//!
//! **Invariant:** a fixture is judged by the same functions as live traffic. There is no second reading of the
//! rules here, except for the kinds that exist only as fixtures.

mod fixture;
mod judge;

pub use fixture::{Expectation, Fixture, FixtureOutcome, FixtureRow};
