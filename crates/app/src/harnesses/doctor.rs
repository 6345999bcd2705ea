//! Starts each program with a scripted model, and reports which of its hooks fire.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use escrow_harness::install::HookFile;
use escrow_runtime::canary::{self, Canary};
use escrow_runtime::{harness_program, random_u64};

use super::version_of;
use crate::error::Error;

/// What a canary showed of one host.
#[derive(Debug)]
pub struct Diagnosis {
    pub host: &'static str,
    pub program: Option<PathBuf>,
    pub version: Option<String>,
    pub tested_versions: &'static [&'static str],
    /// `None`: the program is missing, or Escrow does not start it.
    pub canary: Option<Canary>,
    /// The claims of the manifest that the canary did not confirm.
    pub stale_claims: Vec<&'static str>,
    /// Key variables that are set.
    pub keys: Vec<&'static str>,
    /// The login file of the user, if it is there.
    pub login: Option<PathBuf>,
}

/// Starts each program with a scripted model and looks which hooks fire.
pub fn diagnose(hosts: &[&'static HookFile], program: &Path) -> Result<Vec<Diagnosis>, Error> {
    let scratch = Scratch::create()
        .map_err(|error| Error::world("scratch", format!("no scratch directory can be made: {error}")))?;
    let mut all = Vec::new();
    for host in hosts {
        let found = harness_program::find(host.host);
        let harness = escrow_harness::find(host.host);
        let mut canary = None;
        if let (Some(found), Some(harness)) = (&found, harness) {
            let words = [program.display().to_string(), "hook".into(), "--host".into(), host.host.into()];
            let place = scratch.0.join(host.host);
            let result =
                fs::create_dir_all(&place).and_then(|()| canary::run(harness, found, &words, &place));
            canary =
                Some(result.unwrap_or_else(|error| Canary {
                    problem: Some(error.to_string()),
                    ..Canary::default()
                }));
        }
        let spec = harness.map(|harness| harness.spec());
        let events = spec.map(|spec| spec.hooks);
        let silent = canary.iter().flat_map(|canary| &canary.silent);
        let claims = silent.filter_map(|name| Some(events?.event(name)?.lifecycle()?.as_str()));
        let is_set = |name: &&&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let login = spec.and_then(|spec| Some(home?.join(spec.login?.source)));
        all.push(Diagnosis {
            host: host.host,
            version: found.as_deref().and_then(|found| version_of(host, found)),
            program: found,
            tested_versions: spec.map_or(&[], |spec| spec.tested_versions),
            stale_claims: claims.collect(),
            keys: spec.map_or(&[][..], |spec| spec.key_variables).iter().filter(is_set).copied().collect(),
            login: login.filter(|file| file.exists()),
            canary,
        });
    }
    Ok(all)
}

/// A directory that is gone afterwards.
struct Scratch(PathBuf);

impl Scratch {
    fn create() -> io::Result<Scratch> {
        let path = std::env::temp_dir().join(format!("escrow-doctor-{:016x}", random_u64()?));
        escrow_runtime::private_files::create_directory(&path)?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
