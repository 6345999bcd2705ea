//! The types that every crate shares: ids, plans, contracts, reasons, journal events.
//!
//! **Invariant:** data only. Nothing here decides, reads a clock or does I/O. What is persisted carries a
//! version and is read back by the same types that wrote it.

mod answer;
mod approval;
mod artifact;
mod catalog;
mod chain;
mod concurrency;
mod effect;
mod event;
mod expression_names;
mod facts;
mod fault;
mod fire;
mod harmless;
mod harness;
mod hex;
mod ids;
mod issue;
mod issue_code;
mod message;
mod model_name;
mod nested;
pub mod outcome;
mod plan;
mod play;
mod reads;
mod reason;
mod request;
mod routing;
mod rule;
mod sandbox;
mod secret;
pub mod secret_reference;
mod source;
mod status;
mod time;
mod transport_headers;
mod trigger;
mod vocabulary;

pub use answer::{Answer, Ending, FlawKind, NestedFlaw};
pub use approval::{
    ApprovalRule, ApprovalSubject, ApprovalTerms, ApprovedArtifact, ApprovedEffect, ApprovedOutcome,
    ApprovedOutput, ApprovedPlaybook, ApprovedValue, ChangedArtifact, GrantedSecret, OutputExcerpt,
    SecretHandover,
};
pub use artifact::{
    ARTIFACT_TEXT_BYTES_MAX, ArtifactContract, ArtifactPath, ArtifactPathError, Count, Delivery,
    DeliveryStatus, Expectation, ExpectedArtifact, InspectedArtifact, Location, MissingArtifact,
    OuterArtifact, Problem, ProducedArtifact, Refused, SeenFile, Source, UnexpectedArtifact, folder_in_scope,
    folder_of,
};
pub use catalog::{ConditionalKeys, Home, KeyKind, KeySpec, Mutates, ProviderName, ProviderSpec};
pub use chain::{
    ChainConcurrency, ChainFire, ChainId, ChainRules, ChainStatus, ChainStep, PlanKind, Step, StepWork,
};
pub use concurrency::{ConcurrencyRule, OnConflict};
pub use effect::{EffectInQuestion, EffectIntent, EffectOrigin, EffectState, LedgerEffect};
pub use escrow_template::steered_by;
pub use event::{Entry, Event, WaitKind};
pub use expression_names::{EXPRESSION_NAMES, EXPRESSION_NAMES_AFTER, EXPRESSION_NAMES_OF_CHAINS};
pub use facts::{Facts, GitFacts, RunOptions, event_object};
pub use fault::{FaultClass, FaultCode, ProviderFault};
pub use fire::FireStatus;
pub use harmless::{is_harmless, is_visible, turns_the_order};
pub use harness::{Budget, HarnessFacts, Known};
pub use hex::hex;
pub use ids::{InvocationId, OutcomeId, RunId, ScopePath, ScopeStep, ScopedCheck};
pub use issue::{Issue, Severity, Warning};
pub use issue_code::IssueCode;
pub use message::{Assumption, Message, RefusalCode};
pub use model_name::may_be_one_model;
pub use nested::{NestedPlaybook, NestedPlaybooks};
pub use outcome::{Outcome, RecordedOutcome};
pub use plan::{
    AssumeMode, Check, CheckIndex, Criticality, CriticalityOrigin, EnvTemplates, Fan, Field, Input,
    InputKind, Inputs, Need, Plan, Reconcile, Safety, Tree,
};
pub use play::Play;
pub use reads::PlanReads;
pub use reason::{ApprovalCode, Evidence, FireCode, InvocationCode, Reason, ReasonCode};
pub use request::{FILE_DIGEST, Request};
pub use routing::{
    Backoff, BackoffMode, Recovery, Retry, RetryKind, RoutedBy, Routing, RoutingBlock, Transition,
};
pub use rule::{BrokenRule, Rule, RuleCheck};
pub use sandbox::{Sandbox, SandboxFilesystem, SandboxLimits, SandboxNetwork};
pub use secret::{Secret, SecretSource};
pub use source::{Block, Expression, Shell, SourceError, StepCondition, Text};
pub use status::{ApprovalStatus, CheckStatus, InvocationStatus, RunStatus, SkipReason, Verdict};
pub use time::{Millis, parse_rfc3339, rfc3339};
pub use transport_headers::is_of_transport;
pub use trigger::{
    ALL_WITHIN_MS, Cadence, CatchUp, EventTrigger, Schedule, TICK_ON_TIME_MS, Trigger, TriggerEvent,
    TriggerRule, TriggerSource,
};
pub use vocabulary::{Vocabulary, vocabularies};
