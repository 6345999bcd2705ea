//! The subschemas of a schema, and which of them judge a value, its members and its items.
//!
//! Knows where subschemas are and what references lead to, and nothing of what they assert.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// More subschemas, or a longer way through them, than anybody writes.
const NODES_MAX: usize = 20_000;
const DEPTH_MAX: usize = 200;

/// Where a subschema is kept.
pub(super) type NodeId = usize;

#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    /// Judge the same value.
    pub(super) in_place: Vec<NodeId>,
    pub(super) properties: BTreeMap<String, NodeId>,
    /// Judge any member.
    pub(super) members: Vec<NodeId>,
    /// Judge the members that `properties` does not name.
    pub(super) other_members: Vec<NodeId>,
    pub(super) names: Option<NodeId>,
    pub(super) prefix: Vec<NodeId>,
    /// Judge any item.
    pub(super) items: Vec<NodeId>,
    /// Judge the items behind the prefix.
    pub(super) other_items: Vec<NodeId>,
    /// How many keywords and options it has.
    pub(super) keywords: u64,
    /// Has `enum`, `const` or `uniqueItems`, which look at a whole value.
    pub(super) compares: bool,
    /// Has `unevaluatedProperties` or `unevaluatedItems`, which judge the subschemas beside them again.
    pub(super) asks_again: bool,
    /// Refers to a dialect of JSON Schema itself.
    pub(super) is_dialect: bool,
    /// More than one way leads here.
    pub(super) is_shared: bool,
    /// How many subschemas are behind one another that judge the same value.
    pub(super) height: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Graph {
    nodes: Vec<Node>,
}

pub(super) const ROOT: NodeId = 0;

impl Graph {
    /// The error is a text for the author of the schema.
    pub(super) fn of(schema: &Value) -> Result<Graph, String> {
        let mut reading = Reading::default();
        reading.roots.insert(String::new(), schema);
        reading.node(schema, "", "", 0)?;
        reading.connect()?;
        let mut graph = Graph { nodes: reading.nodes };
        graph.measure()?;
        graph.refuse_long_ways()?;
        Ok(graph)
    }

    pub(super) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id]
    }

    /// Sets the heights. A way back to a subschema that judges the same value would never end.
    fn measure(&mut self) -> Result<(), String> {
        enum Step {
            Enter(NodeId),
            Leave(NodeId),
        }
        let mut is_open = vec![false; self.nodes.len()];
        for start in 0..self.nodes.len() {
            let mut steps = vec![Step::Enter(start)];
            while let Some(step) = steps.pop() {
                match step {
                    Step::Enter(id) if self.nodes[id].height > 0 => {}
                    Step::Enter(id) if is_open[id] => return Err(ENDLESS.into()),
                    Step::Enter(id) => {
                        is_open[id] = true;
                        steps.push(Step::Leave(id));
                        steps.extend(self.nodes[id].in_place.iter().map(|&next| Step::Enter(next)));
                    }
                    Step::Leave(id) => {
                        is_open[id] = false;
                        let heights = self.nodes[id].in_place.iter().map(|&next| self.nodes[next].height);
                        self.nodes[id].height = 1 + heights.max().unwrap_or(0);
                    }
                }
            }
        }
        Ok(())
    }

    /// The compiler goes through subschemas and references one within the other.
    fn refuse_long_ways(&self) -> Result<(), String> {
        let mut is_known = vec![false; self.nodes.len()];
        let mut open = vec![(ROOT, 1)];
        while let Some((id, depth)) = open.pop() {
            if depth > DEPTH_MAX {
                return Err(format!("its subschemas and references lead more than {DEPTH_MAX} levels deep"));
            }
            if !std::mem::replace(&mut is_known[id], true) {
                open.extend(self.nodes[id].all().map(|next| (next, depth + 1)));
            }
        }
        Ok(())
    }
}

impl Node {
    fn all(&self) -> impl Iterator<Item = NodeId> {
        let lists = [
            &self.in_place,
            &self.members,
            &self.other_members,
            &self.prefix,
            &self.items,
            &self.other_items,
        ];
        let lists = lists.into_iter().flatten().copied();
        lists.chain(self.properties.values().copied()).chain(self.names)
    }
}

pub(super) const ENDLESS: &str =
    "`$ref` leads back to where it is without going into the value, which never ends";

/// A reference that is not connected yet.
struct Reference {
    from: NodeId,
    /// The resource that it is in: the nearest `$id` above.
    resource: String,
    target: String,
}

#[derive(Default)]
struct Reading<'s> {
    nodes: Vec<Node>,
    /// By resource and JSON pointer.
    places: BTreeMap<(String, String), NodeId>,
    /// By anchor. The same name may occur in several resources.
    named: BTreeMap<String, Vec<NodeId>>,
    /// By the `$id` of the resource.
    roots: BTreeMap<String, &'s Value>,
    references: Vec<Reference>,
}

/// Keywords whose value is a subschema that judges the same value.
const ONE_IN_PLACE: [&str; 4] = ["not", "if", "then", "else"];
const LISTS_IN_PLACE: [&str; 3] = ["allOf", "anyOf", "oneOf"];

impl<'s> Reading<'s> {
    /// Reads a subschema at a JSON pointer of its resource.
    fn node(
        &mut self,
        schema: &'s Value,
        resource: &str,
        pointer: &str,
        depth: usize,
    ) -> Result<NodeId, String> {
        let id = self.nodes.len();
        if id >= NODES_MAX {
            return Err(format!("it has more than {NODES_MAX} subschemas"));
        }
        if depth > DEPTH_MAX {
            return Err(format!("it nests more than {DEPTH_MAX} levels deep"));
        }
        self.nodes.push(Node { keywords: 1, ..Node::default() });
        let Value::Object(keys) = schema else {
            self.places.insert((resource.to_owned(), pointer.to_owned()), id);
            return Ok(id);
        };
        // An `$id` begins a resource of its own, whose pointers start here.
        let own = keys.get("$id").and_then(Value::as_str).map(without_fragment);
        self.places.insert((resource.to_owned(), pointer.to_owned()), id);
        let (resource, pointer) = match own {
            Some(own) => {
                self.places.insert((own.to_owned(), String::new()), id);
                self.roots.insert(own.to_owned(), schema);
                (own, "")
            }
            None => (resource, pointer),
        };
        self.names_and_references(keys, id, resource);
        self.nodes[id].keywords = keys.values().map(options).sum();
        self.nodes[id].compares = ["enum", "const", "uniqueItems"].iter().any(|key| keys.contains_key(*key));
        self.nodes[id].asks_again =
            keys.contains_key("unevaluatedProperties") || keys.contains_key("unevaluatedItems");
        for (key, value) in keys {
            let at = format!("{pointer}/{}", escaped(key));
            self.keyword(id, key, value, &SchemaLocation { resource, pointer: &at, depth: depth + 1 })?;
        }
        Ok(id)
    }

    fn keyword(
        &mut self,
        id: NodeId,
        key: &str,
        value: &'s Value,
        at: &SchemaLocation<'_>,
    ) -> Result<(), String> {
        match key {
            _ if ONE_IN_PLACE.contains(&key) => {
                let next = self.node(value, at.resource, at.pointer, at.depth)?;
                self.nodes[id].in_place.push(next);
            }
            _ if LISTS_IN_PLACE.contains(&key) => {
                let found = self.list(value, at)?;
                self.nodes[id].in_place.extend(found);
            }
            "dependentSchemas" | "dependencies" => {
                let found = self.map(value, at)?;
                self.nodes[id].in_place.extend(found.into_values());
            }
            "properties" => self.nodes[id].properties = self.map(value, at)?,
            "patternProperties" => {
                let found = self.map(value, at)?;
                self.nodes[id].members.extend(found.into_values());
            }
            "additionalProperties" | "unevaluatedProperties" => {
                let next = self.node(value, at.resource, at.pointer, at.depth)?;
                self.nodes[id].other_members.push(next);
            }
            "propertyNames" => {
                let next = self.node(value, at.resource, at.pointer, at.depth)?;
                self.nodes[id].names = Some(next);
            }
            "prefixItems" => self.nodes[id].prefix = self.list(value, at)?,
            "items" | "unevaluatedItems" | "additionalItems" => {
                // A list is the spelling of earlier versions.
                let found = if value.is_array() {
                    self.list(value, at)?
                } else {
                    vec![self.node(value, at.resource, at.pointer, at.depth)?]
                };
                let is_list = value.is_array();
                let node = &mut self.nodes[id];
                if is_list { node.items.extend(found) } else { node.other_items.extend(found) }
            }
            "contains" => {
                let next = self.node(value, at.resource, at.pointer, at.depth)?;
                self.nodes[id].items.push(next);
            }
            "$defs" | "definitions" => {
                self.map(value, at)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn list(&mut self, value: &'s Value, at: &SchemaLocation<'_>) -> Result<Vec<NodeId>, String> {
        let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
        let items = items.iter().enumerate();
        items
            .map(|(index, item)| self.node(item, at.resource, &format!("{}/{index}", at.pointer), at.depth))
            .collect()
    }

    fn map(&mut self, value: &'s Value, at: &SchemaLocation<'_>) -> Result<BTreeMap<String, NodeId>, String> {
        let mut found = BTreeMap::new();
        for (key, item) in value.as_object().into_iter().flatten() {
            // `dependencies` also has lists of names.
            if item.is_object() || item.is_boolean() {
                let pointer = format!("{}/{}", at.pointer, escaped(key));
                found.insert(key.clone(), self.node(item, at.resource, &pointer, at.depth)?);
            }
        }
        Ok(found)
    }

    fn names_and_references(&mut self, keys: &Map<String, Value>, id: NodeId, resource: &str) {
        let text = |key: &str| keys.get(key).and_then(Value::as_str);
        for anchor in [text("$anchor"), text("$dynamicAnchor")].into_iter().flatten() {
            self.named.entry(anchor.to_owned()).or_default().push(id);
        }
        for target in [text("$ref"), text("$dynamicRef")].into_iter().flatten() {
            let (resource, target) = (resource.to_owned(), target.to_owned());
            self.references.push(Reference { from: id, resource, target });
        }
    }

    /// Connects references with all that they may lead to.
    fn connect(&mut self) -> Result<(), String> {
        while let Some(reference) = self.references.pop() {
            let targets = self.targets(&reference)?;
            if targets.is_empty() {
                // The compiler has the dialects of JSON Schema built in. Anything else it refuses.
                self.nodes[reference.from].is_dialect = true;
            }
            for target in targets {
                self.nodes[target].is_shared = true;
                self.nodes[reference.from].in_place.push(target);
            }
        }
        Ok(())
    }

    fn targets(&mut self, reference: &Reference) -> Result<Vec<NodeId>, String> {
        let (address, fragment) = reference.target.split_once('#').unwrap_or((&reference.target, ""));
        let fragment = unescaped(fragment);
        if !(fragment.is_empty() || fragment.starts_with('/')) {
            return Ok(self.named.get(fragment.as_str()).cloned().unwrap_or_default());
        }
        // The compiler resolves an address against those above. Here its last part is enough: with too many targets the
        // estimate is too high, never too low.
        let is_meant = |known: &str| match address {
            "" => known == reference.resource,
            address => last_part(known) == last_part(address),
        };
        let meant: Vec<String> = self.roots.keys().filter(|known| is_meant(known)).cloned().collect();
        let mut found = Vec::new();
        for resource in meant {
            let place = (resource, fragment.clone());
            if let Some(&id) = self.places.get(&place) {
                found.push(id);
            } else if let Some(schema) = self.roots[&place.0].pointer(&fragment) {
                // A place that is no subschema by itself, such as one below a key of the author's own.
                found.push(self.node(schema, &place.0, &fragment, 0)?);
            }
        }
        Ok(found)
    }
}

struct SchemaLocation<'a> {
    resource: &'a str,
    pointer: &'a str,
    depth: usize,
}

fn options(value: &Value) -> u64 {
    match value {
        Value::Array(items) => 1 + items.len() as u64,
        Value::Object(members) => 1 + members.len() as u64,
        _ => 1,
    }
}

fn without_fragment(address: &str) -> &str {
    address.split_once('#').map_or(address, |(address, _)| address)
}

fn last_part(address: &str) -> &str {
    address.rsplit(['/', ':']).next().unwrap_or(address)
}

fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// A fragment of an address without its percent-encoding.
fn unescaped(fragment: &str) -> String {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = (*first == b'%').then(|| after.get(..2)).flatten();
        let byte = hex
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
