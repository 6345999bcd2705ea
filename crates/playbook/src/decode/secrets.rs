//! Decodes declared secrets and the `secrets` of checks.

use std::ops::Range;
use std::rc::Rc;

use escrow_model::{Home, KeyKind, ProviderSpec, Secret, SecretSource, secret_reference};

use super::{Decoder, items};
use crate::diagnostic::{Diagnostics, Problem};
use crate::suggest::did_you_mean;
use crate::yaml::Node;

/// The declared secrets, with the spans of their names.
#[derive(Default)]
pub(super) struct Secrets {
    pub(super) declared: Vec<Secret>,
    spans: Vec<Range<usize>>,
}

impl Secrets {
    pub(super) fn of(root: &Node) -> Secrets {
        let mut secrets = Secrets::default();
        let Some(node) = root.get("secrets") else { return secrets };
        if let Some(members) = node.map() {
            for member in members {
                if let Some(from) = source(&member.value) {
                    secrets.add(Secret { name: member.key.clone(), from }, member.key_span.clone());
                }
            }
        } else {
            for item in items(node) {
                if let Some(name) = item.string() {
                    let from = SecretSource::Env(name.to_owned());
                    secrets.add(Secret { name: name.to_owned(), from }, item.span.clone());
                }
            }
        }
        secrets
    }

    fn add(&mut self, secret: Secret, span: Range<usize>) {
        self.declared.push(secret);
        self.spans.push(span);
    }

    fn span_of(&self, name: &str) -> Option<Range<usize>> {
        let at = self.declared.iter().position(|secret| secret.name == name)?;
        self.spans.get(at).cloned()
    }

    /// Reports variables of `env` with the name of a secret: one would hide the other.
    pub(super) fn report_env_conflicts(&self, env: Option<&Rc<Node>>, found: &mut Diagnostics) {
        for entry in env.and_then(|env| env.map()).unwrap_or_default() {
            if let Some(span) = self.span_of(&entry.key) {
                let message = format!("`{}` is both a secret and a variable of `env`", entry.key);
                found.push(
                    Problem::new("E0130", entry.key_span.clone(), message)
                        .label("the variable is set here")
                        .also(span, "the secret is declared here")
                        .help("rename one of them"),
                );
            }
        }
    }
}

/// The secrets of a file that is not valid YAML as a whole, from its `secrets:` block alone.
pub(crate) fn declared_secrets(text: &str) -> Vec<Secret> {
    let begins = |line: &&str| line.starts_with("secrets:");
    let belongs = |line: &&str| line.is_empty() || line.starts_with([' ', '\t', '-', '#', '\r']);
    let mut lines = text.lines().skip_while(|line| !begins(line));
    let first = lines.next().unwrap_or_default();
    let block: Vec<&str> = std::iter::once(first).chain(lines.take_while(belongs)).collect();
    let root = crate::yaml::parse(&block.join("\n"), &mut Diagnostics::default());
    root.map(|root| Secrets::of(&root).declared).unwrap_or_default()
}

fn source(node: &Node) -> Option<SecretSource> {
    let text = |key: &str| node.get(key).and_then(|node| node.scalar_text()).map(str::to_owned);
    if let Some(variable) = text("env") {
        return Some(SecretSource::Env(variable));
    }
    if let Some(path) = text("file") {
        return Some(SecretSource::File(path));
    }
    let words = node.get("command")?.list()?;
    let words: Vec<String> = words.iter().filter_map(|word| word.scalar_text()).map(str::to_owned).collect();
    (!words.is_empty()).then_some(SecretSource::Command(words))
}

impl Decoder<'_> {
    /// `secrets:` of a check.
    pub(super) fn secret_names(&mut self, check: &Node, provider: &ProviderSpec) -> GrantedSecrets {
        self.secrets.report_env_conflicts(check.get("env"), self.sources.found);
        let Some(entry) = check.entry("secrets") else { return GrantedSecrets::default() };
        if !provider.name.is_empty() && provider.home != Home::Runtime {
            self.found().push(
                Problem::new("W0211", entry.key_span.clone(), "`secrets` has no effect")
                    .label(format!("a `{}` check runs no program that could use them", provider.name)),
            );
        }
        let mut granted = GrantedSecrets::default();
        for item in items(&entry.value) {
            let handed_over = item.get("as").and_then(|word| word.string());
            let item = item.get("name").unwrap_or(item);
            let Some(name) = item.string().filter(|name| !name.is_empty()) else { continue };
            if self.secrets.span_of(name).is_none() {
                let declared = self.secrets.declared.iter().map(|secret| secret.name.as_str());
                let help = did_you_mean(name, declared).unwrap_or_else(|| {
                    format!("declare it at the top level of the file: `secrets: [{name}]`")
                });
                self.found().push(
                    Problem::new("E0145", item.span.clone(), format!("undeclared secret `{name}`"))
                        .label("not declared")
                        .help(help),
                );
                continue;
            }
            match handed_over {
                Some("file") => granted.files.push(name.to_owned()),
                Some("fd") => granted.descriptors.push(name.to_owned()),
                Some(_) | None => {}
            }
            granted.names.push(name.to_owned());
        }
        granted
    }
}

impl Decoder<'_> {
    /// Warns of a `$NAME` in a message that would be sent as these letters, because no such secret is granted.
    pub(super) fn secrets_without_grant(
        &mut self,
        check: &Node,
        provider: &ProviderSpec,
        granted: &[String],
    ) {
        let is_message =
            |kind: KeyKind| matches!(kind, KeyKind::Url | KeyKind::Message | KeyKind::MessageMap);
        let mut texts = Vec::new();
        for key in provider.keys.iter().filter(|key| is_message(key.kind)) {
            collect_texts(check.get(key.name), &mut texts);
        }
        let mut told: Vec<String> = Vec::new();
        for node in texts {
            for name in secret_reference::names(node.string().unwrap_or_default()) {
                if granted.contains(&name) || told.contains(&name) {
                    continue;
                }
                let help = match self.secrets.span_of(&name) {
                    Some(_) => format!(
                        "did you forget `secrets: {name}` on the check? `$${name}` is the text itself"
                    ),
                    None => format!(
                        "did you forget `secrets`? Declare `{name}` at the top level of the file and name it in `secrets` of the check; `$${name}` is the text itself"
                    ),
                };
                let message = format!("`${name}` is sent as it is written");
                self.found().push(
                    Problem::new("W0233", node.span.clone(), message)
                        .label(format!("the check is granted no secret `{name}`"))
                        .help(help),
                );
                told.push(name);
            }
        }
    }
}

/// The texts of a value, at any depth.
fn collect_texts(node: Option<&Rc<Node>>, texts: &mut Vec<Rc<Node>>) {
    let Some(node) = node else { return };
    if let Some(members) = node.map() {
        members.iter().for_each(|member| collect_texts(Some(&member.value), texts));
    } else if let Some(list) = node.list() {
        list.iter().for_each(|item| collect_texts(Some(item), texts));
    } else if node.string().is_some() {
        texts.push(Rc::clone(node));
    }
}

/// The secrets that a check is given.
#[derive(Default)]
pub(super) struct GrantedSecrets {
    pub(super) names: Vec<String>,
    /// Those that are handed over as a file.
    pub(super) files: Vec<String>,
    /// Those that are handed over as an open file.
    pub(super) descriptors: Vec<String>,
}
