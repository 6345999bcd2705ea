//! What must hold of the redactor for any secret and any bytes. A fuzzer and a property test call it.

use std::sync::Arc;

use super::{Redactor, SHORTEST, Search, Stream};

/// Splits the input into secrets, cuts and bytes, and panics when an invariant does not hold.
pub fn check(input: &[u8]) {
    let Some((first, rest)) = input.split_first() else { return };
    let length = usize::from(*first).min(rest.len());
    let (secret, rest) = rest.split_at(length);
    let Some((cut, text)) = rest.split_first() else { return };
    let redactor = Arc::new(Redactor::of([secret]));
    let whole = through(&redactor, std::iter::once(text));
    let pieces = through(&redactor, text.chunks(usize::from(*cut).max(1)));
    assert_eq!(whole, pieces, "what comes out depends on how the bytes were cut");
    let mut search = Search::new(&redactor);
    search.feed(text);
    assert_eq!(search.found(), whole != text, "search and stream disagree");
    // A secret that is made of stars could stand in what stands for it.
    if secret.len() >= SHORTEST && !secret.contains(&b'*') {
        let is_left = whole.windows(secret.len()).any(|window| window == secret);
        assert!(!is_left, "a secret is left");
    }
}

/// What comes out when the bytes come in these pieces.
pub(super) fn through<'a>(redactor: &Arc<Redactor>, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut stream = Stream::new(Arc::clone(redactor));
    let mut out = Vec::new();
    for piece in pieces {
        stream.push(piece, &mut out);
    }
    stream.finish(&mut out);
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn invariants_hold_for_any_secret_and_any_bytes(
            secret in prop::collection::vec(prop::sample::select(b"ab0x1 \\\n&".to_vec()), 0..9),
            cut in 0u8..9,
            text in prop::collection::vec(prop::sample::select(b"ab0x16 2\\\n&;:YWFi#u%\x1b[m".to_vec()), 0..150),
        ) {
            let length = u8::try_from(secret.len()).expect("it is short");
            let input = [&[length][..], &secret, &[cut], &text].concat();
            super::check(&input);
        }
    }
}
