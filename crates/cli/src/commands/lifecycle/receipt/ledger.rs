//! `receipt list | get | gaps | verify | forget`: reads the ledger and removes old receipts.

use std::path::{Path, PathBuf};

use escrow_protocol::receipt::{
    ChainState, IdempotencyScope, Ledger, LedgerError, ReceiptQuery, Retention, gap_events,
};
use escrow_protocol::vocabulary::{LifecycleEventKind, ReceiptStatus};
use serde_json::json;

use super::super::arguments::Arguments;
use super::super::output::{LifecycleError, pretty};
use super::super::system::{LedgerAccess, System};

pub(super) fn list(mut arguments: Arguments, system: &mut dyn System) -> Result<String, LifecycleError> {
    let is_extended = arguments.contain_any(&["--extended"]);
    let (mut path, mut query) = (None, ReceiptQuery::default());
    while let Some(word) = arguments.next_word() {
        let flag = word.as_str();
        match flag {
            "--ledger" => path = Some(PathBuf::from(arguments.raw_value_of(flag)?)),
            "--extended" => {}
            "--run-id" if is_extended => query.harness_run_id = Some(arguments.value_of(flag)?),
            "--client-id" if is_extended => query.client_id = Some(arguments.value_of(flag)?),
            "--adapter-id" if is_extended => query.adapter_id = Some(arguments.value_of(flag)?),
            "--event" if is_extended => {
                query.event = Some(word_of(flag, &arguments.value_of(flag)?, LifecycleEventKind::parse)?);
            }
            "--status" if is_extended => {
                query.status = Some(word_of(flag, &arguments.value_of(flag)?, ReceiptStatus::parse)?);
            }
            "--since" if is_extended => query.at_or_after_epoch_s = Some(arguments.number_of(flag)?),
            "--before" if is_extended => query.before_epoch_s = Some(arguments.number_of(flag)?),
            "--limit" if is_extended => query.limit = Some(arguments.number_of(flag)?),
            other => {
                return Err(LifecycleError::usage(format!("receipt list: unexpected argument `{other}`")));
            }
        }
    }
    let mut ledger = open(system, path.as_deref(), "list", LedgerAccess::Read, is_extended)?;
    pretty(&ledger.query(&query).map_err(|error| unreadable(&error))?)
}

pub(super) fn get(mut arguments: Arguments, system: &mut dyn System) -> Result<String, LifecycleError> {
    let (mut path, mut key, mut client, mut adapter) = (None, None, None, None);
    while let Some(word) = arguments.next_word() {
        let flag = word.as_str();
        match flag {
            "--ledger" => path = Some(PathBuf::from(arguments.raw_value_of(flag)?)),
            "--idempotency-key" => key = Some(arguments.value_of(flag)?),
            "--client-id" => client = Some(arguments.value_of(flag)?),
            "--adapter-id" => adapter = Some(arguments.value_of(flag)?),
            other => {
                return Err(LifecycleError::usage(format!("receipt get: unexpected argument `{other}`")));
            }
        }
    }
    let path = required(path, "--ledger <path>")?;
    let scope = IdempotencyScope {
        client_id: required(client, "--client-id <id>")?,
        adapter_id: required(adapter, "--adapter-id <id>")?,
        idempotency_key: required(key, "--idempotency-key <key>")?,
    };
    let mut ledger = open(system, Some(&path), "get", LedgerAccess::Read, false)?;
    match ledger.find(&scope).map_err(|error| unreadable(&error))? {
        Some(receipt) => pretty(&receipt),
        None => Err(LifecycleError::unreadable(json!({ "error": "not_found" }).to_string())),
    }
}

/// Prints a `receipt.gap_detected` request for every missing sequence number, ready to be dispatched.
pub(super) fn gaps(mut arguments: Arguments, system: &mut dyn System) -> Result<String, LifecycleError> {
    let (mut path, mut query) = (None, ReceiptQuery::default());
    while let Some(word) = arguments.next_word() {
        let flag = word.as_str();
        match flag {
            "--ledger" => path = Some(PathBuf::from(arguments.raw_value_of(flag)?)),
            "--extended" => {}
            "--run-id" => query.harness_run_id = Some(arguments.value_of(flag)?),
            other => {
                return Err(LifecycleError::usage(format!("receipt gaps: unexpected argument `{other}`")));
            }
        }
    }
    let mut ledger = open(system, path.as_deref(), "gaps", LedgerAccess::Read, true)?;
    pretty(&gap_events(ledger.as_mut(), &query).map_err(|error| unreadable(&error))?)
}

pub(super) fn forget(mut arguments: Arguments, system: &mut dyn System) -> Result<String, LifecycleError> {
    let (mut path, mut before) = (None, None);
    while let Some(word) = arguments.next_word() {
        let flag = word.as_str();
        match flag {
            "--ledger" => path = Some(PathBuf::from(arguments.raw_value_of(flag)?)),
            "--extended" => {}
            "--before" => before = Some(arguments.number_of(flag)?),
            other => {
                return Err(LifecycleError::usage(format!("receipt forget: unexpected argument `{other}`")));
            }
        }
    }
    let before_epoch_s: u64 = before
        .ok_or_else(|| LifecycleError::usage("receipt forget: --before <epoch seconds> is required"))?;
    let mut ledger = open(system, path.as_deref(), "forget", LedgerAccess::Write, true)?;
    let forgotten = ledger.forget(Retention { before_epoch_s }).map_err(|error| unreadable(&error))?;
    pretty(&json!({ "forgotten": forgotten }))
}

/// Checks the digest chain of the ledger.
pub(super) fn verify(mut arguments: Arguments, system: &mut dyn System) -> Result<String, LifecycleError> {
    let mut path = None;
    while let Some(word) = arguments.next_word() {
        let flag = word.as_str();
        match flag {
            "--ledger" => path = Some(PathBuf::from(arguments.raw_value_of(flag)?)),
            "--extended" => {}
            other => {
                return Err(LifecycleError::usage(format!("receipt verify: unexpected argument `{other}`")));
            }
        }
    }
    let mut ledger = open(system, path.as_deref(), "verify", LedgerAccess::Read, true)?;
    match ledger.verify().map_err(|error| unreadable(&error))? {
        ChainState::Whole { receipts, forgotten, digest } => {
            let digest = digest.map(|digest| digest.to_string());
            pretty(&json!({ "receipts": receipts, "forgotten": forgotten, "digest": digest }))
        }
        ChainState::Broken { position, why } => {
            Err(LifecycleError::refused(format!("the ledger was changed: at position {position} {why}")))
        }
    }
}

fn open(
    system: &mut dyn System,
    path: Option<&Path>,
    verb: &str,
    access: LedgerAccess,
    is_extended: bool,
) -> Result<Box<dyn Ledger>, LifecycleError> {
    let of_state = match path {
        None if is_extended => Some(system.state_ledger().map_err(LifecycleError::unreadable)?),
        Some(_) | None => None,
    };
    let path = path
        .or(of_state.as_deref())
        .ok_or_else(|| LifecycleError::usage(format!("receipt {verb}: --ledger <path> is required")))?;
    system
        .open_ledger(path, access)
        .map_err(|error| LifecycleError::unreadable(format!("cannot open receipt ledger: {error}")))
}

fn required<T>(value: Option<T>, flag: &str) -> Result<T, LifecycleError> {
    value.ok_or_else(|| LifecycleError::usage(format!("receipt get: {flag} is required")))
}

fn word_of<T>(flag: &str, word: &str, parse: impl Fn(&str) -> Option<T>) -> Result<T, LifecycleError> {
    parse(word).ok_or_else(|| LifecycleError::usage(format!("{flag} has invalid wire value `{word}`")))
}

fn unreadable(error: &LedgerError) -> LifecycleError {
    LifecycleError::unreadable(format!("cannot read receipt ledger: {error}"))
}
