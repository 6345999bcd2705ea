//! The table of diagnostics: codes, titles, default help, and the page that explains each one.

/// One diagnostic code.
#[derive(Clone, Copy, Debug)]
pub struct Code {
    pub code: &'static str,
    pub title: &'static str,
    /// The help of a diagnostic that brings none of its own.
    help: Option<&'static str>,
    page: &'static str,
}

/// The page that `escrow explain E0102` prints.
pub fn page(code: &str) -> Option<&'static str> {
    DIAGNOSTICS.iter().find(|known| known.code.eq_ignore_ascii_case(code)).map(|known| known.page)
}

/// The default help of a code.
pub(crate) fn help(code: &str) -> Option<&'static str> {
    DIAGNOSTICS.iter().find(|known| known.code == code).and_then(|known| known.help)
}

macro_rules! diagnostics {
    (@help) => { None };
    (@help $help:literal) => { Some($help) };
    ($($code:literal $title:literal $(=> $help:literal)?)*) => {
        /// All codes in ascending order. Codes are stable: a retired code is never reused.
        pub const DIAGNOSTICS: &[Code] = &[$(Code {
            code: $code,
            title: $title,
            help: diagnostics!(@help $($help)?),
            page: include_str!(concat!("../../../docs/diagnostics/", $code, ".md")),
        }),*];
    };
}

diagnostics! {
    "E0101" "invalid YAML"
        => "the cause may be an earlier line: look for unclosed quotes and brackets, and for wrong indentation"
    "E0102" "unknown check"
    "E0103" "unknown key"
    "E0104" "key of another engine"
    "E0105" "value of the wrong type"
        => "`escrow explain E0105` shows how each type of value is written"
    "E0106" "missing key"
        => "add the key"
    "E0107" "unknown provider"
    "E0108" "value not allowed"
        => "use one of the allowed values"
    "E0109" "empty file"
    "E0110" "duplicate key"
    "E0111" "duplicate list entry"
        => "remove one of them"
    "E0112" "dependency cycle"
    "E0113" "invalid expression"
        => "expressions use JavaScript syntax: `output.count > 0 && env.CI === 'true'`"
    "E0114" "unknown name"
    "E0115" "expression with a side effect"
    "E0116" "output read before the provider has run"
    "E0117" "`item` outside a fan-out"
    "E0118" "invalid template"
        => "templates use Jinja syntax: `{{ outputs.build.version }}`"
    "E0119" "unsafe shell script"
    "E0120" "invalid JSON Schema"
    "E0121" "invalid duration"
    "E0122" "number out of range"
        => "use a number within the range"
    "E0123" "join of two fan-outs"
    "E0124" "invalid identifier"
        => "use letters, digits, `-` and `_`"
    "E0125" "duplicate artifact id"
    "E0126" "invalid artifact path"
    "E0127" "ambiguous artifact location"
        => "give `path` for one file, or `glob` with `count` for several"
    "E0128" "invalid environment variable name"
        => "use letters, digits and `_`, and do not start with a digit"
    "E0129" "invalid check name"
        => "use letters, digits, `-` and `_`, as in `post-comment`"
    "E0130" "conflicting keys"
    "E0131" "empty alternative in `depends_on`"
    "E0133" "more than one YAML document"
    "E0134" "limit exceeded"
        => "make the file smaller: checks of `type: playbook` can run several playbooks"
    "E0135" "unresolved alias"
        => "write the value out in one of the two places"
    "E0136" "merge of a value that is not a map"
    "E0137" "invalid UTF-8"
    "E0138" "playbook without checks"
    "E0139" "default does not match the type"
        => "give a default of the declared type, or change `type`"
    "E0141" "unsupported YAML tag"
    "E0142" "key is not a string"
    "E0145" "undeclared secret"
    "E0146" "undeclared input"
    "E0151" "invalid rule"
        => "`escrow explain E0151` lists what makes a rule invalid"
    "E0152" "unusable rules file"
    "E0153" "unknown outcome kind"
    "E0154" "invalid outcome kind"
    "E0161" "unknown agent"
    "E0162" "invalid agent profile"
    "E0164" "agent profile without front matter"
    "E0165" "profile name differs from its file name"
    "E0166" "unknown artifact"
    "E0171" "`effect_key` without `item`"
        => "name the item, or a part of it: `effect_key: \"publish-{{ item.id }}\"`"
    "E0172" "artifact that cannot be read here"
    "E0173" "another kind of file"
    "E0174" "nested playbook cannot be run"
        => "the search covers the folder of this file, the directory where commands run, and `.escrow/playbooks/`"
    "E0181" "budget that cannot be kept"
    "E0182" "judge that is not independent"
    "E0183" "conversation that cannot be reused"
    "E0184" "login that cannot be lent"
    "E0191" "unknown step"
        => "read a step that comes before, as `steps[0]` or `steps.NAME`"
    "E0195" "invalid schedule"
        => "write five cron fields, as in `0 2 * * *`, or an interval, as in `every 6h`"
    "W0201" "external check without a contract"
    "W0202" "deciding check without a guarantee"
    "W0203" "undeclared criticality"
    "W0204" "loop without an exit"
    "W0205" "constant condition"
        => "remove it, or write a condition that can be true or false"
    "W0206" "unreachable check"
    "W0207" "deprecated key"
    "W0208" "unknown event"
    "W0209" "output of an unknown check"
        => "read the output of a check in this file, as `outputs.<check>`"
    "W0211" "key without effect"
        => "remove it"
    "W0212" "output read without a dependency"
    "W0214" "wrong inputs for a nested playbook"
        => "`inputs` of the nested playbook lists what it accepts"
    "W0221" "two artifacts with one path"
    "W0222" "time limit of a few milliseconds"
    "W0231" "rules that judge nothing"
        => "enable a rule, or remove `rules`"
    "W0232" "pipeline that hides a failure"
        => "write `shell: bash`, which fails when any command of a pipeline fails"
    "W0233" "secret that is not granted"
    "W0251" "retry that may repeat an effect"
        => "add `idempotent: true` if repeating is safe, or `reconcile` with a command that looks whether it happened"
    "W0252" "effect that cannot be checked or undone"
        => "add `idempotent: true`, `reconcile`, `effect_key`, or `on_fail: { run: [CHECK] }` with a check that undoes it"
    "W0253" "many retries of a critical check"
        => "lower `on_fail.retry.max` to 3 or less"
    "W0254" "fault that passes a contract unjudged"
        => "add `fail_if`, which is judged on a fault too (`fail_if: result.exit_code !== 0`), or remove `continue_on_failure`"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_sorted_and_pages_carry_their_titles() {
        assert!(DIAGNOSTICS.windows(2).all(|pair| pair[0].code < pair[1].code));
        for known in DIAGNOSTICS {
            let title = known.page.lines().next().unwrap_or_default();
            assert_eq!(title, format!("# {}: {}", known.code, known.title));
        }
    }

    #[test]
    fn pages_are_found_in_upper_and_lower_case() {
        assert!(page("e0102").is_some());
        assert!(page("E9999").is_none());
    }
}
