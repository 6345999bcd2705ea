//! The hook dialects against what real hooks were told.

use std::collections::BTreeSet;
use std::fmt::Write;

use escrow_harness::{Answer, AnswerKind, HARNESSES, HookDialect, UnreadableHook, find};

use crate::recordings;

/// `a a a` as `a ×3`.
fn folded(words: &[String]) -> String {
    let groups = words.chunk_by(|one, other| one == other);
    let folded = groups.map(|group| match group {
        [word] => word.clone(),
        _ => format!("{} ×{}", group[0], group.len()),
    });
    folded.collect::<Vec<_>>().join(", ")
}

#[test]
fn every_recorded_hook_is_read_and_its_lifecycle_is_known() {
    for harness in HARNESSES {
        let dialect = harness.spec().hooks;
        let mut text = String::new();
        for recording in recordings::of(*harness) {
            let mut events = Vec::new();
            for (event, input) in &recording.hooks {
                let case = format!("{} {} {event}", harness.spec().name, recording.case);
                let read = dialect.read(Some(event), &input.to_string());
                let read = read.unwrap_or_else(|error| panic!("{case}: {error}"));
                let is_about_tool = event.to_lowercase().contains("tooluse")
                    || ["BeforeTool", "AfterTool", "tool.execute.before"].contains(&event.as_str());
                assert!(!is_about_tool || read.tool.is_some(), "{case}: {input}");
                if let Some(lifecycle) = dialect.lifecycle(&read) {
                    assert!(read.session_id.is_some() || event == "dispose", "{case}: {input}");
                    let is_prompt =
                        ["UserPromptSubmit", "BeforeAgent", "chat.message", "userPromptSubmitted"];
                    assert!(!is_prompt.contains(&event.as_str()) || read.prompt.is_some(), "{case}: {input}");
                    let agent = if read.agent_id.is_some() { " (sub-agent)" } else { "" };
                    events.push(format!("{lifecycle}{agent}"));
                }
            }
            if !recording.hooks.is_empty() {
                writeln!(text, "{}: {}", recording.case, folded(&events)).unwrap();
            }
        }
        insta::with_settings!({
            snapshot_path => "../expected", prepend_module_to_snapshot => false, omit_expression => true,
        }, {
            insta::assert_snapshot!(format!("lifecycle-{}", harness.spec().name), text);
        });
    }
}

#[test]
fn events_of_a_dialect_fire_and_others_are_ignored_on_purpose() {
    let mut unseen = Vec::new();
    let mut ignored = BTreeSet::new();
    for harness in HARNESSES {
        let dialect = harness.spec().hooks;
        let all = recordings::of(*harness);
        let fired: BTreeSet<&str> = all
            .iter()
            .flat_map(|recording| recording.hooks.iter().map(|(event, _)| event.as_str()))
            .collect();
        for event in dialect.events {
            if !fired.contains(event.name) {
                unseen.push(format!("{} {}", harness.spec().name, event.name));
            }
        }
        let others = fired.into_iter().filter(|event| dialect.event(event).is_none());
        ignored.extend(others.map(str::to_owned));
    }
    // Fired in a recording with a slash command, which is not kept.
    assert_eq!(unseen, ["claude UserPromptExpansion"]);
    // All of them are OpenCode's, or its recorder's.
    assert!(ignored.iter().all(|event| event.contains('.') || event == "config"), "{ignored:?}");
}

#[test]
fn answers_are_written_in_the_dialect_of_each_harness() {
    let mut text = String::new();
    for harness in HARNESSES {
        let dialect = harness.spec().hooks;
        for event in dialect.events {
            for (kind, answer) in answers() {
                match dialect.write(event.name, answer) {
                    Ok(reply) => {
                        assert!(event.can(kind));
                        assert_eq!(reply.exit_code, 0);
                        writeln!(text, "{} {}: {}", harness.spec().name, event.name, reply.stdout).unwrap();
                    }
                    Err(error) => {
                        assert!(!event.can(kind));
                        assert_eq!((error.harness, error.answer), (harness.spec().name, kind));
                    }
                }
            }
            let nothing = dialect.write(event.name, Answer::Nothing).unwrap();
            assert_eq!((nothing.exit_code, nothing.stdout.as_str()), (0, ""));
        }
    }
    insta::with_settings!({
        snapshot_path => "../expected", prepend_module_to_snapshot => false, omit_expression => true,
    }, {
        insta::assert_snapshot!("answers", text);
    });
}

fn answers<'a>() -> [(AnswerKind, Answer<'a>); 3] {
    [
        (AnswerKind::BlockStop, Answer::BlockStop { reason: "R" }),
        (AnswerKind::DenyTool, Answer::DenyTool { reason: "R" }),
        (AnswerKind::AddContext, Answer::AddContext { text: "T" }),
    ]
}

fn dialect(name: &str) -> &'static HookDialect {
    find(name).unwrap().spec().hooks
}

#[test]
fn an_answer_that_a_dialect_lacks_says_so() {
    let error =
        dialect("opencode").write("event:session.idle", Answer::BlockStop { reason: "R" }).unwrap_err();
    assert_eq!(error.to_string(), "a hook of `opencode` cannot hold back a stop at `event:session.idle`");
    let error = dialect("claude").write("NoSuchEvent", Answer::AddContext { text: "T" }).unwrap_err();
    assert_eq!(error.to_string(), "a hook of `claude` cannot add context at `NoSuchEvent`");
    // Context at a stop would make the agent continue.
    assert!(dialect("claude").write("Stop", Answer::AddContext { text: "T" }).is_err());
}

#[test]
fn the_event_comes_from_the_command_line_or_the_input() {
    let read = |event, input| dialect("claude").read(event, input);
    assert_eq!(read(None, r#"{"hook_event_name":"Stop"}"#).unwrap().event, "Stop");
    assert_eq!(read(Some("SessionEnd"), r#"{"hook_event_name":"Stop"}"#).unwrap().event, "SessionEnd");
    assert_eq!(read(None, "{}"), Err(UnreadableHook::NoEvent));
    assert_eq!(read(Some("Stop"), "[]"), Err(UnreadableHook::NotAnObject));
    assert_eq!(read(Some("Stop"), "{"), Err(UnreadableHook::NotAnObject));
    assert_eq!(
        dialect("copilot").read(None, r#"{"hookName":"permissionRequest"}"#).unwrap().event,
        "permissionRequest"
    );
}
