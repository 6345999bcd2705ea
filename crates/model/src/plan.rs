//! Plans: what the engine runs. Playbooks, chains and shows compile to them, and they are not checked again.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    ApprovalRule, ArtifactContract, Assumption, Block, ConcurrencyRule, ExpectedArtifact, Expression,
    NestedPlaybooks, PlanKind, ProviderName, Retry, Routing, Rule, Secret, Shell, Step, Text,
};

/// Without `routing.max_loops`: re-runs by routing, per scope.
const LOOPS: u32 = 10;
const LOOPS_CRITICAL: u32 = 8;

/// A plan, whole: a run snapshots it into its first journal entry, so that it can be replayed anywhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What it was compiled from.
    pub kind: PlanKind,
    pub name: String,
    /// What a run is called wherever it is listed, rendered when it starts.
    pub title: Option<Text>,
    pub inputs: Inputs,
    pub env: EnvTemplates,
    /// What must never be written down, and how it is obtained.
    pub secrets: Vec<Secret>,
    pub artifacts: ArtifactContract,
    /// The own outcome kinds that the plan names, each with its JSON Schema.
    pub outcome_kinds: IndexMap<String, Value>,
    /// `routing.max_loops`; see [`Plan::loop_budget`].
    pub max_loops: Option<u32>,
    pub max_parallelism: Option<u32>,
    /// The group of runs that do not overlap.
    pub concurrency: Option<ConcurrencyRule>,
    pub safety: Safety,
    pub timeout_ms: Option<u64>,
    /// In the order of the file.
    pub checks: Vec<Check>,
    /// The playbooks that its checks nest, directly or through others.
    pub nested: NestedPlaybooks,
}

impl Plan {
    pub fn check(&self, index: CheckIndex) -> &Check {
        &self.checks[index.place()]
    }

    pub fn find(&self, name: &str) -> Option<CheckIndex> {
        self.checks.iter().position(|check| check.name == name).map(CheckIndex::at)
    }

    /// What to look for before the run starts: where items may deliver, every place is looked at.
    pub fn artifacts_before(&self) -> Vec<ExpectedArtifact> {
        let depth = |name: &String| self.find(name).map_or(0, |index| self.check(index).fan.len());
        let expected = self.artifacts.expected.iter();
        expected.map(|one| one.in_any_scope(one.check.as_ref().map_or(0, depth))).collect()
    }

    /// The inputs of a run that was given these: every declared one has its default, or null.
    pub fn inputs_of(&self, given: &Map<String, Value>) -> Map<String, Value> {
        let mut inputs = Map::new();
        for (name, input) in &self.inputs {
            inputs.insert(name.clone(), input.default.clone().unwrap_or(Value::Null));
        }
        inputs.extend(given.clone());
        inputs
    }

    /// How often routes of this check can re-run checks, per scope. `safety: strict` halves the default.
    pub fn loop_budget(&self, source: &Check) -> u32 {
        let default = if source.is_critical() { LOOPS_CRITICAL } else { LOOPS };
        self.max_loops.unwrap_or(match self.safety {
            Safety::Standard => default,
            Safety::Strict => default / 2,
        })
    }

    pub fn indices(&self) -> impl Iterator<Item = CheckIndex> + use<> {
        (0..self.checks.len()).map(CheckIndex::at)
    }
}

/// The place of a check in its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CheckIndex(pub u32);

impl CheckIndex {
    pub fn at(place: usize) -> CheckIndex {
        CheckIndex(u32::try_from(place).expect("a playbook has fewer than 2^32 checks"))
    }
}

/// One unit of a plan, everything about it resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    pub name: String,
    pub provider: ProviderName,
    /// The step of the chain that it is.
    pub step: Option<Step>,
    /// Events that it listens to; empty for all.
    pub on: Vec<String>,
    pub tags: Vec<String>,

    pub condition: Option<Expression>,
    pub assume: Vec<Expression>,
    pub assume_mode: AssumeMode,
    pub guarantee: Vec<Expression>,
    pub schema: Option<Value>,
    pub rules: Vec<Rule>,
    pub fail_if: Option<Expression>,
    /// The ids of the artifacts that must be there as soon as its provider is done.
    pub artifacts: Vec<String>,
    /// Its provider delivers into a folder of the check's own.
    pub own_folder: bool,
    /// The kind of outcome that its output is stored as.
    pub outcome: Option<String>,

    /// All of these, each satisfied by any of its alternatives.
    pub needs: Vec<Need>,
    /// These must have settled, however they did.
    pub after: Vec<CheckIndex>,
    pub for_each: bool,
    /// The `forEach` checks whose items it runs for, outermost first.
    pub fan: Fan,
    /// How many of its items run at once, for a `forEach` check.
    pub concurrency: Option<u32>,
    /// Whether it starts by itself, or waits to be routed to.
    pub starts: bool,

    pub criticality: Criticality,
    pub criticality_origin: CriticalityOrigin,
    /// It changes the world: `--safe-mode` skips it.
    pub mutating: bool,
    pub continue_on_failure: bool,
    /// Its dependents start when it was not needed: filtered, or its `if` was false.
    pub continue_on_skip: bool,
    pub idempotent: bool,
    /// How to find out whether an unknown effect has happened.
    pub reconcile: Option<Reconcile>,
    /// Names its effect across all runs of the state.
    pub effect_key: Option<Text>,
    /// A person must approve before it starts.
    pub requires_approval: Option<ApprovalRule>,
    pub retry: Option<Retry>,
    /// `retry_on` has `logical`.
    pub retry_logical: bool,
    /// `retry_on` has `transient`; it does unless it says otherwise.
    pub retry_transient: bool,

    pub on_success: Routing,
    pub on_fail: Routing,
    pub on_finish: Routing,

    pub timeout_ms: u64,
    pub env: EnvTemplates,
    /// The declared secrets that its provider is given, by name.
    pub secrets: Vec<String>,
    /// Those of them that are handed over as a file.
    pub secret_files: Vec<String>,
    /// Those of them that are handed over as an open file.
    pub secret_descriptors: Vec<String>,
    /// The provider's own keys.
    pub fields: IndexMap<String, Field>,
}

impl Check {
    pub fn is_critical(&self) -> bool {
        self.criticality != Criticality::Info
    }

    /// What it follows: the checks that it needs, alternatives included, and those that it comes after.
    pub fn follows(&self) -> impl Iterator<Item = CheckIndex> {
        self.needs.iter().flat_map(|need| &need.any_of).chain(&self.after).copied()
    }

    /// Whether it re-decides others, or itself, when it settles.
    pub fn routings(&self) -> impl Iterator<Item = &Routing> {
        [&self.on_success, &self.on_fail, &self.on_finish].into_iter()
    }
}

/// A command that looks whether an effect happened, and how its answer is read. Without an expression it says so
/// itself: it prints `done`, `failed` or `retry`.
#[derive(Clone, Debug, PartialEq)]
pub struct Reconcile {
    /// As the `exec` of a command. `None`: the provider looks for the effect itself.
    pub exec: Option<Field>,
    pub done: Option<Expression>,
    pub failed: Option<Expression>,
    pub retry: Option<Expression>,
    /// The output of an effect that was found done, over what the command answered.
    pub output: Option<Expression>,
    pub timeout_ms: u64,
}

impl Reconcile {
    /// How long the command may take, unless the playbook says otherwise.
    pub const TIMEOUT_MS: u64 = 60_000;

    /// How often its answer `retry` may have an attempt repeated where there is no `on_fail.retry`.
    pub const REPEATS_MAX: u32 = 3;

    /// The provider looks for its effect itself, with the request that the check would make.
    pub fn by_provider() -> Reconcile {
        Reconcile {
            exec: None,
            done: None,
            failed: None,
            retry: None,
            output: None,
            timeout_ms: Reconcile::TIMEOUT_MS,
        }
    }

    /// The expressions, each with what it means when it holds.
    pub fn expressions(&self) -> impl Iterator<Item = (Assumption, &Expression)> {
        [(Assumption::Done, &self.done), (Assumption::Failed, &self.failed), (Assumption::Retry, &self.retry)]
            .into_iter()
            .filter_map(|(finding, expression)| Some((finding, expression.as_ref()?)))
    }
}

/// One of these must be satisfied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    pub any_of: Vec<CheckIndex>,
}

/// `env:` as it was written.
pub type EnvTemplates = IndexMap<String, Text>;

/// The chain of `forEach` checks that a check's scope steps through.
pub type Fan = Vec<CheckIndex>;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AssumeMode {
    #[default]
    Skip,
    Fail,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Safety {
    #[default]
    Standard,
    Strict,
}

/// The risk that a check carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Criticality {
    Info,
    Policy,
    Internal,
    External,
}

impl Criticality {
    pub const ALL: [Criticality; 4] =
        [Criticality::External, Criticality::Internal, Criticality::Policy, Criticality::Info];

    pub fn as_str(self) -> &'static str {
        match self {
            Criticality::External => "external",
            Criticality::Internal => "internal",
            Criticality::Policy => "policy",
            Criticality::Info => "info",
        }
    }

    pub fn parse(text: &str) -> Option<Criticality> {
        Criticality::ALL.into_iter().find(|criticality| criticality.as_str() == text)
    }
}

/// Where a criticality comes from; `escrow check` prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CriticalityOrigin {
    Declared,
    Tag,
    MutatingProvider,
    /// A command in its script or list is known to change the world.
    WorldCommand,
    DrivesRouting,
    GuardsExternal,
    /// A guard reads the memory that it writes.
    FeedsGuard,
    Default,
}

/// The value of a provider's key, ready to be rendered.
#[derive(Clone, Debug, PartialEq)]
pub enum Field {
    Text(Text),
    Texts(Vec<Text>),
    Tree(Tree),
    Shell(Shell),
    Argv(Vec<Text>),
    Block(Block),
    Plain(Value),
    /// A URL, whose values are encoded for their places. What the author wrote may name granted secrets as `$NAME`.
    Url(Text),
    /// What is sent to others. What the author wrote may name granted secrets as `$NAME`; values may not.
    Message(Tree),
}

/// A value whose strings are templates.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    Leaf(Value),
    Text(Text),
    List(Vec<Tree>),
    Map(IndexMap<String, Tree>),
}

/// The declared inputs of a playbook, by name.
pub type Inputs = IndexMap<String, Input>;

/// A declared input of a playbook.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    pub kind: InputKind,
    pub default: Option<Value>,
    pub required: bool,
    pub description: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputKind {
    String,
    Number,
    Boolean,
    Array,
    Object,
    Any,
}

impl InputKind {
    pub const ALL: [InputKind; 6] = [
        InputKind::String,
        InputKind::Number,
        InputKind::Boolean,
        InputKind::Array,
        InputKind::Object,
        InputKind::Any,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            InputKind::String => "string",
            InputKind::Number => "number",
            InputKind::Boolean => "boolean",
            InputKind::Array => "array",
            InputKind::Object => "object",
            InputKind::Any => "any",
        }
    }

    /// `a number`, `an array`, for sentences.
    pub fn with_article(self) -> &'static str {
        match self {
            InputKind::String => "a string",
            InputKind::Number => "a number",
            InputKind::Boolean => "`true` or `false`",
            InputKind::Array => "an array",
            InputKind::Object => "an object",
            InputKind::Any => "anything",
        }
    }

    pub fn admits(self, value: &Value) -> bool {
        match self {
            InputKind::String => value.is_string(),
            InputKind::Number => value.is_number(),
            InputKind::Boolean => value.is_boolean(),
            InputKind::Array => value.is_array(),
            InputKind::Object => value.is_object(),
            InputKind::Any => true,
        }
    }
}
