use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use super::encodings::{STANDARD, base64_of};
use super::fuzzed::through;
use super::{Redactor, Search, Stream};

fn redactor(values: &[&str]) -> Arc<Redactor> {
    Arc::new(Redactor::of(values.iter().map(|value| value.as_bytes())))
}

fn whole(redactor: &Arc<Redactor>, text: &str) -> String {
    String::from_utf8(through(redactor, [text.as_bytes()])).unwrap()
}

#[test]
fn two_writers_of_json_may_escape_differently() {
    let redactor = redactor(&["grün\"wald77"]);
    for text in [
        r#"grün"wald77"#,
        r#"grün\"wald77"#,
        r#"gr\u00fcn\"wald77"#,
        r#"grün\\\"wald77"#,
        r#"gr\u00fcn\\\"wald77"#,
        r#"gr\u00FCn\\\"wald77"#,
        r#"gr\\u00fcn\\\"wald77"#,
    ] {
        assert_eq!(whole(&redactor, text), "***", "{text}");
    }
}

#[test]
fn base64_may_be_broken_by_escapes() {
    for value in ["correct horse battery staple", "hunter2-and-more-of-it-so-that-it-is-long"] {
        let redactor = redactor(&[value]);
        let encoded = base64_of_value(value);
        for line_break in [r"\n", r"\r\n", r"\\n", r"\\r\\n"] {
            for width in [1, 7, 19, 40] {
                let lines: Vec<&str> = (0..encoded.len())
                    .step_by(width)
                    .map(|at| &encoded[at..encoded.len().min(at + width)])
                    .collect();
                let text = format!(r#"{{"content": "{}"}}"#, lines.join(line_break));
                let shown = whole(&redactor, &text);
                assert!(shown.starts_with(r#"{"content": "***"#) && shown.len() < 24, "{text}\n{shown}");
            }
        }
        // A backslash before the text is no part of it.
        assert_eq!(whole(&redactor, &format!(r"ab\{encoded}")), r"ab\***");
        assert_eq!(
            whole(&redactor, &format!(r"{}\{encoded}", &encoded[..5])),
            format!(r"{}\***", &encoded[..5])
        );
    }
    // Breaks without end hold nothing back.
    let redactor = redactor(&["hunter2-and-more"]);
    let text = format!("{}{}", &base64_of_value("hunter2-and-more")[..8], r"\n".repeat(1000));
    let mut stream = Stream::new(Arc::clone(&redactor));
    let mut out = Vec::new();
    stream.push(text.as_bytes(), &mut out);
    assert!(out.len() > text.len() - 32, "{} of {}", out.len(), text.len());
}

fn base64_of_value(value: &str) -> String {
    let encoded = String::from_utf8(base64_of(value.as_bytes(), STANDARD)).unwrap();
    encoded + ["", "==", "="][value.len() % 3]
}

#[test]
fn references_of_html_may_have_zeros_in_front() {
    let redactor = redactor(&["grün\"wald77"]);
    let numbered = |write: fn(u32) -> String| "grün\"wald77".chars().map(|one| write(one.into())).collect();
    let texts: [String; 8] = [
        numbered(|code| format!("&#{code};")),
        numbered(|code| format!("&#{code:03};")),
        numbered(|code| format!("&#{code:04};")),
        numbered(|code| format!("&#{code:05};")),
        numbered(|code| format!("&#x{code:04x};")),
        numbered(|code| format!("&#x{code:06X};")),
        "gr&#252;n&quot;wald77".to_owned(),
        "gr&#xFC;n\"wald77".to_owned(),
    ];
    for text in texts {
        assert_eq!(whole(&redactor, &text), "***", "{text}");
    }
}

#[test]
fn any_character_may_be_escaped() {
    let value = "a=b+c'd\"e&f<g-h~i(j ü🙂k";
    let redactor = redactor(&[value]);
    let json = |one: char| {
        let mut units = [0; 2];
        one.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04X}")).collect::<String>()
    };
    let plain_json = |one: char| if one == '"' { "\\\"".to_owned() } else { one.to_string() };
    let percent = |one: char| one.to_string().bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
    let html = |one: char| format!("&#X{:07x};", u32::from(one));
    let plain_html = |one: char| if one == '&' { "&amp;".to_owned() } else { one.to_string() };
    for subset in 0..1_u32 << value.chars().count().min(12) {
        let spelt = |escaped: &dyn Fn(char) -> String, plain: &dyn Fn(char) -> String| -> String {
            let places = value.chars().enumerate();
            places
                .map(|(place, one)| if subset >> (place % 12) & 1 == 1 { escaped(one) } else { plain(one) })
                .collect()
        };
        let once = spelt(&json, &plain_json);
        let twice = once.replace('\\', "\\\\").replace('"', "\\\"");
        let percent = spelt(&percent, &|one| one.to_string());
        for text in [once, twice, percent, spelt(&html, &plain_html)] {
            assert_eq!(whole(&redactor, &text), "***", "{text}");
        }
    }
}

#[test]
fn only_what_is_written_for_a_secret_is_taken_out() {
    let redactor = redactor(&["rate=50%", "cut&", "back\\slash\\"]);
    for (text, expected) in [
        ("rate=50% off", "*** off"),
        ("rate%3D50% off", "*** off"),
        ("rate%3d50%25 off", "*** off"),
        ("cut&paste", "***paste"),
        ("c&#117;t& paste", "*** paste"),
        ("back\\slash\\!", "***!"),
        ("back\\\\slash\\\\ n", "*** n"),
    ] {
        assert_eq!(whole(&redactor, text), expected, "{text}");
    }
}

#[test]
fn a_secret_becomes_three_stars() {
    let redactor = redactor(&["hunter2", "it's \"mine\""]);
    for (text, expected) in [
        ("", ""),
        ("nothing here", "nothing here"),
        ("hunter2", "***"),
        ("a hunter2 b hunter2", "a *** b ***"),
        ("hunter2hunter2", "******"),
        ("hunterhunter2", "hunter***"),
        ("hunter", "hunter"),
        ("68756e74657232", "***"),
        ("68756E74657232", "***"),
        ("687\n56e7\r\n4657232!", "***!"),
        ("687\n\n\n56e74657232", "***"),
        ("68 75 6e 74 65 72 32", "***"),
        ("68:75:6E:74:65:72:32", "***"),
        ("00000000: 6875 6e74 6572 32    hunter2", "00000000: ***    ***"),
        ("0000000 7568 746e 7265 0032", "0000000 *** 0032"),
        ("  0x68, 0x75, 0x6e, 0x74,\n  0x65, 0x72, 0x32", "  0x***"),
        ("\\x68\\x75\\x6e\\x74\\x65\\x72\\x32", "\\x***"),
        ("68g75 6e 74 65g72 32", "***"),
        ("\\x{68}\\x{75}\\x{6e}\\x{74}\\x{65}\\x{72}\\x{32}", "\\x{***}"),
        ("(byte)0x68, (byte)0x75, (byte)0x6e, (byte)0x74, (byte)0x65, (byte)0x72, (byte)0x32", "(byte)0x***"),
        ("68ü75ü6eü74ü65ü72ü32", "***"),
        ("\u{1b}[31m68\u{1b}[0m\u{1b}[32m75\u{1b}[0m6e 74 65 72 32", "\u{1b}[31m***"),
        ("68                    75 6e 74 65 72 32", "***"),
        ("&#X68;&#0000117;&#x00006E;&#116;er2", "***"),
        ("hunter\\u0032", "***"),
        ("\\u0068unter2", "***"),
        ("\\\\u0068unte\\\\u00722", "***"),
        ("h%75nter%32", "***"),
        ("hunter%3", "hunter%3"),
        ("hunter\\u003", "hunter\\u003"),
        ("  aHVu\n  dGVy\n\tMg==", "  ***"),
        ("&#104;&#117;&#110;&#116;&#101;&#114;&#50;", "***"),
        ("\\u0068\\u0075\\u006e\\u0074\\u0065\\u0072\\u0032", "***"),
        ("it\\'s\\ \\\"mine\\\"", "***"),
        ("declare -x A=\"it's \\\"mine\\\"\"", "declare -x A=\"***\""),
        ("<b title=\"it&#39;s &quot;mine&quot;\">", "<b title=\"***\">"),
        ("aHVudGVyMg==", "***"),
        ("aHVudGVyMgo=", "***"),
        ("aHVu\ndGVy\nMg==\n", "***\n"),
        ("%68%75%6e%74%65%72%32", "***"),
        ("it's \"mine\"", "***"),
        ("it's \\\"mine\\\"", "***"),
        ("it%27s%20%22mine%22", "***"),
        ("it's+%22mine%22", "***"),
        ("'it'\\''s \"mine\"'", "'***'"),
        ("'it'\"'\"'s \"mine\"'", "'***'"),
    ] {
        assert_eq!(whole(&redactor, text), expected, "{text:?}");
    }
}

#[test]
fn matches_that_overlap_become_one() {
    let redactor = redactor(&["abcdef", "defghi", "aaaa"]);
    assert_eq!(whole(&redactor, "-abcdefghi-"), "-***-");
    assert_eq!(whole(&redactor, "aaaaaaaaaaa"), "***");
    assert_eq!(through(&redactor, [&b"aaaaa"[..], b"aaa", b"aaaab"]), b"***b");
}

#[test]
fn nothing_is_held_back_that_cannot_become_a_secret() {
    let redactor = redactor(&["hunter2"]);
    let mut stream = Stream::new(Arc::clone(&redactor));
    let mut out = Vec::new();
    for (piece, so_far) in [
        ("building…", "building…"),
        (" hunt", "building… "),
        ("ing\n", "building… hunting\n"),
        ("hunter", "building… hunting\n"),
        ("2", "building… hunting\n***"),
    ] {
        stream.push(piece.as_bytes(), &mut out);
        assert_eq!(String::from_utf8_lossy(&out), so_far, "{piece}");
    }
}

#[test]
fn data_is_cleaned_in_all_its_places() {
    let redactor = redactor(&["hunter2", "12345678"]);
    let mut value = json!({"a": ["x hunter2", 12345678, 7], "hunter2": {"b": null}, "c": true});
    assert!(redactor.value(&mut value));
    assert_eq!(value, json!({"a": ["x ***", "***", 7], "***": {"b": null}, "c": true}));
    assert!(!redactor.value(&mut value));
}

#[test]
fn what_is_too_short_is_not_looked_for() {
    let redactor = redactor(&["abc"]);
    assert!(redactor.is_empty());
    assert_eq!(whole(&redactor, "abc"), "abc");
}

#[test]
fn a_long_secret_costs_no_more_per_byte() {
    let key = "0123456789abcdef".repeat(1500);
    let redactor = redactor(&[&key]);
    let text = key[..key.len() - 1].repeat(40);
    let out = through(&redactor, text.as_bytes().chunks(1));
    assert_eq!(out.len(), text.len());
}

/// Few messages, so that prefixes, repetitions and overlaps are common.
fn texts() -> impl Strategy<Value = Vec<u8>> {
    let messages = prop::sample::select(b"ab6162YWFi\n%\"\\".to_vec());
    prop::collection::vec(messages, 0..120)
}

fn secrets() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[ab\"]{4,7}", 1..4)
}

proptest! {
    #[test]
    fn how_the_bytes_are_cut_does_not_matter(
        text in texts(),
        values in secrets(),
        cuts in prop::collection::vec(1usize..9, 1..40),
    ) {
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        let redactor = redactor(&values);
        let mut pieces = Vec::new();
        let mut rest = text.as_slice();
        for cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, after) = rest.split_at((*cut).min(rest.len()));
            pieces.push(piece);
            rest = after;
        }
        prop_assert_eq!(through(&redactor, pieces), through(&redactor, [text.as_slice()]));
    }

    #[test]
    fn no_secret_is_left_and_the_rest_is_as_it_was(text in texts(), values in secrets()) {
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        let redactor = redactor(&values);
        let clean = through(&redactor, [text.as_slice()]);
        for value in &values {
            prop_assert!(!clean.windows(value.len()).any(|window| window == value.as_bytes()));
        }
        // What was kept stands in the text, piece by piece and in order.
        let mut from = 0;
        for kept in clean.split(|byte| *byte == b'*').filter(|kept| !kept.is_empty()) {
            let at = text[from..].windows(kept.len()).position(|window| window == kept);
            prop_assert!(at.is_some());
            from += at.unwrap_or(0) + kept.len();
        }
        let mut search = Search::new(&redactor);
        search.feed(&text);
        prop_assert_eq!(search.found(), clean != text);
    }

    #[test]
    fn bytes_without_a_secret_pass_unchanged(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let redactor = redactor(&["a-value-that-does-not-occur", "nor/does=this"]);
        prop_assert_eq!(through(&redactor, bytes.chunks(7)), bytes);
    }
}
