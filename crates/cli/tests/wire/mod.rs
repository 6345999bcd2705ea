//! A wire for end-to-end tests: an empty directory, `escrow lifecycle` to run in it, envelopes to send.

#![allow(dead_code, reason = "every test file uses its own part of this")]

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) struct Wire {
    directory: TempDir,
}

/// The output and exit code of a verb.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Said {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("not JSON ({error}): {self:?}"))
    }
}

impl Wire {
    pub(crate) fn new() -> Wire {
        Wire { directory: TempDir::new().expect("a temporary directory") }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A client as a shell script. The envelope is on its standard input.
    pub(crate) fn client(&self, name: &str, script: &str) -> String {
        let path = self.path(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a script can be written");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("a script may be run");
        path.display().to_string()
    }

    pub(crate) fn count(&self, name: &str) -> usize {
        std::fs::read_to_string(self.path(name)).unwrap_or_default().lines().count()
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_escrow"));
        command.arg("lifecycle").args(words).current_dir(self.directory.path());
        command
    }

    pub(crate) fn start(&self, words: &[&str]) -> Child {
        let mut command = self.command(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the binary starts")
    }

    pub(crate) fn say(&self, words: &[&str], input: impl AsRef<[u8]>) -> Said {
        talk_to(self.start(words), input.as_ref())
    }

    /// `event invoke` with a fixed id and time.
    pub(crate) fn invoke(&self, words: &[&str], envelope: &Value) -> Said {
        let mut all = vec!["event", "invoke", "--at-epoch-s", "7"];
        all.extend(words);
        self.say(&all, envelope.to_string())
    }
}

/// Gives it all of the input, and takes what it says. It may end before it has listened.
pub(crate) fn talk_to(mut child: Child, input: &[u8]) -> Said {
    let mut pipe = child.stdin.take().expect("a pipe");
    let input = input.to_vec();
    let writer = std::thread::spawn(move || {
        let _ = pipe.write_all(&input);
    });
    let output = child.wait_with_output().expect("the binary ends");
    writer.join().expect("the writer ends");
    Said {
        code: output.status.code().expect("it exits by itself"),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// A dispatch of `frame.opening` to Claude, in a run, with a key if one is given.
pub(crate) fn envelope(key: Option<&str>) -> Value {
    let mut request = json!({
        "schema_version": "lifeloop.v0.4", "event": "frame.opening", "event_id": "e", "adapter_id": "claude",
        "adapter_version": "0.1.0", "integration_mode": "native_hook", "invocation_id": "i",
        "harness_run_id": "run", "frame_context": { "frame_id": "f", "frame_class": "top_level" },
    });
    if let Some(key) = key {
        request["idempotency_key"] = key.into();
    }
    json!({ "schema_version": "lifeloop.v0.4", "request": request })
}

pub(crate) const DELIVERED: &str = r#"echo '{"schema_version":"lifeloop.v0.4","status":"delivered"}'"#;

pub(crate) fn conformance(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../protocol/tests/data/conformance").join(version)
}
