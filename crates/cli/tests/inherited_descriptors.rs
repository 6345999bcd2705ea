//! What the shell or service around Escrow left open is not handed to commands: no kernel sandbox confines a descriptor
//! that is already open.

mod desk;

use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use command_fds::{CommandFdExt as _, FdMapping};
use desk::{Desk, Done};

const TRIES: &str = "
    (echo pwned >&9) 2> /dev/null && echo WRITES
    (cat <&8) 2> /dev/null && echo READS
    (echo pwned >&7) 2> /dev/null && echo SENDS
    echo tried";

/// Runs the script in a check with these keys, with a writable file as 9, a readable one as 8 and a connection as 7.
/// Gives the answer and what arrived outside.
fn run_with_open_descriptors(desk: &Desk, keys: &str) -> (Done, String, String) {
    let outside = desk.path().join("outside.log");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let connected = TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
    let (mut accepted, _) = listener.accept().expect("the other end");
    let script: String = TRIES.lines().map(|line| format!("      {}\n", line.trim())).collect();
    desk.write("secret.txt", "of the operator");
    std::fs::create_dir_all(desk.path().join("w")).expect("a directory");
    let playbook = format!("version: '1.0'\nchecks:\n  it:\n    type: command\n{keys}    exec: |\n{script}");
    desk.write("playbook.yaml", &playbook);
    let mut command = desk.command(&["run", "playbook.yaml", "--output", "json"]);
    let written = OpenOptions::new().create(true).append(true).open(&outside).expect("a file");
    let read = File::open(desk.path().join("secret.txt")).expect("a file");
    let open = [(written.into(), 9), (read.into(), 8), (connected.into(), 7)];
    let open = open.map(|(parent_fd, child_fd)| FdMapping { parent_fd, child_fd });
    command.fd_mappings(open.into()).expect("numbers that differ");
    let done = Done::from(command.output().expect("escrow runs"));
    drop(command);
    accepted.set_read_timeout(Some(Duration::from_secs(10))).expect("a limit");
    let mut received = String::new();
    accepted.read_to_string(&mut received).expect("the connection is closed");
    (done, std::fs::read_to_string(outside).unwrap_or_default(), received)
}

#[track_caller]
fn check_that_nothing_gets_through(keys: &str) {
    let desk = Desk::new();
    let (done, written, received) = run_with_open_descriptors(&desk, keys);
    assert_eq!((written.as_str(), received.as_str()), ("", ""), "{}", done.stdout);
    let document = done.json();
    // Where this machine cannot confine a command, it does not start at all.
    if document["checks"]["it"]["issues"][0]["rule_id"] != "command/sandbox" {
        assert_eq!(document["checks"]["it"]["output"], "tried", "{document}");
    }
}

#[test]
fn a_command_has_no_descriptor_that_escrow_inherited() {
    check_that_nothing_gets_through("");
    check_that_nothing_gets_through("    env: {A: b}\n    stdin: some\n");
}

#[test]
fn a_confined_command_has_no_descriptor_that_escrow_inherited() {
    check_that_nothing_gets_through("    sandbox: {filesystem: {write: [w], read: [w]}, network: none}\n");
}
