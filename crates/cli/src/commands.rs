//! The verbs, a file each.

mod agent;
mod artifacts;
mod attention;
mod cancel;
mod check;
mod completions;
mod eval;
mod explain;
mod export;
mod gc;
mod history;
mod init;
pub(crate) mod invocation;
mod letters;
pub(crate) mod lifecycle;
mod logs;
mod outcomes;
mod override_run;
mod playbook_file;
mod replay;
mod resume;
mod resume_all;
mod rules;
mod run;
mod runs;
mod schema;
mod start;
mod test;
mod verify;
mod wait;

pub(crate) use replay::{Replayed, status_word};

use anyhow::Result;

use crate::arguments::{Arguments, Command};
use crate::exit::Exit;
use crate::terminal::Talk;

pub(crate) fn dispatch(arguments: Arguments, talk: &Talk) -> Result<Exit> {
    let shared = &arguments.shared;
    match arguments.command {
        Command::Run(run) => run::run(&run, shared, talk),
        Command::Check(check) => check::check(&check, talk),
        Command::Agent(agent) => agent::agent(&agent, shared, talk),
        Command::Artifacts(artifacts) => artifacts::artifacts(&artifacts, shared, talk),
        Command::Runs(runs) => runs::runs(runs, shared, talk),
        Command::Wait(wait) => wait::wait(&wait, shared, talk),
        Command::Invocation(invocation) => invocation::invocation(&invocation, shared, talk),
        Command::Attention(attention) => attention::attention(attention, shared, talk),
        Command::Logs(logs) => logs::logs(&logs, shared, talk),
        Command::Cancel(cancel) => cancel::cancel(&cancel, shared, talk),
        Command::Resume(resume) => resume::resume(&resume, shared, talk),
        Command::Outcomes(outcomes) => outcomes::outcomes(outcomes, shared, talk),
        Command::Rules(rules) => rules::rules(&rules, talk),
        Command::Approvals => letters::approvals(shared, talk),
        Command::Approve(approve) => letters::approve(&approve, shared, talk),
        Command::Deny(deny) => letters::deny(&deny, shared, talk),
        Command::Answer(answer) => letters::answer(&answer, shared, talk),
        Command::Eval(eval) => eval::eval(&eval, talk),
        Command::Verify(verify) => verify::verify(&verify, shared, talk),
        Command::Explain(explain) => explain::explain(&explain, shared, talk),
        Command::Replay(replay) => replay::replay(&replay, shared, talk),
        Command::Gc(gc) => gc::gc(&gc, shared, talk),
        Command::Test(test) => test::test(&test, talk),
        Command::Schema(schema) => schema::schema(&schema, shared),
        Command::Init(init) => init::init(&init, shared, talk),
        // Reached only behind a global flag, as in `escrow --quiet lifecycle version`.
        Command::Lifecycle(words) => Ok(Exit::Lifecycle(lifecycle::run(&words.words))),
        Command::Completions(completions) => Ok(completions::completions(&completions)),
    }
}
