//! Alone in its binary, because it counts what the whole process has open.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue should stop")]

mod support;

use support::{Room, block_on, zombies};

#[test]
fn no_descriptor_and_no_zombie_is_left_however_a_command_ends() {
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    block_on(async {
        // What is delivered once stays open.
        Room::shell("setsid -f sleep 300; true").perform().await;
        let before = open();
        for script in [
            "echo out; echo err >&2",
            "exit 3",
            "kill -9 $$",
            "sleep 300",
            "setsid -f sleep 300; echo done",
            "setsid -f true; setsid -f sleep 300 >/dev/null 2>&1; sleep 300",
        ] {
            for _ in 0..5 {
                let mut room = Room::shell(script);
                room.request.timeout_ms = 150;
                room.perform().await;
                Room::argv(&["/no/such/program"]).perform().await;
            }
            assert_eq!(open(), before, "{script}");
            assert_eq!(zombies(), 0, "{script}");
        }
    });
}
