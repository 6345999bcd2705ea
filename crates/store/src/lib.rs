//! Keeps what was decided: the journal of every run, the tables derived from it, the inbox and the feed. The ledger of
//! lifecycle receipts has tables of its own, in a database of the same shape.
//!
//! ```text
//!   Journal (writes of runs) ──▶ writer ──one transaction──▶ entries (hash chain)
//!                                (group commit)           ├─▶ tables: runs, waits, outcomes, …
//!                                                         └─▶ inbox: messages marked delivered
//!   Records (writes by people) ─▶ added_outcomes, invocations_said, dismissals ─▶ tables
//!   Queries (reads) ────────────▶ a pool of connections that only read
//! ```
//!
//! **Invariant:** an entry is stored as the bytes that were hashed and never changes. Every table of `TABLES` can be
//! dropped and rebuilt from the entries and from what was added by hand. A commit that reports an error has written nothing, except when
//! the disk itself failed during the sync; repeating it then answers [`Committed::AlreadyDone`] or does it.
//!
//! ```
//! # use escrow_model::{Entry, Event, RunId};
//! # use escrow_store::{Commit, Committed, Created, Durability, Holder, Journal, Mode, NewRun, Store};
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("escrow.db");
//! # let run = RunId::new(1_700_000_000_000, 42);
//! # let holder = Holder { pid: 1, host: "here".into(), machine_id: "m".into(), boot_id: "b".into(), pid_namespace: "p".into(), process_started: 1 };
//! # let entry = |event| Entry { at: 1_700_000_000_000, event };
//! # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
//! # let done: Result<(), Box<dyn std::error::Error>> = runtime.block_on(async {
//! let store = Store::open(&path, Mode::Write)?;
//! let new = NewRun { run: &run, holder: &holder, entries: &[], durability: Durability::Grouped, parent: None };
//! let Created::Done { lease, seq } = store.create_run(new).await? else { panic!("an id is used once") };
//! let committed = store.commit(Commit {
//!     lease: &lease,
//!     expected_seq: seq,
//!     entries: &[entry(Event::DeadlinePassed {})],
//!     delivered: &[],
//!     durability: Durability::Full,
//! }).await?;
//! assert_eq!(committed, Committed::Done { seq: 1 });
//! # Ok(())
//! # });
//! # done?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Store`] is opened and then used through the async traits. [`BlockingStore`] has the same operations on the calling
//! thread, for tests, benchmarks and the simulator.
//!
//! Deliberately absent: redaction (entries arrive redacted) and any decision about a run. The traits name no SQLite
//! type, so that another database can implement them.

mod attention;
mod chain;
mod chain_definition;
mod commit;
mod conflict;
mod decision;
mod effect;
mod entry;
mod error;
mod fire;
mod fires;
mod import;
mod invocation;
mod invocation_record;
mod journal;
mod lease;
mod loss;
mod message;
mod notification;
mod outcome;
mod persisted;
mod queries;
mod records;
mod run;
mod sqlite;
mod state_verification;
mod transition;
mod verify;
mod wait;
mod watch;

pub use fires::Fires;
pub use journal::{Journal, StoreFuture};
pub use queries::{LivenessJudge, Queries};
pub use records::{Dismissing, Records};
pub use sqlite::{BlockingStore, Mode, Options, ReceiptLedger, Store};

pub use commit::{Commit, Committed, Created, Durability, NewRun};
pub use conflict::{Contested, RunConflict};
pub use lease::{HeldLease, Holder, Lease, LeaseError, LeaseState, Liveness};
pub use loss::{JournalEnd, Loss};
pub use message::{MessageId, Sent};
pub use watch::Watch;

pub use effect::{Attempter, EffectFilter, EffectRow, TakenEffect, found_by};

pub use chain::Hash;
pub use chain_definition::{ChainDefined, ChainRow, ChainRunFilter, ChainRunRow, DefineChain};
pub use entry::{FeedEntry, StoredEntry};
pub use import::Imported;
pub use persisted::{decode_entry, encode_entry, entry_document, plan_document, read_entry, read_plan};
pub use state_verification::{StateBreak, StateVerification};
pub use verify::{Break, Verification, verify_entries};

pub use attention::{AttentionItem, AttentionKind, AttentionWait, Dismissal, Subject};
pub use decision::{Decided, DecidedWait, NotAccepted, judge_assumption, judge_decision, wait_of};
pub use invocation::{
    EndInvocation, InvocationEnd, InvocationFilter, InvocationReason, InvocationRow, StartedInvocation,
};
pub use invocation_record::InvocationRecord;
pub use outcome::{AddedOutcome, OutcomeFilter, OutcomeRow};
pub use run::{LookupError, RunFilter, RunKinds, RunRow};
pub use transition::TransitionRow;
pub use wait::{GivenApproval, WaitRow};

pub use fire::{
    ArmChain, ArmSource, ArmedTrigger, CursorMove, Delivery, EndedRun, FireDecision, FireFilter, FireRow,
    FireRules, Handled, NewFire, Occurrence, Recorded, Recording, Together,
};
pub use notification::{DeliveryResult, DueNotification, Notification};

pub use error::{StoreError, StoreErrorKind};
