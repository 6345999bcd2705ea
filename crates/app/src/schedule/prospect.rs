//! What a check would decide about the fires that it would record.
//!
//! **Invariant:** the rules are those of `store::Fires::decide_fire`, applied to fires that do not exist yet.

use std::collections::BTreeMap;

use escrow_model::{ChainConcurrency, FireCode, FireStatus};
use escrow_store::{ChainRunFilter, FireRow, Occurrence, Queries};

use super::{Expected, Prospect};
use crate::error::Error;
use crate::fires;

/// How many runs of a chain are looked at for one that has not ended.
const RUNS_MAX: usize = 50;

/// What is in the way of a fire of a chain.
enum Ahead {
    Nothing,
    /// A run that is open now, or that of a fire which is accepted.
    Run(String),
    /// A fire that the same check would record before.
    Fire,
}

pub(super) async fn prospects(
    queries: &dyn Queries,
    undecided: &[FireRow],
    due: Vec<Occurrence>,
) -> Result<Vec<Expected>, Error> {
    let mut ahead: BTreeMap<String, Ahead> = BTreeMap::new();
    let last: BTreeMap<String, String> =
        due.iter().map(|one| (one.fire.chain.clone(), one.fire.key.clone())).collect();
    let mut expected = Vec::new();
    for occurrence in due {
        let fire = &occurrence.fire;
        if let Some((code, why)) = fire.refused.clone() {
            expected.push(Expected { occurrence, decision: Prospect::Skipped(code, why) });
            continue;
        }
        // What needs other sources, too, is decided when they have occurred.
        if occurrence.together.is_some() {
            expected.push(Expected { occurrence, decision: Prospect::Fires });
            continue;
        }
        if !ahead.contains_key(&fire.chain) {
            ahead.insert(fire.chain.clone(), in_the_way(queries, undecided, &fire.chain).await?);
        }
        let row = queries.chain(&fire.chain).await?;
        let rules = fires::rules(row.as_ref(), &fire.key, &fire.event);
        let way = ahead.entry(fire.chain.clone()).or_insert(Ahead::Nothing);
        let decision = match (&*way, rules.concurrency) {
            (_, _) if fire.depth > rules.max_depth => Prospect::Skipped(
                FireCode::SkippedDepth,
                format!("chains fired one another {} deep", fire.depth),
            ),
            (_, ChainConcurrency::Replace) => match last.get(&fire.chain) {
                Some(newest) if *newest != fire.key => Prospect::Skipped(
                    FireCode::SkippedReplaced,
                    format!("fire `{newest}` of this chain is newer"),
                ),
                Some(_) | None => Prospect::Fires,
            },
            (Ahead::Nothing, _) => Prospect::Fires,
            (Ahead::Run(run), ChainConcurrency::Queue) => {
                Prospect::Waits(format!("after the end of run `{run}`"))
            }
            (Ahead::Run(run), ChainConcurrency::Skip) => Prospect::Skipped(
                FireCode::SkippedOverlap,
                format!("run `{run}` of this chain has not ended"),
            ),
            (Ahead::Fire, ChainConcurrency::Skip) if !rules.catches_up => Prospect::Skipped(
                FireCode::SkippedOverlap,
                "the run of the fire before it will not have ended".to_owned(),
            ),
            (Ahead::Fire, ChainConcurrency::Queue | ChainConcurrency::Skip) => {
                Prospect::Waits("after the one before it".to_owned())
            }
        };
        if let (Prospect::Fires, Ahead::Nothing) = (&decision, &*way) {
            *way = Ahead::Fire;
        }
        expected.push(Expected { occurrence, decision });
    }
    Ok(expected)
}

/// What is open of a chain before anything is recorded.
async fn in_the_way(queries: &dyn Queries, undecided: &[FireRow], chain: &str) -> Result<Ahead, Error> {
    let accepted = undecided.iter().find(|fire| fire.chain == chain && fire.status == FireStatus::Accepted);
    if let Some(fire) = accepted {
        return Ok(Ahead::Run(fire.run.to_string()));
    }
    let filter = ChainRunFilter { chain: Some(chain.to_owned()), limit: Some(RUNS_MAX) };
    let runs = queries.chain_runs(&filter).await?;
    let open = runs.iter().find(|run| !run.status.is_terminal());
    Ok(open.map_or(Ahead::Nothing, |run| Ahead::Run(run.id.to_string())))
}
