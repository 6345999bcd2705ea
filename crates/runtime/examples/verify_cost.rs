//! How often a contract of five files can be verified in a second: the files looked at and hashed, the contract judged.
//! Prints one line of JSON per case, as `bench/lionagi/verify.py` does for the other implementation.

#![allow(clippy::print_stdout, reason = "a measurement prints what it measured")]

use std::time::Instant;

use escrow_contract::{judge_delivery, outcome::Kind};
use escrow_model::{ArtifactContract, ArtifactPath, DeliveryStatus, ExpectedArtifact, Location, Source};
use escrow_runtime::inspection::{Depth, inspect};
use rustix::time::{ClockId, clock_gettime};

const TIMES: u32 = 20_000;
const ROUNDS: usize = 5;

fn main() -> std::io::Result<()> {
    let flat = std::env::temp_dir().join(format!("escrow-verify-{}", std::process::id()));
    let user = std::env::temp_dir().join(format!("escrow-verify-{}-user", std::process::id()));
    // As deep as artifacts really lie: what resolves names step by step pays for every step.
    let deep = user.join("project/.escrow/artifacts/r_1");
    for directory in [&flat, &deep] {
        std::fs::create_dir_all(directory)?;
        for number in 0..5 {
            std::fs::write(directory.join(format!("f{number}.md")), "x".repeat(1200))?;
        }
    }
    let all: Vec<_> = (0..5).map(|number| expected(&format!("f{number}.md"), true)).collect();
    let mut some = all[..3].to_vec();
    some.extend([expected("m1.md", true), expected("m2.md", false)]);
    for (name, directory, contract, status) in [
        ("verify_5_present", &flat, all.clone(), DeliveryStatus::Passed),
        ("verify_5_present_in_a_project", &deep, all, DeliveryStatus::Passed),
        ("verify_3_present_2_missing", &flat, some, DeliveryStatus::Failed),
    ] {
        let contract = ArtifactContract { expected: contract };
        let mut rates: Vec<(f64, f64)> = (0..ROUNDS)
            .map(|_| {
                let (began, cpu) = (Instant::now(), processor_seconds());
                for _ in 0..TIMES {
                    let seen = inspect(directory, &contract.expected, Depth::Full);
                    let verified = judge_delivery(&contract, &Kind::registered, &[], &seen, 0);
                    assert_eq!(verified.delivery.status, status);
                }
                let times = f64::from(TIMES);
                (times / began.elapsed().as_secs_f64(), times / (processor_seconds() - cpu))
            })
            .collect();
        rates.sort_by(|one, other| one.1.total_cmp(&other.1));
        let (wall, cpu) = rates[ROUNDS / 2];
        println!(
            "{{\"bench\": \"{name}\", \"wall_per_s_median\": {wall:.0}, \"cpu_per_s_median\": {cpu:.0}}}"
        );
    }
    std::fs::remove_dir_all(&user)?;
    std::fs::remove_dir_all(&flat)
}

fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    std::time::Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
        .as_secs_f64()
}

fn expected(path: &str, required: bool) -> ExpectedArtifact {
    ExpectedArtifact {
        required,
        ..ExpectedArtifact::new(
            path.replace('.', "-"),
            Location::Path(ArtifactPath::parse(path).expect("a good path")),
            Source::Playbook,
        )
    }
}
