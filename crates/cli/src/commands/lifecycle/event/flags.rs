//! The flags of `event invoke`.

use std::ffi::OsString;
use std::path::PathBuf;

use escrow_protocol::callback::{Environment, EnvironmentRule};
use escrow_protocol::dispatch::{Client, Rules};
use escrow_protocol::vocabulary::{FailureClass, ReceiptStatus, RetryClass};
use serde::de::value::{Error as WireError, StrDeserializer};
use serde::{Deserialize, de::IntoDeserializer};

use super::super::arguments::Arguments;
use super::super::output::LifecycleError;

/// The checked command line.
pub(super) struct InvokeFlags {
    pub(super) source: ResponseSource,
    pub(super) client_id: String,
    pub(super) receipt_id: Option<String>,
    pub(super) parent_receipt_id: Option<String>,
    pub(super) at_epoch_s: Option<u64>,
    pub(super) ledger: Option<PathBuf>,
    pub(super) timeout_ms: u64,
    pub(super) rules: Rules,
    /// How long a stream may be idle before its clients get a tick.
    pub(super) tick_ms: Option<u64>,
}

/// The verb that the flags are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Invoke,
    Stream,
}

/// Where the response to the event comes from.
pub(super) enum ResponseSource {
    /// At least one program. Only extended rules allow several.
    Clients(Vec<Client>),
    /// No client: the command line says that the event was delivered.
    Delivered,
    /// No client: the command line says that the event failed.
    Failed(FailureClass, RetryClass),
}

const DEFAULT_CLIENT_ID: &str = "lifeloop-cli";
const DEFAULT_TIMEOUT_MS: u64 = 5_000;

/// The command line as written, before flags are checked against each other.
#[derive(Default)]
struct Written {
    programs: Vec<Program>,
    arguments: Vec<OsString>,
    /// The last `--client-id`.
    client_id: Option<String>,
    /// The `--client-id` before any program, for programs that have none of their own.
    shared_client_id: Option<String>,
    receipt_id: Option<String>,
    parent_receipt_id: Option<String>,
    at_epoch_s: Option<u64>,
    ledger: Option<PathBuf>,
    timeout_ms: Option<u64>,
    is_in_process: bool,
    status: Option<ReceiptStatus>,
    failure_class: Option<FailureClass>,
    retry_class: Option<RetryClass>,
    is_extended: bool,
    allowed_variables: Vec<EnvironmentRule>,
    tick_ms: Option<u64>,
}

/// A program with the flags that followed it.
struct Program {
    path: OsString,
    arguments: Vec<OsString>,
    client_id: Option<String>,
}

impl InvokeFlags {
    pub(super) fn parse(arguments: Arguments, kind: Kind) -> Result<Self, LifecycleError> {
        let written = Written::parse(arguments, kind)?;
        let source = written.response_source()?;
        let rules = if written.is_extended { Rules::Extended } else { Rules::Compatible };
        Ok(Self {
            source,
            client_id: written.client_id.unwrap_or_else(|| DEFAULT_CLIENT_ID.to_owned()),
            receipt_id: written.receipt_id,
            parent_receipt_id: written.parent_receipt_id,
            at_epoch_s: written.at_epoch_s,
            ledger: written.ledger,
            timeout_ms: written.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS),
            rules,
            tick_ms: written.tick_ms.filter(|ms| *ms > 0),
        })
    }
}

impl Written {
    fn parse(mut arguments: Arguments, kind: Kind) -> Result<Self, LifecycleError> {
        let mut written = Self { is_extended: arguments.contain_any(&["--extended"]), ..Self::default() };
        while let Some(flag) = arguments.next_word() {
            let flag = flag.as_str();
            match flag {
                "--client-cmd" => written.programs.push(Program {
                    path: arguments.raw_value_of(flag)?,
                    arguments: Vec::new(),
                    client_id: None,
                }),
                "--client-arg" => {
                    let argument = arguments.raw_value_of(flag)?;
                    if let Some(program) = written.programs.last_mut() {
                        program.arguments.push(argument.clone());
                    }
                    written.arguments.push(argument);
                }
                "--client-id" => {
                    let id = arguments.value_of(flag)?;
                    match written.programs.last_mut() {
                        Some(program) => program.client_id = Some(id.clone()),
                        None => written.shared_client_id = Some(id.clone()),
                    }
                    written.client_id = Some(id);
                }
                "--timeout-ms" => written.timeout_ms = Some(arguments.number_of(flag)?),
                "--receipt-id" => written.receipt_id = Some(arguments.value_of(flag)?),
                "--parent-receipt-id" => written.parent_receipt_id = Some(arguments.value_of(flag)?),
                "--at-epoch-s" => written.at_epoch_s = Some(arguments.number_of(flag)?),
                "--ledger" => written.ledger = Some(arguments.raw_value_of(flag)?.into()),
                "--in-process" => written.is_in_process = true,
                "--in-process-status" => {
                    written.status = Some(in_process_status(&arguments.value_of(flag)?)?)
                }
                "--failure-class" => {
                    written.failure_class = Some(wire_value(flag, &arguments.value_of(flag)?)?);
                }
                "--retry-class" => written.retry_class = Some(wire_value(flag, &arguments.value_of(flag)?)?),
                "--extended" => {}
                "--allow-env" if written.is_extended => {
                    written.allowed_variables.push(EnvironmentRule::parse(&arguments.value_of(flag)?));
                }
                "--tick-ms" if written.is_extended && kind == Kind::Stream => {
                    written.tick_ms = Some(arguments.number_of(flag)?);
                }
                other => return Err(LifecycleError::usage(format!("event invoke: unknown flag `{other}`"))),
            }
        }
        Ok(written)
    }

    fn response_source(&self) -> Result<ResponseSource, LifecycleError> {
        if self.status.is_some() && !self.is_in_process {
            return Err(LifecycleError::usage("event invoke: --in-process-status requires --in-process"));
        }
        match (self.status, self.failure_class, self.retry_class) {
            (Some(ReceiptStatus::Failed), Some(failure), Some(retry)) => {
                Ok(ResponseSource::Failed(failure, retry))
            }
            (Some(ReceiptStatus::Failed), _, _) => Err(LifecycleError::usage(
                "event invoke: --in-process-status failed requires --failure-class <class> and --retry-class \
                 <class>",
            )),
            (_, None, None) if self.is_in_process => Ok(ResponseSource::Delivered),
            (_, None, None) => self.clients().map(ResponseSource::Clients),
            (_, Some(_), _) | (_, _, Some(_)) => Err(LifecycleError::usage(
                "event invoke: --failure-class and --retry-class are only valid with --in-process-status failed",
            )),
        }
    }

    /// Extended: every program with its own flags. Compatible: the last program with the arguments of all.
    fn clients(&self) -> Result<Vec<Client>, LifecycleError> {
        let named = |id: Option<&String>| id.cloned().unwrap_or_else(|| DEFAULT_CLIENT_ID.to_owned());
        let Some(last) = self.programs.last() else {
            return Err(LifecycleError::usage(
                "event invoke: --client-cmd <path> is required (or pass --in-process)",
            ));
        };
        if self.is_extended {
            return Ok(self
                .programs
                .iter()
                .map(|program| Client {
                    program: program.path.clone(),
                    arguments: program.arguments.clone(),
                    client_id: named(program.client_id.as_ref().or(self.shared_client_id.as_ref())),
                    environment: self.environment(),
                })
                .collect());
        }
        let client_id = named(self.client_id.as_ref());
        Ok(vec![Client {
            program: last.path.clone(),
            arguments: self.arguments.clone(),
            client_id,
            environment: Environment::Inherited,
        }])
    }

    fn environment(&self) -> Environment {
        if self.allowed_variables.is_empty() {
            return Environment::Inherited;
        }
        Environment::Only(self.allowed_variables.clone())
    }
}

fn in_process_status(word: &str) -> Result<ReceiptStatus, LifecycleError> {
    match wire_value("--in-process-status", word)? {
        status @ (ReceiptStatus::Delivered | ReceiptStatus::Failed) => Ok(status),
        ReceiptStatus::Observed | ReceiptStatus::Skipped | ReceiptStatus::Degraded => Err(
            LifecycleError::usage(format!("--in-process-status must be delivered or failed, got `{word}`")),
        ),
    }
}

/// A word of a wire vocabulary. The error lists the vocabulary.
fn wire_value<'word, T: Deserialize<'word>>(flag: &str, word: &'word str) -> Result<T, LifecycleError> {
    let deserializer: StrDeserializer<'word, WireError> = word.into_deserializer();
    T::deserialize(deserializer)
        .map_err(|error| LifecycleError::usage(format!("{flag} has invalid wire value `{word}`: {error}")))
}
