//! A real Chromium, driven over its DevTools pipe: a JSON message on file descriptor 3, answers and events on 4.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use base64::Engine as _;
use command_fds::{CommandFdExt, FdMapping};
use serde_json::{Value, json};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Browser {
    child: Child,
    writer: File,
    messages: Receiver<Value>,
    events: VecDeque<Value>,
    next: u64,
    session: String,
    _profile: TempDir,
}

/// What the screen is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Viewport {
    Desk,
    Phone,
}

impl Browser {
    /// A missing Chromium is a failure: `.ci/test-browser` installs it.
    pub(crate) fn start() -> Browser {
        let profile = TempDir::new().expect("a profile");
        let (commands, writer) = std::io::pipe().expect("a pipe");
        let (reader, answers) = std::io::pipe().expect("a pipe");
        let mut command = Command::new("chromium");
        command
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--hide-scrollbars",
            ])
            .args([
                "--remote-debugging-pipe",
                "--no-first-run",
                "--disable-extensions",
                "--force-color-profile=srgb",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
            .fd_mappings(vec![
                FdMapping { parent_fd: OwnedFd::from(commands), child_fd: 3 },
                FdMapping { parent_fd: OwnedFd::from(answers), child_fd: 4 },
            ])
            .expect("two descriptors");
        let child = command.spawn().expect("`chromium` is installed");
        // The child's ends must close here, or the end of the browser is never seen.
        drop(command);
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(File::from(OwnedFd::from(reader)));
            let mut bytes = Vec::new();
            while reader.read_until(0, &mut bytes).is_ok_and(|read| read > 0) {
                bytes.pop();
                let message = serde_json::from_slice(&bytes).unwrap_or_default();
                if sender.send(message).is_err() {
                    return;
                }
                bytes.clear();
            }
        });
        let mut browser = Browser {
            child,
            writer: File::from(OwnedFd::from(writer)),
            messages,
            events: VecDeque::new(),
            next: 0,
            session: String::new(),
            _profile: profile,
        };
        browser.open_tab();
        browser
    }

    fn open_tab(&mut self) {
        let target = self.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let attached =
            self.call("Target.attachToTarget", &json!({ "targetId": target["targetId"], "flatten": true }));
        self.session = attached["sessionId"].as_str().expect("a session").to_owned();
        for domain in ["Page", "Runtime", "Log"] {
            self.call(&format!("{domain}.enable"), &json!({}));
        }
        self.screen(Viewport::Desk);
    }

    /// Sends a command and waits for its answer.
    pub(crate) fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.next += 1;
        let mut message = json!({ "id": self.next, "method": method, "params": parameters });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.writer.write_all(&bytes).expect("the browser reads");
        loop {
            let answer =
                self.messages.recv_timeout(PATIENCE).unwrap_or_else(|error| panic!("{method}: {error}"));
            if answer["id"] == self.next {
                assert!(answer.get("error").is_none(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.events.push_back(answer);
        }
    }

    pub(crate) fn go(&mut self, url: &str) {
        self.call("Page.navigate", &json!({ "url": url }));
        let path = url.split('#').next().unwrap_or(url).to_owned();
        self.until(&format!("{url} is loaded"), |browser| {
            let loaded = "document.readyState === 'complete' ? location.href.split('#')[0] : ''";
            browser.evaluate(loaded) == json!(path)
        });
    }

    /// The value of an expression in the page. A page that is being replaced has none.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let parameters = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call_gently("Runtime.evaluate", &parameters);
        if answer.get("exceptionDetails").is_some() {
            panic!("{expression}: {}", answer["exceptionDetails"]);
        }
        answer["result"]["value"].clone()
    }

    fn call_gently(&mut self, method: &str, parameters: &Value) -> Value {
        self.next += 1;
        let message =
            json!({ "id": self.next, "method": method, "params": parameters, "sessionId": self.session });
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.writer.write_all(&bytes).expect("the browser reads");
        loop {
            let answer =
                self.messages.recv_timeout(PATIENCE).unwrap_or_else(|error| panic!("{method}: {error}"));
            if answer["id"] == self.next {
                return answer["result"].clone();
            }
            self.events.push_back(answer);
        }
    }

    pub(crate) fn text(&mut self, selector: &str) -> String {
        let expression = format!("document.querySelector({})?.innerText ?? ''", json!(selector));
        self.evaluate(&expression).as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn until(&mut self, what: &str, mut holds: impl FnMut(&mut Browser) -> bool) {
        let began = Instant::now();
        while !holds(self) {
            assert!(
                began.elapsed() < PATIENCE,
                "waited in vain until {what}: {}",
                self.evaluate("document.body.innerText")
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Presses the mouse in the middle of an element, or of its first line, as a person would.
    pub(crate) fn click(&mut self, selector: &str) {
        let place = format!(
            "(() => {{ const e = document.querySelector({}); e.scrollIntoView({{block: 'center'}}); \
             const r = e.getClientRects()[0]; return [r.x + r.width / 2, r.y + r.height / 2]; }})()",
            json!(selector)
        );
        let place = self.evaluate(&place);
        for kind in ["mousePressed", "mouseReleased"] {
            let (x, y) = (&place[0], &place[1]);
            let parameters = json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", &parameters);
        }
    }

    pub(crate) fn press(&mut self, key: &str) {
        let text = if key.chars().count() == 1 { key } else { "" };
        self.call("Input.dispatchKeyEvent", &json!({ "type": "keyDown", "key": key, "text": text }));
        self.call("Input.dispatchKeyEvent", &json!({ "type": "keyUp", "key": key }));
    }

    pub(crate) fn screen(&mut self, screen: Viewport) {
        let (width, height) = match screen {
            Viewport::Desk => (1280, 900),
            Viewport::Phone => (390, 844),
        };
        let is_phone = screen == Viewport::Phone;
        let parameters =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone });
        self.call("Emulation.setDeviceMetricsOverride", &parameters);
    }

    /// `light` or `dark`.
    pub(crate) fn scheme(&mut self, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", &json!({ "features": features }));
    }

    pub(crate) fn scripts(&mut self, are_run: bool) {
        self.call("Emulation.setScriptExecutionDisabled", &json!({ "value": !are_run }));
    }

    /// A picture of the page, at most so high.
    pub(crate) fn picture(&mut self, path: &Path, height_max: u64) {
        let size =
            self.evaluate("[document.documentElement.clientWidth, document.documentElement.scrollHeight]");
        let height = size[1].as_u64().unwrap_or(900).min(height_max);
        let clip = json!({ "x": 0, "y": 0, "width": size[0], "height": height, "scale": 1 });
        let parameters = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        let picture = self.call("Page.captureScreenshot", &parameters);
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(picture["data"].as_str().expect("a picture"))
            .expect("base64");
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, bytes).expect("the picture can be written");
    }

    /// Errors that the browser has noted since the last look: exceptions, refused scripts, resources that failed.
    pub(crate) fn troubles(&mut self) -> Vec<String> {
        self.evaluate("0");
        let events: Vec<Value> = self.events.drain(..).collect();
        let troubles = events.into_iter().filter_map(|event| {
            let parameters = &event["params"];
            match event["method"].as_str()? {
                "Runtime.exceptionThrown" => Some(parameters.to_string()),
                "Log.entryAdded" if parameters["entry"]["level"] == "error" => Some(parameters.to_string()),
                _ => None,
            }
        });
        troubles.collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
