//! Random expressions, determined by a seed.

pub(crate) struct Generator {
    state: u64,
    /// Names bound by the enclosing arrow functions.
    bound: Vec<&'static str>,
}

const NAMES: &[&str] = &[
    "n", "m", "z", "big", "s", "e", "u", "num", "t", "f", "nul", "arr", "strs", "mixed", "objs", "obj",
    "empty", "hollow", "keyed", "missing",
];
const LISTS: &[&str] =
    &["arr", "strs", "mixed", "objs", "hollow", "obj.c", "Object.keys(obj)", "s.split(',')", "[1, 2, 3]"];
const TEXTS: &[&str] =
    &["s", "e", "u", "num", "obj.b", "'a-b-c'", "\"  pad \"", "String(n)", "`x${n}`", "strs[0]"];
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "3",
    "10",
    "0.5",
    "1.005",
    "2.5",
    "-0.5",
    "1e21",
    "1e-7",
    "123456.789",
    "NaN",
    "Infinity",
    "0x1f",
    "1_000",
    "255",
];
const STRINGS: &[&str] = &[
    "''", "'a'", "'1'", "'b'", "' 12 '", "'World'", "'é'", "'😀'", "'true'", "'a,b'", "'0x10'", "'1e3'",
    "'null'", "\"it's\"",
];
const BINARY: &[&str] = &[
    "+", "+", "-", "*", "/", "%", "**", "==", "!=", "===", "!==", "<", "<=", ">", ">=", "&", "|", "^", "<<",
    ">>", ">>>",
];
const PATTERNS: &[&str] = &[
    "/a/",
    "/[a-c]+/g",
    "/(\\w+), (\\w+)/",
    "/l+/gi",
    "/^\\s*$/",
    "/\\d+/g",
    "/(?<first>[A-Z])/",
    "/o|e/g",
    "/./g",
    "/x?/g",
    "/\\bW/",
    "/[^a-z]/i",
];

impl Generator {
    pub(crate) fn new(seed: u64) -> Generator {
        Generator { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, bound: Vec::new() }
    }

    pub(crate) fn expression(&mut self) -> String {
        self.bound.clear();
        let depth = 1 + self.below(4);
        self.value(depth)
    }

    fn below(&mut self, limit: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) as usize % limit
    }

    fn pick(&mut self, from: &[&str]) -> String {
        from[self.below(from.len())].to_owned()
    }

    fn value(&mut self, depth: usize) -> String {
        if depth == 0 {
            return match self.below(8) {
                0 => self.pick(NUMBERS),
                1 => self.pick(STRINGS),
                2 => self.pick(&["true", "false", "null", "undefined", "[]", "{}.a", "[0]"]),
                3 if !self.bound.is_empty() => {
                    let position = self.below(self.bound.len());
                    self.bound[position].to_owned()
                }
                _ => self.pick(NAMES),
            };
        }
        let next = depth - 1;
        match self.below(24) {
            0..=4 => {
                let operator = self.pick(BINARY);
                let (left, right) = (self.value(next), self.value(next));
                format!("(({left}) {operator} ({right}))")
            }
            5 => {
                let operator = self.pick(&["&&", "||", "??"]);
                let (left, right) = (self.value(next), self.value(next));
                format!("(({left}) {operator} ({right}))")
            }
            6 => {
                let operator = self.pick(&["!", "-", "+", "~", "typeof ", "!!", "void "]);
                format!("({operator}({}))", self.value(next))
            }
            7 => format!("({} ? {} : {})", self.value(next), self.value(next), self.value(next)),
            8 | 9 => self.member(next),
            10..=13 => self.text_method(next),
            14..=18 => self.list_method(next),
            19 => format!("[{}, ...{}]", self.value(next), self.list(next)),
            20 => format!(
                "({{ k: {}, ...{}, [{}]: {} }})",
                self.value(next),
                self.pick(NAMES),
                self.text(next),
                self.value(next)
            ),
            21 => format!("`<${{{}}}|${{{}}}>`", self.value(next), self.value(next)),
            22 => self.call(next),
            _ => format!(
                "({} in {})",
                self.text(next),
                self.pick(&["obj", "empty", "arr", "keyed", "s", "objs[0]"])
            ),
        }
    }

    fn member(&mut self, depth: usize) -> String {
        let object = self.value(depth);
        let dot = self.pick(&[".", "?."]);
        match self.below(3) {
            0 => format!(
                "({object}){dot}{}",
                self.pick(&["a", "b", "c", "d", "length", "id", "x", "name", "size"])
            ),
            1 => format!("({object})?.[{}]", self.value(depth.min(1))),
            _ => format!("obj{dot}d{dot}{}{dot}z", self.pick(&["x", "y", "q"])),
        }
    }

    fn text(&mut self, depth: usize) -> String {
        if depth == 0 || self.below(2) == 0 { self.pick(TEXTS) } else { self.text_method(depth - 1) }
    }

    fn number(&mut self, depth: usize) -> String {
        if depth == 0 || self.below(3) > 0 {
            self.pick(&["0", "1", "2", "-1", "-2", "3", "5", "n", "z", "undefined", "1.7", "NaN"])
        } else {
            self.value(depth - 1)
        }
    }

    fn text_method(&mut self, depth: usize) -> String {
        let text = self.text(depth);
        let call = match self.below(22) {
            0 => format!("includes({})", self.text(depth)),
            1 => format!("startsWith({}, {})", self.pick(STRINGS), self.number(0)),
            2 => format!("endsWith({})", self.pick(STRINGS)),
            3 => format!("indexOf({}, {})", self.pick(STRINGS), self.number(0)),
            4 => format!("lastIndexOf({})", self.pick(STRINGS)),
            5 => format!("slice({}, {})", self.number(depth), self.number(depth)),
            6 => format!("substring({}, {})", self.number(depth), self.number(depth)),
            7 => format!("substr({}, {})", self.number(0), self.number(0)),
            8 => self.pick(&["toUpperCase()", "toLowerCase()", "trim()", "trimStart()", "trimEnd()"]),
            9 => format!(
                "split({})",
                self.pick(&["','", "'-'", "' '", "/[,-]\\s*/", "/(,)/", "undefined", "'l', 2"])
            ),
            10 => format!(
                "replace({}, {})",
                self.pick(PATTERNS),
                self.pick(&["'_'", "'[$&]'", "'$1$2'", "'$$'", "x => x.length", "(x, i) => i + x"])
            ),
            11 => format!("replaceAll({}, {})", self.pick(STRINGS), self.pick(&["'_'", "'$&$&'", "n"])),
            12 => format!("match({})", self.pick(PATTERNS)),
            13 => format!("padStart({}, {})", self.number(0), self.pick(STRINGS)),
            14 => format!("padEnd({})", self.number(0)),
            15 => format!("repeat({})", self.number(0)),
            16 => format!("charAt({})", self.number(depth)),
            17 => format!("charCodeAt({})", self.number(0)),
            18 => format!("at({})", self.number(0)),
            19 => format!("concat({})", self.value(depth.min(1))),
            20 => format!("search({})", self.pick(PATTERNS)),
            _ => return format!("{}.test({text})", self.pick(PATTERNS)),
        };
        format!("({text}).{call}")
    }

    fn list(&mut self, depth: usize) -> String {
        if depth == 0 || self.below(2) == 0 {
            self.pick(LISTS)
        } else {
            format!("[...({})]", self.list_method(depth - 1))
        }
    }

    fn arrow(&mut self, depth: usize) -> String {
        let name = ["x", "y", "v", "i"][self.bound.len().min(3)];
        self.bound.push(name);
        let body = match self.below(5) {
            0 => format!("{name}?.id"),
            1 => format!("{name} > {}", self.number(0)),
            2 => format!("!!{name}"),
            3 => name.to_owned(),
            _ => self.value(depth),
        };
        self.bound.pop();
        if body.starts_with('{') { format!("{name} => ({body})") } else { format!("{name} => {body}") }
    }

    fn list_method(&mut self, depth: usize) -> String {
        let list = self.list(depth);
        let next = depth.saturating_sub(1);
        let call = match self.below(24) {
            0 | 1 => format!("map({})", self.arrow(next)),
            2 | 3 => format!("filter({})", self.arrow(next)),
            4 => format!("some({})", self.arrow(next)),
            5 => format!("every({})", self.arrow(next)),
            6 => format!("find({})", self.arrow(next)),
            7 => format!("findIndex({})", self.arrow(next)),
            8 => format!(
                "reduce((p, q) => {}, {})",
                self.pick(&["p + q", "p", "q", "p + (q?.id ?? 0)"]),
                self.value(0)
            ),
            9 => format!("includes({})", self.value(next)),
            10 => format!("indexOf({})", self.value(next)),
            11 => format!("join({})", self.pick(&["", "'-'", "', '", "n", "''"])),
            12 => format!("slice({}, {})", self.number(depth), self.number(depth)),
            13 => format!("concat({})", self.value(next)),
            14 => format!("flat({})", self.pick(&["", "0", "1", "2", "Infinity"])),
            15 => format!("flatMap({})", self.arrow(next)),
            16 => format!("at({})", self.number(0)),
            17 => "length".to_owned(),
            18 => {
                return format!(
                    "[...{list}].sort({})",
                    self.pick(&["", "(a, b) => a - b", "(a, b) => (a?.id ?? 0) - (b?.id ?? 0)", "undefined"])
                );
            }
            19 => return format!("[...{list}].reverse()"),
            20 => format!(
                "map({})",
                self.pick(&[
                    "Number",
                    "String",
                    "Boolean",
                    "x => typeof x",
                    "parseFloat",
                    "(x, i) => i",
                    "(x, i, all) => all.length"
                ])
            ),
            21 => format!("lastIndexOf({})", self.value(0)),
            22 => format!("findLast({})", self.arrow(next)),
            _ => {
                return format!(
                    "[...{list}].{}",
                    self.pick(&[
                        "pop()",
                        "shift()",
                        "push(1)",
                        "splice(1, 1)",
                        "fill(0)",
                        "unshift('q')",
                        "toString()"
                    ])
                );
            }
        };
        format!("({list}).{call}")
    }

    fn call(&mut self, depth: usize) -> String {
        let function = self.pick(&[
            "Number",
            "String",
            "Boolean",
            "parseInt",
            "parseFloat",
            "isNaN",
            "isFinite",
            "Math.round",
            "Math.floor",
            "Math.ceil",
            "Math.abs",
            "Math.trunc",
            "Math.sign",
            "Math.max",
            "Math.min",
            "Array.isArray",
            "Object.keys",
            "Object.values",
            "Object.entries",
            "JSON.stringify",
            "Number.isInteger",
            "encodeURIComponent",
            "Array.from",
            "Number.isNaN",
            "Math.sqrt",
        ]);
        match self.below(8) {
            0 => format!("({}).toFixed({})", self.pick(NUMBERS), self.number(0)),
            1 => format!("({}).toString({})", self.pick(NUMBERS), self.pick(&["", "2", "16", "36", "10"])),
            2 => format!("parseInt({}, {})", self.text(depth), self.pick(&["10", "16", "2", "undefined"])),
            3 => format!("JSON.parse(JSON.stringify({}))", self.value(depth)),
            4 => format!(
                "Object.fromEntries(Object.entries({}).map(([k, v]) => [k, v]))",
                self.pick(&["obj", "keyed", "empty", "arr", "s"])
            ),
            5 => format!("[...new Set({})].length", self.list(depth)),
            _ => format!("{function}({})", self.value(depth)),
        }
    }
}
