//! The person who acts, as the operating system knows them. Environment variables are not asked.

use nix::unistd::{User, getuid};

/// `os:NAME`; for a user without a name, `os:UID`.
pub fn os_actor() -> String {
    let uid = getuid();
    match User::from_uid(uid) {
        Ok(Some(user)) => format!("os:{}", user.name),
        Ok(None) | Err(_) => format!("os:{uid}"),
    }
}
