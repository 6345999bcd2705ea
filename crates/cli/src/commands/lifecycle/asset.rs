//! `asset preview`: renders the hook files that a host needs. Nothing is written.

use escrow_protocol::vocabulary::IntegrationMode;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::arguments::Arguments;
use super::output::{LifecycleError, pretty};

pub(super) fn run(mut arguments: Arguments) -> Result<String, LifecycleError> {
    match arguments.next_word().as_deref() {
        None => return Err(LifecycleError::usage("asset requires a subcommand: preview")),
        Some("preview") => {}
        Some(other) => {
            return Err(LifecycleError::usage(format!(
                "asset: unknown subcommand `{other}` (expected: preview)"
            )));
        }
    }
    let (mut host, mut mode, mut profile) = (None, None, None);
    while let Some(word) = arguments.next_word() {
        match word.as_str() {
            "--host" => host = Some(arguments.value_of("--host")?),
            "--mode" => mode = Some(arguments.value_of("--mode")?),
            "--profile" => profile = Some(arguments.value_of("--profile")?),
            other => return Err(LifecycleError::usage(format!("asset: unknown flag `{other}`"))),
        }
    }
    let host = host.ok_or_else(|| LifecycleError::usage("asset: --host <id> is required"))?;
    let mode = mode.ok_or_else(|| LifecycleError::usage("asset: --mode <mode> is required"))?;
    preview(&host, &mode, profile.as_deref())
}

fn preview(host_id: &str, mode_word: &str, profile: Option<&str>) -> Result<String, LifecycleError> {
    let host = HOSTS
        .iter()
        .find(|host| host.ids.contains(&host_id))
        .ok_or_else(|| LifecycleError::refused(format!("asset: unknown host `{host_id}`")))?;
    let mode = IntegrationMode::parse(mode_word)
        // Telemetry needs no files, and release 0.9.0 does not know it as a mode here.
        .filter(|&mode| mode != IntegrationMode::TelemetryOnly)
        .ok_or_else(|| LifecycleError::refused(format!("asset: unknown mode `{mode_word}`")))?;
    if let Some(profile) = profile
        && profile != "ccd-compat"
    {
        return Err(LifecycleError::refused(format!(
            "asset: unknown profile `{profile}` (expected: ccd-compat)"
        )));
    }
    if !host.modes.contains(&mode) {
        return Err(LifecycleError::refused(format!(
            "asset: host `{}` does not support mode `{mode}`",
            host.ids[0]
        )));
    }
    let assets: Vec<Asset> = match mode {
        IntegrationMode::NativeHook => host.hook_files()?,
        IntegrationMode::ManualSkill
        | IntegrationMode::LauncherWrapper
        | IntegrationMode::ReferenceAdapter
        | IntegrationMode::TelemetryOnly => Vec::new(),
    };
    pretty(&assets)
}

#[derive(Serialize)]
struct Asset {
    relative_path: &'static str,
    mode: Option<u32>,
    contents: String,
}

/// A harness that hooks can be rendered for.
struct Host {
    /// The name, then its aliases.
    ids: &'static [&'static str],
    modes: &'static [IntegrationMode],
    /// Files with constant contents.
    fixed_files: &'static [(&'static str, &'static str)],
    hooks_file: &'static str,
    /// The shell expression for the workspace directory.
    workspace: &'static str,
    hooks: &'static [Hook],
}

struct Hook {
    event: &'static str,
    matcher: &'static str,
    name: &'static str,
    /// What the harness shows while the hook runs. A hook with a message also has a time limit.
    status_message: Option<&'static str>,
}

const fn hook(event: &'static str, matcher: &'static str, name: &'static str) -> Hook {
    Hook { event, matcher, name, status_message: None }
}

const fn shown(
    event: &'static str,
    matcher: &'static str,
    name: &'static str,
    message: &'static str,
) -> Hook {
    Hook { event, matcher, name, status_message: Some(message) }
}

const HOSTS: &[Host] = &[
    Host {
        ids: &["claude", "claude-code"],
        modes: &[IntegrationMode::NativeHook],
        fixed_files: &[],
        hooks_file: ".claude/settings.json",
        workspace: "$CLAUDE_PROJECT_DIR",
        hooks: &[
            hook("SessionStart", "startup|resume|clear|compact", "on-session-start"),
            hook("UserPromptSubmit", "*", "before-prompt-build"),
            hook("PreCompact", "*", "on-compaction-notice"),
            hook("Stop", "*", "on-agent-end"),
            hook("SessionEnd", "*", "on-session-end"),
        ],
    },
    Host {
        ids: &["codex"],
        modes: &[IntegrationMode::NativeHook, IntegrationMode::ManualSkill],
        fixed_files: &[(".codex/config.toml", "[features]\nhooks = true\n")],
        hooks_file: ".codex/hooks.json",
        workspace: "${LIFELOOP_WORKSPACE_DIR:-${CODEX_PROJECT_DIR:-$PWD}}",
        hooks: &[
            shown("SessionStart", "startup|resume|clear", "on-session-start", "Loading CCD session context"),
            shown("UserPromptSubmit", "*", "before-prompt-build", "Refreshing CCD prompt context"),
            shown("PreCompact", "*", "on-compaction-notice", "Recording CCD compaction boundary"),
            shown("PostCompact", "*", "on-compaction-notice", "Recording CCD compacted context boundary"),
            shown("Stop", "*", "on-agent-end", "Checking CCD continuation boundary"),
        ],
    },
];

impl Host {
    fn hook_files(&self) -> Result<Vec<Asset>, LifecycleError> {
        let fixed = self.fixed_files.iter().map(|&(relative_path, contents)| Asset {
            relative_path,
            mode: None,
            contents: contents.to_owned(),
        });
        let mut files: Vec<Asset> = fixed.collect();
        let contents = pretty(&self.hook_settings())?.trim_end().to_owned();
        files.push(Asset { relative_path: self.hooks_file, mode: None, contents });
        Ok(files)
    }

    fn hook_settings(&self) -> Value {
        let mut events = Map::new();
        for hook in self.hooks {
            let mut entry = json!({ "command": self.command(hook.name), "type": "command" });
            if let Some(message) = hook.status_message {
                entry["statusMessage"] = message.into();
                entry["timeout"] = 30.into();
            }
            events.insert(hook.event.to_owned(), json!([{ "hooks": [entry], "matcher": hook.matcher }]));
        }
        let mut settings = json!({ "hooks": events });
        settings.sort_all_objects();
        settings
    }

    fn command(&self, hook: &str) -> String {
        let (host, workspace) = (self.ids[0], self.workspace);
        format!(
            "\"${{LIFELOOP_BIN:-lifeloop}}\" --output hook-protocol host-hook --path \"{workspace}\" --host {host} \
             --client-cmd \"${{CCD_BIN:-ccd}}\" --client-arg lifeloop --client-arg client --client-arg --path \
             --client-arg \"{workspace}\" --hook {hook}"
        )
    }
}
