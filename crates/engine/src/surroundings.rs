//! What expressions read of the world: captured at the start and the same for every check.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use escrow_expr::{Object, Scope, ScopeValue};
use escrow_model::{ConcurrencyRule, Facts, Plan, RunOptions, Text};
use serde_json::{Map, Value, json};

use crate::view::EventObject;

#[derive(Debug, Default)]
pub(crate) struct Surroundings {
    /// Variables of the environment that the plan names. Declared secrets read as stars.
    pub(crate) environment: Environment,
    /// `env:` of the playbook, rendered.
    pub(crate) file_env: Map<String, Value>,
    /// `title` of the playbook, rendered.
    pub(crate) title: Option<String>,
    /// The name of its concurrency group, rendered.
    pub(crate) group: Option<String>,
    /// Why one of these cannot be rendered: such a run fails at its start.
    pub(crate) start_problem: Option<String>,
    /// Changed files and their number.
    pub(crate) files: Option<(Value, Value)>,
    pub(crate) branch: Option<Value>,
    pub(crate) base_branch: Option<Value>,
    /// What the event's author is to the repository.
    pub(crate) association: Option<String>,
    git_problem: Option<String>,
}

pub(crate) const STARS: &str = "***";
/// Longer titles are cut: they stand in lists.
const TITLE_LENGTH_MAX: usize = 200;
const FROM_GIT: [&str; 4] = ["filesChanged", "filesCount", "branch", "baseBranch"];

/// The files of the commits of a push, as GitHub's webhooks list them. The payload of Actions has the commits without their
/// files, and a push that moves a branch back has no commits: that is not known, rather than nothing.
fn pushed_files(payload: &Map<String, Value>) -> Option<Value> {
    let commits = payload.get("commits")?.as_array().filter(|commits| !commits.is_empty())?;
    let has_files =
        |commit: &Value| ["added", "modified", "removed"].iter().any(|name| commit[*name].is_array());
    if !commits.iter().all(has_files) {
        return None;
    }
    let lists = commits.iter().flat_map(|commit| ["added", "modified", "removed"].map(|name| &commit[name]));
    let files: BTreeSet<&str> =
        lists.filter_map(Value::as_array).flatten().filter_map(Value::as_str).collect();
    Some(json!(files))
}

impl Surroundings {
    pub(crate) fn of(plan: &Plan, options: &RunOptions, facts: &Facts, inputs: &Value) -> Surroundings {
        let payload = &options.payload;
        let (git, git_problem) = match &facts.git {
            Some(Ok(git)) => (Some(git), None),
            Some(Err(problem)) => (None, Some(problem.clone())),
            None => (None, None),
        };
        let files = payload.get("filesChanged").filter(|files| files.is_array()).cloned();
        let files =
            files.or_else(|| pushed_files(payload)).or_else(|| git.map(|git| json!(git.files_changed)));
        // Said outright, or as GitHub's payloads of pull requests have it.
        let word = |name: &str, side: &str, fallback: Option<&String>| {
            let of_pull_request = || payload.get("pull_request")?.get(side)?.get("ref")?.as_str();
            let of_push =
                || payload.get("ref")?.as_str()?.strip_prefix("refs/heads/").filter(|_| side == "head");
            let said = payload.get(name).and_then(Value::as_str).or_else(of_pull_request).or_else(of_push);
            said.or(fallback.map(String::as_str)).map(|text| Value::String(text.to_owned()))
        };
        let environment = facts.env.iter().map(|(name, value)| {
            let value = if plan.secrets.iter().any(|secret| secret.name == *name) { STARS } else { value };
            (name.clone(), Value::String(value.to_owned()))
        });
        let mut surroundings = Surroundings {
            environment: Environment(environment.collect()),
            file_env: Map::new(),
            title: None,
            group: None,
            start_problem: None,
            files: files.map(|files| {
                let count = json!(files.as_array().map_or(0, Vec::len));
                (files, count)
            }),
            branch: word("branch", "head", git.and_then(|git| git.branch.as_ref())),
            base_branch: word("baseBranch", "base", git.and_then(|git| git.base_branch.as_ref())),
            association: association(payload).map(str::to_owned),
            git_problem,
        };
        surroundings.render_env(plan, options, inputs);
        surroundings.render_names(plan, options, inputs, facts.redacted);
        surroundings
    }

    fn render_env(&mut self, plan: &Plan, options: &RunOptions, inputs: &Value) {
        let mut rendered = Map::new();
        let start = StartView::of(self, options, inputs);
        let mut problem = None;
        for (name, text) in &plan.env {
            let outcome = if text.is_constant() {
                Ok(text.source().to_owned())
            } else {
                text.render(&start).map_err(|fault| fault.to_string())
            };
            match outcome {
                Ok(value) => drop(rendered.insert(name.clone(), Value::String(value))),
                Err(fault) => drop(problem.get_or_insert(format!("`env.{name}`: {fault}"))),
            }
        }
        self.start_problem = problem;
        self.file_env = rendered;
    }

    /// What the run is called, and which group it belongs to. `env` has the playbook's own variables by now.
    fn render_names(&mut self, plan: &Plan, options: &RunOptions, inputs: &Value, redacted: bool) {
        let start = StartView::of(self, options, inputs);
        let render = |key: &str, text: &Text| {
            text.render(&start).map_err(|fault| format!("`{key}`: {}", self.in_words(&fault)))
        };
        let title = plan.title.as_ref().map(|text| render("title", text)).transpose();
        let group = plan.concurrency.as_ref().map(|rule| {
            let group = render("concurrency.group", &rule.group)?.trim().to_owned();
            let has_replaced = redacted || (!plan.secrets.is_empty() && !rule.group.is_constant());
            if has_replaced && group.contains(STARS) {
                return Err("`concurrency.group` contains `***`, which stands for a secret".to_owned());
            }
            match group.chars().count() {
                0 => Err("`concurrency.group`: the name of the group is empty".to_owned()),
                1..=ConcurrencyRule::NAME_LENGTH_MAX => Ok(group),
                length => Err(format!(
                    "`concurrency.group`: the name of the group has {length} characters, the limit is {}",
                    ConcurrencyRule::NAME_LENGTH_MAX
                )),
            }
        });
        let group = group.transpose();
        let problem = [title.as_ref().err(), group.as_ref().err()].into_iter().flatten().next().cloned();
        self.title = title.ok().flatten().as_deref().and_then(one_line);
        self.group = group.ok().flatten();
        self.start_problem = self.start_problem.take().or(problem);
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

/// A title in one line, cut where it is too long; none when it is blank.
fn one_line(title: &str) -> Option<String> {
    let words: Vec<&str> = title.split_whitespace().collect();
    let title = words.join(" ");
    if title.chars().count() <= TITLE_LENGTH_MAX {
        return (!title.is_empty()).then_some(title);
    }
    let mut cut: String = title.chars().take(TITLE_LENGTH_MAX - 1).collect();
    cut.push('…');
    Some(cut)
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

/// What the file's own templates (`env`, `title`, `concurrency.group`) see: nothing has run yet.
struct StartView<'a> {
    surroundings: &'a Surroundings,
    inputs: &'a Value,
    event: EventObject<'a>,
}

impl<'a> StartView<'a> {
    fn of(surroundings: &'a Surroundings, options: &'a RunOptions, inputs: &'a Value) -> StartView<'a> {
        StartView { surroundings, inputs, event: EventObject::at_start(options) }
    }
}

impl Scope for StartView<'_> {
    fn name(&self, name: &str) -> Option<ScopeValue<'_>> {
        let around = self.surroundings;
        match name {
            "inputs" => Some(ScopeValue::Json(self.inputs)),
            "event" => Some(ScopeValue::Object(&self.event)),
            // The plan of a playbook cannot name it.
            "trigger" => Some(ScopeValue::Object(&self.event)),
            "env" => Some(ScopeValue::Object(self)),
            "filesChanged" => Some(ScopeValue::Json(&around.files.as_ref()?.0)),
            "filesCount" => Some(ScopeValue::Json(&around.files.as_ref()?.1)),
            "branch" => Some(ScopeValue::Json(around.branch.as_ref()?)),
            "baseBranch" => Some(ScopeValue::Json(around.base_branch.as_ref()?)),
            _ => None,
        }
    }

    fn names(&self) -> Vec<&str> {
        vec!["inputs", "event", "env", "filesChanged", "filesCount", "branch", "baseBranch"]
    }
}

/// `env`: the playbook's own variables, as far as they are rendered, then the environment.
impl Object for StartView<'_> {
    fn member(&self, name: &str) -> Option<ScopeValue<'_>> {
        let around = self.surroundings;
        around.file_env.get(name).or_else(|| around.environment.get(name)).map(ScopeValue::Json)
    }

    fn names(&self) -> Vec<&str> {
        let around = self.surroundings;
        around.file_env.keys().chain(around.environment.keys()).map(String::as_str).collect()
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
