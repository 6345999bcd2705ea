//! A reader of XML that is strict enough to trust what it accepts: nesting, attributes, entities, characters.

use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(crate) struct Element {
    pub(crate) name: String,
    pub(crate) attributes: BTreeMap<String, String>,
    pub(crate) children: Vec<Element>,
    pub(crate) text: String,
}

impl Element {
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.children.iter().filter(move |child| child.name == name)
    }

    pub(crate) fn attribute(&self, name: &str) -> &str {
        self.attributes.get(name).map_or("", String::as_str)
    }
}

/// The root of a document. Panics, with the place, on anything that is not well-formed.
pub(crate) fn parse(text: &str) -> Element {
    let illegal = |c: &char| matches!(c, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}');
    assert!(!text.chars().any(|c| illegal(&c)), "a character that XML does not allow");
    let mut reader = Reader {
        rest: text.strip_prefix(r#"<?xml version="1.0" encoding="UTF-8"?>"#).expect("a declaration"),
    };
    reader.blanks();
    let root = reader.element();
    reader.blanks();
    assert_eq!(reader.rest, "", "something stands behind the root");
    root
}

struct Reader<'t> {
    rest: &'t str,
}

impl Reader<'_> {
    fn blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn expect(&mut self, token: &str) {
        let here: String = self.rest.chars().take(40).collect();
        self.rest =
            self.rest.strip_prefix(token).unwrap_or_else(|| panic!("`{token}` is missing at `{here}`"));
    }

    fn name(&mut self) -> String {
        let end = self.rest.find(|c: char| !(c.is_alphanumeric() || "-_".contains(c))).expect("a name ends");
        assert!(end > 0, "a name is missing at `{:.40}`", self.rest);
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        name.to_owned()
    }

    fn until(&mut self, stop: char) -> String {
        let end = self.rest.find(stop).unwrap_or_else(|| panic!("`{stop}` is missing"));
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        assert!(!text.contains('<'), "a bare `<`");
        decode(text)
    }

    fn element(&mut self) -> Element {
        self.expect("<");
        let mut element = Element { name: self.name(), ..Element::default() };
        loop {
            self.blanks();
            if self.rest.starts_with("/>") {
                self.expect("/>");
                return element;
            }
            if self.rest.starts_with('>') {
                self.expect(">");
                break;
            }
            let name = self.name();
            self.expect("=\"");
            let value = self.until('"');
            self.expect("\"");
            assert!(element.attributes.insert(name.clone(), value).is_none(), "`{name}` stands twice");
        }
        loop {
            let end = self.rest.find('<').expect("an element ends");
            let (text, rest) = self.rest.split_at(end);
            element.text.push_str(&decode(text));
            self.rest = rest;
            if self.rest.starts_with("</") {
                self.expect("</");
                assert_eq!(self.name(), element.name);
                self.expect(">");
                return element;
            }
            let child = self.element();
            element.children.push(child);
        }
    }
}

fn decode(text: &str) -> String {
    let mut parts = text.split('&');
    let mut decoded = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (entity, rest) = part.split_once(';').expect("an entity ends");
        decoded.push(match entity {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            number => {
                let code = number.strip_prefix('#').and_then(|digits| digits.parse().ok());
                code.and_then(char::from_u32).unwrap_or_else(|| panic!("`&{number};` is no entity"))
            }
        });
        decoded.push_str(rest);
    }
    decoded
}
