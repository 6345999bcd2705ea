//! The derived tables: what they show, and that the journal alone gives them.

use escrow_model::{
    Answer, Assumption, Event, FaultCode, InvocationId, Issue, IssueCode, Message, ProviderFault, ReasonCode,
    RunStatus, ScopePath, SkipReason, Verdict, WaitKind, Warning,
};
use escrow_store::{Created, Durability, EndInvocation, NewRun, StoreErrorKind};
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use proptest::{collection, prop_assert_eq};

use crate::support::{
    House, Tenant, added, answered, attempt, ended, entry, holder, judged, note, overridden, reason,
    recorded, run_id, started, started_by,
};

fn skipped(name: &str, scope: &[u32], reason: SkipReason) -> Event {
    let scope = ScopePath::new(scope.to_vec());
    Event::CheckSkipped { check: name.into(), scope, reason, detail: String::new(), request: None }
}

fn wait(name: &str, kind: WaitKind, id: &str) -> Event {
    Event::WaitStarted {
        nested_reason: None,
        check: name.into(),
        scope: ScopePath::root(),
        kind,
        id: id.into(),
        digest: String::new(),
        subject: None,
        replaces: None,
        prompt: "go on?".into(),
        choices: vec!["yes".into()],
        expires_at: Some(9_000),
    }
}

#[test]
fn waits_are_open_until_a_message_a_clock_or_the_end_resolves_them() {
    let house = House::new();
    let mut tenant = house.start("a", 1_000);
    tenant.commit(&[
        wait("lint", WaitKind::Approval, "w1"),
        wait("list", WaitKind::Input, "w2"),
        wait("post", WaitKind::UnknownEffect, "w3"),
        wait("post", WaitKind::Approval, "w4"),
    ]);
    assert_eq!(house.store.open_waits().unwrap().len(), 4);
    assert_eq!(house.store.waits_named("w2").unwrap()[0].choices, ["yes"]);
    let by = Some("ann".to_owned());
    let refused = Message::Deny { id: "w1".into(), by: by.clone(), claim: None, note: None };
    let approve = Message::Approve { id: "w1".into(), by: by.clone(), claim: None, note: None };
    let scope = ScopePath::root();
    let assume = Message::Assume { check: "post".into(), scope, assumption: Assumption::Done, by, why: None };
    tenant.commit(&[
        Event::MessageDelivered {
            message: refused,
            refused: Some("too late".into()),
            refusal: None,
            effect: None,
            sent_at: None,
        },
        Event::MessageDelivered {
            message: approve,
            refused: None,
            refusal: None,
            effect: None,
            sent_at: None,
        },
        Event::WaitExpired { id: "w2".into() },
        Event::MessageDelivered {
            message: assume,
            refused: None,
            refusal: None,
            effect: None,
            sent_at: None,
        },
    ]);
    assert_eq!(house.store.open_waits().unwrap().len(), 1);
    tenant.commit(&[ended(ReasonCode::CompletedOk)]);
    let shown: Vec<_> =
        house.store.waits(tenant.run()).unwrap().into_iter().map(|row| (row.id, row.resolution)).collect();
    let expected = [("w1", "approved"), ("w2", "expired"), ("w3", "assumed_done"), ("w4", "run_ended")];
    assert_eq!(shown, expected.map(|(id, resolution)| (id.to_owned(), Some(resolution.to_owned()))));
}

#[test]
fn a_run_shows_its_reason_its_warnings_and_who_ended_it() {
    let house = House::new();
    let mut tenant = house.start("a", 1_000);
    let warning = |code: &str| Warning { code: code.into(), message: "hm".into(), check: None };
    tenant.commit(&[
        Event::WarningRaised { warning: warning("one") },
        Event::WarningRaised { warning: warning("two") },
        Event::RunWaiting { reason: reason(ReasonCode::WaitingInput) },
    ]);
    let row = house.store.run("last").unwrap();
    assert_eq!((row.status, row.ended_at), (RunStatus::Waiting, None));
    assert_eq!(row.warnings, [warning("one"), warning("two")]);

    let message = Message::Cancel {
        by: Some("ann".into()),
        system: false,
        successor: None,
        inside: None,
        patient: false,
    };
    tenant.commit(&[
        Event::RunResumed { by: Vec::new() },
        Event::MessageDelivered { message, refused: None, refusal: None, effect: None, sent_at: None },
        ended(ReasonCode::CancelledUser),
    ]);
    let row = house.store.run("last").unwrap();
    assert_eq!((row.status, row.reason), (RunStatus::Cancelled, Some(reason(ReasonCode::CancelledUser))));
    assert!(row.ended_at.is_some());
    let shown: Vec<_> = house
        .store
        .transitions("run", "r_a")
        .unwrap()
        .into_iter()
        .map(|row| {
            format!(
                "{} -> {} {} {}",
                row.from_status.unwrap_or_default(),
                row.to_status,
                row.source,
                row.actor
            )
        })
        .collect();
    let expected = [
        " -> running start escrow",
        "running -> waiting engine escrow",
        "waiting -> running resume escrow",
        "running -> cancelled engine ann",
    ];
    assert_eq!(shown, expected);
}

#[test]
fn a_terminal_status_is_final_unless_the_run_is_resumed() {
    let house = House::new();
    let mut tenant = house.start("a", 1_000);
    tenant.commit(&[ended(ReasonCode::FailedCheck)]);
    let error = tenant.try_commit(&[note(1), ended(ReasonCode::CompletedOk)], &[]).unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::FinalStatus);
    assert_eq!(house.store.journal(tenant.run()).unwrap().len(), 2, "nothing of it was written");
    tenant.commit(&[Event::RunResumed { by: Vec::new() }, ended(ReasonCode::CompletedOk)]);
    assert_eq!(house.store.run("a").unwrap().status, RunStatus::Completed);
}

#[test]
fn an_invocation_counts_its_runs_and_keeps_the_reason_of_the_one_that_failed() {
    let house = House::new();
    let start = |name: &str| {
        let run = run_id(name);
        let entries = [entry(1_000, started(&run, Some("i1")))];
        let new = NewRun {
            run: &run,
            holder: &holder(1),
            entries: &entries,
            durability: Durability::Full,
            parent: None,
        };
        let Created::Done { lease, seq } = house.store.create_run(new).unwrap() else { panic!("exists") };
        assert!(matches!(house.store.create_run(new).unwrap(), Created::AlreadyExists));
        Tenant { store: &house.store, lease, seq }
    };
    let mut tenants = ["a", "b", "c"].map(start);
    tenants[0].commit(&[ended(ReasonCode::FailedFailIf)]);
    tenants[1].commit(&[ended(ReasonCode::CompletedOk)]);
    let row = house.store.invocation("i1").unwrap().unwrap();
    let count = |status| row.count(status);
    let (running, completed) = (count(RunStatus::Running), count(RunStatus::Completed));
    assert_eq!((row.runs(), running, completed, count(RunStatus::Failed)), (3, 1, 1, 1));
    assert_eq!((row.status, row.health), (RunStatus::Running, Some(RunStatus::Failed)));
    assert_eq!(row.ended_at, None);
    tenants[2].commit(&[ended(ReasonCode::CompletedOk)]);
    let row = house.store.invocation("i1").unwrap().unwrap();
    assert_eq!(row.reason.unwrap().code, "run.failed.fail_if");
    assert!(row.ended_at.is_some());
}

#[test]
fn a_removed_run_leaves_nothing_behind_and_the_feed_continues() {
    let house = House::new();
    let mut tenant = house.start("a", 1_000);
    tenant.commit(&[attempt("lint", &[], 1), wait("post", WaitKind::Approval, "w1")]);
    let message = Message::Cancel { by: None, system: true, successor: None, inside: None, patient: false };
    house.store.send(tenant.run(), &message, "cli").unwrap();
    let before = house.store.feed_end().unwrap();
    assert_eq!(house.store.remove(&[run_id("a"), run_id("ghost")]).unwrap(), 1);
    let mut left = dump(&house);
    // The chain of receipts has a head before it has a receipt; it is no part of a run.
    left.retain(|row| !row.starts_with("receipt_head "));
    // The roster keeps the tombstone of the run: its id and how it ended, and nothing else of it.
    left.retain(|row| !row.starts_with("roster ") && !row.starts_with("roster_head "));
    // An empty entry of no journal keeps the last place of the feed.
    left.retain(|row| {
        row != &format!("entries [Integer({before}), Integer(0), Integer(1), Blob([]), Blob([])]")
    });
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(tenant.try_commit(&[note(1)], &[]).unwrap_err().kind, StoreErrorKind::NoSuchRun);

    house.start("b", 2_000);
    let fresh = house.store.feed(before, 10).unwrap();
    assert_eq!(fresh.iter().map(|entry| entry.run.as_str()).collect::<Vec<_>>(), ["r_b"]);
    assert_eq!(fresh[0].decode().unwrap().at, 2_000);
}

/// Every table, every row, as text.
fn dump(house: &House) -> Vec<String> {
    let connection = rusqlite::Connection::open(house.path()).unwrap();
    let mut names = connection
        .prepare(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
        )
        .unwrap();
    let names: Vec<String> =
        names.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    let mut lines = Vec::new();
    for name in names {
        let mut statement = connection.prepare(&format!("SELECT * FROM {name}")).unwrap();
        let width = statement.column_count();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let values: Vec<rusqlite::types::Value> =
                (0..width).map(|column| row.get(column).unwrap()).collect();
            lines.push(format!("{name} {values:?}"));
        }
    }
    lines.sort_unstable();
    lines
}

fn outcome(number: u8, kind: &str, passed: Option<bool>) -> Event {
    Event::OutcomeStored { outcome: Box::new(recorded(u64::from(number), number.into(), kind, passed)) }
}

fn events() -> impl Strategy<Value = Event> {
    let name = || prop_oneof![Just("lint"), Just("list"), Just("post")];
    let scope = || collection::vec(0..3_u32, 0..3);
    let verdict = prop_oneof![Just(Verdict::Succeeded), Just(Verdict::Failed)];
    let answer = prop_oneof![
        any::<i32>().prop_map(|value| Answer::done(value.into())),
        ".{0,8}".prop_map(|code| Answer::fault(ProviderFault::logical(FaultCode::parse(&code), "no"))),
    ];
    let kind = prop_oneof![Just(WaitKind::Approval), Just(WaitKind::UnknownEffect)];
    prop_oneof![
        (name(), scope(), 1..4_u32).prop_map(|(name, scope, number)| attempt(name, &scope, number)),
        (name(), scope(), 1..4_u32, answer)
            .prop_map(|(name, scope, number, answer)| answered(name, &scope, number, answer)),
        (name(), scope(), 0..4_u32, verdict)
            .prop_map(|(name, scope, number, verdict)| judged(name, &scope, number, verdict)),
        (name(), scope()).prop_map(|(name, scope)| skipped(name, &scope, SkipReason::Assume)),
        (name(), scope(), ".{0,8}").prop_map(|(name, scope, text)| Event::IssueRaised {
            check: name.into(),
            scope: ScopePath::new(scope),
            issue: Issue::error(IssueCode::ExpressionError, text),
            fails_run: None,
        }),
        (name(), kind, "w[0-3]").prop_map(|(name, kind, id)| wait(name, kind, &id)),
        "w[0-3]".prop_map(|id| Event::WaitExpired { id }),
        ("w[0-3]", any::<bool>()).prop_map(|(id, refused)| Event::MessageDelivered {
            message: Message::Approve { id, by: Some("ann".into()), claim: None, note: None },
            refused: refused.then(|| "no".into()),
            refusal: None,
            effect: None,
            sent_at: None,
        }),
        ".{0,8}".prop_map(|text| Event::WarningRaised {
            warning: Warning { code: text, message: "hm".into(), check: None }
        }),
        (any::<u8>(), "[a-z_]{1,8}", any::<Option<bool>>())
            .prop_map(|(number, kind, passed)| outcome(number, &kind, passed)),
        Just(Event::RunResumed { by: Vec::new() }),
        Just(Event::RunWaiting { reason: reason(ReasonCode::WaitingApproval) }),
        Just(ended(ReasonCode::FailedCheck)),
        Just(ended(ReasonCode::CompletedOk)),
        Just(overridden(ReasonCode::CompletedOverridden, "ann")),
        Just(Event::RunReopened { places: Vec::new(), by: None, group: None }),
    ]
}

/// People speak of an invocation between the entries of its runs.
fn say(house: &House, number: usize) {
    let at = 3_000 + number as u64;
    match number {
        0 => house.store.start_invocation(&InvocationId::new(1, 1), &started_by("ann", at)).unwrap(),
        30 | 45 => {
            let wish = EndInvocation { at, status: None, by: Some("ben".into()), why: Some("enough".into()) };
            let _ = house.store.end_invocation("i1", &wish).unwrap();
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 24, ..Default::default() })]

    #[test]
    fn tables_rebuilt_from_the_journal_are_the_tables_that_grew_with_it(
        script in collection::vec((0..3_usize, events()), 0..60)
    ) {
        let house = House::new();
        let mut tenants = ["a", "b", "c"].map(|name| {
            let run = run_id(name);
            let entries = [entry(1_000, started(&run, (name != "c").then_some("i1")))];
            let new = NewRun { run: &run, holder: &holder(1), entries: &entries, durability: Durability::Grouped, parent: None };
            let Created::Done { lease, seq } = house.store.create_run(new).unwrap() else { panic!("exists") };
            Tenant { store: &house.store, lease, seq }
        });
        for (number, (place, event)) in script.iter().enumerate() {
            say(&house, number);
            let tenant = &mut tenants[*place];
            match tenant.try_commit(std::slice::from_ref(event), &[]) {
                Ok(_) => tenant.seq += 1,
                Err(error) => prop_assert_eq!(error.kind, StoreErrorKind::FinalStatus),
            }
        }
        house.store.add_outcome(&added(5_000, 1, "ci_result", None, Some("r_a"))).unwrap();
        house.store.add_outcome(&added(5_001, 1, "ci_result", Some(true), None)).unwrap();
        let grown = dump(&house);
        for tenant in &tenants {
            crate::support::check_intact(&house.store, tenant.run(), tenant.seq);
        }
        house.store.rebuild().unwrap();
        prop_assert_eq!(dump(&house), grown);
    }
}
