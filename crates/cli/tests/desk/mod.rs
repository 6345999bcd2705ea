//! A desk for end-to-end tests: an empty directory, and the binary to run in it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

pub(crate) struct Desk {
    directory: TempDir,
}

/// Exit code and output of a command.
pub(crate) struct Done {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

#[allow(dead_code, reason = "each test file uses the part of the desk that it needs")]
impl Desk {
    pub(crate) fn new() -> Desk {
        Desk { directory: TempDir::new().expect("a temporary directory") }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).expect("a directory can be made");
        }
        std::fs::write(&path, text).expect("a file can be written");
        path
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap_or_default()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_escrow"));
        command.args(arguments).current_dir(self.path()).stdin(Stdio::null());
        // What the tests run in must not leak into what they test.
        for name in ["ESCROW_STATE", "ESCROW_INVOCATION", "ESCROW_RUN", "NO_COLOR", "CLICOLOR_FORCE", "CI"] {
            command.env_remove(name);
        }
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            let is_proxy = name.to_ascii_lowercase().ends_with("_proxy");
            if name.starts_with("OTEL_") || name.starts_with("GITHUB_") || name == "TRACEPARENT" || is_proxy {
                command.env_remove(name);
            }
        }
        command
    }

    /// With something on stdin.
    pub(crate) fn escrow_given(&self, arguments: &[&str], input: &str) -> Done {
        use std::io::Write;
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut stdin = child.stdin.take().expect("its stdin");
        let input = input.to_owned();
        // A binary that refuses its arguments may be gone before it has read everything.
        let writer = std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
        let output = child.wait_with_output().expect("it ends");
        writer.join().expect("the writer ends");
        Done::from(output)
    }

    pub(crate) fn escrow(&self, arguments: &[&str]) -> Done {
        Done::from(self.command(arguments).output().expect("the binary runs"))
    }

    /// Runs a playbook given as text, and reads the document that it prints.
    pub(crate) fn run(&self, playbook: &str) -> (Option<i32>, Value) {
        self.run_with(playbook, &[])
    }

    pub(crate) fn run_with(&self, playbook: &str, more: &[&str]) -> (Option<i32>, Value) {
        self.write("playbook.yaml", playbook);
        let mut arguments = vec!["run", "playbook.yaml", "--output", "json", "--quiet"];
        arguments.extend(more);
        let done = self.escrow(&arguments);
        (done.code, done.json())
    }

    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary starts")
    }

    /// Waits until something holds. Patient, because test machines are slow.
    pub(crate) fn until(&self, what: &str, mut holds: impl FnMut() -> bool) {
        let began = Instant::now();
        while !holds() {
            assert!(began.elapsed() < Duration::from_secs(60), "waited in vain until {what}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub(crate) fn show(&self, run: &str) -> Value {
        self.escrow(&["runs", "show", run, "--output", "json"]).json()
    }
}

impl Done {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("not JSON ({error}): {}\n{}", self.stdout, self.stderr))
    }
}

impl From<Output> for Done {
    fn from(output: Output) -> Done {
        Done {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Sends a signal to a process.
#[allow(dead_code, reason = "each test file uses the part of the desk that it needs")]
pub(crate) fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(pid.try_into().expect("a process id")).expect("a process id");
    rustix::process::kill_process(pid, signal).expect("it can be signalled");
}

/// Whether a process runs whose command line has this in it. Asks the system itself, so that no program needs to
/// be there for it.
#[allow(dead_code, reason = "each test file uses the part of the desk that it needs")]
pub(crate) fn is_running(part: &str) -> bool {
    let processes = std::fs::read_dir("/proc").expect("the list of processes");
    processes.flatten().any(|process| {
        let words = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).replace('\0', " ").contains(part)
    })
}
