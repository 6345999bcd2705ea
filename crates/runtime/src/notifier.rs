//! Tells people: hands a message to a command, or posts it.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::cancellation::Cancellation;
use crate::config::Notify;
use crate::http_client::{self, Body, Call, Header, Method, Proxies, Reach};

/// A notification command that takes longer has failed.
const TIMEOUT: Duration = Duration::from_secs(30);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How much of what a command says about its failure is kept.
const COMPLAINT_BYTES_MAX: usize = 500;

/// Delivers one message, or says why not. The message is JSON: on standard input, or as the body.
pub async fn deliver(
    notify: &Notify,
    message: &Map<String, Value>,
    directory: &Path,
    cancellation: &Cancellation,
) -> Result<(), String> {
    let text = Value::Object(message.clone()).to_string();
    let command = match notify {
        Notify::Webhook(url) => return post(url, text, cancellation).await,
        Notify::Script(script) => {
            let mut command = Command::new("/bin/sh");
            command.arg("-ec").arg(script);
            command
        }
        Notify::Argv(words) => {
            let (program, arguments) = words.split_first().ok_or("`command` is empty")?;
            let mut command = Command::new(program);
            command.args(arguments);
            command
        }
    };
    run(command, text, directory).await
}

async fn run(mut command: Command, text: String, directory: &Path) -> Result<(), String> {
    command
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    let mut child = command.spawn().map_err(|error| format!("the command cannot be started: {error}"))?;
    let mut input = child.stdin.take();
    let work = async {
        if let Some(input) = &mut input {
            // A command that does not read its input may still have told someone.
            let _ = input.write_all(text.as_bytes()).await;
        }
        drop(input);
        child.wait_with_output().await
    };
    let ended = tokio::time::timeout(TIMEOUT, work).await;
    let output = ended
        .map_err(|_| format!("the command did not end within {} s", TIMEOUT.as_secs()))?
        .map_err(|error| format!("the command was lost: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let cut = &output.stderr[..output.stderr.len().min(COMPLAINT_BYTES_MAX)];
    let complaint = String::from_utf8_lossy(cut);
    let complaint = complaint.trim();
    Err(match complaint {
        "" => format!("the command failed: {}", output.status),
        said => format!("the command failed: {}: {said}", output.status),
    })
}

async fn post(url: &str, text: String, cancellation: &Cancellation) -> Result<(), String> {
    let header =
        |name: &str, value: &str| Header { name: name.into(), value: value.into(), has_secret: false };
    let call = Call {
        method: Method::Post,
        url: url.to_owned(),
        headers: vec![header("content-type", "application/json"), header("user-agent", "escrow")],
        body: Some(Body { bytes: Arc::new(text.into_bytes()), has_secret: false }),
        timeout: TIMEOUT,
        connect_timeout: CONNECT_TIMEOUT,
        max_bytes: 64 * 1024,
        redirects_max: 0,
        // The operator's word: it may be private.
        reach: Reach::Private,
        ca_file: None,
        proxies: Proxies::inherited(),
    };
    let reply = http_client::call(call, cancellation).await.map_err(|error| error.to_string())?;
    if (200..300).contains(&reply.status) {
        return Ok(());
    }
    Err(format!("the webhook answered {}", reply.status))
}
