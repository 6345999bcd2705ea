//! Texts that people give for the record: names, justifications, notes.

use crate::error::Error;

/// How long a name and a justification may be, in characters.
pub(crate) const NAME_LENGTH_MAX: usize = 200;
pub(crate) const WHY_LENGTH_MAX: usize = 2_000;

/// A text that is shown in lists.
pub(crate) fn one_line(field: &str, given: &str, length_max: usize) -> Result<(), Error> {
    if given.chars().any(char::is_control) {
        return Err(Error::author("usage", format!("`{field}` must be one line")));
    }
    text(field, given, length_max)
}

pub(crate) fn text(field: &str, given: &str, length_max: usize) -> Result<(), Error> {
    let (empty, length) = (given.trim().is_empty(), given.chars().count());
    if given.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        return Err(Error::author("usage", format!("`{field}` contains a control character")));
    }
    if empty || length > length_max {
        let message = format!("`{field}` must have 1 to {length_max} characters");
        return Err(Error::author("usage", message));
    }
    Ok(())
}
