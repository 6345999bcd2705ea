//! How a secret is obtained. Never what it is: a plan is journaled.

/// A declared secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secret {
    /// The environment variable under which a check that asks for it finds it.
    pub name: String,
    pub from: SecretSource,
}

impl Secret {
    /// The variables of Escrow's own environment that would give it away.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        let read = match &self.from {
            SecretSource::Env(variable) => Some(variable.as_str()),
            SecretSource::File(_) | SecretSource::Command(_) => None,
        };
        std::iter::once(self.name.as_str()).chain(read.filter(|variable| *variable != self.name))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretSource {
    /// A variable of the environment that Escrow was started with.
    Env(String),
    /// A file, relative to the directory of the run.
    File(String),
    /// What a program prints: the program and its arguments, no shell.
    Command(Vec<String>),
}
