//! Commands that change the world only with certain options or operands: `curl -X POST`, `gh api -f`, `docker build --push`.

use super::subcommands;

/// A word of a command; one that is known only at run time is `None`.
type Words<'w> = &'w [Option<&'w str>];

/// How the page about commands describes them.
#[cfg(test)]
pub(super) const BY_OPTIONS: &[(&str, &str)] = &[
    (
        "curl",
        "with `-X` or `--request` and a method other than `GET` and `HEAD`, or with `-d`, `--data…` or `--json` (unless `-G`), `-F`, `--form`, `-T`, `--upload-file`, `-Q`, `--quote` or `--mail-…`",
    ),
    (
        "wget",
        "with `--post-data`, `--post-file`, `--body-data`, `--body-file`, or `--method` other than `GET` and `HEAD`",
    ),
    (
        "http",
        "also `https`, `xh` and `xhs`: with a method other than `GET`, `HEAD` and `OPTIONS`, or without one and with data (`a=1`, `a:=1`, `a@file`, `--raw`)",
    ),
    (
        "gh",
        "`api` with `-X` or `--method` other than `GET`, or with `-f`, `-F`, `--field`, `--raw-field` or `--input`",
    ),
    (
        "docker",
        "also `podman`: `build`, `buildx build` or `buildx bake` with `--push`, `push=true` or `type=registry`",
    ),
    ("rsync", "with a remote side (`host:path`, `rsync://`)"),
];

pub(super) fn changes_by_options(program: &str, words: Words<'_>) -> bool {
    match program {
        "curl" => words.split(|word| matches!(word, Some("--next" | "-:"))).any(curl),
        "wget" => wget(words),
        "http" | "https" | "xh" | "xhs" => httpie(words),
        "gh" => subcommands(&["api"], words).is_some() && gh_api(words),
        "docker" | "podman" => {
            let builds = [&["build"][..], &["buildx", "build"], &["buildx", "bake"], &["image", "build"]];
            let pushes = |word: &&str| {
                matches!(*word, "--push" | "--push=true")
                    || word.contains("push=true")
                    || word.contains("type=registry")
            };
            builds.iter().any(|form| subcommands(form, words).is_some()) && words.iter().flatten().any(pushes)
        }
        "rsync" => words.iter().flatten().any(|word| {
            !word.starts_with('-')
                && (word.starts_with("rsync://")
                    || word.split_once(':').is_some_and(|(host, _)| !host.is_empty() && !host.contains('/')))
        }),
        _ => false,
    }
}

/// The value of an option, as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OptionValue<'w> {
    Known(&'w str),
    /// Known only at run time.
    Unknown,
}

/// An option with its value, if it has one. Short options come one by one: `-sX POST` is `-s` and `-X POST`.
struct GivenOption<'w> {
    name: &'w str,
    value: Option<OptionValue<'w>>,
}

/// The options among the words. `shorts` are the short options with a value, `longs` the long ones.
fn options<'w>(words: Words<'w>, shorts: &str, longs: &[&str]) -> Vec<GivenOption<'w>> {
    let mut found = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let Some(word) = *word else { continue };
        let mut next = || rest.next().map(|word| word.map_or(OptionValue::Unknown, OptionValue::Known));
        if word.starts_with("--") {
            let given = match word.split_once('=') {
                Some((name, value)) => GivenOption { name, value: Some(OptionValue::Known(value)) },
                None if longs.iter().any(|long| word.starts_with(long)) => {
                    GivenOption { name: word, value: next() }
                }
                None => GivenOption { name: word, value: None },
            };
            found.push(given);
            continue;
        }
        let Some(cluster) = word.strip_prefix('-') else { continue };
        for (at, letter) in cluster.char_indices() {
            let end = at + letter.len_utf8();
            let name = &cluster[at..end];
            if !shorts.contains(letter) {
                found.push(GivenOption { name, value: None });
                continue;
            }
            let joined = &cluster[end..];
            let value = if joined.is_empty() {
                next()
            } else {
                Some(OptionValue::Known(joined.trim_start_matches('=')))
            };
            found.push(GivenOption { name, value });
            break;
        }
    }
    found
}

/// The value of the last of these options.
fn last<'w>(options: &[GivenOption<'w>], names: &[&str]) -> Option<OptionValue<'w>> {
    options
        .iter()
        .rev()
        .find(|given| names.contains(&given.name))
        .map(|given| given.value.unwrap_or(OptionValue::Unknown))
}

/// Whether a method changes something. One that is known only at run time may.
fn changes(method: OptionValue<'_>) -> bool {
    match method {
        OptionValue::Known(method) => !matches!(method.to_ascii_uppercase().as_str(), "GET" | "HEAD"),
        OptionValue::Unknown => true,
    }
}

/// One request of curl.
fn curl(words: Words<'_>) -> bool {
    const SHORTS: &str = "AbcCdDeEFHhKmoPQrtTuUwxXyYz";
    const LONGS: &[&str] = &[
        "--cacert",
        "--cert",
        "--config",
        "--connect-timeout",
        "--cookie",
        "--data",
        "--form",
        "--header",
        "--json",
        "--key",
        "--mail-",
        "--max-",
        "--output",
        "--proxy",
        "--quote",
        "--referer",
        "--request",
        "--resolve",
        "--retry",
        "--upload-file",
        "--url",
        "--user",
        "--write-out",
    ];
    let options = options(words, SHORTS, LONGS);
    let has = |names: &[&str], begins: &[&str]| {
        options.iter().any(|given| {
            names.contains(&given.name) || begins.iter().any(|beginning| given.name.starts_with(beginning))
        })
    };
    let uploads = has(&["F", "Q", "T"], &["--form", "--mail-", "--quote", "--upload-file"]);
    let sends = has(&["d"], &["--data", "--json"]) && !has(&["G"], &["--get"]);
    match last(&options, &["X", "--request"]) {
        Some(method) => changes(method),
        None => uploads || sends,
    }
}

fn wget(words: Words<'_>) -> bool {
    let options = options(words, "aBDeiIlooOPQRtTUwX", &["--body-", "--method", "--post-"]);
    options.iter().any(|given| given.name.starts_with("--post-") || given.name.starts_with("--body-"))
        || last(&options, &["--method"]).is_some_and(changes)
}

fn gh_api(words: Words<'_>) -> bool {
    const LONGS: &[&str] = &[
        "--cache",
        "--field",
        "--header",
        "--hostname",
        "--input",
        "--jq",
        "--method",
        "--preview",
        "--raw-field",
        "--template",
    ];
    let options = options(words, "fFHpqtX", LONGS);
    match last(&options, &["X", "--method"]) {
        Some(method) => changes(method),
        None => options
            .iter()
            .any(|given| matches!(given.name, "f" | "F" | "--field" | "--raw-field" | "--input")),
    }
}

/// HTTPie and xh: `[METHOD] URL [ITEM…]`. Without a method, data makes a `POST`.
fn httpie(words: Words<'_>) -> bool {
    let is_word = |word: &&Option<&str>| word.is_none_or(|word| !word.starts_with('-'));
    let operands: Vec<Option<&str>> = words.iter().filter(is_word).copied().collect();
    let is_argument = |at: usize| {
        let before = at.checked_sub(1).and_then(|before| words[before]);
        before.is_some_and(|before| HTTPIE_VALUES.contains(&before))
    };
    let is_method = |word: &str| word.len() >= 3 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    let reads =
        |word: &str| matches!(word.to_ascii_uppercase().as_str(), "GET" | "HEAD" | "OPTIONS" | "TRACE");
    // An operand before it may be the argument of an option.
    const CHANGING: &[&str] = &["DELETE", "PATCH", "POST", "PUT"];
    if operands.iter().flatten().any(|word| CHANGING.contains(word)) {
        return true;
    }
    if let [Some(method), _, ..] = operands[..]
        && is_method(method)
    {
        return !reads(method) && method != "localhost";
    }
    let is_raw = |word: &&str| *word == "--raw" || word.starts_with("--raw=");
    let has_method = operands.iter().flatten().any(|word| is_method(word) && reads(word));
    // A word that is known only at run time, before the address, may be a method.
    let mut candidates = (0..words.len()).filter(|at| is_word(&&words[*at]) && !is_argument(*at));
    let first = candidates.next().map(|at| words[at]);
    let second = candidates.next().map(|at| words[at]);
    if let (Some(None), Some(second), false) = (first, second, has_method)
        && second.is_none_or(|word| !is_item(word))
    {
        return true;
    }
    !has_method
        && (words.iter().flatten().any(is_raw) || operands.iter().skip(1).flatten().any(|word| is_data(word)))
}

/// Options of HTTPie and xh with a value.
const HTTPIE_VALUES: &[&str] = &[
    "--auth",
    "--auth-type",
    "--cert",
    "--cert-key",
    "--format-options",
    "--max-redirects",
    "--output",
    "--pretty",
    "--print",
    "--proxy",
    "--session",
    "--session-read-only",
    "--style",
    "--timeout",
    "--verify",
    "-A",
    "-a",
    "-o",
    "-p",
    "-s",
];

/// Whether a word is an item of a request (`a=1`, `a==1`, `Name:value`) and no address.
fn is_item(word: &str) -> bool {
    let Some(at) = word.find(['=', ':', '@', '/']).filter(|at| *at > 0) else { return false };
    let (name, rest) = word.split_at(at);
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    let is_port = rest.strip_prefix(':').is_some_and(|port| port.starts_with(|c: char| c.is_ascii_digit()));
    is_name && !rest.starts_with('/') && !rest.starts_with("://") && !is_port
}

/// Whether an item of a request is data, and no header (`a:b`) and no query (`a==b`).
fn is_data(item: &str) -> bool {
    let Some(at) = item.find(['=', ':', '@']) else { return false };
    let separator = &item[at..];
    separator.starts_with(":=")
        || separator.starts_with('@')
        || separator.starts_with('=') && !separator.starts_with("==")
}
