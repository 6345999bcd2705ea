//! Which characters of foreign text may be shown to people.

/// Whether a character can be shown as it is. Control characters drive a terminal; bidirectional ones reorder text.
pub fn is_harmless(c: char) -> bool {
    !c.is_control() && !turns_the_order(c)
}

/// Whether a character changes the order in which its neighbours are shown.
pub fn turns_the_order(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
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
}
