//! The OpenAPI document, made from the table of routes.

use axum::response::Response;
use serde_json::{Map, Value, json};

use super::schemas;
use crate::answer;
use crate::routes::{Access, Content, ROUTES, Route, Verb};

pub(crate) fn document() -> Response {
    answer::json(&openapi())
}

fn openapi() -> Value {
    let mut paths = Map::new();
    for route in ROUTES.iter().filter(|route| route.path.starts_with("/api/")) {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[method(route)] = operation(route);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Escrow Studio",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The documents that the command line prints with `--output json`.",
        },
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": schemas::schemas(),
        },
        "security": [{ "token": [] }, {}],
    })
}

fn method(route: &Route) -> &'static str {
    match route.verb {
        Verb::Get => "get",
        Verb::Post => "post",
    }
}

fn operation(route: &Route) -> Value {
    let in_path = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let mut parameters: Vec<Value> = in_path
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }))
        .collect();
    let mut operation = json!({
        "summary": route.summary,
        "operationId": format!("{}{}", method(route), route.path.replace(['/', '{', '}', '.', '-'], "_")),
        "x-role": role(route),
    });
    let fields = route.fields.iter();
    match route.verb {
        Verb::Get => parameters
            .extend(fields.map(|name| json!({ "name": name, "in": "query", "schema": schema(name) }))),
        Verb::Post => {
            let properties: Map<String, Value> =
                fields.map(|name| ((*name).to_owned(), schemas::posted(name))).collect();
            let mut schema = json!({ "type": "object", "properties": properties });
            if !required(route.path).is_empty() {
                schema["required"] = json!(required(route.path));
            }
            operation["requestBody"] = json!({ "content": {
                "application/json": { "schema": schema },
                "application/x-www-form-urlencoded": { "schema": schema },
            } });
        }
    }
    operation["parameters"] = Value::Array(parameters);
    operation["responses"] = responses(route);
    operation
}

/// The fields that a POST must have.
fn required(path: &str) -> &'static [&'static str] {
    match path {
        "/api/approvals/{id}/approve" | "/api/approvals/{id}/deny" => &["digest"],
        "/api/approvals/{id}/answer" => &["text"],
        "/api/runs/{id}/assume" => &["check", "assumption"],
        "/api/attention/{fingerprint}/dismiss" => &["note"],
        _ => &[],
    }
}

fn role(route: &Route) -> Value {
    match route.access {
        Access::Role(role) => json!(role),
        Access::Open | Access::Own => Value::Null,
    }
}

fn schema(name: &str) -> Value {
    match name {
        "limit" | "after" | "from" => json!({ "type": "integer", "minimum": 0 }),
        "passed" | "all" | "brief" => json!({ "type": "boolean" }),
        _ => json!({ "type": "string" }),
    }
}

fn responses(route: &Route) -> Value {
    let media = match route.content {
        Content::Document => "application/json",
        Content::Events => "text/event-stream",
        Content::Page => "text/html",
        Content::File => "application/octet-stream",
    };
    let (document, later) = schemas::answers(route);
    let content = match route.content {
        Content::Document => json!({ media: { "schema": document } }),
        Content::Events | Content::Page | Content::File => json!({ media: {} }),
    };
    let mut responses = json!({ "200": { "description": route.summary, "content": content } });
    if route.verb == Verb::Post {
        if let Some(later) = later {
            let content = json!({ media: { "schema": later } });
            responses["202"] = json!({ "description": "accepted; the run continues", "content": content });
        }
        responses["303"] = json!({ "description": "a form was accepted" });
    }
    let failures = [
        ("400", "the request cannot be understood"),
        ("401", "a token is needed"),
        ("403", "the token, the form or the person may not do this"),
        ("404", "there is no such thing"),
        ("409", "somebody else decided, or the run is in another state"),
        ("410", "the file is gone"),
        ("413", "more than 256 KB were sent"),
        ("421", "the request names another host"),
        ("429", "too many requests"),
        ("503", "the store cannot be used now"),
    ];
    for (status, description) in failures {
        responses[status] = json!({ "description": description, "content": {
            "application/json": { "schema": { "$ref": "#/components/schemas/Error" } },
        } });
    }
    responses
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_of_the_api_is_described_and_nothing_else() {
        let document = openapi();
        let paths = document["paths"].as_object().expect("paths");
        let described: usize = paths.values().map(|path| path.as_object().expect("methods").len()).sum();
        assert_eq!(described, ROUTES.iter().filter(|route| route.path.starts_with("/api/")).count());
        for route in ROUTES.iter().filter(|route| route.path.starts_with("/api/")) {
            assert_eq!(paths[route.path][method(route)]["summary"], route.summary);
        }
    }
}
