//! Checks `shell` against the `exec` that it interprets.

use escrow_model::Field;
use escrow_template::is_posix_shell;
use indexmap::IndexMap;
use serde_json::Value;

use super::Decoder;
use crate::diagnostic::Problem;
use crate::yaml::Node;

impl Decoder<'_> {
    pub(super) fn shell_program(&mut self, check: &Node, fields: &IndexMap<String, Field>) {
        let (Some(entry), Some(Field::Plain(shell))) = (check.entry("shell"), fields.get("shell")) else {
            return;
        };
        match fields.get("exec") {
            Some(Field::Argv(_)) => self.found().push(
                Problem::new("W0211", entry.key_span.clone(), "`shell` has no effect")
                    .label("`exec` is a list: no shell is involved"),
            ),
            Some(Field::Shell(script)) if script.has_values() && !takes_references(shell) => {
                self.found().push(
                    Problem::new(
                        "E0119",
                        entry.value.span.clone(),
                        "`exec` has templates, which need a POSIX shell",
                    )
                    .label("values are passed as `\"${NAME}\"`, which this program may read differently")
                    .help("write `shell: bash`, or pass the values through `env:` or `stdin`"),
                );
            }
            Some(_) | None => {}
        }
    }
}

/// Whether the program reads a script with references as `sh` does.
fn takes_references(shell: &Value) -> bool {
    match shell {
        Value::Array(words) => words.first().and_then(Value::as_str).is_some_and(is_posix_shell),
        _ => true,
    }
}
