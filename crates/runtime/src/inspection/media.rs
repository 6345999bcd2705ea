//! Tells the type of a file by what is in it, and by its name where content alone cannot tell.

/// As much as the beginning has to hold for every mark in the table.
pub(super) const HEAD_BYTES: u64 = 64 * 1024;

/// The type of the file. A file can be of several types (JSON is text too): if the wanted one is among them,
/// that is the answer, else the most telling one.
pub(super) fn type_of(path: &str, head: &[u8], is_whole: bool, wanted: &str) -> String {
    let essence = wanted.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let types = types_of(path, head, is_whole);
    if types.contains(&essence.as_str()) {
        return wanted.to_owned();
    }
    if essence == "application/json" && !is_whole && types.contains(&"text/plain") {
        return "text that is too long to be parsed".to_owned();
    }
    types.first().copied().unwrap_or("application/octet-stream").to_owned()
}

fn types_of(path: &str, head: &[u8], is_whole: bool) -> Vec<&'static str> {
    let mut types = Vec::new();
    if let Some((_, _, by_mark)) = MARKS.iter().find(|(at, mark, _)| has_mark(head, *at, mark)) {
        // Documents and packages that are a ZIP inside are told by their names.
        types.extend(by_name(path, ZIPPED).filter(|_| *by_mark == "application/zip"));
        types.push(*by_mark);
        return types;
    }
    if is_text(head, is_whole) {
        let is_json = is_whole && serde_json::from_slice::<serde::de::IgnoredAny>(head).is_ok();
        if is_json {
            types.push("application/json");
        }
        // Who calls a file `x.json` without writing JSON has not delivered JSON.
        types.extend(by_name(path, NAMED_TEXTS));
        types.push("text/plain");
    }
    types
}

const MARKS: &[(usize, &[u8], &str)] = &[
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (8, b"WAVE", "audio/wav"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"PK\x03\x04", "application/zip"),
    (0, b"PK\x05\x06", "application/zip"),
    (0, b"\x1f\x8b", "application/gzip"),
    (0, b"\x28\xb5\x2f\xfd", "application/zstd"),
    (0, b"\xfd7zXZ\0", "application/x-xz"),
    (0, b"BZh", "application/x-bzip2"),
    (0, b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (257, b"ustar", "application/x-tar"),
    (0, b"\x7fELF", "application/x-executable"),
    (0, b"SQLite format 3\0", "application/vnd.sqlite3"),
    (0, b"\0asm", "application/wasm"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"OggS", "application/ogg"),
    (4, b"ftyp", "video/mp4"),
];

const ZIPPED: &[(&str, &str)] = &[
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    ("epub", "application/epub+zip"),
    ("jar", "application/java-archive"),
];

const NAMED_TEXTS: &[(&str, &str)] = &[
    ("md", "text/markdown"),
    ("markdown", "text/markdown"),
    ("html", "text/html"),
    ("htm", "text/html"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("js", "text/javascript"),
    ("xml", "application/xml"),
    ("svg", "image/svg+xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("toml", "application/toml"),
    ("jsonl", "application/jsonl"),
    ("ndjson", "application/x-ndjson"),
    ("sarif", "application/sarif+json"),
    ("diff", "text/x-diff"),
    ("patch", "text/x-diff"),
];

fn has_mark(head: &[u8], at: usize, mark: &[u8]) -> bool {
    head.get(at..at + mark.len()) == Some(mark)
}

fn by_name(path: &str, table: &'static [(&str, &str)]) -> impl Iterator<Item = &'static str> {
    let extension = path.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map(|(_, end)| end);
    let extension = extension.unwrap_or_default().to_ascii_lowercase();
    table.iter().filter(move |(end, _)| *end == extension).map(|(_, name)| *name)
}

fn is_text(head: &[u8], is_whole: bool) -> bool {
    let valid = match std::str::from_utf8(head) {
        Ok(text) => text,
        // The beginning may end in the middle of a character.
        Err(error) if !is_whole && error.error_len().is_none() => {
            std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    !valid
        .chars()
        .any(|character| character.is_control() && !matches!(character, '\n' | '\r' | '\t' | '\x0c' | '\x1b'))
}

#[cfg(test)]
mod tests {
    use super::type_of;

    #[test]
    fn types_are_told_by_content_and_by_name_only_for_text() {
        for (path, content, wanted, told) in [
            ("a.md", &b"# Title"[..], "text/markdown", "text/markdown"),
            ("a.md", b"# Title", "text/plain", "text/plain"),
            ("a.md", b"# Title", "text/plain; charset=utf-8", "text/plain; charset=utf-8"),
            ("a.txt", b"# Title", "text/markdown", "text/plain"),
            ("a.md", b"\x89PNG\r\n\x1a\n...", "text/markdown", "image/png"),
            ("a.png", b"not a picture", "image/png", "text/plain"),
            ("a.json", b"{\"a\": 1}\n", "application/json", "application/json"),
            ("a.json", b"{\"a\": 1", "application/json", "text/plain"),
            ("a.txt", b"{\"a\": 1}", "application/json", "application/json"),
            ("a.pdf", b"%PDF-1.7", "application/pdf", "application/pdf"),
            ("a.gz", b"\x1f\x8b\x08", "application/gzip", "application/gzip"),
            ("a.zip", b"PK\x03\x04..", "application/zip", "application/zip"),
            ("a.jar", b"PK\x03\x04..", "application/java-archive", "application/java-archive"),
            ("a.bin", b"\0\x01\x02", "text/plain", "application/octet-stream"),
            ("a.txt", b"a\xffb", "text/plain", "application/octet-stream"),
            ("a.CSV", b"a,b", "text/csv", "text/csv"),
        ] {
            assert_eq!(type_of(path, content, true, wanted), told, "{path} as {wanted}");
        }
    }

    #[test]
    fn of_a_beginning_nobody_knows_whether_it_is_json() {
        let told = type_of("a.json", b"[1, 2, ", false, "application/json");
        assert_eq!(told, "text that is too long to be parsed");
        assert_eq!(type_of("a.json", b"\x1f\x8b", false, "application/json"), "application/gzip");
    }

    #[test]
    fn a_beginning_that_tears_a_character_is_still_text() {
        assert_eq!(type_of("a.txt", b"ab\xe2\x82", false, "text/plain"), "text/plain");
        assert_eq!(type_of("a.txt", b"ab\xe2\x82", true, "text/plain"), "application/octet-stream");
    }
}
