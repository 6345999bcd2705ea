//! Every address of Studio. A page or a call of the API is one line here; the server and the OpenAPI document read this
//! table.

use std::sync::Arc;

use axum::routing::{MethodRouter, get, post};
use escrow_app::tokens::Role;

use crate::hosted::hosted;
use crate::studio::Studio;
use crate::{action, api, assets, feed, hooks, pages};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Get,
    Post,
}

/// Who may use a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A visitor with this role. The person of this machine has every role.
    Role(Role),
    /// Anyone who can connect.
    Open,
    /// The handler verifies the sender itself. Host, token and form are not looked at, and the body is as it came.
    Own,
}

/// What a route answers with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    Page,
    /// A document of the command line.
    Document,
    /// Server-sent events.
    Events,
    File,
}

pub struct Route {
    pub verb: Verb,
    pub path: &'static str,
    pub access: Access,
    pub content: Content,
    pub summary: &'static str,
    /// The names in the query of a GET, in the body of a POST.
    pub fields: &'static [&'static str],
    pub(crate) mount: fn() -> MethodRouter<Arc<Studio>>,
}

const READ: Access = Access::Role(Role::Read);
const APPROVE: Access = Access::Role(Role::Approve);
const ADMIN: Access = Access::Role(Role::Admin);

macro_rules! page {
    ($path:literal, $summary:literal, [$($field:literal),*], $handler:expr) => {
        Route {
            verb: Verb::Get,
            path: $path,
            access: READ,
            content: Content::Page,
            summary: $summary,
            fields: &[$($field),*],
            mount: || get(hosted($handler)),
        }
    };
}

macro_rules! document {
    ($path:literal, $summary:literal, [$($field:literal),*], $handler:expr) => {
        Route {
            verb: Verb::Get,
            path: $path,
            access: READ,
            content: Content::Document,
            summary: $summary,
            fields: &[$($field),*],
            mount: || get(hosted($handler)),
        }
    };
}

macro_rules! action {
    ($path:literal, $access:expr, $summary:literal, [$($field:literal),*], $handler:expr) => {
        Route {
            verb: Verb::Post,
            path: $path,
            access: $access,
            content: Content::Document,
            summary: $summary,
            fields: &[$($field),*],
            mount: || post(hosted($handler)),
        }
    };
}

/// In the order of the documentation.
pub const ROUTES: &[Route] = &[
    page!("/", "What needs a person, by cause", ["all", "since"], pages::attention::page),
    page!(
        "/runs",
        "Runs, grouped by invocation",
        ["status", "playbook", "invocation", "since", "limit", "q", "by", "reason"],
        pages::runs::page
    ),
    page!("/runs/{id}", "One run", ["check", "checks", "export"], pages::run::page),
    page!(
        "/runs/{id}/logs/{check}",
        "What a check printed",
        ["attempt", "page", "line", "find", "raw", "part", "from", "out", "err"],
        pages::log::page
    ),
    page!("/runs/{id}/artifacts/{*path}", "A delivered file", ["view", "image"], pages::file::page),
    page!(
        "/outcomes",
        "Outcomes",
        ["kind", "passed", "since", "run", "invocation", "limit"],
        pages::outcomes::page
    ),
    page!("/chains", "Chains", ["limit"], pages::chains::list),
    page!("/chains/{name}", "One chain", [], pages::chains::show),
    page!("/shows", "Runs of shows", ["limit"], pages::shows::page),
    page!("/approvals", "What waits for a person", ["all", "limit"], pages::approvals::page),
    page!("/effects", "Effects of external checks", ["run", "key", "limit"], pages::effects::page),
    page!(
        "/invocations",
        "Invocations with the final outcome of each step",
        ["status", "since", "limit"],
        pages::invocations::page
    ),
    page!("/lifecycle", "Harnesses, their hooks and receipts", ["adapter"], pages::lifecycle::page),
    document!(
        "/api/runs",
        "The runs, newest first",
        ["status", "playbook", "invocation", "since", "limit", "all"],
        api::runs::list
    ),
    document!("/api/runs/{id}", "One run in full", [], api::runs::show),
    document!("/api/runs/{id}/journal", "The entries of a run", ["from", "format"], api::runs::journal),
    document!(
        "/api/outcomes",
        "Outcomes, newest first",
        ["kind", "passed", "since", "limit", "run", "invocation"],
        api::lists::outcomes
    ),
    document!("/api/chains", "Every chain", [], api::chains::list),
    document!("/api/chains/{name}", "One chain with its last runs", [], api::chains::show),
    document!("/api/chain-runs", "Runs of chains, newest first", ["chain", "limit"], api::chains::runs),
    document!("/api/approvals", "What waits for a person", ["all"], api::lists::approvals),
    document!(
        "/api/attention",
        "What needs a person, by cause",
        ["all", "since", "limit"],
        api::lists::attention
    ),
    document!(
        "/api/invocations",
        "Invocations, newest first",
        ["status", "since", "limit"],
        api::lists::invocations
    ),
    document!(
        "/api/effects",
        "Effects of external checks, newest first",
        ["run", "key"],
        api::lists::effects
    ),
    document!(
        "/api/receipts",
        "Receipts of harness hooks, newest first",
        ["adapter", "limit"],
        api::lists::receipts
    ),
    document!("/api/openapi.json", "This document", [], |_| async { api::openapi::document() }),
    Route {
        verb: Verb::Get,
        path: "/api/feed",
        access: READ,
        content: Content::Events,
        summary: "Committed entries as they happen; `Last-Event-ID` resumes",
        fields: &["after", "run", "brief"],
        mount: || get(feed::events),
    },
    action!(
        "/api/approvals/{id}/approve",
        APPROVE,
        "Approve a waiting check",
        ["digest", "note"],
        action::approve
    ),
    action!(
        "/api/approvals/{id}/deny",
        APPROVE,
        "Deny a waiting check; the run ends",
        ["digest", "note"],
        action::deny
    ),
    action!("/api/approvals/{id}/answer", APPROVE, "Answer a question of a run", ["text"], action::answer),
    action!("/api/runs/{id}/cancel", ADMIN, "End a run and every process it started", [], action::cancel),
    action!(
        "/api/runs/{id}/resume",
        ADMIN,
        "Resume a run that was interrupted or waits",
        ["failed"],
        action::resume
    ),
    action!("/api/runs/{id}/retry", ADMIN, "Run the failed checks of an ended run again", [], action::retry),
    action!(
        "/api/runs/{id}/assume",
        APPROVE,
        "Say what became of an unknown effect",
        ["check", "assumption"],
        action::assume
    ),
    action!(
        "/api/attention/{fingerprint}/dismiss",
        APPROVE,
        "Dismiss a cause until it recurs",
        ["note"],
        action::dismiss
    ),
    Route {
        verb: Verb::Post,
        path: "/hooks/{name}",
        access: Access::Own,
        content: Content::Document,
        summary: "Receive a signed webhook",
        fields: &[],
        mount: || post(hooks::receive),
    },
    action!("/api/chains/{name}/fire", ADMIN, "Fire a chain by hand", ["event"], action::fire),
    action!(
        "/api/chains/{name}/pause",
        ADMIN,
        "Keep the trigger of a chain from firing it",
        [],
        action::pause
    ),
    action!(
        "/api/chains/{name}/resume",
        ADMIN,
        "Let the trigger of a chain fire it again",
        [],
        action::resume_chain
    ),
    Route {
        verb: Verb::Post,
        path: "/sign-in",
        access: Access::Open,
        content: Content::Page,
        summary: "Exchange a token for a cookie",
        fields: &["token"],
        mount: || post(action::sign_in),
    },
    Route {
        verb: Verb::Get,
        path: "/assets/{name}",
        access: Access::Open,
        content: Content::File,
        summary: "Stylesheet, script and icon",
        fields: &[],
        mount: || get(assets::serve),
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn routes_are_unique() {
        let all: BTreeSet<(&str, bool)> =
            ROUTES.iter().map(|route| (route.path, route.verb == Verb::Get)).collect();
        assert_eq!(all.len(), ROUTES.len());
    }

    #[test]
    fn whatever_changes_something_needs_more_than_reading() {
        for route in ROUTES.iter().filter(|route| route.verb == Verb::Post && route.path.starts_with("/api/"))
        {
            assert!(matches!(route.access, Access::Role(Role::Approve | Role::Admin)), "{}", route.path);
        }
    }
}
