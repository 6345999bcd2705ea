//! Which of our variables a client's process may see.

use std::ffi::{OsStr, OsString};

/// What a client's process sees of our environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Environment {
    /// All of it, which is what compatible clients expect.
    #[default]
    Inherited,
    /// Only what these rules let pass.
    Only(Vec<EnvironmentRule>),
}

impl Environment {
    /// The variables to start the process with.
    pub fn of(&self, variables: impl IntoIterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
        match self {
            Self::Inherited => variables.into_iter().collect(),
            Self::Only(rules) => allowed_environment(variables, rules),
        }
    }
}

/// One line of an allow-list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvironmentRule {
    /// This variable.
    Name(String),
    /// Every variable whose name begins so.
    Prefix(String),
}

impl EnvironmentRule {
    /// `NAME`, or `NAME_*` for all that begin with `NAME_`.
    pub fn parse(text: &str) -> Self {
        match text.strip_suffix('*') {
            Some(prefix) => Self::Prefix(prefix.to_owned()),
            None => Self::Name(text.to_owned()),
        }
    }

    fn allows(&self, name: &OsStr) -> bool {
        let name = name.as_encoded_bytes();
        match self {
            Self::Name(allowed) => name == allowed.as_bytes(),
            Self::Prefix(prefix) => name.starts_with(prefix.as_bytes()),
        }
    }
}

/// The variables that pass. An empty list lets nothing pass.
pub fn allowed_environment(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    rules: &[EnvironmentRule],
) -> Vec<(OsString, OsString)> {
    variables.into_iter().filter(|(name, _)| rules.iter().any(|rule| rule.allows(name))).collect()
}

#[cfg(test)]
mod tests {
    use super::{EnvironmentRule, allowed_environment};

    #[test]
    fn only_what_is_named_passes() {
        let variables = ["PATH", "HOME", "LC_ALL", "AWS_SECRET"].map(|name| (name.into(), "x".into()));
        let rules = ["PATH", "LC_*"].map(EnvironmentRule::parse);
        let names: Vec<_> =
            allowed_environment(variables, &rules).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["PATH", "LC_ALL"]);
        assert_eq!(allowed_environment([("PATH".into(), "x".into())], &[]), []);
    }
}
