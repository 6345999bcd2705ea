//! `escrow chain daemon` with a socket for webhooks, and the webhooks of GitHub.

#![allow(dead_code, reason = "each test file uses the part that it needs")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::desk::{Desk, signal};

pub(crate) const SECRET: &str = "a-secret-of-the-webhook";

/// The settings with which the daemon opens its socket.
pub(crate) const SETTINGS: &str = "[webhook.github]\nsecret = { env = \"HOOK_SECRET\" }\n";

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// HMAC-SHA256 by its definition, apart from the implementation under test.
pub(crate) fn signature(secret: &str, body: &[u8]) -> String {
    let mut key = [0_u8; 64];
    key[..secret.len()].copy_from_slice(secret.as_bytes());
    let padded = |pad: u8| key.map(|byte| byte ^ pad);
    let inner = Sha256::new().chain_update(padded(0x36)).chain_update(body).finalize();
    format!("sha256={}", hex(&Sha256::new().chain_update(padded(0x5c)).chain_update(inner).finalize()))
}

pub(crate) struct Daemon {
    pub(crate) child: Child,
    pub(crate) address: String,
}

impl Daemon {
    pub(crate) fn start(desk: &Desk, more: &[&str]) -> Daemon {
        Daemon::started(desk.command(&["chain", "daemon"]), more)
    }

    /// Starts a daemon by a command that has its environment.
    pub(crate) fn started(mut command: Command, more: &[&str]) -> Daemon {
        command.args(["--output", "jsonl", "--quiet"]);
        command.args(more).env("HOOK_SECRET", SECRET).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the daemon starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("its output")).read_line(&mut line).expect("a line");
        let said: Value = serde_json::from_str(&line).unwrap_or_default();
        let address = said["daemon"]["url"].as_str().unwrap_or_default().replace("http://", "");
        Daemon { child, address }
    }

    pub(crate) fn post(&self, path: &str, headers: &[(&str, &str)], body: &[u8]) -> (u16, Value) {
        let mut stream = TcpStream::connect(&self.address).expect("the daemon listens");
        let mut head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {}\r\n",
            body.len()
        );
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        stream.write_all(format!("{head}\r\n").as_bytes()).expect("it reads");
        // A server that has refused the size may close before it has read everything.
        let _ = stream.write_all(body);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        let body = answer.split("\r\n\r\n").nth(1).unwrap_or_default();
        (status, serde_json::from_str(body).unwrap_or_default())
    }

    pub(crate) fn deliver(&self, id: &str, event: &str, body: &Value) -> (u16, Value) {
        let body = body.to_string();
        let signed = signature(SECRET, body.as_bytes());
        let headers =
            [("x-github-event", event), ("x-github-delivery", id), ("x-hub-signature-256", &signed)];
        self.post("/hooks/github", &headers, body.as_bytes())
    }

    pub(crate) fn end(mut self) {
        signal(self.child.id(), Signal::TERM);
        assert_eq!(self.child.wait().expect("it ends").code(), Some(0));
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// GitHub's event of an opened pull request.
pub(crate) fn opened(number: u64) -> Value {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    let now = escrow_model::rfc3339(u64::try_from(now.as_millis()).expect("it fits"));
    json!({
        "action": "opened",
        "repository": {"full_name": "octo/app"},
        "pull_request": {"number": number, "title": "A change", "draft": false, "updated_at": now,
            "base": {"ref": "main", "repo": {"full_name": "octo/app"}},
            "head": {"ref": "change", "sha": "abc", "repo": {"full_name": "octo/app"}}}
    })
}
