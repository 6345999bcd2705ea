//! The registered adapters, per version of the wire.

use std::sync::LazyLock;

use super::AdapterManifest;
use crate::version::WireVersion;

crate::vocabulary::vocabulary! {
    /// How far an adapter's claims have been proven.
    ConformanceLevel {
        V1Conformance = "v1_conformance",
        PreConformance = "pre_conformance",
    }
}

/// One registered adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdapterEntry {
    pub manifest: AdapterManifest,
    pub conformance: ConformanceLevel,
}

/// The adapters of one version of the wire, in listing order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Registry {
    entries: Vec<AdapterEntry>,
}

impl Registry {
    /// The built-in adapters.
    pub fn builtin(version: WireVersion) -> &'static Self {
        static V0_2: LazyLock<Registry> =
            LazyLock::new(|| Registry::from_table(WireVersion::V0_2, BUILTIN_V0_2));
        static V0_3: LazyLock<Registry> =
            LazyLock::new(|| Registry::from_table(WireVersion::V0_3, BUILTIN_V0_3));
        static V0_4: LazyLock<Registry> =
            LazyLock::new(|| Registry::from_table(WireVersion::V0_4, BUILTIN_V0_4));
        match version {
            WireVersion::V0_2 => &V0_2,
            WireVersion::V0_3 => &V0_3,
            WireVersion::V0_4 => &V0_4,
        }
    }

    /// Adds adapters. One with the same id replaces the registered one.
    #[must_use]
    pub fn extended_with(mut self, further: impl IntoIterator<Item = AdapterEntry>) -> Self {
        for entry in further {
            let id = &entry.manifest.adapter_id;
            match self.entries.iter().position(|known| &known.manifest.adapter_id == id) {
                Some(at) => self.entries[at] = entry,
                None => self.entries.push(entry),
            }
        }
        self
    }

    pub fn entries(&self) -> &[AdapterEntry] {
        &self.entries
    }

    pub fn find(&self, adapter_id: &str) -> Option<&AdapterEntry> {
        self.entries.iter().find(|entry| entry.manifest.adapter_id == adapter_id)
    }

    fn from_table(version: WireVersion, table: &[(ConformanceLevel, &str)]) -> Self {
        let entries = table
            .iter()
            .map(|&(conformance, text)| {
                let mut manifest =
                    AdapterManifest::read(text).expect("the built-in manifests are read by a test");
                version.as_str().clone_into(&mut manifest.contract_version);
                AdapterEntry { manifest, conformance }
            })
            .collect();
        Self { entries }
    }
}

macro_rules! manifest {
    ($file:literal) => {
        include_str!(concat!("../../data/manifests/", $file, ".json"))
    };
}

const BUILTIN_V0_2: &[(ConformanceLevel, &str)] = &[
    (ConformanceLevel::V1Conformance, manifest!("v0.2/codex")),
    (ConformanceLevel::V1Conformance, manifest!("v0.2/claude")),
    (ConformanceLevel::PreConformance, manifest!("v0.2/hermes")),
    (ConformanceLevel::PreConformance, manifest!("v0.2/openclaw")),
    (ConformanceLevel::PreConformance, manifest!("v0.2/gemini")),
    (ConformanceLevel::PreConformance, manifest!("v0.2/opencode")),
];

const BUILTIN_V0_3: &[(ConformanceLevel, &str)] = &[
    (ConformanceLevel::V1Conformance, manifest!("v0.3/codex")),
    (ConformanceLevel::V1Conformance, manifest!("v0.2/claude")),
    (ConformanceLevel::PreConformance, manifest!("v0.2/hermes")),
    (ConformanceLevel::PreConformance, manifest!("v0.2/openclaw")),
    (ConformanceLevel::PreConformance, manifest!("v0.2/gemini")),
    (ConformanceLevel::PreConformance, manifest!("v0.2/opencode")),
];

const BUILTIN_V0_4: &[(ConformanceLevel, &str)] = &[
    (ConformanceLevel::V1Conformance, manifest!("v0.4/codex")),
    (ConformanceLevel::V1Conformance, manifest!("v0.4/claude")),
    (ConformanceLevel::PreConformance, manifest!("v0.4/pi")),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::Registry;
    use crate::version::WireVersion;

    #[test]
    fn every_builtin_manifest_is_read_valid_and_registered_once() {
        for &version in WireVersion::ALL {
            let registry = Registry::builtin(version);
            let ids: BTreeSet<_> =
                registry.entries().iter().map(|entry| &entry.manifest.adapter_id).collect();
            assert_eq!(ids.len(), registry.entries().len());
            for entry in registry.entries() {
                entry.manifest.validate().unwrap();
                assert_eq!(entry.manifest.contract_version, version.as_str());
            }
        }
    }
}
