//! Every diagnostic there is, with the page that tells more about it.

/// One kind of problem.
#[derive(Clone, Copy, Debug)]
pub struct Code {
    pub code: &'static str,
    pub title: &'static str,
    /// What helps where the place itself says nothing better.
    help: Option<&'static str>,
    page: &'static str,
}

/// What `escrow explain E0102` prints.
pub fn page(code: &str) -> Option<&'static str> {
    DIAGNOSTICS.iter().find(|known| known.code.eq_ignore_ascii_case(code)).map(|known| known.page)
}

/// What helps with problems of this kind in general.
pub(crate) fn help(code: &str) -> Option<&'static str> {
    DIAGNOSTICS.iter().find(|known| known.code == code).and_then(|known| known.help)
}

macro_rules! diagnostics {
    (@help) => { None };
    (@help $help:literal) => { Some($help) };
    ($($code:literal $title:literal $(=> $help:literal)?)*) => {
        /// In order. Codes are stable: one that is no longer used is not given away again.
        pub const DIAGNOSTICS: &[Code] = &[$(Code {
            code: $code,
            title: $title,
            help: diagnostics!(@help $($help)?),
            page: include_str!(concat!("../../../docs/diagnostics/", $code, ".md")),
        }),*];
    };
}

diagnostics! {
    "E0101" "the file is not YAML"
        => "it may be a line above that is not closed: look for quotes, brackets and indentation"
    "E0102" "a name that is no check"
    "E0103" "an unknown key"
    "E0104" "a key of another engine"
    "E0105" "a value of the wrong type"
        => "`escrow explain E0105` shows how each kind of value is written"
    "E0106" "a missing key"
        => "add it"
    "E0107" "an unknown provider"
    "E0108" "a word that is not one of the allowed ones"
        => "write one of these words"
    "E0109" "an empty file"
    "E0110" "a key that stands twice"
    "E0111" "an entry that is listed twice"
        => "remove one of them"
    "E0112" "a circle of dependencies"
    "E0113" "an expression that cannot be read"
        => "an expression is written as in JavaScript: `output.count > 0 && env.CI === 'true'`"
    "E0114" "a name that does not exist"
    "E0115" "an expression that changes something"
    "E0116" "an output that is read before there is one"
    "E0117" "an item where there is none"
    "E0118" "a template that cannot be read"
        => "a template is written as in Jinja: `{{ outputs.build.version }}`"
    "E0119" "a script that cannot be run safely"
    "E0120" "a schema that is not a JSON Schema"
    "E0121" "a length of time that cannot be read"
    "E0122" "a number out of range"
        => "write a number that lies in the range"
    "E0123" "a join of two fan-outs"
    "E0124" "an identifier with other characters"
        => "use letters, digits, `-` and `_`"
    "E0125" "two artifacts of one id"
    "E0126" "an artifact in a forbidden place"
    "E0127" "an artifact without one clear place"
        => "give `path` for one file, or `glob` with `count` for several"
    "E0128" "a name that no environment variable can have"
        => "use letters, digits and `_`, and a letter first"
    "E0129" "a name that no check can have"
        => "use letters, digits, `-` and `_`, as in `post-comment`"
    "E0130" "keys that exclude each other"
    "E0131" "an alternative without a name"
    "E0133" "more than one document"
    "E0134" "a file beyond the limits"
        => "make the file smaller: several playbooks can be run by checks of `type: playbook`"
    "E0135" "an alias without its anchor"
        => "write the value out in one of the two places"
    "E0136" "a merge of something that is no map"
    "E0137" "a file that is not UTF-8"
    "E0138" "a playbook without checks"
    "E0139" "a default that does not fit its type"
        => "give a default of the declared type, or change `type`"
    "E0141" "a YAML tag"
    "E0142" "a key that is not a string"
    "E0145" "a secret that is not declared"
    "E0151" "a rule that makes no sense"
        => "`escrow explain E0151` tells what can be wrong with a rule"
    "E0152" "a file of rules that cannot be used"
    "E0153" "an outcome kind that there is not"
    "E0154" "an outcome kind that cannot be used"
    "E0161" "an agent that there is not"
    "E0162" "an agent profile that is not good"
    "E0163" "an agent that cannot be run"
    "E0164" "a profile without front matter"
    "E0165" "a profile under another name"
    "E0166" "an artifact that is not expected"
    "W0201" "an external check without its contract"
    "W0202" "a deciding check without a guarantee"
    "W0203" "a risk that is not stated"
    "W0204" "a loop without an exit"
    "W0205" "a condition that never changes"
        => "remove it, or write a condition that can come out either way"
    "W0206" "a check that can never start"
    "W0207" "a deprecated key"
    "W0208" "an event that may never come"
    "W0209" "an output of no check"
        => "read the output of a check in this file, as `outputs.<check>`"
    "W0210" "an input that is not declared"
    "W0211" "a key without effect"
        => "remove it"
    "W0212" "an output that is not waited for"
    "W0213" "a nested playbook that cannot be run"
        => "it is looked for beside this file, where commands run, and in `.escrow/playbooks/`"
    "W0214" "a nested playbook that is given the wrong inputs"
        => "`inputs` of the nested playbook says what it takes"
    "W0221" "two artifacts in one place"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_in_order_and_titled_as_their_pages() {
        assert!(DIAGNOSTICS.windows(2).all(|pair| pair[0].code < pair[1].code));
        for known in DIAGNOSTICS {
            let title = known.page.lines().next().unwrap_or_default();
            assert_eq!(title, format!("# {}: {}", known.code, known.title));
        }
    }

    #[test]
    fn pages_are_found_whatever_the_case() {
        assert!(page("e0102").is_some());
        assert!(page("E9999").is_none());
    }
}
