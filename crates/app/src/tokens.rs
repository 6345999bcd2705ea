//! Tokens for callers that are not on this machine: who they are, and what each may do.
//!
//! **Invariant:** a token is shown once and never stored. The file has its SHA-256, which suffices because a token is
//! 256 random bits: it cannot be guessed from its digest.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use escrow_model::{Millis, rfc3339};
use escrow_runtime::{now_ms, private_files, random_u64};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::app::App;
use crate::error::Error;
use crate::state::StateDirectory;

/// What a token may do. Each role includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Read everything.
    Read,
    /// Decide about what waits for a person.
    Approve,
    /// Start, resume and end runs.
    Admin,
}

impl Role {
    pub const ALL: [Role; 3] = [Role::Read, Role::Approve, Role::Admin];

    pub fn as_str(self) -> &'static str {
        match self {
            Role::Read => "read",
            Role::Approve => "approve",
            Role::Admin => "admin",
        }
    }

    pub fn parse(text: &str) -> Result<Role, Error> {
        Role::ALL.into_iter().find(|role| role.as_str() == text).ok_or_else(|| {
            Error::author("usage", format!("no role is called `{text}`")).help("one of read, approve, admin")
        })
    }
}

/// A token, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    pub name: String,
    pub role: Role,
    sha256: String,
    pub created_at: Millis,
}

impl Token {
    /// Without its digest, which is of no use to a reader.
    pub fn document(&self) -> Value {
        json!({ "name": self.name, "role": self.role, "created_at": rfc3339(self.created_at) })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenFile {
    version: u32,
    tokens: Vec<Token>,
}

const VERSION: u32 = 1;

/// A name is part of an actor, and actors are compared.
const NAME_LENGTH_MAX: usize = 64;

/// Makes a token. The text is shown to the caller and nowhere else.
pub fn add(app: &App, name: &str, role: Role) -> Result<(Token, String), Error> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._@-".contains(c);
    if name.is_empty() || name.len() > NAME_LENGTH_MAX || !name.chars().all(is_plain) {
        return Err(Error::author("usage", format!("`{name}` cannot be the name of a token"))
            .help("use up to 64 letters, digits, `.`, `_`, `@` and `-`"));
    }
    let mut tokens = list(app.state())?;
    if tokens.iter().any(|token| token.name == name) {
        return Err(Error::author("token_exists", format!("a token is called `{name}` already"))
            .help(format!("`escrow studio token remove {name}` removes it")));
    }
    let text = random_text()?;
    let token = Token { name: name.to_owned(), role, sha256: digest(&text), created_at: now_ms() };
    tokens.push(token.clone());
    write(app.state(), tokens)?;
    Ok((token, text))
}

/// Every token, oldest first.
pub fn list(state: &StateDirectory) -> Result<Vec<Token>, Error> {
    let path = path(state);
    let unreadable = |why: String| Error::world("tokens", format!("cannot read `{}`: {why}", path.display()));
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(error.to_string())),
    };
    let file: TokenFile = serde_json::from_str(&text).map_err(|error| unreadable(error.to_string()))?;
    if file.version != VERSION {
        return Err(unreadable(format!("it has version {}, and {VERSION} is known", file.version)));
    }
    Ok(file.tokens)
}

pub fn remove(app: &App, name: &str) -> Result<Token, Error> {
    let mut tokens = list(app.state())?;
    let Some(place) = tokens.iter().position(|token| token.name == name) else {
        return Err(Error::not_found("unknown_token", format!("no token is called `{name}`"))
            .help("`escrow studio token list` lists them"));
    };
    let removed = tokens.remove(place);
    write(app.state(), tokens)?;
    Ok(removed)
}

/// The token with this text. Digests are compared, so the time that it takes tells nothing about a token.
pub fn find(state: &StateDirectory, text: &str) -> Result<Option<Token>, Error> {
    let wanted = digest(text);
    Ok(list(state)?.into_iter().find(|token| token.sha256 == wanted))
}

fn path(state: &StateDirectory) -> PathBuf {
    state.path().join("studio-tokens.json")
}

/// Replaces the file whole, so that a reader never sees half of it.
fn write(state: &StateDirectory, tokens: Vec<Token>) -> Result<(), Error> {
    let path = path(state);
    let text = serde_json::to_string_pretty(&TokenFile { version: VERSION, tokens })
        .expect("a list of tokens is JSON");
    let beside = path.with_extension(format!("json.{}", std::process::id()));
    let written = state.create().and_then(|()| {
        let mut file = private_files::create_file(&beside)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, &path)
    });
    written.map_err(|error| {
        let _ = fs::remove_file(&beside);
        Error::world("tokens", format!("cannot write `{}`: {error}", path.display()))
    })
}

/// A new token, or another value that must not be guessed.
pub fn random_text() -> Result<String, Error> {
    let mut text = String::from("est_");
    for _ in 0..4 {
        let chance =
            random_u64().map_err(|error| Error::world("chance", format!("no random numbers: {error}")))?;
        text.push_str(&format!("{chance:016x}"));
    }
    Ok(text)
}

/// SHA-256, in hexadecimal digits.
pub fn digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
