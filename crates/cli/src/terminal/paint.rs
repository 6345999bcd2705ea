//! Colour, where a terminal wants it.

#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    colour: bool,
}

impl Paint {
    /// `NO_COLOR` wins, then `CLICOLOR_FORCE`, then whether it is a terminal.
    pub(crate) fn for_terminal(terminal: bool) -> Paint {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let colour = !set("NO_COLOR") && (terminal || set("CLICOLOR_FORCE"));
        Paint { colour }
    }

    pub(crate) fn is_coloured(self) -> bool {
        self.colour
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    pub(crate) fn red(self, text: &str) -> String {
        self.wrap("1;31", text)
    }

    pub(crate) fn green(self, text: &str) -> String {
        self.wrap("32", text)
    }

    pub(crate) fn yellow(self, text: &str) -> String {
        self.wrap("33", text)
    }

    pub(crate) fn cyan(self, text: &str) -> String {
        self.wrap("36", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }
}
