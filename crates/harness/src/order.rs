//! Everything that a command line is made from.

use std::path::Path;

use serde_json::Value;

#[derive(Debug, Clone, Copy)]
pub struct Order<'a> {
    pub prompt: &'a str,
    pub model: Option<&'a str>,
    pub permission: Permission,
    pub confinement: Confinement,
    pub auth: Auth,
    /// Where the agent works; absolute. The caller starts the program there.
    pub directory: &'a Path,
    /// The private home of this conversation; absolute. All configuration and state of the program is below it.
    pub home: &'a Path,
    /// The artifact directory; absolute.
    pub artifacts: &'a Path,
    pub conversation: Conversation<'a>,
    /// Limits, passed to programs that enforce them. The caller enforces them for the others.
    pub turns: Option<u32>,
    pub usd: Option<f64>,
    /// The JSON Schema of the answer.
    pub schema: Option<&'a Value>,
    /// The command that every hook runs, without the event; `None` installs no hooks.
    pub hook: Option<&'a [String]>,
    /// The value of `Harness::base_url_variable`.
    pub base_url: Option<&'a str>,
    pub is_root: bool,
}

/// What the agent may do beyond reading, and beyond writing artifacts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Permission {
    /// No writes.
    Read,
    /// File edits and shell commands in the working directory.
    Edit,
    /// Everything that the program can do.
    Full,
}

/// Who keeps the agent within its permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Confinement {
    /// The kernel. Programs whose own read mode could not write artifacts, or whose own sandbox cannot be nested, get
    /// their permissive mode; the kernel refuses what the permission does not allow.
    Kernel,
    /// The program itself, as far as it can. A program without a rule for one directory cannot write artifacts when it may
    /// only read.
    Program,
}

/// How the program authenticates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Auth {
    /// By a key variable.
    Key,
    /// By the file that `Harness::login` names.
    Login,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conversation<'a> {
    /// `id` is a UUID. Programs that choose their own id ignore it, see `Harness::takes_session_id`.
    New {
        id: &'a str,
    },
    Resumed {
        id: &'a str,
    },
}
