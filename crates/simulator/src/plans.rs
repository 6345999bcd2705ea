//! The random plans of a case: one for its run, and those that it nests, up to two runs deep.

use std::fmt;
use std::sync::Arc;

use escrow_model::Plan;
use escrow_testkit::{NestedPlans, PlanFeatures, Rng, random_plan_nesting, try_plan_nesting};

/// Plans in shorthand and as the engine runs them.
#[derive(Clone)]
pub(crate) struct Plans {
    pub(crate) text: String,
    /// Nested playbooks by name. Each may nest those before it.
    pub(crate) nested_texts: Vec<(String, String)>,
    pub(crate) top: Arc<Plan>,
    pub(crate) nested: NestedPlans,
}

impl Plans {
    /// `None` when one of them does not load, such as a plan that joins two fan-outs.
    pub(crate) fn random(rng: &mut Rng, features: PlanFeatures) -> Option<Plans> {
        let depth = match rng.below(20) {
            0..=11 => 0,
            12..=16 => 1,
            _ => 2,
        };
        let mut texts = Vec::new();
        let mut names = Vec::new();
        for level in 0..depth {
            let name = format!("nested{level}.yaml");
            texts.push((name.clone(), random_plan_nesting(rng, features, &names)));
            names.push(name);
        }
        let text = random_plan_nesting(rng, features, &names);
        Plans::read(text, texts)
    }

    pub(crate) fn read(text: String, nested_texts: Vec<(String, String)>) -> Option<Plans> {
        let mut nested = NestedPlans::new();
        for (name, text) in &nested_texts {
            let plan = try_plan_nesting(text, &nested).ok()?;
            nested.insert(name.clone(), plan);
        }
        let top = try_plan_nesting(&text, &nested).ok()?;
        Some(Plans { text, nested_texts, top, nested })
    }

    /// Plans with one line less, as far as they load.
    pub(crate) fn simpler(&self) -> Vec<Plans> {
        let mut found = Vec::new();
        for text in with_one_line_less(&self.text) {
            found.extend(Plans::read(text, self.nested_texts.clone()));
        }
        for (place, (_, text)) in self.nested_texts.iter().enumerate() {
            for text in with_one_line_less(text) {
                let mut nested = self.nested_texts.clone();
                nested[place].1 = text;
                found.extend(Plans::read(self.text.clone(), nested));
            }
        }
        found
    }
}

fn with_one_line_less(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let without = |left_out: usize| {
        let rest = lines.iter().enumerate().filter(|(at, _)| *at != left_out).map(|(_, line)| *line);
        rest.collect::<Vec<_>>().join("\n")
    };
    (0..lines.len()).map(without).collect()
}

/// The texts are enough to read; the parsed plans repeat them at great length.
impl fmt::Debug for Plans {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("…")
    }
}

impl fmt::Display for Plans {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)?;
        for (name, text) in &self.nested_texts {
            write!(formatter, "\n\n{name}:\n{text}")?;
        }
        Ok(())
    }
}
