//! Chains: a trigger and steps that follow one another. A run of a chain is a run of a plan of its own kind.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::ids::derived;
use crate::{InvocationId, RunId, StepCondition, Trigger};

/// What a plan was compiled from.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum PlanKind {
    #[default]
    Playbook,
    Chain(ChainRules),
    Show,
}

impl PlanKind {
    pub fn as_str(&self) -> &'static str {
        match self {
            PlanKind::Playbook => "playbook",
            PlanKind::Chain(_) => "chain",
            PlanKind::Show => "show",
        }
    }

    pub fn chain(&self) -> Option<&ChainRules> {
        match self {
            PlanKind::Chain(rules) => Some(rules),
            PlanKind::Playbook | PlanKind::Show => None,
        }
    }
}

/// When a chain fires, and what happens when fires overlap.
#[derive(Clone, Debug, PartialEq)]
pub struct ChainRules {
    /// None when the chain is fired by hand alone.
    pub trigger: Option<Trigger>,
    pub concurrency: ChainConcurrency,
    /// How many chains may fire one another in a row.
    pub max_depth: u32,
}

impl ChainRules {
    pub const MAX_DEPTH: u32 = 5;
}

/// What a fire does while a run of its chain has not ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChainConcurrency {
    /// The fire is recorded with the reason, and nothing runs.
    #[default]
    Skip,
    /// It runs when the other run has ended.
    Queue,
    /// The other run is cancelled first.
    Replace,
}

impl ChainConcurrency {
    pub const ALL: [ChainConcurrency; 3] =
        [ChainConcurrency::Skip, ChainConcurrency::Queue, ChainConcurrency::Replace];

    pub fn as_str(self) -> &'static str {
        match self {
            ChainConcurrency::Skip => "skip",
            ChainConcurrency::Queue => "queue",
            ChainConcurrency::Replace => "replace",
        }
    }

    pub fn parse(text: &str) -> Option<ChainConcurrency> {
        ChainConcurrency::ALL.into_iter().find(|one| one.as_str() == text)
    }
}

/// Whether a defined chain fires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChainStatus {
    #[default]
    Active,
    /// Its trigger does not fire it; a person may.
    Paused,
    /// Nothing fires it.
    Disabled,
}

impl ChainStatus {
    pub const ALL: [ChainStatus; 3] = [ChainStatus::Active, ChainStatus::Paused, ChainStatus::Disabled];

    pub fn as_str(self) -> &'static str {
        match self {
            ChainStatus::Active => "active",
            ChainStatus::Paused => "paused",
            ChainStatus::Disabled => "disabled",
        }
    }
}

/// A check of a chain's plan as the file has it: a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// `name` of the step, by which others read it.
    pub name: Option<String>,
    pub work: StepWork,
    /// Without one, the step is skipped when a step before it has failed.
    pub condition: Option<StepCondition>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepWork {
    /// A run of the playbook with this name.
    Skill(String),
    /// A call of a provider.
    Action(String),
}

impl StepWork {
    pub fn skill(&self) -> Option<&str> {
        match self {
            StepWork::Skill(name) => Some(name),
            StepWork::Action(_) => None,
        }
    }

    pub fn action(&self) -> Option<&str> {
        match self {
            StepWork::Skill(_) => None,
            StepWork::Action(name) => Some(name),
        }
    }
}

/// The fire that a run of a chain answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainFire {
    pub chain: ChainId,
    /// Names the fire: the same key never makes a second run.
    pub key: String,
    /// How many fires of chains led to this one.
    pub depth: u32,
}

/// The step that a run is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainStep {
    pub chain_run: RunId,
    pub index: u32,
}

/// A chain, `c_` and 20 characters that follow from its name: a chain that is defined again stays the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ChainId(String);

impl ChainId {
    pub fn of(name: &str) -> ChainId {
        ChainId(derived("c_", &Sha256::digest(name.as_bytes())))
    }

    /// Takes a stored id as it is.
    pub fn from_stored(text: impl Into<String>) -> ChainId {
        ChainId(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The run of a fire. It follows from the chain and the key alone, so many processes begin one run.
    pub fn run_of(&self, fire_key: &str) -> RunId {
        RunId::from_stored(derived("r_", &Sha256::digest(format!("{}\0{fire_key}", self.0))))
    }
}

impl RunId {
    /// The invocation of a run of a chain.
    pub fn chain_invocation(&self) -> InvocationId {
        InvocationId::from_stored(derived("i_", &Sha256::digest(format!("chain\0{}", self.as_str()))))
    }

    /// The invocation of a step of a run of a chain.
    pub fn step_invocation(&self, index: u32) -> InvocationId {
        InvocationId::from_stored(derived("i_", &Sha256::digest(format!("step\0{}\0{index}", self.as_str()))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_of_a_fire_follows_from_the_chain_and_the_key_alone() {
        let chain = ChainId::of("pr-review-chain");
        assert_eq!(chain, ChainId::of("pr-review-chain"));
        assert_eq!(chain.run_of("delivery-1"), chain.run_of("delivery-1"));
        assert_ne!(chain.run_of("delivery-1"), chain.run_of("delivery-2"));
        assert_ne!(chain.run_of("delivery-1"), ChainId::of("other").run_of("delivery-1"));
        assert_eq!(chain.run_of("delivery-1").as_str().len(), RunId::new(0, 0).as_str().len());
    }
}
