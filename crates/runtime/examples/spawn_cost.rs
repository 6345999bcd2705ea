//! What a command costs, beside what the standard library and a shell loop ask for it.
//!
//! `cargo run --release -p escrow-runtime --example spawn_cost`

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a measurement for people")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use escrow_model::{Ending, ProviderName, Request, RunId, ScopePath};
use escrow_runtime::Cancellation;
use escrow_runtime::process::{GRACE, Process, run};
use escrow_runtime::providers::command::Command;
use escrow_runtime::providers::{Attempt, Contexts, Environment, Provider};
use serde_json::json;

const COUNT: u32 = 100;
const ROUNDS: u32 = 10;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let local = tokio::task::LocalSet::new();

    measure("std::process::Command, output()", 1, || {
        for _ in 0..COUNT {
            let output = std::process::Command::new("/bin/true").stdin(Stdio::null()).output().unwrap();
            assert!(output.status.success());
        }
    });
    measure("std::process::Command, /bin/sh -c true", 1, || {
        for _ in 0..COUNT {
            let mut shell = std::process::Command::new("/bin/sh");
            assert!(shell.args(["-c", "true"]).stdin(Stdio::null()).output().unwrap().status.success());
        }
    });
    measure("process::run", 1, || {
        runtime.block_on(async {
            for _ in 0..COUNT {
                run(Process::new(std::process::Command::new("/bin/true"))).await.unwrap();
            }
        });
    });
    for (label, exec) in [
        ("command provider, [true]", json!({"argv": ["true"]})),
        ("command provider, true in a shell", json!({"shell": "true"})),
        ("command provider, echo in a shell", json!({"shell": "echo hello"})),
    ] {
        let request = request(exec);
        let contexts = Rc::new(Contexts::new(folder.path().join("spool")));
        for lanes in [1, 2] {
            measure(label, lanes, || {
                local.block_on(&runtime, async {
                    let tasks: Vec<_> = (0..lanes)
                        .map(|lane| {
                            let request = request.clone();
                            let path = folder.path().to_owned();
                            let contexts = contexts.clone();
                            tokio::task::spawn_local(async move {
                                for number in (lane..COUNT).step_by(lanes as usize) {
                                    let attempt = attempt(&path, number, contexts.clone());
                                    let answer = Command.perform(&request, &attempt).await;
                                    assert_eq!(answer.ending, Ending::Done);
                                }
                            })
                        })
                        .collect();
                    for task in tasks {
                        task.await.unwrap();
                    }
                });
            });
        }
    }
}

/// Prints the best of some rounds: time that passed, and processor time of this thread alone, which says more
/// on a machine that has other things to do.
fn measure(label: &str, lanes: u32, mut work: impl FnMut()) {
    work();
    let rounds: Vec<_> = (0..ROUNDS)
        .map(|_| {
            let (began, busy) = (Instant::now(), own_time());
            work();
            (began.elapsed(), own_time().saturating_sub(busy))
        })
        .collect();
    let best = rounds.iter().map(|round| round.0).min().unwrap_or_default() / COUNT;
    let own = rounds.iter().map(|round| round.1).min().unwrap_or_default() / COUNT;
    println!("{label:40} x{lanes}  {best:>8.1?} each, {own:>8.1?} our own");
}

fn own_time() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = told.split_whitespace().next().and_then(|field| field.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}

fn request(exec: serde_json::Value) -> Request {
    Request {
        provider: ProviderName::COMMAND,
        fields: [("exec".to_owned(), exec)].into_iter().collect(),
        env: BTreeMap::new(),
        environment: None,
        handed_env: BTreeMap::new(),
        timeout_ms: 600_000,
        idempotency_key: "key".into(),
        item: None,
    }
}

fn attempt(folder: &Path, number: u32, contexts: Rc<Contexts>) -> Attempt {
    // A new place each time, as attempts have. Writing over old files costs a flush on some file systems.
    static PLACE: AtomicU32 = AtomicU32::new(0);
    let place = PLACE.fetch_add(1, Ordering::Relaxed);
    Attempt {
        invocation: None,
        run: RunId::new(1, 2),
        check: "lint".into(),
        scope: ScopePath::root(),
        number,
        directory: folder.into(),
        artifacts: folder.into(),
        spool: folder.join("spool"),
        state: folder.into(),
        label: format!("lint.{place}"),
        spool_from_bytes: 64 * 1024,
        contexts,
        context: b"{}".to_vec(),
        environment: Environment::Inherit { secrets: vec![] },
        secrets: vec![],
        secret_files: vec![],
        secret_descriptors: vec![],
        redactor: escrow_runtime::Redactor::none(),
        cancellation: Cancellation::never(),
        live: None,
        progress: None,
        grace: GRACE,
    }
}
