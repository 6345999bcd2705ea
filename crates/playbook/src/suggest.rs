//! Suggestions for misspelled words: the nearest candidate within a small edit distance.

/// The candidate that `word` most likely misspells.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    if length > 60 {
        return None;
    }
    let folded = fold(word);
    let distance_max = match length {
        0..=1 => 0,
        2..=4 => 1,
        5..=8 => 2,
        _ => 3,
    };
    candidates
        .into_iter()
        .filter(|candidate| *candidate != word)
        .filter_map(|candidate| {
            let distance = strsim::damerau_levenshtein(&folded, &fold(candidate));
            (distance <= distance_max).then_some((distance, candidate))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

pub(crate) fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(word, candidates).map(|candidate| format!("did you mean `{candidate}`?"))
}

/// A suggestion, or the list of known names: `the checks are …`.
pub(crate) fn suggest_or_list<'a>(
    word: &str,
    known: impl Iterator<Item = &'a str> + Clone,
    what: &str,
) -> String {
    did_you_mean(word, known.clone()).unwrap_or_else(|| {
        let listed: Vec<String> = known.clone().take(LISTED_MAX).map(|name| format!("`{name}`")).collect();
        let more = if known.count() > LISTED_MAX { " …" } else { "" };
        match listed.as_slice() {
            [] => format!("the playbook has no {what}"),
            _ => format!("the {what} are {}{more}", listed.join(", ")),
        }
    })
}

/// How many names a help text lists.
const LISTED_MAX: usize = 8;

/// `dependsOn`, `depends-on` and `depends_on` compare as equal.
fn fold(word: &str) -> String {
    word.chars().filter(|letter| !matches!(letter, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_misspellings_are_suggested_and_other_words_are_not() {
        let keys = ["depends_on", "guarantee", "if", "on"];
        assert_eq!(nearest("depend_on", keys), Some("depends_on"));
        assert_eq!(nearest("dependsOn", keys), Some("depends_on"));
        assert_eq!(nearest("garantee", keys), Some("guarantee"));
        assert_eq!(nearest("fi", keys), Some("if"));
        assert_eq!(nearest("colour", keys), None);
        assert_eq!(nearest("x", keys), None);
    }
}
