//! How the end of a command is told to people.

use std::time::Duration;

pub(in crate::providers) fn exit_message(code: i32, is_shell: bool) -> String {
    let meaning = match code {
        126 if is_shell => Some("a command in it is not executable".to_owned()),
        127 if is_shell => Some("a command in it was not found".to_owned()),
        // How a shell passes on that what it waited for was ended by a signal.
        129..=159 if is_shell => Some(format!("a command in it was ended by {}", signal_name(code - 128))),
        _ => None,
    };
    match meaning {
        Some(meaning) => format!("exit code {code}: {meaning}"),
        None => format!("exit code {code}"),
    }
}

pub(in crate::providers) fn signal_name(number: i32) -> String {
    let name = if cfg!(target_os = "linux") { linux_name(number) } else { shared_name(number) };
    name.map_or_else(|| format!("signal {number}"), str::to_owned)
}

fn linux_name(number: i32) -> Option<&'static str> {
    Some(match number {
        7 => "SIGBUS",
        10 => "SIGUSR1",
        12 => "SIGUSR2",
        17 => "SIGCHLD",
        18 => "SIGCONT",
        19 => "SIGSTOP",
        20 => "SIGTSTP",
        29 => "SIGIO",
        30 => "SIGPWR",
        31 => "SIGSYS",
        _ => return shared_name(number),
    })
}

/// Those that have one number everywhere.
fn shared_name(number: i32) -> Option<&'static str> {
    Some(match number {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        21 => "SIGTTIN",
        22 => "SIGTTOU",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        26 => "SIGVTALRM",
        27 => "SIGPROF",
        28 => "SIGWINCH",
        _ => return None,
    })
}

/// `250ms`, `1.5s`, `42s`, `10m 0s`, `2h 5m`.
pub(in crate::providers) fn duration(duration: Duration) -> String {
    let (seconds, millis) = (duration.as_secs(), duration.subsec_millis());
    match seconds {
        0 => format!("{millis}ms"),
        1..10 if millis >= 100 => format!("{seconds}.{}s", millis / 100),
        1..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m {}s", seconds / 60, seconds % 60),
        _ => format!("{}h {}m", seconds / 3_600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_people_say_them() {
        for (millis, text) in [
            (0, "0ms"),
            (250, "250ms"),
            (1_000, "1s"),
            (1_570, "1.5s"),
            (42_900, "42s"),
            (600_000, "10m 0s"),
            (7_500_000, "2h 5m"),
        ] {
            assert_eq!(duration(Duration::from_millis(millis)), text);
        }
    }

    #[test]
    fn exit_codes_of_a_shell_say_what_they_mean() {
        assert_eq!(exit_message(2, true), "exit code 2");
        assert_eq!(exit_message(127, true), "exit code 127: a command in it was not found");
        assert_eq!(exit_message(137, true), "exit code 137: a command in it was ended by SIGKILL");
        assert_eq!(exit_message(137, false), "exit code 137");
        assert_eq!(signal_name(64), "signal 64");
    }
}
