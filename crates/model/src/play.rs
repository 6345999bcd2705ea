//! Plays of a show: each is a check and further checks around it, whose names follow from its own.

use crate::Plan;

/// What a check of a show's plan is to its play.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Play {
    /// The run of its playbook.
    Work,
    /// The run of the playbook that decides whether the work is accepted.
    Gate,
    /// Succeeds when the gate is open.
    Passed,
    /// A person may open a gate that stayed closed twice.
    Approval,
    /// Makes a directory of the play's own.
    Worktree,
    /// Brings what the play changed back.
    Merge,
}

impl Play {
    const PARTS: [(Play, &str); 5] = [
        (Play::Gate, "-gate"),
        (Play::Passed, "-passed"),
        (Play::Approval, "-approval"),
        (Play::Worktree, "-worktree"),
        (Play::Merge, "-merge"),
    ];

    /// The name of the check that has this part in a play.
    pub fn check_of(self, play: &str) -> String {
        let ending = Play::PARTS.iter().find(|(part, _)| *part == self).map_or("", |(_, ending)| ending);
        format!("{play}{ending}")
    }

    /// The play that a check of a show belongs to, and what it is to it.
    pub fn of_check<'n>(plan: &Plan, check: &'n str) -> (&'n str, Play) {
        let has = |play: &str, part: Play| plan.find(&part.check_of(play)).is_some();
        for (part, ending) in Play::PARTS {
            let Some(play) = check.strip_suffix(ending).filter(|play| has(play, Play::Work)) else {
                continue;
            };
            // A play may be called like a part of another: then the other parts are missing.
            let whole = match part {
                Play::Work => true,
                Play::Gate | Play::Passed | Play::Approval => {
                    has(play, Play::Gate) && has(play, Play::Passed) && has(play, Play::Approval)
                }
                Play::Worktree | Play::Merge => has(play, Play::Worktree) && has(play, Play::Merge),
            };
            if whole {
                return (play, part);
            }
        }
        (check, Play::Work)
    }
}
