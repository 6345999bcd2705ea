//! Why a process ended the way it did: exit codes, HTTP statuses and messages, as errors.

use crate::stream::plain;
use crate::{ErrorKind, Exit, HarnessError};

const MESSAGE_BYTES_MAX: usize = 4096;

pub(crate) fn error(kind: ErrorKind, message: &str) -> HarnessError {
    HarnessError { kind, message: plain(message, MESSAGE_BYTES_MAX) }
}

/// The kind of error behind an HTTP status.
pub(crate) fn kind_of_status(status: u64) -> ErrorKind {
    match status {
        401 | 403 => ErrorKind::Auth,
        429 => ErrorKind::RateLimit,
        _ => ErrorKind::Api,
    }
}

/// The HTTP status that follows a word in a message: `status 401`, `status: 429`.
pub(crate) fn status_after(message: &str, word: &str) -> Option<u64> {
    message.match_indices(word).find_map(|(start, _)| {
        let rest = message[start + word.len()..].trim_start_matches([':', ' ', '"']);
        let digits = rest.get(..3).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
        let is_longer = rest.as_bytes().get(3).is_some_and(u8::is_ascii_digit);
        digits.parse().ok().filter(|status| !is_longer && (400..600).contains(status))
    })
}

/// A clean terminal line is not the last word: the program may have crashed or been killed after it.
pub(crate) fn after_clean_terminal_line(exit: Exit) -> Option<HarnessError> {
    match exit {
        Exit::Code(0) => None,
        Exit::Code(code) if is_kill(code) => {
            Some(error(ErrorKind::Killed, &format!("killed after its answer: exit code {code}")))
        }
        Exit::Code(code) => Some(error(ErrorKind::Other, &format!("exit code {code} after its answer"))),
        Exit::Signal(signal) => {
            Some(error(ErrorKind::Killed, &format!("killed after its answer: signal {signal}")))
        }
        Exit::TimedOut => Some(error(ErrorKind::Killed, "still running at its deadline, after its answer")),
    }
}

/// The error of a process whose terminal line is missing. `usage_markers` are what the program prints to standard error
/// when it rejects its command line.
pub(crate) fn without_terminal_line(
    exit: Exit,
    stderr: &str,
    anything_read: bool,
    usage_markers: &[&str],
) -> HarnessError {
    match exit {
        Exit::TimedOut => error(ErrorKind::Killed, "still running at its deadline, without an answer"),
        Exit::Signal(signal) => {
            error(ErrorKind::Killed, &format!("killed by signal {signal}, without an answer"))
        }
        Exit::Code(code) if is_kill(code) => {
            error(ErrorKind::Killed, &format!("killed, without an answer: exit code {code}"))
        }
        Exit::Code(0) => error(ErrorKind::Truncated, "exit code 0, but the output has no terminal line"),
        Exit::Code(code) => {
            let lines = || stderr.lines().filter(|line| !line.trim().is_empty());
            let complaint = lines().find(|line| usage_markers.iter().any(|marker| line.contains(marker)));
            match complaint {
                Some(complaint) if !anything_read => error(ErrorKind::Usage, complaint),
                Some(_) | None => {
                    let kind = if anything_read { ErrorKind::Truncated } else { ErrorKind::Other };
                    let last = lines().next_back().unwrap_or("nothing on standard error");
                    error(kind, &format!("exit code {code} without a terminal line: {last}"))
                }
            }
        }
    }
}

/// The exit codes with which programs report the signals INT, KILL and TERM.
fn is_kill(code: i32) -> bool {
    matches!(code, 130 | 137 | 143)
}

#[cfg(test)]
mod tests {
    use super::status_after;

    #[test]
    fn a_status_is_read_after_its_word_only() {
        assert_eq!(status_after("unexpected status 401 Unauthorized", "status"), Some(401));
        assert_eq!(status_after("last status: 429 Too Many Requests", "status"), Some(429));
        assert_eq!(status_after(r#"{"error":{"code":500}}"#, "\"code\""), Some(500));
        assert_eq!(status_after("status of 401", "status"), None);
        assert_eq!(status_after("status 4012", "status"), None);
        assert_eq!(status_after("status é12", "status"), None);
        assert_eq!(status_after("no status; status 503", "status"), Some(503));
    }
}
