//! What expressions read of the world: captured at the start and the same for every check.

use std::collections::BTreeMap;
use std::fmt::Display;

use escrow_expr::{Object, Scope, ScopeValue};
use escrow_model::{Facts, Plan, RunOptions};
use serde_json::{Map, Value, json};

#[derive(Debug, Default)]
pub(crate) struct Surroundings {
    /// Variables of the environment that the plan names. Declared secrets read as stars.
    pub(crate) environment: Environment,
    /// `env:` of the playbook, rendered.
    pub(crate) file_env: Map<String, Value>,
    /// Why `env:` cannot be rendered: such a run fails at its start.
    pub(crate) env_problem: Option<String>,
    /// Changed files and their number.
    pub(crate) files: Option<(Value, Value)>,
    pub(crate) branch: Option<Value>,
    pub(crate) base_branch: Option<Value>,
    /// What the event's author is to the repository.
    pub(crate) association: Option<String>,
    git_problem: Option<String>,
}

const STARS: &str = "***";
const FROM_GIT: [&str; 4] = ["filesChanged", "filesCount", "branch", "baseBranch"];

impl Surroundings {
    pub(crate) fn of(plan: &Plan, options: &RunOptions, facts: &Facts, inputs: &Value) -> Surroundings {
        let payload = &options.payload;
        let (git, git_problem) = match &facts.git {
            Some(Ok(git)) => (Some(git), None),
            Some(Err(problem)) => (None, Some(problem.clone())),
            None => (None, None),
        };
        let files = payload.get("filesChanged").filter(|files| files.is_array()).cloned();
        let files = files.or_else(|| git.map(|git| json!(git.files_changed)));
        // Said outright, or as GitHub's payloads of pull requests have it.
        let word = |name: &str, side: &str, fallback: Option<&String>| {
            let of_pull_request = || payload.get("pull_request")?.get(side)?.get("ref")?.as_str();
            let said = payload.get(name).and_then(Value::as_str).or_else(of_pull_request);
            said.or(fallback.map(String::as_str)).map(|text| Value::String(text.to_owned()))
        };
        let environment = facts.env.iter().map(|(name, value)| {
            let value = if plan.secrets.iter().any(|secret| secret.name == *name) { STARS } else { value };
            (name.clone(), Value::String(value.to_owned()))
        });
        let mut surroundings = Surroundings {
            environment: Environment(environment.collect()),
            file_env: Map::new(),
            env_problem: None,
            files: files.map(|files| {
                let count = json!(files.as_array().map_or(0, Vec::len));
                (files, count)
            }),
            branch: word("branch", "head", git.and_then(|git| git.branch.as_ref())),
            base_branch: word("baseBranch", "base", git.and_then(|git| git.base_branch.as_ref())),
            association: association(payload).map(str::to_owned),
            git_problem,
        };
        surroundings.render_env(plan, inputs);
        surroundings
    }

    fn render_env(&mut self, plan: &Plan, inputs: &Value) {
        let mut rendered = Map::new();
        let start = StartView { inputs, environment: &self.environment };
        for (name, text) in &plan.env {
            let outcome = if text.is_constant() {
                Ok(text.source().to_owned())
            } else {
                text.render(&start).map_err(|fault| fault.to_string())
            };
            match outcome {
                Ok(value) => drop(rendered.insert(name.clone(), Value::String(value))),
                Err(fault) => drop(self.env_problem.get_or_insert(format!("`env.{name}`: {fault}"))),
            }
        }
        self.file_env = rendered;
    }

    /// An evaluation error in words, with the reason why git could not be asked when it is about that.
    pub(crate) fn in_words(&self, fault: &impl Display) -> String {
        let text = fault.to_string();
        match &self.git_problem {
            Some(problem)
                if text.contains("not defined") && FROM_GIT.iter().any(|name| text.contains(name)) =>
            {
                format!("{text}: {problem}")
            }
            Some(_) | None => text,
        }
    }
}

/// Where GitHub's payloads say who the author is to the repository.
fn association(payload: &Map<String, Value>) -> Option<&str> {
    if let Some(Value::String(text)) = payload.get("author_association") {
        return Some(text);
    }
    ["comment", "review", "pull_request", "issue"]
        .iter()
        .find_map(|place| payload.get(*place)?.get("author_association")?.as_str())
}

/// What the playbook's own `env:` sees: nothing has run yet.
struct StartView<'a> {
    inputs: &'a Value,
    environment: &'a Environment,
}

impl Scope for StartView<'_> {
    fn name(&self, name: &str) -> Option<ScopeValue<'_>> {
        match name {
            "inputs" => Some(ScopeValue::Json(self.inputs)),
            "env" => Some(ScopeValue::Object(self.environment)),
            _ => None,
        }
    }

    fn names(&self) -> Vec<&str> {
        vec!["inputs", "env"]
    }
}

/// The captured environment, as an object.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment(BTreeMap<String, Value>);

impl Environment {
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &String> {
        self.0.keys()
    }
}

impl Object for Environment {
    fn member(&self, name: &str) -> Option<ScopeValue<'_>> {
        self.0.get(name).map(ScopeValue::Json)
    }

    fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }
}
