//! Where a settled check sends the run: `run`, `run_js`, retry, transitions, `goto_js`, `goto`, in this order.

use std::ops::Bound;

use escrow_model::{
    CheckIndex, Event, Issue, IssueCode, ReasonCode, Recovery, RoutedBy, RoutingBlock, ScopePath,
};
use serde_json::Value;

use crate::graph::{scope_toward, shared_depth};
use crate::location::Location;
use crate::phase::Phase;
use crate::pure::changes;
use crate::state::{Node, Route};
use crate::turn::Deciding;
use crate::view::{BUDGET, View};

/// One check to go to.
struct Target {
    check: CheckIndex,
    goto_event: Option<String>,
    by: RoutedBy,
}

/// What is wrong with a block, and the code with which the run fails for it, if it does.
type Broken = (Issue, Option<ReasonCode>);

/// The decision of a routing block.
enum Choice {
    Stop,
    Go(Target),
    /// The author named a check that does not exist, or the block could not be evaluated.
    Broken(Issue, Option<ReasonCode>),
}

impl Deciding<'_> {
    pub(crate) fn consider_route(&mut self, location: &Location) {
        let Some(route) = self.state.routes.get(location).cloned() else { return };
        let Location { check, scope } = location;
        if self.state.admission.is_stopping() || self.is_halted(*check, scope) {
            self.end_route(location, route.block);
            return;
        }
        if !route.awaiting.is_empty() || !self.may_finish(*check, scope, &route) {
            return;
        }
        let plan = self.plan();
        let spec = plan.check(*check);
        let routing = route.block.of(spec);
        if route.block == RoutingBlock::Fail && !route.ran && self.schedule_repair(location) {
            return;
        }
        if !route.ran && !routing.run.is_empty() {
            let targets = routing.run.iter().map(|check| Target {
                check: *check,
                goto_event: routing.goto_event.clone(),
                by: RoutedBy::Run,
            });
            self.send_to(location, route.block, targets.collect());
            return;
        }
        if !route.ran_js && routing.run_js.is_some() {
            match self.run_js_targets(*check, scope, route.block) {
                Ok((targets, writes)) => {
                    if self.withdraws_any_open_attempt(location, &targets) {
                        self.agenda().deferred.insert(location.clone());
                        return;
                    }
                    for write in writes {
                        self.record(write);
                    }
                    if !targets.is_empty() {
                        self.send_to(location, route.block, targets);
                        return;
                    }
                }
                Err((issue, fails_run)) => {
                    self.break_route(location, route.block, issue, fails_run);
                    return;
                }
            }
        }
        if route.block == RoutingBlock::Fail && self.schedule_retry(location) {
            return;
        }
        if route.target_failed {
            self.give_up(location, route.block);
            return;
        }
        let (choice, besides) = self.choose(*check, scope, route.block);
        if let Choice::Go(target) = &choice
            && self.withdraws_open_attempt(*check, scope, target.check)
        {
            // Open attempts there finish first; then the block is evaluated again.
            self.agenda().deferred.insert(location.clone());
            return;
        }
        for event in besides {
            self.record(event);
        }
        match choice {
            Choice::Stop => self.give_up(location, route.block),
            Choice::Go(target) => {
                if self.send(location, route.block, &target) {
                    self.end_route(location, route.block);
                }
            }
            Choice::Broken(issue, fails_run) => self.break_route(location, route.block, issue, fails_run),
        }
    }

    /// The block goes nowhere: a failure that was being recovered from stands.
    fn give_up(&mut self, location: &Location, block: RoutingBlock) {
        if block == RoutingBlock::Fail {
            self.give_up_recovery(location);
        }
        self.end_route(location, block);
    }

    /// The `on_finish` of a `forEach` check waits for the items of everything that maps over it.
    fn may_finish(&self, check: CheckIndex, scope: &ScopePath, route: &Route) -> bool {
        let plan = &self.state.plan;
        if route.block != RoutingBlock::Finish || !plan.check(check).for_each {
            return true;
        }
        let depth = scope.depth();
        self.graph.mapped_over(check).iter().all(|mapped| {
            let spec = plan.check(*mapped);
            if spec.fan.get(depth) != Some(&check) {
                return true;
            }
            if spec.starts {
                return self.node(*mapped, scope).is_some_and(Node::is_settled);
            }
            // One that waits to be routed to holds up nothing, unless it was.
            self.nodes_below(*mapped, scope).all(|(_, node)| match node {
                Node::Leaf(cell) => !cell.activation.activated || cell.phase.is_settled(),
                Node::Unexpanded(activation) => !activation.activated,
                Node::Group(_) | Node::SkippedGroup(_) => true,
            })
        })
    }

    fn run_js_targets(
        &self,
        check: CheckIndex,
        scope: &ScopePath,
        block: RoutingBlock,
    ) -> Result<(Vec<Target>, Vec<Event>), Broken> {
        let plan = &self.state.plan;
        let spec = plan.check(check);
        let routing = block.of(spec);
        let Some(run_js) = &routing.run_js else { return Ok((Vec::new(), Vec::new())) };
        let (answer, writes) = run_js
            .run(&View::routing(self, check, scope, block), BUDGET)
            .map_err(|fault| self.block_error(RoutedBy::RunJs, check, &self.surroundings.in_words(&fault)))?;
        let names = match answer.into_json() {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(names)) => names,
            Some(other) => vec![other],
        };
        let mut targets = Vec::new();
        for name in names {
            let target = self.target_named(RoutedBy::RunJs, check, &name)?;
            targets.push(Target {
                check: target,
                goto_event: routing.goto_event.clone(),
                by: RoutedBy::RunJs,
            });
        }
        Ok((targets, changes(writes)))
    }

    fn choose(&self, check: CheckIndex, scope: &ScopePath, block: RoutingBlock) -> (Choice, Vec<Event>) {
        let plan = &self.state.plan;
        let routing = block.of(plan.check(check));
        let view = View::routing(self, check, scope, block);
        let mut besides = Vec::new();
        let name = &plan.check(check).name;
        for transition in &routing.transitions {
            match transition.when.test(&view, BUDGET) {
                Ok(false) => {}
                Ok(true) => {
                    let choice = transition.to.map_or(Choice::Stop, |to| {
                        Choice::Go(Target {
                            check: to,
                            goto_event: transition.goto_event.clone().or_else(|| routing.goto_event.clone()),
                            by: RoutedBy::Transition,
                        })
                    });
                    return (choice, besides);
                }
                Err(fault) => {
                    let fault = self.surroundings.in_words(&fault);
                    let message =
                        format!("`when: {}` could not be evaluated: {fault}", transition.when.source());
                    let critical = plan.check(check).is_critical();
                    besides.push(Event::IssueRaised {
                        check: name.clone(),
                        scope: scope.clone(),
                        issue: Issue::error(IssueCode::ExpressionError, message),
                        fails_run: critical.then_some(ReasonCode::FailedExpression),
                    });
                }
            }
        }
        if let Some(goto_js) = &routing.goto_js {
            match goto_js.run(&view, BUDGET) {
                Ok((answer, writes)) => {
                    besides.extend(changes(writes));
                    match answer.into_json() {
                        None | Some(Value::Null) => {}
                        Some(name) => {
                            let choice = match self.target_named(RoutedBy::GotoJs, check, &name) {
                                Ok(target) => {
                                    let goto_event = routing.goto_event.clone();
                                    Choice::Go(Target { check: target, goto_event, by: RoutedBy::GotoJs })
                                }
                                Err((issue, fails_run)) => Choice::Broken(issue, fails_run),
                            };
                            return (choice, besides);
                        }
                    }
                }
                Err(fault) => {
                    let (issue, fails_run) =
                        self.block_error(RoutedBy::GotoJs, check, &self.surroundings.in_words(&fault));
                    return (Choice::Broken(issue, fails_run), besides);
                }
            }
        }
        let choice = routing.goto.map_or(Choice::Stop, |to| {
            Choice::Go(Target { check: to, goto_event: routing.goto_event.clone(), by: RoutedBy::Goto })
        });
        (choice, besides)
    }

    fn target_named(&self, key: RoutedBy, check: CheckIndex, name: &Value) -> Result<CheckIndex, Broken> {
        name.as_str().and_then(|name| self.graph.find(name)).ok_or_else(|| {
            let source = &self.state.plan.check(check).name;
            let message = format!("`{key}` of `{source}` names a check that does not exist: {name}");
            (Issue::error(IssueCode::UnknownTarget, message), Some(ReasonCode::FailedExpression))
        })
    }

    fn block_error(&self, key: RoutedBy, check: CheckIndex, fault: &str) -> Broken {
        let critical = self.state.plan.check(check).is_critical();
        let message = format!("`{key}` could not be evaluated: {fault}");
        (Issue::error(IssueCode::ExpressionError, message), critical.then_some(ReasonCode::FailedExpression))
    }

    fn break_route(
        &mut self,
        location: &Location,
        block: RoutingBlock,
        issue: Issue,
        fails_run: Option<ReasonCode>,
    ) {
        self.raise_issue(location, issue, fails_run);
        self.give_up(location, block);
    }

    pub(crate) fn raise_issue(&mut self, location: &Location, issue: Issue, fails_run: Option<ReasonCode>) {
        let check = self.plan().check(location.check).name.clone();
        self.record(Event::IssueRaised { check, scope: location.scope.clone(), issue, fails_run });
    }

    /// Sends the run to every target of `run` or `run_js`, or to none while something there still runs.
    fn send_to(&mut self, location: &Location, block: RoutingBlock, targets: Vec<Target>) {
        if self.withdraws_any_open_attempt(location, &targets) {
            self.agenda().deferred.insert(location.clone());
            return;
        }
        for target in targets {
            if !self.send(location, block, &target) {
                return;
            }
        }
    }

    fn withdraws_any_open_attempt(&self, location: &Location, targets: &[Target]) -> bool {
        targets
            .iter()
            .any(|target| self.withdraws_open_attempt(location.check, &location.scope, target.check))
    }

    /// False when the loop budget is spent.
    fn send(&mut self, location: &Location, block: RoutingBlock, target: &Target) -> bool {
        let Location { check, scope } = location;
        let plan = self.plan();
        let spec = plan.check(*check);
        let target_spec = plan.check(target.check);
        let to_scope = scope_toward(&spec.fan, scope, &target_spec.fan);
        let again = self.runs_again(target.check, &to_scope);
        let limit = plan.loop_budget(spec);
        let used = self.state.loops.get(&self.region(target.check, &to_scope)).copied().unwrap_or(0);
        if again && used >= limit {
            let event = Event::LoopBudgetExceeded {
                check: spec.name.clone(),
                scope: to_scope,
                to: target_spec.name.clone(),
                limit,
            };
            self.record(event);
            self.give_up(location, block);
            return false;
        }
        if block == RoutingBlock::Fail {
            let by = Recovery::Route { by: target.by, to: target_spec.name.clone() };
            self.record(Event::RecoveryStarted { check: spec.name.clone(), scope: scope.clone(), by });
        }
        let event = Event::Routed {
            check: spec.name.clone(),
            scope: scope.clone(),
            block,
            by: target.by,
            to: target_spec.name.clone(),
            to_scope,
            goto_event: target.goto_event.clone(),
            again,
        };
        let asked: Vec<(String, Location)> =
            self.state.waits.iter().map(|(id, wait)| (id.clone(), wait.location.clone())).collect();
        self.record(event);
        for (id, Location { check, scope }) in asked {
            if !self.state.waits.contains_key(&id) {
                let check = plan.check(check).name.clone();
                self.record(Event::WaitWithdrawn { check, scope, id });
            }
        }
        true
    }

    fn end_route(&mut self, location: &Location, block: RoutingBlock) {
        if !self.state.routes.contains_key(location) {
            return;
        }
        let check = self.plan().check(location.check).name.clone();
        let was_open = self
            .cell(location.check, &location.scope)
            .is_some_and(|cell| matches!(cell.phase, Phase::Judged { .. }));
        self.record(Event::RoutingDone { check, scope: location.scope.clone(), block });
        if was_open {
            self.isolate(location);
        }
    }

    /// Whether a route to this target runs something again. The target itself may never have run: a check
    /// behind it that is invalidated, and runs, closes the loop all the same.
    fn runs_again(&self, target: CheckIndex, to_scope: &ScopePath) -> bool {
        let plan = &self.state.plan;
        let target_fan = &plan.check(target).fan;
        self.graph.closure(target).iter().any(|check| {
            let spec = plan.check(*check);
            let continues = *check == target || spec.starts;
            continues && self.has_run(*check, &to_scope.truncated(shared_depth(target_fan, &spec.fan)))
        })
    }

    /// It ran there, or failed there before it could (a template, an assumption): both may loop.
    fn has_run(&self, check: CheckIndex, scope: &ScopePath) -> bool {
        let state = &self.state.checks[check.place()];
        let at = (Bound::Included(scope), Bound::Unbounded);
        let failed = state.failures.range(at).next();
        let is_judged = |node: &Node| node.cell().is_some_and(|cell| cell.last_result.verdict.is_some());
        state.attempts.below(scope).next().is_some()
            || (state.reused > 0 && state.nodes.below(scope).any(|(_, node)| is_judged(node)))
            || failed.is_some_and(|(path, _)| path.starts_with(scope))
    }
}
