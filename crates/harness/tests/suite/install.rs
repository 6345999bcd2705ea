//! Installing into generated files, and removing again.

use escrow_harness::install::{HookFile, Uninstalled, hook_file, hook_files};
use proptest::prelude::*;
use serde_json::Value;

const PROGRAM: &str = "/opt/my tools/escrow";

fn file(host: &str) -> &'static HookFile {
    hook_file(host).unwrap()
}

fn json_hosts() -> impl Strategy<Value = &'static HookFile> {
    prop::sample::select(vec![file("claude"), file("gemini"), file("qwen"), file("copilot"), file("cursor")])
}

/// White space and comments, as people leave them.
fn space() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "",
        "",
        " ",
        "\n",
        "\n  ",
        "\n\t",
        " // note, [x]\n",
        " /* \"hooks\": { */ ",
        "\r\n",
    ])
    .prop_map(str::to_owned)
}

fn scalar() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["1", "-2.5e3", "true", "null", "\"a\"", "\"é \\\" , ]\"", "\"escrow hook\""])
        .prop_map(str::to_owned)
}

/// `open item, item close`, with a trailing comma now and then.
fn list(open: char, close: char, items: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let items = prop::collection::vec((space(), items, space()), 0..4);
    (items, any::<bool>(), space()).prop_map(move |(items, comma, space)| {
        let has_comma = comma && !items.is_empty();
        let items: Vec<String> = items.into_iter().map(|(a, item, b)| format!("{a}{item}{b}")).collect();
        format!("{open}{}{}{space}{close}", items.join(","), if has_comma { "," } else { "" })
    })
}

fn value() -> impl Strategy<Value = String> {
    scalar().prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            list('[', ']', inner.clone()),
            (space(), inner).prop_map(|(space, value)| format!("{{\"k\":{space}{value}}}")),
        ]
    })
}

/// A settings file: foreign keys around `hooks`, which may be absent, empty or full of foreign entries.
fn settings() -> impl Strategy<Value = String> {
    let foreign = prop_oneof![
        Just("{\"hooks\": [{\"type\": \"command\", \"command\": \"lint\"}]}".to_owned()),
        Just("{\"matcher\": \"Bash\", \"hooks\": []}".to_owned()),
        value(),
    ];
    let event = |name: &'static str, entries: BoxedStrategy<String>| {
        (space(), entries).prop_map(move |(space, entries)| format!("\"{name}\":{space}{entries}"))
    };
    let entries = || list('[', ']', foreign.clone()).boxed();
    let events = (
        prop::option::of(event("Stop", entries())),
        prop::option::of(event("sessionStart", entries())),
        prop::option::of(event("PreToolUse", entries())),
    )
        .prop_map(|(a, b, c)| [a, b, c].into_iter().flatten().collect::<Vec<_>>());
    let hooks = (events, space(), space())
        .prop_map(|(events, a, b)| format!("\"hooks\":{a}{{{b}{}{a}}}", events.join(&format!("{b},{a}"))));
    let others = (prop::option::of(value()), prop::option::of(hooks), prop::option::of(value()));
    (others, space(), space(), any::<bool>(), space()).prop_map(|((first, hooks, last), a, b, comma, end)| {
        let members: Vec<String> = [
            first.map(|value| format!("\"model\":{a}{value}")),
            hooks,
            last.map(|value| format!("\"permissions\":{value}")),
        ]
        .into_iter()
        .flatten()
        .collect();
        let comma = if comma && !members.is_empty() { "," } else { "" };
        format!("{a}{{{b}{}{comma}{b}}}{end}", members.join(&format!("{a},{b}")))
    })
}

/// The file as a program with comments and trailing commas would read it.
fn meaning(host: &HookFile, text: &str) -> Vec<String> {
    let installed = host.installed(text).unwrap();
    installed.events
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn uninstall_undoes_install_byte_for_byte(host in json_hosts(), text in settings()) {
        let installed = host.install(Some(&text), PROGRAM).unwrap();
        prop_assert_ne!(&installed, &text);
        let again = host.install(Some(&installed), PROGRAM).unwrap();
        prop_assert_eq!(&again, &installed, "a second install changes nothing");
        prop_assert!(!meaning(host, &installed).is_empty());
        prop_assert_eq!(host.uninstall(&installed).unwrap(), Uninstalled::Text(text.clone()));
        let moved = host.install(Some(&installed), "/usr/bin/escrow").unwrap();
        prop_assert_eq!(host.installed(&moved).unwrap().programs, vec!["/usr/bin/escrow".to_owned()]);
        prop_assert_eq!(host.uninstall(&moved).unwrap(), Uninstalled::Text(text));
    }

    #[test]
    fn foreign_keys_survive_in_plain_json(host in json_hosts(), foreign in value()) {
        let plain = foreign.replace(['\r', '\t'], " ");
        let text = format!("{{\"permissions\": {plain}, \"hooks\": {{\"PreToolUse\": [1]}}}}");
        let installed = host.install(Some(&text), PROGRAM).unwrap();
        let (Ok(before), Ok(after)) =
            (serde_json::from_str::<Value>(&text), serde_json::from_str::<Value>(&installed))
        else {
            return Ok(());
        };
        prop_assert_eq!(&before["permissions"], &after["permissions"]);
        prop_assert_eq!(&before["hooks"]["PreToolUse"], &after["hooks"]["PreToolUse"]);
    }

    #[test]
    fn a_toml_file_is_restored_byte_for_byte(
        lines in prop::collection::vec(prop::sample::select(vec![
            "model = \"gpt-5.5\"", "# a comment", "", "notify = [\"a\", # b\n  \"c\"]", "  spaced = 1",
        ]), 0..4),
        tables in prop::collection::vec(prop::sample::select(vec![
            "[projects.\"/a\"]\ntrust_level = \"trusted\"", "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = \"x\"", "[tui]",
        ]), 0..2),
        ending in prop::sample::select(vec!["", "\n", "\n\n", "\n# end"]),
    ) {
        let mut text = String::new();
        for line in lines.iter().chain(&tables) {
            if !text.contains(line) || line.is_empty() {
                text.push_str(line);
                text.push('\n');
            }
        }
        let text = format!("{}{ending}", text.trim_end_matches('\n'));
        let codex = file("codex");
        let Ok(installed) = codex.install(Some(&text), PROGRAM) else {
            prop_assert!(codex.installed(&text).is_err(), "{}", text);
            return Ok(());
        };
        prop_assert!(installed.starts_with(&text));
        prop_assert_eq!(&codex.install(Some(&installed), PROGRAM).unwrap(), &installed);
        prop_assert_eq!(codex.uninstall(&installed).unwrap(), Uninstalled::Text(text));
    }

    #[test]
    fn no_text_makes_an_editor_panic(text in "\\PC*", host in prop::sample::select(hook_files().collect::<Vec<_>>())) {
        let _ = host.install(Some(&text), PROGRAM);
        let _ = host.uninstall(&text);
    }
}

#[test]
fn a_file_that_install_created_is_nothing_after_uninstall() {
    for host in hook_files() {
        let created = host.install(None, PROGRAM).unwrap();
        assert_eq!(host.install(Some(&created), PROGRAM).unwrap(), created, "{}", host.host);
        assert_eq!(host.installed(&created).unwrap().programs, [PROGRAM], "{}", host.host);
        let moved = host.install(Some(&created), "/usr/bin/escrow").unwrap();
        assert_eq!(host.installed(&moved).unwrap().programs, ["/usr/bin/escrow"], "{}", host.host);
        assert_eq!(host.uninstall(&moved).unwrap(), Uninstalled::Nothing, "{}", host.host);
    }
}

#[test]
fn a_file_that_the_host_wrote_anew_loses_our_hooks_and_nothing_else() {
    let text = "{\"model\": \"opus\"}";
    let installed = file("claude").install(Some(text), PROGRAM).unwrap();
    let value: Value = serde_json::from_str(&installed).unwrap();
    let Uninstalled::Text(left) = file("claude").uninstall(&format!("{value:#}")).unwrap() else { panic!() };
    assert_eq!(serde_json::from_str::<Value>(&left).unwrap(), serde_json::from_str::<Value>(text).unwrap());
}

/// Every way in which other programs write the same document.
fn rewritten(value: &Value) -> [String; 3] {
    [format!("{value:#}"), value.to_string(), format!("{value:#}").replace("  ", "\t").replace('/', "\\/")]
}

#[test]
fn a_hook_that_another_program_added_to_our_group_stays_and_ours_goes() {
    for (host, event) in [("claude", "Stop"), ("gemini", "AfterAgent"), ("qwen", "Stop")] {
        let host = file(host);
        let before =
            serde_json::json!({"model": "opus", "hooks": {event: [{"hooks": [{"command": "lint"}]}]}});
        let installed = host.install(Some(&before.to_string()), PROGRAM).unwrap();
        let installed: Value = serde_json::from_str(&installed).unwrap();
        let foreign = serde_json::json!({"type": "command", "command": "notify-send done"});
        for position in [0, 1] {
            let mut edited = installed.clone();
            let group = edited["hooks"][event].as_array_mut().unwrap().last_mut().unwrap();
            group["hooks"].as_array_mut().unwrap().insert(position, foreign.clone());
            for text in rewritten(&edited) {
                assert!(host.installed(&text).unwrap().events.contains(&event.to_owned()));
                let moved = host.install(Some(&text), "/usr/bin/escrow").unwrap();
                assert_eq!(host.installed(&moved).unwrap().programs, ["/usr/bin/escrow"], "{text}");
                let Uninstalled::Text(left) = host.uninstall(&text).unwrap() else { panic!("{text}") };
                assert!(host.installed(&left).unwrap().events.is_empty(), "{left}");
                assert!(!left.contains("escrow"), "{left}");
                let left: Value = serde_json::from_str(&left).unwrap();
                let stop =
                    serde_json::json!([{"hooks": [{"command": "lint"}]}, {"hooks": [foreign.clone()]}]);
                assert_eq!(left["hooks"][event], stop);
            }
        }
    }
}

#[test]
fn our_entry_is_removed_as_often_as_it_is_there() {
    let host = file("claude");
    let mut value: Value = serde_json::from_str(&host.install(None, PROGRAM).unwrap()).unwrap();
    let entry = value["hooks"]["Stop"][0].clone();
    value["hooks"]["Stop"].as_array_mut().unwrap().push(entry);
    let Uninstalled::Text(left) = host.uninstall(&value.to_string()).unwrap() else { panic!() };
    assert!(!left.contains("escrow"), "{left}");
}

#[test]
fn our_entries_in_toml_are_removed_however_the_file_was_rewritten() {
    let codex = file("codex");
    let uninstalled = |text: &str| match codex.uninstall(text).unwrap() {
        Uninstalled::Text(left) => left,
        Uninstalled::Nothing => String::new(),
    };
    let installed = codex.install(Some("model = \"gpt-5.5\"\n"), PROGRAM).unwrap();

    // The comments are gone, as after a program that does not keep them.
    let bare: String = installed.split_inclusive('\n').filter(|line| !line.starts_with('#')).collect();
    assert_eq!(codex.installed(&bare).unwrap().programs, [PROGRAM]);
    assert_eq!(uninstalled(&bare), "model = \"gpt-5.5\"\n");
    assert_eq!(codex.install(Some(&bare), PROGRAM).unwrap(), installed);

    // The host has put a table of its own between the comments.
    let trust = "[projects.\"/a\"]\ntrust_level = \"trusted\"\n";
    let grown = installed.replace("# Escrow's hooks end", &format!("{trust}# Escrow's hooks end"));
    assert_eq!(uninstalled(&grown), format!("model = \"gpt-5.5\"\n{trust}"));

    // Another program has added a hook to our group.
    let foreign = "[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"notify-send done\"\n";
    let stop = installed.find("[[hooks.Stop]]").unwrap();
    let end = stop + installed[stop + 2..].find("[[hooks.S").unwrap() + 2;
    let end =
        end + installed[end + 2..].find("\n[[").or_else(|| installed[end + 2..].find("\n#")).unwrap() + 3;
    let shared = format!("{}{foreign}{}", &installed[..end], &installed[end..]);
    let left = uninstalled(&shared);
    assert!(!left.contains("escrow") && !left.contains("Escrow"), "{left}");
    assert_eq!(left, format!("model = \"gpt-5.5\"\n[[hooks.Stop]]\n{foreign}"));

    // As inline tables.
    let command = "'/opt/my tools/escrow' hook --host codex --event Stop";
    let inline = format!(
        "hooks = {{ Stop = [{{ hooks = [{{ command = \"{command}\" }}, {{ command = \"x\" }}] }}] }}\n"
    );
    assert_eq!(codex.installed(&inline).unwrap().events, ["Stop"]);
    let left = uninstalled(&inline);
    assert!(!left.contains("escrow") && left.contains("\"x\""), "{left}");
}

#[test]
fn what_cannot_be_parsed_is_refused_with_its_place() {
    let refused = |host: &str, text: &str| {
        let problem = file(host).install(Some(text), PROGRAM).unwrap_err();
        assert!(!problem.help.is_empty());
        problem.to_string()
    };
    assert_eq!(
        refused("claude", "{\"hooks\": {\"Stop\": ["),
        "1:21: the file ends where a value is expected"
    );
    assert_eq!(refused("claude", ""), "1:1: the file is empty");
    assert_eq!(refused("qwen", "\u{feff} \n"), "1:1: the file is empty");
    assert_eq!(refused("claude", "[]"), "1:1: the file is not a JSON object");
    assert_eq!(refused("gemini", "{\n\"hooks\": []}"), "2:10: `hooks` is not an object");
    assert_eq!(refused("qwen", "{\"hooks\": {\"Stop\": 1}}"), "1:20: the hooks of an event are not an array");
    assert!(refused("codex", "model = \n").starts_with("1:9: "), "{}", refused("codex", "model = \n"));
    assert!(refused("codex", "hooks = {}\n").contains("do not fit"));
    assert!(refused("opencode", "export {}").starts_with("1:1: "));
}

#[test]
fn what_others_wrote_behind_the_plugin_of_opencode_stays() {
    let file = hook_file("opencode").unwrap();
    let ours = file.install(None, "/usr/bin/escrow").unwrap();
    let with_more = format!("{ours}export const mine = async () => ({{}});\n");
    assert_eq!(file.install(Some(&with_more), "/usr/bin/escrow").unwrap(), with_more);
    let moved = file.install(Some(&with_more), "/opt/escrow").unwrap();
    assert!(moved.contains("/opt/escrow") && moved.ends_with("export const mine = async () => ({});\n"));
    let left = Uninstalled::Text("export const mine = async () => ({});\n".to_owned());
    assert_eq!(file.uninstall(&with_more).unwrap(), left);
    assert_eq!(file.uninstall(&ours).unwrap(), Uninstalled::Nothing);
    // The ends of lines are no edit.
    let converted = with_more.replace('\n', "\r\n");
    assert!(file.install(Some(&converted), "/usr/bin/escrow").unwrap().ends_with("({});\r\n"));
    let without_end: String = ours.lines().take(5).map(|line| format!("{line}\n")).collect();
    assert!(file.uninstall(&without_end).is_err());
}

#[test]
fn an_edit_inside_the_plugin_of_opencode_is_refused_and_never_lost() {
    let file = hook_file("opencode").unwrap();
    let ours = file.install(None, "/usr/bin/escrow").unwrap();
    let (without_digest, _) = ours.rsplit_once(" sha256:").expect("a digest");
    let without_digest = format!("{without_digest}\n");
    // What Escrow wrote before there was a digest is still its own.
    assert_eq!(file.install(Some(&without_digest), "/usr/bin/escrow").unwrap(), ours);
    assert_eq!(file.uninstall(&without_digest).unwrap(), Uninstalled::Nothing);
    for written in [&ours, &without_digest] {
        let added = written.replace("const contexts", "const mine = 1;\nconst contexts");
        let changed = written.replace("encoding: \"utf8\"", "encoding: \"utf8\", timeout: 1000");
        let removed = written.replace("  dispose: async () => {\n", "");
        for edited in [added, changed, removed] {
            assert_ne!(edited, *written);
            for program in ["/usr/bin/escrow", "/opt/escrow"] {
                let problem = file.install(Some(&edited), program).unwrap_err();
                assert!(problem.message.contains("was edited"), "{problem}");
                assert!(problem.place.is_some_and(|place| place.line > 4), "{problem}");
            }
            assert!(file.uninstall(&edited).is_err());
        }
    }
}

#[test]
fn a_file_of_windows_stays_one() {
    let json = "{\r\n  \"model\": \"x\",\r\n  \"hooks\": {\r\n    \"Stop\": []\r\n  }\r\n}\r\n";
    let toml = "# mine\r\nmodel = \"x\"\r\n[[hooks.Stop]]\r\n[[hooks.Stop.hooks]]\r\ncommand = \"lint\"\r\n";
    for (host, text) in
        [("claude", json), ("gemini", json), ("qwen", json), ("copilot", json), ("codex", toml)]
    {
        let installed = file(host).install(Some(text), PROGRAM).unwrap();
        assert_eq!(
            installed.matches('\n').count(),
            installed.matches("\r\n").count(),
            "{host}: {installed:?}"
        );
        assert!(!file(host).installed(&installed).unwrap().events.is_empty(), "{host}");
        assert_eq!(file(host).install(Some(&installed), PROGRAM).unwrap(), installed, "{host}");
        assert_eq!(file(host).uninstall(&installed).unwrap(), Uninstalled::Text(text.to_owned()), "{host}");
    }
    // An editor has converted what Escrow wrote.
    let plain = toml.replace("\r\n", "\n");
    let converted = file("codex").install(Some(&plain), PROGRAM).unwrap().replace('\n', "\r\n");
    assert_eq!(file("codex").install(Some(&converted), PROGRAM).unwrap(), converted);
    assert_eq!(file("codex").uninstall(&converted).unwrap(), Uninstalled::Text(toml.to_owned()));
}
