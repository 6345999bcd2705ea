//! Durations and sizes as people write them, and choices as a shell reads them.

use escrow_app::words::shell_word;
pub(crate) use escrow_app::words::{bytes_words, count, duration_words, message, printable, visible};

/// `500ms`, `30s`, `10m`, `2h`, `7d`, or several of them: `1h30m`, as playbooks have it. A bare number is
/// milliseconds.
pub(crate) fn parse_duration(text: &str) -> Option<u64> {
    escrow_playbook::parse_duration(text).ok()
}

/// `500`, `64K`, `500M`, `2G`: powers of 1024, whole numbers.
pub(crate) fn parse_bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    let unit = match text[digits..].trim().to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "K" | "KB" | "KIB" => 1 << 10,
        "M" | "MB" | "MIB" => 1 << 20,
        "G" | "GB" | "GIB" => 1 << 30,
        "T" | "TB" | "TIB" => 1 << 40,
        _ => return None,
    };
    number.checked_mul(unit)
}

/// `yes | no`, each quoted for a shell.
pub(crate) fn choices(choices: &[String]) -> String {
    choices.iter().map(|one| choice(one)).collect::<Vec<_>>().join(" | ")
}

/// A choice as an argument for a shell.
pub(crate) fn choice(choice: &str) -> String {
    shell_word(&printable(choice))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_said() {
        for (text, bytes) in [("500", 500), ("64K", 65_536), ("2G", 2_147_483_648), ("10 mb", 10_485_760)] {
            assert_eq!(parse_bytes(text), Some(bytes), "{text}");
        }
        for text in ["", "G", "1.5M", "-1", "99999999999999T"] {
            assert_eq!(parse_bytes(text), None, "{text}");
        }
        let said: Vec<String> = [1, 812, 4_096, 1_300_000_000].map(bytes_words).to_vec();
        assert_eq!(said, ["1 byte", "812 bytes", "4.0 KB", "1.2 GB"]);
    }

    #[test]
    fn durations_are_understood_as_they_are_written() {
        for (text, ms) in
            [("1500", 1500), ("500ms", 500), ("30s", 30_000), ("1h30m", 5_400_000), ("7d", 604_800_000)]
        {
            assert_eq!(parse_duration(text), Some(ms), "{text}");
        }
        for text in ["", "10 parsecs", "s", "-5s", "1.5h", "99999999999999999999h"] {
            assert!(parse_duration(text).is_none_or(|ms| text.is_empty() && ms == 0), "{text}");
        }
    }
}
