//! The verbs, a file each.

mod agent;
mod approvals;
mod artifacts;
mod attention;
mod backup;
mod cancel;
mod chain;
mod chain_loop;
mod check;
mod completions;
mod doctor;
mod effects;
mod eval;
mod explain;
mod export;
mod gc;
mod harness;
mod history;
pub(crate) mod hook;
mod init;
pub(crate) mod invocation;
pub(crate) mod lifecycle;
mod logs;
mod messages;
mod outcomes;
mod override_run;
mod plan;
mod play;
mod playbook_file;
mod replay;
mod resume;
mod resume_all;
mod rules;
mod run;
mod runs;
pub(crate) mod sandbox_exec;
mod schema;
mod studio;
mod test;
mod verify;
mod wait;

pub(crate) use replay::status_word;

use crate::arguments::{Arguments, Command};
use crate::exit::Exit;
use crate::terminal::Ui;
use escrow_app::Error;
use escrow_app::driver::block_on;

pub(crate) fn dispatch(arguments: Arguments, ui: &Ui) -> Result<Exit, Error> {
    let shared = &arguments.shared;
    match arguments.command {
        Command::Run(run) => block_on(run::run(&run, shared, ui)),
        Command::Check(check) => check::check(&check, ui),
        Command::Play(play) => block_on(play::play(&play, shared, ui)),
        Command::Plan(plan) => plan::plan(&plan, ui),
        Command::Agent(agent) => block_on(agent::agent(&agent, shared, ui)),
        Command::Artifacts(artifacts) => block_on(artifacts::artifacts(&artifacts, shared, ui)),
        Command::Runs(runs) => block_on(runs::runs(runs, shared, ui)),
        Command::Chain(chain) => block_on(chain::chain(chain, shared, ui)),
        Command::Wait(wait) => block_on(wait::wait(&wait, shared, ui)),
        Command::Invocation(invocation) => block_on(invocation::invocation(&invocation, shared, ui)),
        Command::Attention(attention) => block_on(attention::attention(attention, shared, ui)),
        Command::Logs(logs) => block_on(logs::logs(&logs, shared, ui)),
        Command::Cancel(cancel) => block_on(cancel::cancel(&cancel, shared, ui)),
        Command::Resume(resume) => block_on(resume::resume(&resume, shared, ui)),
        Command::Outcomes(outcomes) => block_on(outcomes::outcomes(outcomes, shared, ui)),
        Command::Effects(effects) => block_on(effects::effects(effects, shared, ui)),
        Command::Rules(rules) => rules::rules(&rules, ui),
        Command::Approvals(list) => block_on(approvals::approvals(&list, shared, ui)),
        Command::Approve(approve) => block_on(messages::approve(&approve, shared, ui)),
        Command::Deny(deny) => block_on(messages::deny(&deny, shared, ui)),
        Command::Answer(answer) => block_on(messages::answer(&answer, shared, ui)),
        Command::Studio(studio) => studio::studio(&studio, shared, ui),
        Command::Eval(eval) => eval::eval(&eval, ui),
        Command::Verify(verify) => block_on(verify::verify(&verify, shared, ui)),
        Command::Explain(explain) => block_on(explain::explain(&explain, shared, ui)),
        Command::Replay(replay) => block_on(replay::replay(&replay, shared, ui)),
        Command::Backup(backup) => block_on(backup::backup(&backup, shared, ui)),
        Command::Gc(gc) => block_on(gc::gc(&gc, shared, ui)),
        Command::Test(test) => test::test(&test, ui),
        Command::Schema(schema) => schema::schema(&schema, shared),
        Command::Init(init) => init::init(&init, shared, ui),
        Command::Doctor => Ok(doctor::doctor(ui)),
        Command::Harness(harness) => harness::harness(&harness, shared, ui),
        Command::Hook(arguments) => Ok(Exit::Hook(hook::run(&arguments.words))),
        // Reached only behind a global flag, as in `escrow --quiet lifecycle version`.
        Command::Lifecycle(arguments) => Ok(Exit::Lifecycle(lifecycle::run(&arguments.words))),
        Command::Completions(completions) => Ok(completions::completions(&completions, ui)),
    }
}
