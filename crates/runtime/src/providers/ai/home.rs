//! The private home of a conversation: all configuration and state of the harness, in the spool of the run.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use escrow_harness::{Conversation, PrivateFile};
use escrow_model::{FaultCode, ProviderFault};

use super::super::Attempt;
use super::super::places::absolute;
use super::login;
use super::task::{Resumed, Task};
use crate::beneath;
use crate::entropy::random_bytes;
use crate::private_files::create_directory;

pub(super) struct PrivateHome {
    path: PathBuf,
    /// Names it among the homes of the run.
    label: String,
    conversation: Kind,
    is_kept: bool,
}

enum Kind {
    New { id: String },
    Resumed(Resumed),
}

/// The end of the names of homes.
pub(super) const EXTENSION: &str = "home";

impl PrivateHome {
    /// Makes a new home, or opens that of the conversation which is continued.
    pub(super) fn open(task: &Task<'_>, attempt: &Attempt) -> Result<PrivateHome, ProviderFault> {
        let failed = |error: &io::Error| {
            let message = format!("the private home of the harness cannot be made: {error}");
            ProviderFault::transient(FaultCode::Spawn, message)
        };
        let spool = absolute(&attempt.spool).map_err(|error| failed(&error))?;
        let (label, conversation) = match &task.resumed {
            Some(resumed) => (resumed.home.clone(), Kind::Resumed(resumed.clone())),
            None => {
                let id = new_uuid().map_err(|error| failed(&error))?;
                (attempt.label.clone(), Kind::New { id })
            }
        };
        let path = spool.join(format!("{label}.{EXTENSION}"));
        // The label comes from a record, and must not lead elsewhere.
        let is_foreign = label.contains('/') || label.starts_with('.') || !path.is_dir();
        let is_continued = matches!(conversation, Kind::Resumed(_));
        if is_continued && is_foreign {
            let message = "the conversation to continue is gone: its private home is not there";
            return Err(ProviderFault::logical(FaultCode::own("conversation_lost"), message));
        }
        // An attempt that was interrupted may have left one, with a login that it renewed.
        login::return_of(&path);
        if !is_continued {
            let _ = fs::remove_dir_all(&path);
        }
        create_directory(&path).map_err(|error| failed(&error))?;
        Ok(PrivateHome {
            path,
            label,
            conversation,
            is_kept: task.keeps_conversation || task.resumed.is_some(),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn label(&self) -> &str {
        &self.label
    }

    pub(super) fn conversation(&self) -> Conversation<'_> {
        match &self.conversation {
            Kind::New { id } => Conversation::New { id },
            Kind::Resumed(resumed) => Conversation::Resumed { id: &resumed.id },
        }
    }

    /// What the harness had added up before this attempt.
    pub(super) fn tokens_before(&self) -> (u64, u64) {
        match &self.conversation {
            Kind::New { .. } => (0, 0),
            Kind::Resumed(resumed) => (resumed.input_tokens.unwrap_or(0), resumed.output_tokens.unwrap_or(0)),
        }
    }

    pub(super) fn write(&self, files: &[PrivateFile]) -> io::Result<()> {
        // An earlier attempt of the conversation could write here, and may have left links.
        for file in files {
            beneath::create_file(&self.path, &file.path)?.write_all(file.contents.as_bytes())?;
        }
        Ok(())
    }

    /// Programs that look for settings beside the variables of the harness find none.
    pub(super) fn give_to(&self, command: &mut Command) {
        command.env("HOME", &self.path);
    }

    /// Removes it, unless a later attempt may continue the conversation.
    pub(super) fn tidy(&self) {
        if !self.is_kept {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// A random UUID, version 4.
fn new_uuid() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    random_bytes(&mut bytes)?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = escrow_model::hex(&bytes);
    Ok(format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_has_its_version_and_its_form() {
        let id = new_uuid().unwrap();
        let parts: Vec<usize> = id.split('-').map(str::len).collect();
        assert_eq!(parts, [8, 4, 4, 4, 12]);
        assert_eq!(id.as_bytes()[14], b'4');
        assert!(b"89ab".contains(&id.as_bytes()[19]));
    }
}
