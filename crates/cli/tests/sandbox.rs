//! Confined commands: what they can reach, what they cannot, and that a sandbox which cannot be set up is an error.
//!
//! Where this machine lacks an ability, the same tests show that the check fails and its command never starts.
#![cfg(target_os = "linux")]

mod desk;

use desk::Desk;
use serde_json::Value;

fn machine_has(desk: &Desk, ability: &str) -> bool {
    let doctor = desk.escrow(&["doctor", "--output", "json"]).json();
    let abilities = doctor["abilities"].as_array().expect("a list of abilities");
    abilities.iter().any(|one| one["name"] == ability && one["available"] == true)
}

/// The lines of a script, as far in as `exec` needs them.
fn indented(script: &str) -> String {
    script.lines().map(|line| format!("      {}\n", line.trim())).collect()
}

/// Runs one confined check. Gives its object in the run document, or `None` where the machine cannot confine it.
#[track_caller]
fn confined(desk: &Desk, needs: &[&str], sandbox: &str, script: &str) -> Option<Value> {
    let script = indented(script);
    let playbook = format!(
        "version: '1.0'\nchecks:\n  it:\n    type: command\n    sandbox: {sandbox}\n    exec: |\n{script}"
    );
    let (_, document) = desk.run(&playbook);
    let check = document["checks"]["it"].clone();
    if needs.iter().all(|ability| machine_has(desk, ability)) {
        return Some(check);
    }
    assert_eq!(check["issues"][0]["rule_id"], "command/sandbox", "{check}");
    assert!(!desk.path().join("started").exists(), "the command started all the same");
    None
}

#[test]
fn only_the_declared_paths_can_be_written() {
    let desk = Desk::new();
    desk.write("source.txt", "kept");
    std::fs::create_dir(desk.path().join("build")).expect("a directory");
    let script = "\
        echo built > build/result
        echo delivered > \"$ESCROW_ARTIFACTS/report\"
        echo kept > \"$TMPDIR/scratch\"
        cat source.txt
        (echo changed > source.txt) 2> /dev/null && echo BROKEN
        (echo new > elsewhere) 2> /dev/null && echo BROKEN
        rm -f source.txt 2> /dev/null && echo BROKEN
        truncate -s 0 source.txt 2> /dev/null && echo BROKEN
        mv build/result . 2> /dev/null && echo BROKEN
        true";
    let sandbox = "{filesystem: {write: [build]}}";
    let Some(check) = confined(&desk, &["sandbox.filesystem"], sandbox, script) else { return };
    assert_eq!(check["status"], "succeeded", "{check}");
    assert_eq!(check["output"], "kept");
    assert_eq!(desk.read("source.txt"), "kept");
    assert_eq!(desk.read("build/result"), "built\n");
}

#[test]
fn with_a_list_of_readable_paths_nothing_else_can_be_read() {
    let desk = Desk::new();
    desk.write("public/a.txt", "public");
    desk.write("private.txt", "private");
    let script = "\
        cat public/a.txt
        cat private.txt 2> /dev/null && echo BROKEN
        ls . 2> /dev/null && echo BROKEN
        test -s \"$ESCROW_CONTEXT\"
        cat \"$ESCROW_CONTEXT\" > /dev/null";
    let sandbox = "{filesystem: {read: [public], write: []}}";
    let Some(check) = confined(&desk, &["sandbox.filesystem"], sandbox, script) else { return };
    assert_eq!(check["status"], "succeeded", "{check}");
    assert_eq!(check["output"], "public");
}

#[test]
fn children_of_a_confined_command_are_confined_too() {
    let desk = Desk::new();
    let script = "\
        (setsid sh -c 'echo new > elsewhere' & wait) 2> /dev/null
        env -i sh -c 'echo new > elsewhere' 2> /dev/null
        test ! -e elsewhere";
    let sandbox = "{filesystem: {write: []}}";
    let Some(check) = confined(&desk, &["sandbox.filesystem"], sandbox, &format!("set +e\n{script}")) else {
        return;
    };
    assert_eq!(check["status"], "succeeded", "{check}");
}

#[test]
fn the_state_cannot_be_written_even_where_everything_around_it_can() {
    let desk = Desk::new();
    let script = "\
        set +e
        echo new > new-file
        echo forged > .escrow/escrow.db
        rm -rf .escrow/spool
        mv .escrow moved
        umount .escrow
        echo delivered > \"$ESCROW_ARTIFACTS/report\" || exit 1
        echo KEY=value > \"$ESCROW_ENV\" || exit 1
        test -s .escrow/escrow.db && test ! -e moved";
    let needs = ["sandbox.filesystem", "sandbox.network"];
    let Some(check) = confined(&desk, &needs, "{filesystem: {write: ['.']}}", script) else { return };
    assert_eq!(check["status"], "succeeded", "{check}");
    assert_eq!(desk.read("new-file"), "new\n");
    assert_eq!(desk.escrow(&["verify", "last"]).code, Some(0), "the journal is intact");
}

#[test]
fn the_directories_above_the_state_stay_in_their_place() {
    let needs = ["sandbox.filesystem", "sandbox.network"];
    let desk = Desk::new();
    if !needs.iter().all(|ability| machine_has(&desk, ability)) {
        return;
    }
    let script = "\
      set +e
      mv ci gone; test -e gone && echo BROKEN
      rm -rf ci; rmdir ci/deep; mv ci/deep copied
      mkdir -p ci/deep/.escrow; echo planted > ci/deep/.escrow/planted
      cd ci/deep && echo forged > .escrow/escrow.db
      cd ../..
      echo new > ci/deep/new && mv ci/deep/new ci/newer && echo new > newest";
    let playbook = format!(
        "version: '1.0'\nchecks:\n  it:\n    type: command\n    sandbox: {{filesystem: {{write: ['.']}}}}\n    exec: |\n{}\n",
        indented(script)
    );
    desk.write("playbook.yaml", &playbook);
    let run = ["run", "playbook.yaml", "--state", "ci/deep/.escrow"];
    let done = desk.escrow(&run);
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
    assert_eq!(desk.read("ci/newer"), "new\n");
    assert_eq!(desk.read("newest"), "new\n");
    assert!(!done.stdout.contains("BROKEN"), "{}", done.stdout);
    for absent in ["gone", "ci/deep/.escrow/planted"] {
        assert!(!desk.path().join(absent).exists(), "{absent}");
    }
    let verify = ["verify", "--all", "--state", "ci/deep/.escrow"];
    assert_eq!(desk.escrow(&verify).code, Some(0), "the journal is intact");
}

#[test]
fn the_directory_of_the_run_stays_where_it_is_when_the_one_above_can_be_written() {
    let desk = Desk::new();
    std::fs::create_dir_all(desk.path().join("project/.escrow")).expect("a directory");
    let script = "\
      set +e
      mv ../project ../gone
      mv .escrow gone; echo forged > .escrow/escrow.db; touch .escrow/planted
      touch ../project/.escrow/planted
      echo new > ../beside && echo new > inside";
    let playbook = format!(
        "version: '1.0'\nchecks:\n  it:\n    type: command\n    sandbox: {{filesystem: {{write: ['..']}}}}\n    exec: |\n{}\n",
        indented(script)
    );
    desk.write("project/playbook.yaml", &playbook);
    if !["sandbox.filesystem", "sandbox.network"].iter().all(|ability| machine_has(&desk, ability)) {
        return;
    }
    let project = desk.path().join("project");
    let mut run = desk.command(&["run", "playbook.yaml"]);
    let run = run.current_dir(&project).output().expect("escrow starts");
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
    assert_eq!((desk.read("beside").as_str(), desk.read("project/inside").as_str()), ("new\n", "new\n"));
    for absent in ["gone", "project/gone", "project/.escrow/planted"] {
        assert!(!desk.path().join(absent).exists(), "{absent}");
    }
    let verify = desk.command(&["verify", "--all"]).current_dir(&project).output().expect("escrow starts");
    assert_eq!(verify.status.code(), Some(0), "the journal is intact");
}

#[test]
fn a_link_to_the_state_that_could_be_replaced_is_refused() {
    let desk = Desk::new();
    std::fs::create_dir_all(desk.path().join("real/.escrow")).expect("a directory");
    std::os::unix::fs::symlink("real", desk.path().join("link")).expect("a link");
    let playbook = "version: '1.0'\nchecks:\n  it: {type: command, sandbox: {filesystem: {write: ['.']}}, exec: touch started}\n";
    desk.write("playbook.yaml", playbook);
    let done = desk.escrow(&["run", "playbook.yaml", "--state", "link/.escrow"]);
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    assert!(!desk.path().join("started").exists());
}

#[test]
fn without_a_network_there_is_not_even_loopback() {
    let desk = Desk::new();
    let Some(check) = confined(&desk, &["sandbox.network"], "{network: none}", "cat /proc/net/dev") else {
        return;
    };
    let devices = check["output"].as_str().expect("text");
    let names: Vec<&str> =
        devices.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name.trim()).collect();
    assert_eq!(names, ["lo"]);
    let flags =
        confined(&desk, &["sandbox.network"], "{network: none}", "cat /proc/net/fib_trie").expect("it ran");
    assert!(!flags["output"].to_string().contains("127.0.0.1"), "loopback is down: {flags}");
}

#[test]
fn with_loopback_the_command_reaches_itself() {
    let desk = Desk::new();
    let Some(check) = confined(&desk, &["sandbox.network"], "{network: loopback}", "cat /proc/net/fib_trie")
    else {
        return;
    };
    assert!(check["output"].to_string().contains("127.0.0.1"), "loopback is up: {check}");
}

#[test]
fn limits_are_inherited() {
    let desk = Desk::new();
    let sandbox = "{limits: {files: 64, memory: 1G}}";
    let script = "sh -c 'ulimit -n'\nsh -c 'ulimit -v'";
    let check = confined(&desk, &["sandbox.limits"], sandbox, script).expect("every machine has limits");
    assert_eq!(check["output"], "64\n1048576");
}

/// Linux does not limit the processes of root, so for root the limit cannot be set up.
#[test]
fn the_number_of_processes_is_limited_or_refused() {
    let desk = Desk::new();
    let check = confined(
        &desk,
        &["sandbox.limits"],
        "{limits: {processes: 4000}}",
        "touch started\nbash -c 'ulimit -u' || true",
    )
    .expect("every machine has limits");
    if rustix::process::getuid().is_root() {
        assert_eq!(check["issues"][0]["rule_id"], "command/sandbox", "{check}");
        assert!(!desk.path().join("started").exists());
    } else {
        assert_eq!(check["status"], "succeeded", "{check}");
    }
}

#[test]
fn a_sandbox_that_cannot_be_set_up_fails_the_check_and_starts_nothing() {
    let desk = Desk::new();
    for sandbox in [
        "{filesystem: {write: [missing]}}",
        "{filesystem: {read: [missing]}}",
        "{filesystem: {write: [.escrow]}}",
    ] {
        let check =
            confined(&desk, &["sandbox.limits"], sandbox, "touch started").expect("every machine has limits");
        assert_eq!(check["status"], "failed", "{check}");
        assert_eq!(check["issues"][0]["rule_id"], "command/sandbox", "{check}");
        assert!(!desk.path().join("started").exists());
    }
}

#[test]
fn a_playbook_confines_all_its_commands_and_a_check_can_say_otherwise() {
    let desk = Desk::new();
    let (_, document) = desk.run(
        "version: '1.0'
sandbox: {limits: {files: 64}}
checks:
  inherits: {type: command, exec: ulimit -n}
  own: {type: command, exec: ulimit -n, sandbox: {limits: {files: 32}}}
  quiet: {type: log, message: not a command}
",
    );
    assert_eq!(document["checks"]["inherits"]["output"], 64);
    assert_eq!(document["checks"]["own"]["output"], 32);
    assert_eq!(document["checks"]["quiet"]["status"], "succeeded");
}

#[test]
fn a_malformed_sandbox_is_refused_with_its_line() {
    let desk = Desk::new();
    for (sandbox, expected) in [
        ("{network: off}", "`network`"),
        ("{limits: {memory: lots}}", "`memory` must be a size"),
        ("{filesytem: {}}", "filesystem"),
        ("none", "`sandbox` must be a map"),
    ] {
        desk.write(
            "p.yaml",
            &format!("checks:\n  it:\n    type: command\n    exec: 'true'\n    sandbox: {sandbox}\n"),
        );
        let done = desk.escrow(&["check", "p.yaml"]);
        assert_eq!(done.code, Some(2), "{sandbox}");
        assert!(
            done.stderr.contains(expected) && done.stderr.contains("p.yaml:5"),
            "{sandbox}: {}",
            done.stderr
        );
    }
    desk.write("p.yaml", "checks:\n  it:\n    type: log\n    message: hello\n    sandbox: {network: none}\n");
    assert_eq!(desk.escrow(&["check", "p.yaml"]).code, Some(2), "only what starts programs can be confined");
}

/// The shell of the check outlives its own signal; the process outside must, too.
#[test]
fn a_confined_command_cannot_signal_processes_outside() {
    let desk = Desk::new();
    let mut outside = std::process::Command::new("sleep").arg("60").spawn().expect("a process");
    // Whether the kernel keeps signals apart is told by its version: Linux 6.12.
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("a version");
    let mut numbers = release.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    for sandbox in ["{limits: {files: 64}}", "{filesystem: {write: []}}"] {
        let script = format!("kill -9 {} 2> /dev/null && echo BROKEN || echo kept", outside.id());
        let Some(check) = confined(&desk, &["sandbox.filesystem"], sandbox, &script) else { continue };
        if version >= (6, 12) {
            assert_eq!(check["output"], "kept", "{sandbox}");
            assert!(outside.try_wait().expect("a status").is_none(), "{sandbox}: it was ended");
        }
    }
    let _ = outside.kill();
    outside.wait().expect("it is gone");
}

#[test]
fn limits_and_priorities_of_processes_outside_cannot_be_changed() {
    let desk = Desk::new();
    let script = "\
        prlimit --pid $PPID --cpu=1:1 --fsize=10:10 > /dev/null 2>&1 && echo BROKEN prlimit
        renice -n 19 -p $PPID > /dev/null 2>&1 && echo BROKEN renice
        renice -n 19 -u $(id -u) > /dev/null 2>&1 && echo BROKEN user
        taskset -p 1 $PPID > /dev/null 2>&1 && echo BROKEN taskset
        chrt --idle -p 0 $PPID > /dev/null 2>&1 && echo BROKEN chrt
        ionice -c 3 -p $PPID > /dev/null 2>&1 && echo BROKEN ionice
        head -c 1 /proc/$PPID/mem > /dev/null 2>&1 && echo BROKEN mem
        prlimit --nofile=100:100 sh -c 'ulimit -n'
        nice -n 3 echo own";
    for sandbox in ["{limits: {files: 1000}}", "{network: full}"] {
        let Some(check) = confined(&desk, &["sandbox.syscalls"], sandbox, script) else { return };
        assert_eq!(check["output"], "100\nown", "{sandbox}: {check}");
    }
}

#[test]
fn with_confined_files_nothing_of_other_processes_can_be_written() {
    let desk = Desk::new();
    let script = "\
        (echo 7 > /proc/$PPID/oom_score_adj) 2> /dev/null && echo BROKEN oom
        (echo 15 > /proc/$PPID/autogroup) 2> /dev/null && echo BROKEN autogroup
        echo done";
    let sandbox = "{filesystem: {write: []}}";
    let Some(check) = confined(&desk, &["sandbox.filesystem"], sandbox, script) else { return };
    assert_eq!(check["output"], "done", "{check}");
}

#[test]
fn no_confined_command_can_make_files_immutable() {
    let desk = Desk::new();
    let script = "\
        held=$(sed -n 's/^CapEff:[^0-9a-f]*//p' /proc/self/status)
        echo $((0x$held & 0x200))";
    let Some(check) = confined(&desk, &["sandbox.syscalls"], "{limits: {files: 1000}}", script) else {
        return;
    };
    assert_eq!(check["output"].to_string(), "0", "{check}");
}

#[test]
fn without_a_network_other_families_of_sockets_are_missing() {
    let desk = Desk::new();
    let script = "perl -e 'for (38, 40, 17) { socket(my $s, $_, 5, 0) and print qq(BROKEN $_ ) } \
                  socket(my $s, 1, 1, 0) and print q(unix)'";
    for network in ["none", "loopback"] {
        let sandbox = format!("{{network: {network}}}");
        let needs = ["sandbox.network", "sandbox.syscalls"];
        let Some(check) = confined(&desk, &needs, &sandbox, script) else { return };
        assert_eq!(check["output"], "unix", "{network}: {check}");
    }
}

/// For other users the kernel refuses it anyway.
#[test]
fn root_in_a_sandbox_cannot_read_the_environment_of_escrow() {
    if !rustix::process::getuid().is_root() {
        println!("not root: nothing to show");
        return;
    }
    let desk = Desk::new();
    let script = "\
        (cat /proc/$PPID/environ > /dev/null) 2> /dev/null && echo BROKEN environ
        ls -l /proc/$PPID/fd > /dev/null 2>&1 && echo BROKEN fd
        mknod device c 1 3 2> /dev/null && echo BROKEN mknod
        held=$(sed -n 's/^CapEff:[^0-9a-f]*//p; s/^CapBnd:[^0-9a-f]*//p' /proc/self/status)
        for set in $held; do echo $((0x$set >> 19 & 1)) $((0x$set >> 21 & 1)) $((0x$set >> 5 & 1)); done";
    for sandbox in ["{filesystem: {write: [.]}}", "{limits: {files: 1000}}", "{network: none}"] {
        let needs = ["sandbox.filesystem", "sandbox.network", "sandbox.syscalls"];
        let Some(check) = confined(&desk, &needs, sandbox, script) else { return };
        assert_eq!(check["output"], "0 0 0\n0 0 0", "{sandbox}: {check}");
    }
}

#[test]
fn a_confined_command_cannot_decide_from_a_namespace_of_its_own() {
    for sandbox in ["{limits: {files: 1024}}", "{network: loopback}", "{filesystem: {write: ['.']}}"] {
        let desk = Desk::new();
        let asks = "version: '1.0'\nchecks:\n  ask:\n    type: command\n    exec: echo asked\n    requires_approval: true\n";
        let (code, asking) = desk.run(asks);
        assert_eq!(code, Some(4));
        let asking = asking["run"]["id"].as_str().expect("an id").to_owned();
        let approvals = desk.escrow(&["approvals", "--output", "json"]).json();
        let id = approvals["approvals"][0]["id"].as_str().expect("an approval").to_owned();
        let script = indented(&format!(
            "for escape in 'unshare -Upf --mount-proc' 'unshare -Urpf --mount-proc' 'unshare -Um' ''; do
               $escape env -i PATH=\"$PATH\" {} --state .escrow approve {id} --no-run
             done
             true",
            env!("CARGO_BIN_EXE_escrow")
        ));
        desk.write(
            "confined.yaml",
            &format!(
                "version: '1.0'\nchecks:\n  it:\n    type: command\n    sandbox: {sandbox}\n    exec: |\n{script}"
            ),
        );
        desk.escrow(&["run", "confined.yaml"]);
        let resumed = desk.escrow(&["resume", &asking]);
        assert_eq!(resumed.code, Some(4), "{sandbox}: it still waits: {}", resumed.stderr);
    }
}

/// The filter of a sandbox is inherited and cannot be removed, so it marks a process that has lost its environment and its parents.
#[test]
fn an_orphan_of_a_confined_command_with_an_empty_environment_cannot_decide() {
    for sandbox in ["{limits: {files: 1024}}", "{network: none}", "{network: full}"] {
        let desk = Desk::new();
        let asks = "version: '1.0'\nchecks:\n  ask:\n    type: command\n    exec: echo asked\n    requires_approval: true\n";
        let (code, asking) = desk.run(asks);
        assert_eq!(code, Some(4));
        let run = asking["run"]["id"].as_str().expect("an id").to_owned();
        let approvals = desk.escrow(&["approvals", "--output", "json"]).json();
        let id = approvals["approvals"][0]["id"].as_str().expect("an approval").to_owned();
        let verbs = [
            format!("approve {id} --no-run"),
            format!("deny {id}"),
            format!("resume {run} --assume ask=done"),
            format!("runs override {run} --status completed --by boss --why so"),
            format!("cancel {run}"),
            "effects resolve key done --by boss --why so".to_owned(),
        ];
        let orphans: Vec<String> = verbs
            .iter()
            .enumerate()
            .map(|(number, verb)| {
                format!(
                    "(env -i setsid sh -c '{} --state .escrow {verb} > said{number} 2>&1; echo $? > code{number}' &)",
                    env!("CARGO_BIN_EXE_escrow")
                )
            })
            .collect();
        let waits = "for try in $(seq 100); do ls code0 code1 code2 code3 code4 code5 > /dev/null 2>&1 && exit 0; sleep 0.1; done";
        let script = format!("{}\n{waits}", orphans.join("\n"));
        let Some(check) = confined(&desk, &["sandbox.network", "sandbox.syscalls"], sandbox, &script) else {
            return;
        };
        assert_eq!(check["status"], "succeeded", "{sandbox}: {check}");
        for (number, verb) in verbs.iter().enumerate() {
            let said = desk.read(&format!("said{number}"));
            assert_eq!(desk.read(&format!("code{number}")).trim(), "4", "{sandbox}: {verb}: {said}");
            assert!(
                said.contains("inside the sandbox of a check cannot decide"),
                "{sandbox}: {verb}: {said}"
            );
        }
        assert_eq!(desk.escrow(&["resume", &run]).code, Some(4), "{sandbox}: it still waits");
    }
}
