//! `.escrow/config.toml`: the settings of a project.

use std::path::Path;

use serde::Deserialize;

use crate::playbook_file::read_text;
use crate::project;

/// The name of the file.
const NAME: &str = "config.toml";

/// Settings are short.
const BYTES_MAX: u64 = 1 << 20;

/// What Escrow reads of the file. Other tables belong to other parts of it.
#[derive(Debug, Default, Deserialize)]
struct Config {
    #[serde(default)]
    harness: Harness,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Harness {
    default: Option<String>,
}

/// `[harness] default` of the nearest project, or why its settings cannot be read.
pub fn default_harness(directory: &Path) -> Result<Option<String>, String> {
    let directory = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    let Ok(Some(state)) = project::nearest(&directory) else { return Ok(None) };
    let path = state.join(NAME);
    if !path.is_file() {
        return Ok(None);
    }
    let failed = |error: String| format!("`{}` cannot be read: {error}", path.display());
    let text = read_text(&path, BYTES_MAX).map_err(failed)?;
    let config: Config = toml::from_str(&text).map_err(|error| failed(error.message().to_owned()))?;
    Ok(config.harness.default)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_harness_is_read_from_the_nearest_project() {
        let root = tempfile::tempdir().unwrap();
        let inside = root.path().join("a/b");
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::create_dir(root.path().join(".escrow")).unwrap();
        assert_eq!(default_harness(&inside), Ok(None));
        let write = |text: &str| std::fs::write(root.path().join(".escrow/config.toml"), text).unwrap();
        write("[harness]\ndefault = \"codex\"\n[notify]\ncommand = \"x\"\n");
        assert_eq!(default_harness(&inside), Ok(Some("codex".into())));
        for broken in ["[harness", "[harness]\ndefualt = \"codex\""] {
            write(broken);
            assert!(default_harness(&inside).is_err(), "{broken}");
        }
    }
}
