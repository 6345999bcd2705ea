//! Everything that has a status: its statuses, which of them are final, and the codes that lead there.
//!
//! Statuses change in one place, the journal, and `status_transitions` keeps every change of what is listed here.

use crate::{
    ApprovalCode, ApprovalStatus, CheckStatus, FireCode, FireStatus, InvocationCode, ReasonCode, RunStatus,
    SkipReason,
};

/// The words of one kind of thing. Nothing else is ever written.
#[derive(Debug)]
pub struct Vocabulary {
    /// As `status_transitions` has it.
    pub entity: &'static str,
    /// Each status, and whether it is final.
    pub statuses: Vec<(&'static str, bool)>,
    /// The codes that a change may carry, besides those that travel up from a run.
    pub codes: Vec<&'static str>,
}

/// Every vocabulary, from the inside out.
pub fn vocabularies() -> [Vocabulary; 5] {
    let run = |status: RunStatus| (status.as_str(), status.is_terminal());
    [
        Vocabulary {
            entity: "check",
            // A check that has settled may be invalidated by a route or by `resume --failed`: nothing is final.
            statuses: CheckStatus::ALL.iter().map(|status| (status.as_str(), false)).collect(),
            codes: SkipReason::ALL.iter().map(|reason| reason.as_str()).collect(),
        },
        Vocabulary {
            entity: "approval",
            statuses: ApprovalStatus::ALL.iter().map(|one| (one.as_str(), one.is_terminal())).collect(),
            codes: ApprovalCode::ALL.iter().map(|code| code.as_str()).collect(),
        },
        Vocabulary {
            entity: "run",
            statuses: RunStatus::ALL.into_iter().map(run).collect(),
            codes: ReasonCode::ALL.iter().map(|code| code.as_str()).collect(),
        },
        Vocabulary {
            entity: "invocation",
            statuses: RunStatus::ALL.into_iter().map(run).collect(),
            codes: InvocationCode::ALL.iter().map(|code| code.as_str()).collect(),
        },
        Vocabulary {
            entity: "fire",
            statuses: FireStatus::ALL.iter().map(|one| (one.as_str(), one.is_final())).collect(),
            codes: FireCode::ALL.iter().map(|code| code.as_str()).collect(),
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_names_the_thing_and_the_status_it_belongs_to() {
        for vocabulary in vocabularies().iter().filter(|one| one.entity != "check") {
            for code in &vocabulary.codes {
                let segments: Vec<&str> = code.split('.').collect();
                let [entity, status, cause] = segments[..] else { panic!("{code}") };
                assert_eq!(entity, vocabulary.entity, "{code}");
                assert!(vocabulary.statuses.iter().any(|(name, _)| *name == status), "{code}");
                assert!(cause.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{code}");
            }
        }
        assert!(
            ReasonCode::ALL
                .iter()
                .all(|code| code.as_str().split('.').nth(1) == Some(code.status().as_str()))
        );
        assert!(
            ApprovalCode::ALL
                .iter()
                .all(|code| code.as_str().split('.').nth(1) == Some(code.status().as_str()))
        );
        assert!(
            InvocationCode::ALL
                .iter()
                .all(|code| code.as_str().split('.').nth(1) == Some(code.status().as_str()))
        );
        assert!(
            FireCode::ALL.iter().all(|code| code.as_str().split('.').nth(1) == Some(code.status().as_str()))
        );
    }

    #[test]
    fn words_and_codes_are_unique_and_read_back() {
        for vocabulary in vocabularies() {
            let statuses = vocabulary.statuses.iter().map(|(name, _)| *name);
            for mut words in [statuses.collect::<Vec<_>>(), vocabulary.codes] {
                let count = words.len();
                words.sort_unstable();
                words.dedup();
                assert_eq!(words.len(), count, "{}", vocabulary.entity);
            }
        }
        for code in ReasonCode::ALL {
            assert_eq!(ReasonCode::parse(code.as_str()), Some(*code));
        }
    }

    #[test]
    fn an_override_has_a_code_of_its_own_that_no_run_earns() {
        for status in RunStatus::ALL {
            if let Some(code) = ReasonCode::overridden(status) {
                assert_eq!(code.status(), status);
                assert!(code.as_str().ends_with(".overridden"));
            }
        }
        assert_eq!(ReasonCode::overridden(RunStatus::TimedOut), None);
        assert_eq!(ReasonCode::overridden(RunStatus::Running), None);
    }
}
