//! A room to run commands in, and a way to look for processes that should be gone.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::collections::BTreeMap;
use std::future::Future;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use escrow_model::{Answer, Ending, ProviderFault, ProviderName, Request, RunId, ScopePath};
use escrow_runtime::providers::command::Command;
use escrow_runtime::providers::{Attempt, Contexts, Environment, Provider};
use escrow_runtime::{Cancellation, Redactor};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) struct Room {
    pub(crate) folder: TempDir,
    pub(crate) attempt: Attempt,
    pub(crate) request: Request,
}

impl Room {
    pub(crate) fn new(exec: Value) -> Room {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        std::fs::create_dir(path.join("artifacts")).unwrap();
        let attempt = Attempt {
            run: RunId::new(1, 2),
            invocation: None,
            check: "lint".into(),
            scope: ScopePath::root(),
            number: 1,
            directory: path.into(),
            artifacts: path.join("artifacts"),
            spool: path.join("spool"),
            state: path.join("state"),
            label: "lint.1".into(),
            spool_from_bytes: 0,
            contexts: Rc::new(Contexts::new(path.join("spool"))),
            context: br#"{"inputs":{"a":1}}"#.to_vec(),
            environment: Environment::Inherit { secrets: vec![] },
            secrets: vec![],
            secret_files: vec![],
            secret_descriptors: vec![],
            redactor: Redactor::none(),
            cancellation: Cancellation::never(),
            live: None,
            progress: None,
            grace: Duration::from_millis(500),
        };
        let request = Request {
            provider: ProviderName::COMMAND,
            fields: [("exec".to_owned(), exec)].into_iter().collect(),
            env: BTreeMap::new(),
            environment: None,
            handed_env: BTreeMap::new(),
            timeout_ms: 60_000,
            idempotency_key: "key".into(),
            item: None,
        };
        Room { folder, attempt, request }
    }

    pub(crate) fn shell(script: &str) -> Room {
        Room::new(json!({ "shell": script }))
    }

    pub(crate) fn argv(words: &[&str]) -> Room {
        Room::new(json!({ "argv": words }))
    }

    pub(crate) async fn perform(&self) -> Answer {
        Command.perform(&self.request, &self.attempt).await
    }

    pub(crate) fn run(&self) -> Answer {
        block_on(self.perform())
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

pub(crate) fn fault(answer: &Answer) -> &ProviderFault {
    match &answer.ending {
        Ending::Fault(fault) => fault,
        Ending::Done => panic!("done: {:?}", answer.output),
    }
}

/// Processes, dead ones included, whose command line or environment has this word.
pub(crate) fn processes_with(word: &str) -> usize {
    let mut count = 0;
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        if entry.file_name() == std::process::id().to_string().as_str() {
            continue;
        }
        let has = |file: &str| {
            let bytes = std::fs::read(entry.path().join(file)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).contains(word)
        };
        if has("cmdline") || has("environ") {
            count += 1;
        }
    }
    count
}

/// Dead children of this process that were not reaped.
pub(crate) fn zombies() -> usize {
    let own = std::process::id().to_string();
    let dead_child = |entry: std::fs::DirEntry| {
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let rest = stat.rsplit(')').next().unwrap_or_default().to_owned();
        let mut fields = rest.split_ascii_whitespace();
        fields.next() == Some("Z") && fields.next() == Some(own.as_str())
    };
    std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| dead_child(entry).then_some(())).count()
}

/// A word that no other test uses.
pub(crate) fn unique(word: &str) -> String {
    format!("{word}-{:x}", escrow_runtime::random_u64().unwrap())
}
