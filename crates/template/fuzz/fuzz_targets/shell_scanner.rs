//! Any text as a script, as the words of a program, and as what they read: the scanner never panics, and every span lies
//! in the source.

#![no_main]

use escrow_template::{check_arguments, check_fed_script, survey_arguments, survey_script};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|source: &str| {
    for error in check_fed_script(source) {
        assert!(source.get(error.span.clone()).is_some(), "a span leaves the source: {error:?}");
    }
    let survey = survey_script(source);
    let commands = survey.commands.iter().map(|command| &command.span);
    for span in commands.chain(survey.writes.iter().map(|write| &write.span)).chain(&survey.lost_statuses) {
        assert!(source.get(span.clone()).is_some(), "a span leaves the source: {span:?}");
    }
    let words: Vec<&str> = source.split('\n').collect();
    for (index, error) in check_arguments(&words, true) {
        assert!(words[index].get(error.span.clone()).is_some(), "a span leaves its word: {error:?}");
    }
    survey_arguments(&words);
});
