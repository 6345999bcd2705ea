//! Which files a confined program can read and write, enforced by Landlock.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use escrow_model::SandboxFilesystem;
use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};

use super::Confinement;

/// The first version that can forbid truncating a file, without which "read" would allow emptying it. Linux 6.2.
pub(super) const NEEDED: ABI = ABI::V3;

/// What almost every program reads: itself, its libraries, their settings, and facts about the machine.
const SYSTEM: &[&str] = &[
    "/bin",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/opt",
    "/proc",
    "/run/systemd/resolve",
    "/sbin",
    "/sys",
    "/usr",
];

/// Devices that store nothing. `/dev/stdout` and the like lead to pipes, which are not confined.
const DEVICES: &[&str] = &[
    "/dev/full",
    "/dev/null",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/random",
    "/dev/tty",
    "/dev/urandom",
    "/dev/zero",
];

/// The declared paths, absolute and without links.
pub(super) struct Files {
    /// `None`: everything.
    read: Option<Vec<PathBuf>>,
    write: Vec<PathBuf>,
    /// The directories inside of writable paths that must stay as they are: the state of Escrow, and what is protected.
    pub(super) covered: Vec<PathBuf>,
    /// The directories between a writable path and what it covers, outermost first. Renaming one would take the covered
    /// directory away from its path.
    pub(super) above_covered: Vec<PathBuf>,
}

pub(super) fn resolve(declared: &SandboxFilesystem, confinement: &Confinement) -> Result<Files, String> {
    let real = |key: &str, path: &str| {
        let full = full_path(path, &confinement.directory);
        full.canonicalize().map_err(|error| {
            let help = "create it before this check runs, or remove it from the list";
            format!("`sandbox.filesystem.{key}` names `{path}`, which cannot be opened: {error}; {help}")
        })
    };
    let mut write = Vec::new();
    let state = confinement.state.canonicalize().unwrap_or_else(|_| confinement.state.clone());
    let own: Vec<PathBuf> = confinement.writable.iter().filter_map(|path| path.canonicalize().ok()).collect();
    for path in &declared.write {
        let full = real("write", path)?;
        if full.starts_with(&state) && !own.iter().any(|own| full.starts_with(own)) {
            return Err(format!(
                "`sandbox.filesystem.write` names `{path}`, which is part of Escrow's own state"
            ));
        }
        refuse_link_to_state(path, &full, &confinement.state)?;
        write.push(full);
    }
    let protected = confinement.protected.iter().filter_map(|path| path.canonicalize().ok());
    let outside = protected.filter(|path| !path.starts_with(&state));
    let mut covered: Vec<PathBuf> = std::iter::once(state.clone()).chain(outside).collect();
    covered.retain(|path| write.iter().any(|writable| path.starts_with(writable)));
    let is_above = |above: &&Path| write.iter().any(|path| above.starts_with(path) && *above != path);
    let above = covered.iter().flat_map(|path| path.ancestors().skip(1).filter(is_above));
    let above: BTreeSet<PathBuf> = above.map(Path::to_owned).filter(|path| !covered.contains(path)).collect();
    // A directory sorts before what is in it.
    let above_covered = above.into_iter().collect();
    write.extend(own);
    let read = match &declared.read {
        None => None,
        Some(paths) => {
            let mut read = paths.iter().map(|path| real("read", path)).collect::<Result<Vec<_>, _>>()?;
            read.extend(confinement.readable.iter().cloned());
            Some(read)
        }
    };
    Ok(Files { read, write, covered, above_covered })
}

/// A link on the way to the state could be replaced by one that leads to another.
fn refuse_link_to_state(written: &str, writable: &Path, state: &Path) -> Result<(), String> {
    let is_replaceable = |part: &&Path| {
        part.is_symlink()
            && part
                .parent()
                .and_then(|above| above.canonicalize().ok())
                .is_some_and(|above| above.starts_with(writable))
    };
    match state.ancestors().find(is_replaceable) {
        Some(link) => Err(format!(
            "`sandbox.filesystem.write` names `{written}`, which has the link `{}` to Escrow's state; name the state \
             without links (`--state`), or fewer paths",
            link.display()
        )),
        None => Ok(()),
    }
}

/// `~/` is the home directory; what is relative is relative to the directory of the run.
fn full_path(path: &str, directory: &Path) -> PathBuf {
    match (path.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => Path::new(&home).join(rest),
        _ if path == "~" => std::env::var_os("HOME").map_or_else(|| directory.join(path), PathBuf::from),
        _ => directory.join(path),
    }
}

impl Files {
    /// From here on this process and its descendants reach only what the lists allow.
    pub(super) fn restrict(&self) -> Result<(), String> {
        let restricted = self.restricted().map_err(|error| {
            format!("`sandbox.filesystem` cannot be set up: {error}; see `escrow doctor`")
        })?;
        match restricted {
            RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
            RulesetStatus::NotEnforced => {
                Err("`sandbox.filesystem` cannot be set up: this kernel has no Landlock; see `escrow doctor`"
                    .into())
            }
        }
    }

    fn restricted(&self) -> Result<RulesetStatus, landlock::RulesetError> {
        let mut handled = AccessFs::from_write(NEEDED);
        if self.read.is_some() {
            handled |= AccessFs::from_read(NEEDED);
        }
        let mut rules = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(handled)?
            .set_compatibility(CompatLevel::BestEffort)
            .scope(Scope::from_all(ABI::V6))?
            .create()?
            .set_compatibility(CompatLevel::BestEffort);
        for path in &self.write {
            rules = allow(rules, path, AccessFs::from_all(NEEDED) & handled)?;
        }
        for path in DEVICES {
            let access = (AccessFs::from_file(NEEDED) | AccessFs::ReadDir) & handled;
            rules = allow(rules, Path::new(path), access)?;
        }
        if let Some(read) = &self.read {
            for path in SYSTEM.iter().map(Path::new).chain(read.iter().map(PathBuf::as_path)) {
                rules = allow(rules, path, AccessFs::from_read(NEEDED))?;
            }
        }
        Ok(rules.restrict_self()?.ruleset)
    }
}

/// Keeps a program whose files are not confined from signalling processes outside of the sandbox, and from sockets of
/// theirs that have no file. Where the kernel cannot, before Linux 6.12, nothing happens: `network` alone does not promise it.
pub(super) fn scope() {
    let created = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .scope(Scope::from_all(ABI::V6))
        .and_then(Ruleset::create);
    if let Ok(rules) = created {
        let _ = rules.restrict_self();
    }
}

/// A path that is not there, such as `/lib32` on most machines, has nothing to allow.
fn allow(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, landlock::RulesetError> {
    let Ok(file) = PathFd::new(path) else { return Ok(rules) };
    let access = if path.is_dir() { access } else { access & AccessFs::from_file(NEEDED) };
    if access.is_empty() { Ok(rules) } else { rules.add_rule(PathBeneath::new(file, access)) }
}
