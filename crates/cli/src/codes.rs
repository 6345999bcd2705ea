//! What the codes of issues and skips mean: the sections of one page of the documentation.

use escrow_model::{FaultCode, IssueCode, ReasonCode};

const PAGE: &str = include_str!("../../../docs/codes.md");

/// The section about a code.
pub(crate) fn section(code: &str) -> Option<&'static str> {
    exactly(code).or_else(|| match IssueCode::parse(code)? {
        IssueCode::FailIf { .. } => exactly("CHECK_fail_if"),
        IssueCode::Fault { fault: FaultCode::Nested(reason), .. } => reason_page(reason),
        IssueCode::Fault { fault, .. } => exactly(&format!("*/{fault}")),
        _ => None,
    })
}

fn reason_page(reason: ReasonCode) -> Option<&'static str> {
    crate::pages::page(reason.as_str())
}

fn exactly(code: &str) -> Option<&'static str> {
    let heading = format!("## `{code}`\n");
    let start = PAGE.find(&format!("\n{heading}"))? + 1;
    let length = PAGE[start..].find("\n## ").unwrap_or(PAGE.len() - start);
    Some(PAGE[start..start + length].trim_end())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use escrow_model::SkipReason;

    use super::*;

    #[test]
    fn a_code_with_the_name_of_a_check_or_a_provider_is_found() {
        assert!(section("collect_fail_if").is_some_and(|text| text.contains("`fail_if` is true")));
        assert!(section("command/exit_nonzero").is_some_and(|text| text.contains("exited")));
        assert!(section("playbook/run.failed.guarantee_failed").is_some());
        assert_eq!(section("nothing of the kind"), None);
    }

    #[test]
    fn every_skip_reason_has_a_section() {
        for reason in SkipReason::ALL {
            assert!(section(reason.as_str()).is_some(), "{}", reason.as_str());
        }
    }

    #[test]
    fn every_warning_of_a_run_has_a_section() {
        let codes = [
            "artifact/changed",
            "check_failed",
            "env_refused",
            "expression_error",
            "login_lost",
            "login_not_written_back",
            "nested_warnings",
            "nothing_ran",
            "optional_artifact_missing",
            "secret_in_artifact",
        ];
        for code in codes {
            assert!(section(code).is_some(), "{code}");
        }
    }

    #[test]
    fn every_issue_has_a_section() {
        for code in IssueCode::fixed() {
            assert!(section(&code.text()).is_some(), "{code}");
        }
        for fault in FaultCode::common() {
            assert!(exactly(&format!("*/{fault}")).is_some(), "{fault}");
        }
    }

    /// Codes of a provider's own are written where they arise, so they are searched for there.
    #[test]
    fn every_fault_of_a_providers_own_has_a_section() {
        let mut found = 0;
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the folder of all crates");
        let mut open = vec![crates.to_path_buf()];
        while let Some(path) = open.pop() {
            if path.is_dir() {
                let is_source =
                    !path.ends_with("target") && !path.ends_with("tests") && !path.ends_with("fuzz");
                let inside = std::fs::read_dir(&path).expect("a folder").flatten().map(|entry| entry.path());
                open.extend(inside.filter(|_| is_source));
            } else if path.extension().is_some_and(|extension| extension == "rs")
                && path != Path::new(file!())
            {
                let text = std::fs::read_to_string(&path).unwrap_or_default();
                for rest in text.split("FaultCode::own(\"").skip(1) {
                    let code = rest.split('"').next().unwrap_or_default();
                    let is_told = exactly(&format!("*/{code}")).is_some();
                    assert!(
                        is_told || code.is_empty() || code.contains(['<', '\\']),
                        "{code} in {}",
                        path.display()
                    );
                    found += 1;
                }
            }
        }
        assert!(found >= 5, "the search has found too little");
    }
}
