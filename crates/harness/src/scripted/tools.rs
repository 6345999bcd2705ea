//! The tools that a harness offers, and how a step is done with them.

use serde_json::{Value, json};

use super::{Call, Service};

pub(super) struct Tools {
    offered: Vec<Tool>,
}

struct Tool {
    name: String,
    /// `function`, `custom`, or the namespace of a function.
    kind: String,
    parameters: Value,
}

impl Tools {
    pub(super) fn offered(service: Service, body: &Value) -> Tools {
        let listed = body.get("tools").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let offered = match service {
            Service::Anthropic => {
                listed.iter().filter_map(|tool| Tool::of(tool, "function", "input_schema")).collect()
            }
            Service::Chat => listed
                .iter()
                .filter_map(|tool| Tool::of(tool.get("function")?, "function", "parameters"))
                .collect(),
            Service::Gemini => listed
                .iter()
                .filter_map(|tool| tool.get("functionDeclarations")?.as_array())
                .flatten()
                .filter_map(|tool| {
                    let key =
                        if tool.get("parameters").is_some() { "parameters" } else { "parametersJsonSchema" };
                    Tool::of(tool, "function", key)
                })
                .collect(),
            Service::Responses => listed.iter().flat_map(response_tools).collect(),
        };
        Tools { offered }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.offered.is_empty()
    }

    pub(super) fn call(&self, name: &str, arguments: Value) -> Call {
        let kind = self.find(name).map_or("function", |tool| tool.kind.as_str());
        Call { tool: name.to_owned(), kind: kind.to_owned(), arguments }
    }

    pub(super) fn run(&self, command: &str) -> Call {
        const WHY: &str = "a step of the script";
        if let Some(name) = ["Bash", "bash"].into_iter().find(|name| self.find(name).is_some()) {
            return self.call(name, json!({"command": command, "description": WHY}));
        }
        if let Some(tool) = self.find("run_shell_command") {
            let mut arguments = json!({"command": command, "description": WHY});
            if tool.takes("is_background") {
                arguments["is_background"] = false.into();
            }
            return self.call("run_shell_command", arguments);
        }
        if self.find("exec_command").is_some() {
            return self.call("exec_command", json!({"cmd": command}));
        }
        if self.find("shell_command").is_some() {
            return self.call("shell_command", json!({"command": command}));
        }
        if self.find("exec").is_some() {
            // A tool that takes a program.
            let program =
                format!("const r = await tools.exec_command({{cmd: {}}}); text(r);", json!(command));
            return self.call("exec", program.into());
        }
        self.call("shell", json!({"command": ["sh", "-c", command]}))
    }

    pub(super) fn write_file(&self, path: &str, contents: &str) -> Call {
        for (name, place, text) in [
            ("Write", "file_path", "content"),
            ("write_file", "file_path", "content"),
            ("write", "filePath", "content"),
            ("create", "path", "file_text"),
        ] {
            if self.find(name).is_some() {
                return self.call(name, json!({place: path, text: contents}));
            }
        }
        if let Some(tool) = self.find("apply_patch") {
            let added: String = contents.lines().map(|line| format!("+{line}\n")).collect();
            let patch = format!("*** Begin Patch\n*** Add File: {path}\n{added}*** End Patch\n");
            return match tool.kind.as_str() {
                "custom" => self.call("apply_patch", patch.into()),
                _ if tool.takes("patchText") => self.call("apply_patch", json!({"patchText": patch})),
                _ => self.call("apply_patch", json!({"input": patch})),
            };
        }
        self.run(&format!("cat > '{path}' <<'END_OF_FILE'\n{}\nEND_OF_FILE", contents.trim_end()))
    }

    fn find(&self, name: &str) -> Option<&Tool> {
        self.offered.iter().find(|tool| tool.name == name)
    }
}

impl Tool {
    fn of(tool: &Value, kind: &str, parameters: &str) -> Option<Tool> {
        Some(Tool {
            name: tool.get("name")?.as_str()?.to_owned(),
            kind: kind.to_owned(),
            parameters: tool.get(parameters).cloned().unwrap_or_default(),
        })
    }

    fn takes(&self, parameter: &str) -> bool {
        self.parameters.get("properties").is_some_and(|properties| properties.get(parameter).is_some())
    }
}

/// Tools of the Responses API have kinds, and some stand in a namespace.
fn response_tools(tool: &Value) -> Vec<Tool> {
    let kind = tool.get("type").and_then(Value::as_str).unwrap_or("function");
    if kind != "namespace" {
        let named = Tool::of(tool, kind, "parameters");
        let unnamed = || Tool { name: kind.to_owned(), kind: kind.to_owned(), parameters: Value::Null };
        return vec![named.unwrap_or_else(unnamed)];
    }
    let space = format!("namespace:{}", tool.get("name").and_then(Value::as_str).unwrap_or_default());
    let inner = tool.get("tools").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    inner.iter().filter_map(|tool| Tool::of(tool, &space, "parameters")).collect()
}
