//! Checks what expressions and templates read of `artifacts`, and notes which artifacts they read the content of.
//!
//! A check reads the artifacts that it names itself, in its contracts, and those of the checks that it depends on.

use std::collections::BTreeSet;
use std::ops::Range;

use escrow_model::{ArtifactContract, Location, folder_of};

use super::graph::Graph;
use crate::decode::{AGENT_PROVIDER, Draft};
use crate::diagnostic::{Diagnostics, Problem};
use crate::source::{Mention, Stage, Use};
use crate::suggest::{did_you_mean, suggest_or_list};
use crate::yaml::span_within;

/// The members of a delivered file.
const MEMBERS: &[&str] = &["path", "size", "sha256", "text", "json"];

/// Those that need its content.
const CONTENT: &[&str] = &["text", "json"];

pub(super) fn check(
    contract: &mut ArtifactContract,
    drafts: &[Draft],
    graph: &Graph,
    uses: &[Use],
    text: &str,
    found: &mut Diagnostics,
) {
    for used in uses {
        for mention in
            used.mentions.iter().filter(|one| one.path.first().is_some_and(|name| name == "artifacts"))
        {
            let span = span_within(text, &used.node, &mention.span);
            let reader = Reader { contract, drafts, graph, used };
            match reader.read(mention, &span) {
                Ok(None) => {}
                Ok(Some(index)) => {
                    contract.expected[index].content_read |= names_content(used, mention);
                }
                Err(problem) => found.push(*problem),
            }
        }
    }
}

/// Whether a source may read the content of the artifact that it mentions. `let a = artifacts.x; a.text` names it, too.
fn names_content(used: &Use, mention: &Mention) -> bool {
    match mention.path.get(2).map(String::as_str) {
        Some(member) if MEMBERS.contains(&member) => CONTENT.contains(&member),
        _ => {
            let source = used.node.scalar_text().unwrap_or_default();
            let mut words = source.split(|c: char| !c.is_alphanumeric() && c != '_');
            words.any(|word| CONTENT.contains(&word))
        }
    }
}

/// A source of the file that reads `artifacts`.
struct Reader<'a> {
    contract: &'a ArtifactContract,
    drafts: &'a [Draft],
    graph: &'a Graph,
    used: &'a Use,
}

impl Reader<'_> {
    /// The artifact that is read. None when it is not known what there is to read.
    fn read(&self, mention: &Mention, span: &Range<usize>) -> Result<Option<usize>, Box<Problem>> {
        let Use { key, .. } = self.used;
        let Some(check) = self.used.check else {
            let help = match self.used.is_artifact_condition() {
                true => "state the condition over `outputs`, `inputs`, `event` or `filesChanged`",
                false => "set it on the check that needs it",
            };
            return Err(Problem::new("E0172", span.clone(), format!("`{key}` cannot read `artifacts`"))
                .label("not evaluated in a check")
                .help(help)
                .into());
        };
        let Some(id) = mention.path.get(1) else {
            return Err(Problem::new(
                "E0172",
                span.clone(),
                format!("`{key}` reads `artifacts` without an id"),
            )
            .label("which artifact is not known")
            .help("write `artifacts.<id>`, or `artifacts['my-id']`")
            .into());
        };
        let draft = &self.drafts[check];
        if AGENT_PROVIDER.is(&draft.check.provider) {
            // The agent was not found, so its artifacts are unknown.
            return Ok(None);
        }
        let own = format!("{}__{id}", folder_of(&draft.check.name));
        let position = |id: &str| self.contract.expected.iter().position(|one| one.id == id);
        let Some(index) =
            position(&own).filter(|_| draft.check.artifacts.contains(&own)).or_else(|| position(id))
        else {
            return Err(self.unknown(id, span).into());
        };
        let full = &self.contract.expected[index].id;
        let is_own = draft.check.artifacts.contains(full);
        let gates: Vec<usize> = self.below(check);
        let is_verified_before = gates.iter().any(|gate| self.drafts[*gate].check.artifacts.contains(full));
        if is_own && self.used.stage == Stage::BeforeProvider && !is_verified_before {
            return Err(Problem::new(
                "E0116",
                span.clone(),
                format!("`{key}` reads `artifacts.{id}` before the provider has run"),
            )
            .label("evaluated before the check delivers it")
            .help("read it in `guarantee` or `fail_if`, or in a check that depends on this one")
            .into());
        }
        if !is_own && !is_verified_before {
            return Err(self.not_visible(check, full, span).into());
        }
        self.member(index, mention, span)?;
        Ok(Some(index))
    }

    /// A file has few members. Those of a list are its own.
    fn member(&self, index: usize, mention: &Mention, span: &Range<usize>) -> Result<(), Box<Problem>> {
        let expected = &self.contract.expected[index];
        let Some(member) = mention.path.get(2) else { return Ok(()) };
        let is_one = matches!(expected.location, Location::Path(_)) && expected.check.is_none();
        if !is_one || MEMBERS.contains(&member.as_str()) {
            return Ok(());
        }
        let known = MEMBERS.iter().copied();
        Err(Problem::new("E0114", span.clone(), format!("`{}` reads an unknown name", self.used.key))
            .label(format!("an artifact has no `{member}`"))
            .help(suggest_or_list(member, known, "members"))
            .into())
    }

    fn unknown(&self, id: &str, span: &Range<usize>) -> Problem {
        let ids = self.contract.expected.iter().map(|one| one.id.as_str());
        let cut = ids.clone().find(|known| known.split('-').next() == Some(id) && known.contains('-'));
        let help = match cut {
            Some(whole) => format!("`-` means minus here; write `artifacts['{whole}']`"),
            None if ids.clone().next().is_none() => {
                format!(
                    "declare it at the top level of the file: `artifacts: {{ expected: [{{ id: {id}, path: … }}] }}`"
                )
            }
            None => did_you_mean(id, ids.clone()).unwrap_or_else(|| suggest_or_list(id, ids, "artifacts")),
        };
        Problem::new("E0166", span.clone(), format!("unknown artifact `{id}`"))
            .label("not in `artifacts.expected`")
            .help(help)
    }

    fn not_visible(&self, check: usize, id: &str, span: &Range<usize>) -> Problem {
        let name = &self.drafts[check].check.name;
        let gate = self.drafts.iter().find(|draft| draft.check.artifacts.iter().any(|one| one == id));
        let help = match (gate, self.used.stage) {
            (Some(gate), _) => {
                format!("`{}` verifies it: add it to `depends_on` of `{name}`", gate.check.name)
            }
            (None, Stage::AfterProvider) => {
                format!(
                    "add `artifacts: [{id}]` to `{name}` if it delivers the file, or to a check that it depends on"
                )
            }
            (None, Stage::RunStart | Stage::BeforeProvider) => {
                format!(
                    "add `artifacts: [{id}]` to a check that `{name}` depends on, which then verifies the file"
                )
            }
        };
        Problem::new("E0172", span.clone(), format!("`{name}` cannot read the artifact `{id}`"))
            .label("no check that it depends on has it in `artifacts`")
            .help(help)
    }

    /// The checks that a check depends on, directly or not.
    fn below(&self, check: usize) -> Vec<usize> {
        let mut seen = BTreeSet::new();
        let mut open = self.graph.needs[check].clone();
        while let Some(next) = open.pop() {
            if next != check && seen.insert(next) {
                open.extend(&self.graph.needs[next]);
            }
        }
        seen.into_iter().collect()
    }
}
