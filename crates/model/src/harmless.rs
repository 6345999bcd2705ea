//! Which characters of foreign text may be shown to people.

/// Whether a character can be shown as it is. Control characters drive a terminal; bidirectional ones reorder text; others
/// take no room, so that two texts look alike.
pub fn is_harmless(c: char) -> bool {
    !c.is_control() && !turns_the_order(c) && !hides(c)
}

/// Whether a character is shown as nothing and has no part in how others are shown. Those that join letters, choose the
/// form of an emoji or belong to a script are not among them.
fn hides(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{115f}'..='\u{1160}'
            | '\u{200b}'
            | '\u{2028}'..='\u{2029}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Whether a character changes the order in which its neighbours are shown.
pub fn turns_the_order(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether a person who reads a character sees it: it is harmless, and not one that is shown as nothing at all. Emoji and
/// some scripts need some of these, so output that is only displayed keeps them.
pub fn is_visible(c: char) -> bool {
    is_harmless(c) && !is_unseen(c)
}

/// The default-ignorable and format characters of Unicode, the separators of lines and paragraphs, and the empty Braille
/// pattern.
fn is_unseen(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{600}'..='\u{605}'
            | '\u{61c}'
            | '\u{6dd}'
            | '\u{70f}'
            | '\u{890}'..='\u{891}'
            | '\u{8e2}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{110bd}'
            | '\u{110cd}'
            | '\u{13430}'..='\u{1343f}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_stand_and_what_drives_or_turns_does_not() {
        assert!("aé☃ -".chars().all(is_harmless));
        assert!(!"\u{1b}\u{7}\n\u{9b}".chars().any(is_harmless));
        assert!(
            "\u{202e}\u{2066}\u{61c}\u{200e}\u{200f}".chars().all(|c| turns_the_order(c) && !is_harmless(c))
        );
    }

    #[test]
    fn what_hides_is_not_harmless_and_what_joins_is() {
        let hidden = "\u{200b}\u{ad}\u{2028}\u{2060}\u{feff}\u{3164}\u{fff9}\u{e0041}";
        assert_eq!(hidden.chars().filter(|c| is_harmless(*c)).count(), 0);
        assert!("👩\u{200d}🚀 ☀\u{fe0f} می\u{200c}خواهم \u{2801}\u{2800}".chars().all(is_harmless));
    }

    #[test]
    fn what_is_shown_as_nothing_is_not_visible() {
        let unseen =
            "\u{200b}\u{ad}\u{2028}\u{fe0f}\u{e0041}\u{3164}\u{feff}\u{2060}\u{180e}\u{fff9}\u{2800}";
        assert_eq!(unseen.chars().filter(|c| is_visible(*c)).count(), 0);
        assert!("aé☃ -語\u{301}".chars().all(is_visible));
        assert!(!is_visible('\u{202e}') && !is_visible('\u{1b}'));
    }
}
