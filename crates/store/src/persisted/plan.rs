//! The persisted shape of a plan: the snapshot of the playbook with which every journal begins.

use std::sync::Arc;

use escrow_model::{
    ApprovalRule, ArtifactContract, AssumeMode, Backoff, BackoffMode, Block, ChainConcurrency, ChainRules,
    Check, CheckIndex, ConcurrencyRule, Criticality, CriticalityOrigin, ExpectedArtifact, Expression, Field,
    Input, InputKind, Need, NestedPlaybook, NestedPlaybooks, OnConflict, Plan, PlanKind, ProviderName,
    Reconcile, Retry, Routing, Rule, RuleCheck, Safety, Secret, SecretSource, Shell, Step, StepCondition,
    StepWork, Text, Transition, Tree, Trigger,
};
use indexmap::IndexMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::persist::{Absent, Persist, RestoreError, Written, persisted_as_is, record, record_choice};

persisted_as_is!(
    AssumeMode,
    BackoffMode,
    ChainConcurrency,
    CheckIndex,
    Criticality,
    CriticalityOrigin,
    InputKind,
    OnConflict,
    ProviderName,
    RuleCheck,
    Safety,
    Trigger,
);

record!(PlanRecord for Plan {
    kind: PlanKind = default,
    name: String,
    title: Option<Text> = default,
    inputs: IndexMap<String, Input> = default,
    env: IndexMap<String, Text> = default,
    secrets: Vec<Secret> = default,
    artifacts: ArtifactContract,
    outcome_kinds: IndexMap<String, Value> = default,
    max_loops: Option<u32> = default,
    max_parallelism: Option<u32> = default,
    concurrency: Option<ConcurrencyRule> = default,
    safety: Safety,
    timeout_ms: Option<u64> = default,
    checks: Vec<Check>,
    nested: NestedPlaybooks = default,
});

record_choice!(PlanKindRecord for PlanKind {
    Chain(ChainRules);
    Playbook,
    Show,
});

#[expect(clippy::derivable_impls, reason = "the macro that makes the type cannot mark a default")]
impl Default for PlanKindRecord {
    fn default() -> PlanKindRecord {
        PlanKindRecord::Playbook
    }
}

impl Absent for PlanKind {
    fn is_absent(&self) -> bool {
        *self == PlanKind::Playbook
    }
}

record!(ChainRulesRecord for ChainRules {
    trigger: Option<Trigger> = default,
    concurrency: ChainConcurrency,
    max_depth: u32,
});

record!(StepRecord for Step {
    name: Option<String> = default,
    work: StepWork,
    condition: Option<StepCondition> = default,
});

record_choice!(StepWorkRecord for StepWork {
    Skill(String),
    Action(String),
});

record!(#[derive(Default)] NestedPlaybooksRecord for NestedPlaybooks {
    names: IndexMap<String, String> = default,
    files: IndexMap<String, NestedPlaybook> = default,
});

impl Absent for NestedPlaybooks {
    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

record!(NestedPlaybookRecord for NestedPlaybook {
    plan: Arc<Plan>,
    sha256: String,
});

record!(ConcurrencyRuleRecord for ConcurrencyRule {
    group: Text,
    on_conflict: OnConflict,
});

record!(CheckRecord for Check {
    name: String,
    provider as "type": ProviderName,
    step: Option<Step> = default,
    on: Vec<String> = default,
    tags: Vec<String> = default,
    condition as "if": Option<Expression> = default,
    assume: Vec<Expression> = default,
    assume_mode: AssumeMode,
    guarantee: Vec<Expression> = default,
    schema: Option<Value> = default,
    rules: Vec<Rule> = default,
    fail_if: Option<Expression> = default,
    artifacts: Vec<String> = default,
    own_folder: bool = default,
    outcome: Option<String> = default,
    needs: Vec<Need> = default,
    after: Vec<CheckIndex> = default,
    for_each as "forEach": bool = default,
    fan: Vec<CheckIndex> = default,
    concurrency: Option<u32> = default,
    starts: bool,
    criticality: Criticality,
    criticality_origin: CriticalityOrigin,
    mutating: bool,
    continue_on_failure: bool = default,
    continue_on_skip: bool = default,
    idempotent: bool = default,
    reconcile: Option<Reconcile> = default,
    effect_key: Option<Text> = default,
    requires_approval: Option<ApprovalRule> = default,
    retry: Option<Retry> = default,
    retry_logical: bool = default,
    retry_transient: bool,
    on_success: Routing = default,
    on_fail: Routing = default,
    on_finish: Routing = default,
    timeout_ms: u64,
    env: IndexMap<String, Text> = default,
    secrets: Vec<String> = default,
    secret_files: Vec<String> = default,
    secret_descriptors: Vec<String> = default,
    fields: IndexMap<String, Field> = default,
});

record!(InputRecord for Input {
    kind as "type": InputKind,
    default: Option<Value> = default,
    required: bool = default,
    description: String = default,
});

record!(ReconcileRecord for Reconcile {
    exec: Option<Field> = default,
    done: Option<Expression> = default,
    failed: Option<Expression> = default,
    retry: Option<Expression> = default,
    output: Option<Expression> = default,
    timeout_ms: u64,
});

record!(NeedRecord for Need {
    any_of: Vec<CheckIndex>,
});

record!(RuleRecord for Rule {
    rule_id: String,
    field: String,
    check: RuleCheck,
    params: Map<String, Value> = default,
    message: Option<String> = default,
    enabled: bool,
});

record!(SecretRecord for Secret {
    name: String,
    from: SecretSource,
});

record_choice!(SecretSourceRecord for SecretSource {
    Env(String),
    File(String),
    Command(Vec<String>),
});

record_choice!(FieldRecord for Field {
    Text(Text),
    Texts(Vec<Text>),
    Tree(Tree),
    Shell(Shell),
    Argv(Vec<Text>),
    Block(Block),
    Plain(Value),
    Url(Text),
    Message(Tree),
});

record_choice!(TreeRecord for Tree {
    Leaf(Value),
    Text(Text),
    List(Vec<Tree>),
    Map(IndexMap<String, Tree>),
});

record!(#[derive(Default)] RoutingRecord for Routing {
    run: Vec<CheckIndex> = default,
    run_js: Option<Block> = default,
    transitions: Vec<Transition> = default,
    goto_js: Option<Block> = default,
    goto: Option<CheckIndex> = default,
    goto_event: Option<String> = default,
});

impl Absent for Routing {
    fn is_absent(&self) -> bool {
        *self == Routing::default()
    }
}

record!(TransitionRecord for Transition {
    when: Expression,
    to: Option<CheckIndex>,
    goto_event: Option<String> = default,
});

record!(RetryRecord for Retry {
    max: u32,
    backoff: Backoff,
});

record!(BackoffRecord for Backoff {
    mode: BackoffMode,
    delay_ms: u64,
});

record!(ArtifactContractRecord for ArtifactContract {
    expected: Vec<ExpectedArtifact>,
});

/// Sources are stored as the text that a person wrote, and compiled again when they are read.
macro_rules! source {
    ($($type:ty),+) => {$(
        impl Persist for $type {
            type Record = String;

            fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.source().serialize(serializer)
            }

            fn restore(text: String) -> Result<$type, RestoreError> {
                <$type>::try_from(text).map_err(|error| RestoreError(error.to_string()))
            }
        }
    )+};
}

source!(Expression, Block, Text, Shell, StepCondition);
