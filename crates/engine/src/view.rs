//! What an expression or a template of a check sees, borrowed from the state of its run.

use std::collections::{BTreeMap, BTreeSet};

use escrow_expr::{Budget, List, Object, Scope, ScopeValue};
use escrow_model::{
    Answer, CheckIndex, EXPRESSION_NAMES, EXPRESSION_NAMES_AFTER, EXPRESSION_NAMES_OF_CHAINS, Issue,
    MissingArtifact, RoutingBlock, RunOptions, ScopePath, Verdict,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::artifact_view::{ArtifactsObject, Stage};
use crate::cut_output::{self, CutOutput, FiguresOnly, is_any_cut, is_of_record};
use crate::graph::scope_toward;
use crate::location::Location;
use crate::run::Run;
use crate::state::{AnswerHistory, Cell, Lost, RecordedAnswer};
use crate::steps::StepsObject;

/// Gates and contracts are short; this is far more than any of them needs.
pub(crate) const BUDGET: Budget =
    Budget { steps: 1_000_000, memory_bytes: 32 << 20, depth: Budget::DEPTH_MAX };

pub(crate) struct View<'a> {
    run: &'a Run,
    name: Option<Value>,
    attempt: Option<Value>,
    event: EventObject<'a>,
    env: EnvObject<'a>,
    outputs: Outputs<'a>,
    raw: RawOutputs<'a>,
    histories: Histories<'a>,
    memory: MemoryObject<'a>,
    item: Option<&'a Value>,
    artifacts: ArtifactsObject<'a>,
    after: Option<AfterProvider<'a>>,
    /// Of a chain.
    steps: Option<StepsObject<'a>>,
}

/// What an expression reads as `output` when it was longer than what is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CutReading {
    /// Nothing but figures.
    Figures,
    /// The end of it: the expression names the flag that says so.
    Tail,
}

struct AfterProvider<'a> {
    reading: CutReading,
    answer: &'a Answer,
    record: Record<'a>,
    extra: Extra<'a>,
    figures: FiguresOnly<'a>,
}

impl<'a> View<'a> {
    /// Before the provider: `if`, `assume`, templates.
    pub(crate) fn before(run: &'a Run, check: CheckIndex, scope: &ScopePath) -> View<'a> {
        View::new(run, check, scope, None, run.next_attempt(check, scope), None, Stage::BeforeProvider)
    }

    /// After it: `guarantee`, `fail_if`.
    pub(crate) fn after(run: &'a Run, check: CheckIndex, scope: &ScopePath) -> View<'a> {
        let answer = run.cell(check, scope).and_then(|cell| cell.answer.as_deref());
        let attempt = run.next_attempt(check, scope).saturating_sub(1);
        View::new(run, check, scope, answer, attempt, None, Stage::AfterProvider)
    }

    /// Of the whole run: what an expected artifact depends on at the end.
    pub(crate) fn of_run(run: &'a Run) -> View<'a> {
        let viewpoint = Viewpoint { run, check: None, scope: ScopePath::root() };
        View {
            run,
            name: None,
            attempt: None,
            event: EventObject::new(run, None),
            env: EnvObject { run, own: None },
            outputs: Outputs(viewpoint.clone()),
            raw: RawOutputs(viewpoint.clone()),
            histories: Histories { viewpoint, pass: BTreeMap::new() },
            memory: MemoryObject(run.state.memory.get("default")),
            item: None,
            artifacts: ArtifactsObject::new(run, None, Stage::BeforeProvider),
            after: None,
            steps: StepsObject::of(run),
        }
    }

    /// While the last attempt is under way: scripts, and `reconcile`, with its answer once it has one.
    pub(crate) fn during(
        run: &'a Run,
        check: CheckIndex,
        scope: &ScopePath,
        answer: Option<&'a Answer>,
    ) -> View<'a> {
        View::new(run, check, scope, answer, run.next_attempt(check, scope) - 1, None, Stage::BeforeProvider)
    }

    /// In a routing block. The `on_finish` of a `forEach` check sees the history of its last pass.
    pub(crate) fn routing(
        run: &'a Run,
        check: CheckIndex,
        scope: &ScopePath,
        block: RoutingBlock,
    ) -> View<'a> {
        let cell = run.cell(check, scope);
        let answer = cell.and_then(|cell| cell.answer.as_deref());
        let pass = (block == RoutingBlock::Finish && run.state.plan.check(check).for_each)
            .then(|| cell.map_or(0, |cell| cell.pass_from));
        let attempt = run.next_attempt(check, scope).saturating_sub(1);
        View::new(run, check, scope, answer, attempt, pass, Stage::AfterProvider)
    }

    /// The same, in which `output` is the end of an output that was cut.
    pub(crate) fn with_tail(mut self) -> View<'a> {
        if let Some(after) = &mut self.after {
            after.reading = CutReading::Tail;
        }
        self
    }

    fn new(
        run: &'a Run,
        check: CheckIndex,
        scope: &ScopePath,
        answer: Option<&'a Answer>,
        attempt: u32,
        pass_from: Option<u64>,
        stage: Stage,
    ) -> View<'a> {
        let state = &run.state;
        let cell = run.cell(check, scope);
        let viewpoint = Viewpoint { run, check: Some(check), scope: scope.clone() };
        View {
            run,
            name: Some(Value::String(state.plan.check(check).name.clone())),
            attempt: Some(json!(attempt)),
            event: EventObject::new(run, cell),
            env: EnvObject { run, own: Some(run.graph.constant_env(check)) },
            outputs: Outputs(viewpoint.clone()),
            raw: RawOutputs(viewpoint.clone()),
            histories: Histories::new(viewpoint, check, pass_from),
            memory: MemoryObject(run.state.memory.get("default")),
            item: run.item(check, scope),
            artifacts: ArtifactsObject::new(run, Some(Location::new(check, scope.clone())), stage),
            after: answer.map(|answer| {
                let is_own =
                    cell.and_then(|cell| cell.answer.as_deref()).is_some_and(|own| std::ptr::eq(own, answer));
                let is_lost = is_own && cell.is_some_and(|cell| cell.lost != Lost::Nothing);
                AfterProvider {
                    reading: CutReading::Figures,
                    answer,
                    record: Record { members: &answer.record, is_lost },
                    extra: Extra { members: &answer.record, is_lost },
                    figures: FiguresOnly(&answer.record),
                }
            }),
            steps: StepsObject::of(run),
        }
    }
}

impl Scope for View<'_> {
    fn name(&self, name: &str) -> Option<ScopeValue<'_>> {
        Some(match name {
            "event" => ScopeValue::Object(&self.event),
            "env" => ScopeValue::Object(&self.env),
            "inputs" => ScopeValue::Json(&self.run.state.inputs),
            "outputs" => ScopeValue::Object(&self.outputs),
            "outputs_history" => ScopeValue::Object(&self.histories),
            "outputs_raw" => ScopeValue::Object(&self.raw),
            "memory" => ScopeValue::Object(&self.memory),
            "filesChanged" => ScopeValue::Json(&self.run.surroundings.files.as_ref()?.0),
            "filesCount" => ScopeValue::Json(&self.run.surroundings.files.as_ref()?.1),
            "branch" => ScopeValue::Json(self.run.surroundings.branch.as_ref()?),
            "baseBranch" => ScopeValue::Json(self.run.surroundings.base_branch.as_ref()?),
            "checkName" => ScopeValue::Json(self.name.as_ref()?),
            "attempt" => ScopeValue::Json(self.attempt.as_ref()?),
            "item" => self.item.map_or(ScopeValue::Undefined, ScopeValue::Json),
            "artifacts" => ScopeValue::Object(&self.artifacts),
            "output" => {
                let after = self.after.as_ref()?;
                if CutOutput::of(after.answer).stdout && after.reading == CutReading::Figures {
                    return Some(ScopeValue::Object(&after.figures));
                }
                ScopeValue::Record { value: &after.answer.output, extra: &after.extra }
            }
            "result" => ScopeValue::Object(&self.after.as_ref()?.record),
            "trigger" if self.steps.is_some() => ScopeValue::Object(&self.event),
            "steps" => ScopeValue::Object(self.steps.as_ref()?),
            _ => return None,
        })
    }

    fn names(&self) -> Vec<&str> {
        let names = [EXPRESSION_NAMES, EXPRESSION_NAMES_AFTER, EXPRESSION_NAMES_OF_CHAINS];
        names.into_iter().flatten().copied().filter(|name| self.name(name).is_some()).collect()
    }

    fn author_association(&self) -> Option<&str> {
        self.run.surroundings.association.as_deref()
    }

    fn memory(&self, namespace: &str) -> Option<ScopeValue<'_>> {
        self.run.state.memory.get(namespace).map(ScopeValue::Json)
    }
}

pub(crate) struct EventObject<'a> {
    name: Value,
    payload: &'a Map<String, Value>,
}

impl<'a> EventObject<'a> {
    /// Of the run itself, before any check was routed to with another event.
    pub(crate) fn at_start(options: &'a RunOptions) -> EventObject<'a> {
        let name = options.event.as_deref().unwrap_or("manual");
        EventObject { name: Value::String(name.to_owned()), payload: &options.payload }
    }

    fn new(run: &'a Run, cell: Option<&Cell>) -> EventObject<'a> {
        let options = &run.state.options;
        let name = cell
            .and_then(|cell| cell.activation.event.as_deref())
            .or(options.event.as_deref())
            .unwrap_or("manual");
        EventObject { name: Value::String(name.to_owned()), payload: &options.payload }
    }
}

impl Object for EventObject<'_> {
    fn member(&self, name: &str) -> Option<ScopeValue<'_>> {
        match name {
            "name" | "event_name" => Some(ScopeValue::Json(&self.name)),
            other => self.payload.get(other).map(ScopeValue::Json),
        }
    }

    fn names(&self) -> Vec<&str> {
        ["name", "event_name"].into_iter().chain(self.payload.keys().map(String::as_str)).collect()
    }
}

/// What templates read as `memory.key`; expressions have functions for it.
struct MemoryObject<'a>(Option<&'a Value>);

impl Object for MemoryObject<'_> {
    fn member(&self, name: &str) -> Option<ScopeValue<'_>> {
        self.0?.get(name).map(ScopeValue::Json)
    }

    fn names(&self) -> Vec<&str> {
        let keys = self.0.and_then(Value::as_object).into_iter().flat_map(Map::keys);
        keys.map(String::as_str).collect()
    }
}

/// The check's own `env:`, then the playbook's, then the environment, then what commands wrote.
struct EnvObject<'a> {
    run: &'a Run,
    own: Option<&'a Map<String, Value>>,
}

impl Object for EnvObject<'_> {
    fn member(&self, name: &str) -> Option<ScopeValue<'_>> {
        let state = &self.run.state;
        self.own
            .and_then(|own| own.get(name))
            .or_else(|| state.env.get(name))
            .or_else(|| self.run.surroundings.environment.get(name))
            .or_else(|| state.handed_env.get(name))
            .map(ScopeValue::Json)
    }

    fn names(&self) -> Vec<&str> {
        let state = &self.run.state;
        let mut names: Vec<&str> = self
            .own
            .into_iter()
            .flat_map(Map::keys)
            .chain(state.env.keys())
            .chain(self.run.surroundings.environment.keys())
            .chain(state.handed_env.keys())
            .map(String::as_str)
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// The check and scope that an expression is evaluated for, or the whole run.
#[derive(Clone)]
struct Viewpoint<'a> {
    run: &'a Run,
    /// None for a source of the file.
    check: Option<CheckIndex>,
    scope: ScopePath,
}

impl<'a> Viewpoint<'a> {
    fn fan(&self) -> &'a [CheckIndex] {
        self.check.map_or(&[], |check| &self.run.state.plan.check(check).fan)
    }

    fn toward(&self, other: CheckIndex) -> ScopePath {
        scope_toward(self.fan(), &self.scope, &self.run.state.plan.check(other).fan)
    }

    fn names(&self) -> Vec<&'a str> {
        self.run.graph.names().iter().map(String::as_str).collect()
    }
}

struct Outputs<'a>(Viewpoint<'a>);

impl<'a> Outputs<'a> {
    fn of(&self, other: CheckIndex) -> Option<&'a Value> {
        let Viewpoint { run, scope, .. } = &self.0;
        let plan = &run.state.plan;
        let output = run.outputs_below(other, &self.0.toward(other))?;
        // Inside its items, a `forEach` check is the item.
        let depth = plan.check(other).fan.len();
        if self.0.fan().get(depth) == Some(&other) {
            let index = scope.indices().get(depth).copied()?;
            return output.get(usize::try_from(index).ok()?);
        }
        Some(output)
    }
}

impl Object for Outputs<'_> {
    fn member(&self, name: &str) -> Option<ScopeValue<'_>> {
        let Viewpoint { run, .. } = &self.0;
        let other = run.graph.find(name)?;
        if run.is_output_cut(other, &self.0.toward(other)) {
            return Some(ScopeValue::Unreadable(cut_output::WHY));
        }
        self.of(other).map(ScopeValue::Json)
    }

    fn names(&self) -> Vec<&str> {
        self.0.names().into_iter().filter(|name| self.member(name).is_some()).collect()
    }
}

struct RawOutputs<'a>(Viewpoint<'a>);

impl Object for RawOutputs<'_> {
    fn member(&self, name: &str) -> Option<ScopeValue<'_>> {
        let run = self.0.run;
        let other = run.graph.find(name)?;
        let fan = &run.state.plan.check(other).fan;
        let toward = self.0.toward(other);
        // Inside the items of a `forEach` check its array is the one that the item came from. A check that maps beside
        // this one is seen whole: every item, not this one's.
        let is_parent = self.0.fan().get(fan.len()) == Some(&other);
        let whole = if fan.is_empty() || is_parent { toward } else { toward.truncated(fan.len() - 1) };
        if run.is_output_cut(other, &whole) {
            return Some(ScopeValue::Unreadable(cut_output::WHY));
        }
        run.outputs_below(other, &whole).map(ScopeValue::Json)
    }

    fn names(&self) -> Vec<&str> {
        self.0.names().into_iter().filter(|name| self.member(name).is_some()).collect()
    }
}

struct Histories<'a> {
    viewpoint: Viewpoint<'a>,
    /// For `on_finish`: what the parent, its dependents and its items gave in this pass.
    pass: BTreeMap<CheckIndex, Slice<'a>>,
}

impl<'a> Histories<'a> {
    fn new(viewpoint: Viewpoint<'a>, check: CheckIndex, pass_from: Option<u64>) -> Histories<'a> {
        let mut pass = BTreeMap::new();
        if let Some(from) = pass_from {
            let graph = &viewpoint.run.graph;
            let inside: BTreeSet<CheckIndex> =
                graph.closure(check).iter().chain(graph.mapped_over(check)).copied().collect();
            for check in inside {
                let toward = viewpoint.toward(check);
                if let Some(AnswerHistory(recorded)) =
                    viewpoint.run.state.checks[check.place()].histories.get(&toward)
                {
                    let start = recorded.partition_point(|one| one.entry < from);
                    pass.insert(check, Slice(&recorded[start..]));
                }
            }
        }
        Histories { viewpoint, pass }
    }
}

impl Object for Histories<'_> {
    fn member(&self, name: &str) -> Option<ScopeValue<'_>> {
        let run = self.viewpoint.run;
        let other = run.graph.find(name)?;
        let state = &run.state.checks[other.place()];
        let is_cut = |recorded: &[RecordedAnswer]| state.has_cut_output && is_any_cut(recorded);
        let pass = self.pass.get(&other).map(|slice| (slice.0, ScopeValue::List(slice)));
        let whole = || {
            let history = state.histories.get(&self.viewpoint.toward(other))?;
            Some((history.0.as_slice(), ScopeValue::List(history)))
        };
        match pass.or_else(whole) {
            Some((recorded, _)) if is_cut(recorded) => Some(ScopeValue::Unreadable(cut_output::WHY)),
            Some((_, history)) => Some(history),
            None => Some(ScopeValue::Json(empty_list())),
        }
    }

    fn names(&self) -> Vec<&str> {
        self.viewpoint.names()
    }
}

struct Slice<'a>(&'a [RecordedAnswer]);

impl List for Slice<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn item(&self, index: usize) -> Option<ScopeValue<'_>> {
        self.0.get(index).map(|one| ScopeValue::Json(&one.answer.output))
    }
}

impl List for AnswerHistory {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn item(&self, index: usize) -> Option<ScopeValue<'_>> {
        self.0.get(index).map(|one| ScopeValue::Json(&one.answer.output))
    }
}

/// `result`.
struct Record<'a> {
    members: &'a Map<String, Value>,
    /// Only what Escrow notes is known.
    is_lost: bool,
}

/// What `output` has from the record.
struct Extra<'a> {
    members: &'a Map<String, Value>,
    is_lost: bool,
}

const RECORD_LOST: &str = "the effect was found done later, and the record of its attempt is not known";

impl Object for Record<'_> {
    fn member(&self, name: &str) -> Option<ScopeValue<'_>> {
        let known = self.members.get(name).map(ScopeValue::Json);
        known.or(self.is_lost.then_some(ScopeValue::Unreadable(RECORD_LOST)))
    }

    fn names(&self) -> Vec<&str> {
        self.members.keys().map(String::as_str).collect()
    }
}

impl Object for Extra<'_> {
    fn member(&self, name: &str) -> Option<ScopeValue<'_>> {
        let known = self.members.get(name).map(ScopeValue::Json);
        known.or((self.is_lost && is_of_record(name)).then_some(ScopeValue::Unreadable(RECORD_LOST)))
    }

    fn names(&self) -> Vec<&str> {
        self.members.keys().map(String::as_str).collect()
    }
}

fn empty_list() -> &'static Value {
    static EMPTY: Value = Value::Array(Vec::new());
    &EMPTY
}

impl Run {
    /// The item of a map scope.
    pub(crate) fn item(&self, check: CheckIndex, scope: &ScopePath) -> Option<&Value> {
        let parent = *self.state.plan.check(check).fan.last()?;
        let index = usize::try_from(scope.last()?).ok()?;
        let above = scope.truncated(scope.depth() - 1);
        self.cell(parent, &above)?.answer.as_ref()?.output.get(index)
    }

    /// What a command finds in `$ESCROW_CONTEXT`, as JSON: the event, the inputs, its item, the outputs of what it
    /// depends on, directly or not, and what was wrong with the attempt before.
    pub fn context(&self, check: CheckIndex, scope: &ScopePath) -> Vec<u8> {
        let view = View::before(self, check, scope);
        let fan = &self.state.plan.check(check).fan;
        let mut outputs = BTreeMap::new();
        let mut truncated = BTreeSet::new();
        let mut seen = BTreeSet::from([check]);
        let mut open = vec![check];
        if let Some(source) = self.cell(check, scope).and_then(|cell| cell.activation.routed_from.as_ref()) {
            open.push(source.check);
        }
        while let Some(next) = open.pop() {
            let spec = self.state.plan.check(next);
            if next != check
                && let Some(output) = view.outputs.of(next)
            {
                // The end of an output must not be taken for the whole.
                let is_cut = self.is_output_cut(next, &scope_toward(fan, scope, &spec.fan));
                if is_cut {
                    truncated.insert(spec.name.as_str());
                }
                outputs.insert(spec.name.as_str(), if is_cut { &Value::Null } else { output });
            }
            for dependency in spec.follows() {
                if seen.insert(dependency) {
                    open.push(dependency);
                }
            }
        }
        let mut event: BTreeMap<&str, &Value> =
            self.state.options.payload.iter().map(|(name, value)| (name.as_str(), value)).collect();
        event.insert("name", &view.event.name);
        event.insert("event_name", &view.event.name);
        let last = self.cell(check, scope).map(|cell| &cell.last_result);
        let previous = last
            .filter(|last| last.verdict == Some(Verdict::Failed))
            .map(|last| Previous { issues: &last.issues, missing: &last.missing });
        let context =
            Context { event, inputs: &self.state.inputs, outputs, truncated, item: view.item, previous };
        // Values and names have no way to fail.
        serde_json::to_vec(&context).unwrap_or_default()
    }
}

#[derive(Serialize)]
struct Context<'a> {
    event: BTreeMap<&'a str, &'a Value>,
    inputs: &'a Value,
    outputs: BTreeMap<&'a str, &'a Value>,
    /// The checks whose output was too long to be kept: it is null.
    truncated: BTreeSet<&'a str>,
    item: Option<&'a Value>,
    /// Absent unless an attempt before failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    previous: Option<Previous<'a>>,
}

/// Why the attempt before failed, for a command that is retried.
#[derive(Serialize)]
struct Previous<'a> {
    issues: &'a [Issue],
    missing: &'a [MissingArtifact],
}
