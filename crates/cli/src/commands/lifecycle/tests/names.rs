//! Which command lines are for `lifecycle`.

use super::super::arguments_in;

#[test]
fn only_the_verb_and_the_program_name_lead_to_lifecycle() {
    let check = |argv: &str| arguments_in(argv.split(' ').map(Into::into)).map(|words| words.len());
    assert_eq!(check("/usr/bin/escrow lifecycle version"), Some(1));
    assert_eq!(check("/opt/lifeloop version"), Some(1));
    assert_eq!(check("/opt/lifeloop lifecycle version"), Some(2));
    assert_eq!(check("lifeloop"), Some(0));
    assert_eq!(check("escrow run lifecycle"), None);
    assert_eq!(check("/lifeloop/escrow"), None);
}
