//! The work of `rules.py` and `outcomes.py`, done by Escrow. One line of JSON for each figure.

mod measure;
mod outcomes;
mod rules;

fn main() {
    rules::run();
    outcomes::run();
}
