//! The run of a fire follows from the chain and the key of the fire: however often it is begun, there is one.

use escrow_app::chains::{self, FireEvent, FireOutcome};
use escrow_app::driver::block_on;
use escrow_app::{App, Caller, StateDirectory};
use escrow_model::RunStatus;

const CHAIN: &str =
    "name: once\nsteps:\n  - { action: shell, with: { exec: 'echo {{ trigger.n }} >> acted' } }\n";

fn event(number: u64) -> FireEvent {
    let payload = serde_json::json!({ "n": number }).as_object().cloned().unwrap_or_default();
    FireEvent { name: "test.fired".into(), payload, depth: 0 }
}

#[test]
fn a_fire_that_is_begun_again_has_the_run_that_it_had() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("chain.yaml");
    std::fs::write(&file, CHAIN).expect("it is ours");
    let state = StateDirectory::find(Some(&directory.path().join(".escrow"))).expect("a state");
    let app = App::new(state, Caller { program: "test", actor: None, runs_around: Vec::new });
    let done = block_on(async {
        let definition = chains::define(&app, &file, directory.path()).await?;
        let chain = definition.defined.row();
        let FireOutcome::Begun(first) = chains::begin_fire(&app, chain, "delivery-1", event(1)).await? else {
            panic!("it has no run yet");
        };
        let id = first.id().clone();
        assert_eq!(id, chain.id.run_of("delivery-1"));
        // Another process, while this one is about to drive it.
        let again = chains::begin_fire(&app, chain, "delivery-1", event(1)).await?;
        assert!(matches!(again, FireOutcome::Known(known) if known == id));
        assert_eq!(chains::drive(&app, first).await?.status(), RunStatus::Completed);
        // And long after.
        let again = chains::begin_fire(&app, chain, "delivery-1", event(1)).await?;
        assert!(matches!(again, FireOutcome::Known(known) if known == id));
        let FireOutcome::Begun(other) = chains::begin_fire(&app, chain, "delivery-2", event(2)).await? else {
            panic!("it is another fire");
        };
        assert_ne!(*other.id(), id);
        chains::drive(&app, other).await?;
        Ok(())
    });
    done.expect("both fires run");
    let acted = std::fs::read_to_string(directory.path().join("acted")).expect("it acted");
    assert_eq!(acted, "1\n2\n");
}
