//! Which environment variables a client process may see.

use std::ffi::{OsStr, OsString};

/// The environment of a client process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Environment {
    /// All variables, as release 0.9.0 passes them.
    #[default]
    Inherited,
    /// Only the variables that these rules allow.
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

/// One entry of an allow-list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvironmentRule {
    /// This variable.
    Name(String),
    /// Every variable whose name starts with this.
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

/// The allowed variables. An empty list allows none.
fn allowed_environment(
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
