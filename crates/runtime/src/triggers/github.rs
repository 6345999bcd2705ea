//! GitHub's events under the names and with the fields that chains read.
//!
//! | GitHub | here |
//! |---|---|
//! | `pull_request` | `pr.opened`, `pr.reopened`, `pr.updated`, `pr.ready`, `pr.closed`, `pr.merged`, `pr.<action>` |
//! | `issues` | `issue.created`, `issue.<action>` |
//! | `issue_comment` | `comment.created`, `comment.<action>` |
//! | `push` | `branch.pushed`, `branch.deleted`, `tag.pushed`, `tag.deleted` |
//! | `check_suite` | `checks.<action>` |

use escrow_model::{Millis, parse_rfc3339};
use serde_json::{Map, Value, json};

/// An event of GitHub.
#[derive(Clone, Debug, PartialEq)]
pub struct GithubEvent {
    pub name: String,
    pub fields: Map<String, Value>,
    /// What happened, when it can happen only once.
    pub subject: Option<String>,
    /// When it happened, as GitHub tells.
    pub at_ms: Option<Millis>,
}

/// Texts of people are cut here: a chain reads them, a fire keeps them.
const TEXT_BYTES_MAX: usize = 64 * 1024;

/// `None` for kinds of events that chains do not know.
pub fn read(kind: &str, body: &Map<String, Value>) -> Option<GithubEvent> {
    let body = &Value::Object(body.clone());
    let action = body["action"].as_str().unwrap_or_default();
    let is_plain = action.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    if !is_plain || action.len() > 60 {
        return None;
    }
    match kind {
        "pull_request" => pull_request(action, &body["pull_request"], body),
        "issues" => issue(action, &body["issue"], body),
        "issue_comment" => comment(action, body),
        "push" => push(body),
        "check_suite" => check_suite(action, body),
        _ => None,
    }
}

fn pull_request(action: &str, pull: &Value, body: &Value) -> Option<GithubEvent> {
    let is_merged = pull["merged"].as_bool().unwrap_or(!pull["merged_at"].is_null());
    let word = match action {
        "" => return None,
        "closed" if is_merged => "merged",
        "synchronize" => "updated",
        "ready_for_review" => "ready",
        other => other,
    };
    let mut event = event(&format!("pr.{word}"), action, body);
    pull_fields(pull, &mut event.fields)?;
    event.at_ms = time(&pull["updated_at"]);
    if matches!(word, "opened" | "merged") {
        event.subject = subject(body, &pull["number"], &event.name);
    }
    Some(event)
}

/// The fields of a pull request, which webhooks and polls share.
pub(super) fn pull_fields(pull: &Value, fields: &mut Map<String, Value>) -> Option<()> {
    let number = pull["number"].as_u64()?;
    let (base, head) = (&pull["base"], &pull["head"]);
    let fork = match (base["repo"]["full_name"].as_str(), head["repo"]["full_name"].as_str()) {
        (Some(base), Some(head)) => base != head,
        // A fork that was deleted has no repository.
        (_, None) => base["repo"].is_object(),
        (None, Some(_)) => true,
    };
    let labels: Vec<&str> =
        pull["labels"].as_array().into_iter().flatten().filter_map(|label| label["name"].as_str()).collect();
    let merged = pull["merged"].as_bool().unwrap_or(!pull["merged_at"].is_null());
    for (name, value) in [
        ("pr_number", json!(number)),
        ("number", json!(number)),
        ("title", text(&pull["title"])),
        ("body", text(&pull["body"])),
        ("url", text(&pull["html_url"])),
        ("author", text(&pull["user"]["login"])),
        ("state", text(&pull["state"])),
        ("base", text(&base["ref"])),
        ("base_sha", text(&base["sha"])),
        ("head", text(&head["ref"])),
        ("head_sha", text(&head["sha"])),
        ("head_repo", text(&head["repo"]["full_name"])),
        ("draft", json!(pull["draft"].as_bool().unwrap_or(false))),
        ("merged", json!(merged)),
        ("merge_sha", text(&pull["merge_commit_sha"])),
        ("labels", json!(labels)),
        ("fork", json!(fork)),
        // As the `github` provider reads an event.
        (
            "pull_request",
            json!({ "number": number, "head": { "sha": head["sha"], "ref": head["ref"] },
                                 "base": { "ref": base["ref"] } }),
        ),
    ] {
        fields.insert(name.to_owned(), value);
    }
    Some(())
}

fn issue(action: &str, issue: &Value, body: &Value) -> Option<GithubEvent> {
    let word = match action {
        "" => return None,
        "opened" => "created",
        other => other,
    };
    let mut event = event(&format!("issue.{word}"), action, body);
    issue_fields(issue, &mut event.fields)?;
    event.at_ms = time(&issue["updated_at"]);
    if word == "created" {
        event.subject = subject(body, &issue["number"], &event.name);
    }
    Some(event)
}

pub(super) fn issue_fields(issue: &Value, fields: &mut Map<String, Value>) -> Option<()> {
    let number = issue["number"].as_u64()?;
    let labels: Vec<&str> =
        issue["labels"].as_array().into_iter().flatten().filter_map(|label| label["name"].as_str()).collect();
    for (name, value) in [
        ("issue_number", json!(number)),
        ("number", json!(number)),
        ("title", text(&issue["title"])),
        ("body", text(&issue["body"])),
        ("url", text(&issue["html_url"])),
        ("author", text(&issue["user"]["login"])),
        ("state", text(&issue["state"])),
        ("labels", json!(labels)),
        ("issue", json!({ "number": number })),
    ] {
        fields.insert(name.to_owned(), value);
    }
    Some(())
}

fn comment(action: &str, body: &Value) -> Option<GithubEvent> {
    if action.is_empty() {
        return None;
    }
    let (comment, issue) = (&body["comment"], &body["issue"]);
    let number = issue["number"].as_u64()?;
    let mut event = event(&format!("comment.{action}"), action, body);
    let is_pull = issue["pull_request"].is_object();
    for (name, value) in [
        ("number", json!(number)),
        (if is_pull { "pr_number" } else { "issue_number" }, json!(number)),
        ("on", json!(if is_pull { "pr" } else { "issue" })),
        ("title", text(&issue["title"])),
        ("comment", text(&comment["body"])),
        ("comment_id", comment["id"].clone()),
        ("url", text(&comment["html_url"])),
        ("author", text(&comment["user"]["login"])),
        ("association", text(&comment["author_association"])),
        ("issue", json!({ "number": number })),
    ] {
        event.fields.insert(name.to_owned(), value);
    }
    event.at_ms = time(&comment["updated_at"]);
    Some(event)
}

fn push(body: &Value) -> Option<GithubEvent> {
    let reference = body["ref"].as_str()?;
    let (what, name) = match (reference.strip_prefix("refs/heads/"), reference.strip_prefix("refs/tags/")) {
        (Some(branch), _) => ("branch", branch),
        (None, Some(tag)) => ("tag", tag),
        (None, None) => return None,
    };
    let is_deleted = body["deleted"].as_bool().unwrap_or(false);
    let word = if is_deleted { "deleted" } else { "pushed" };
    let mut event = event(&format!("{what}.{word}"), word, body);
    let commits = body["commits"].as_array().map_or(0, Vec::len);
    for (key, value) in [
        (what, json!(cut(name))),
        ("ref", text(&body["ref"])),
        ("sha", text(&body["after"])),
        ("before", text(&body["before"])),
        ("after", text(&body["after"])),
        ("forced", json!(body["forced"].as_bool().unwrap_or(false))),
        ("author", text(&body["pusher"]["name"])),
        ("message", text(&body["head_commit"]["message"])),
        ("commits", json!(commits)),
    ] {
        event.fields.insert(key.to_owned(), value);
    }
    // GitHub gives seconds since the epoch here, and RFC 3339 elsewhere.
    event.at_ms = body["repository"]["pushed_at"]
        .as_u64()
        .map(|seconds| seconds.saturating_mul(1000))
        .or_else(|| time(&body["head_commit"]["timestamp"]));
    Some(event)
}

fn check_suite(action: &str, body: &Value) -> Option<GithubEvent> {
    if action.is_empty() {
        return None;
    }
    let suite = &body["check_suite"];
    if !suite.is_object() {
        return None;
    }
    let mut event = event(&format!("checks.{action}"), action, body);
    let pulls = suite["pull_requests"].as_array().into_iter().flatten();
    let numbers: Vec<u64> = pulls.filter_map(|pull| pull["number"].as_u64()).collect();
    for (name, value) in [
        ("status", text(&suite["status"])),
        ("conclusion", text(&suite["conclusion"])),
        ("branch", text(&suite["head_branch"])),
        ("sha", text(&suite["head_sha"])),
        ("app", text(&suite["app"]["slug"])),
        ("pr_number", json!(numbers.first())),
        ("pr_numbers", json!(numbers)),
    ] {
        event.fields.insert(name.to_owned(), value);
    }
    event.at_ms = time(&suite["updated_at"]);
    Some(event)
}

/// The fields that every event has.
fn event(name: &str, action: &str, body: &Value) -> GithubEvent {
    let repository = &body["repository"];
    let mut fields = Map::new();
    fields.insert("action".into(), json!(action));
    fields.insert("repo".into(), text(&repository["full_name"]));
    fields.insert("sender".into(), text(&body["sender"]["login"]));
    fields.insert(
        "repository".into(),
        json!({ "full_name": repository["full_name"], "default_branch": repository["default_branch"] }),
    );
    GithubEvent { name: name.to_owned(), fields, subject: None, at_ms: None }
}

fn subject(body: &Value, number: &Value, event: &str) -> Option<String> {
    subject_of(body["repository"]["full_name"].as_str()?, number.as_u64()?, event)
}

/// The same for each source that may tell it.
pub fn subject_of(repo: &str, number: u64, event: &str) -> Option<String> {
    Some(format!("github:{repo}#{number}:{event}"))
}

fn time(value: &Value) -> Option<Millis> {
    parse_rfc3339(value.as_str()?)
}

/// A string, cut; anything else is null.
fn text(value: &Value) -> Value {
    value.as_str().map_or(Value::Null, |text| Value::String(cut(text)))
}

fn cut(text: &str) -> String {
    let end = (0..=text.len().min(TEXT_BYTES_MAX)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pull(action: &str, merged: bool, head_repo: &Value) -> Value {
        json!({
            "action": action,
            "repository": {"full_name": "octo/app", "default_branch": "main"},
            "sender": {"login": "ada"},
            "pull_request": {
                "number": 42, "title": "Add a thing", "draft": false, "merged": merged, "state": "open",
                "updated_at": "2026-11-16T10:00:00Z", "user": {"login": "ada"}, "html_url": "https://github.com/octo/app/pull/42",
                "base": {"ref": "main", "sha": "b", "repo": {"full_name": "octo/app"}},
                "head": {"ref": "thing", "sha": "h", "repo": head_repo},
                "labels": [{"name": "bug"}]
            }
        })
    }

    fn check(kind: &str, body: &Value) -> Option<GithubEvent> {
        read(kind, body.as_object().unwrap())
    }

    #[test]
    fn events_have_the_names_and_fields_of_chains() {
        let own = json!({"full_name": "octo/app"});
        for (action, merged, name) in [
            ("opened", false, "pr.opened"),
            ("closed", true, "pr.merged"),
            ("closed", false, "pr.closed"),
            ("synchronize", false, "pr.updated"),
            ("ready_for_review", false, "pr.ready"),
            ("labeled", false, "pr.labeled"),
        ] {
            assert_eq!(check("pull_request", &pull(action, merged, &own)).unwrap().name, name);
        }
        let opened = check("pull_request", &pull("opened", false, &own)).unwrap();
        for (field, value) in [
            ("pr_number", json!(42)),
            ("base", json!("main")),
            ("draft", json!(false)),
            ("head_sha", json!("h")),
            ("repo", json!("octo/app")),
            ("labels", json!(["bug"])),
            ("fork", json!(false)),
            ("author", json!("ada")),
        ] {
            assert_eq!(opened.fields[field], value, "{field}");
        }
        assert_eq!(opened.fields["repository"]["full_name"], "octo/app");
        assert_eq!(opened.fields["pull_request"]["head"]["sha"], "h");
    }

    #[test]
    fn a_pull_request_from_another_repository_is_from_a_fork() {
        for (head, fork) in [
            (json!({"full_name": "octo/app"}), false),
            (json!({"full_name": "mallory/app"}), true),
            // The fork was deleted.
            (Value::Null, true),
        ] {
            let event = check("pull_request", &pull("opened", false, &head)).unwrap();
            assert_eq!(event.fields["fork"], fork, "{head}");
        }
    }

    #[test]
    fn issues_comments_pushes_and_checks_are_mapped() {
        let repository = json!({"full_name": "octo/app", "pushed_at": 1_790_000_000});
        let issue =
            json!({"action": "opened", "repository": repository, "issue": {"number": 7, "title": "x"}});
        assert_eq!(check("issues", &issue).unwrap().name, "issue.created");
        let comment = json!({"action": "created", "repository": repository,
            "issue": {"number": 7, "pull_request": {}}, "comment": {"body": "/deploy", "user": {"login": "eve"}}});
        let comment = check("issue_comment", &comment).unwrap();
        assert_eq!((comment.name.as_str(), &comment.fields["pr_number"]), ("comment.created", &json!(7)));
        let push = json!({"ref": "refs/heads/feature/x", "after": "a", "repository": repository});
        let push = check("push", &push).unwrap();
        assert_eq!((push.name.as_str(), &push.fields["branch"]), ("branch.pushed", &json!("feature/x")));
        assert_eq!(push.at_ms, Some(1_790_000_000_000));
        let tag = json!({"ref": "refs/tags/v1", "deleted": true, "repository": repository});
        assert_eq!(check("push", &tag).unwrap().name, "tag.deleted");
        let suite = json!({"action": "completed", "repository": repository,
            "check_suite": {"conclusion": "success", "head_sha": "a", "pull_requests": [{"number": 9}]}});
        let suite = check("check_suite", &suite).unwrap();
        assert_eq!((suite.name.as_str(), &suite.fields["pr_number"]), ("checks.completed", &json!(9)));
    }

    #[test]
    fn what_lacks_its_parts_is_no_event() {
        for (kind, body) in [
            ("pull_request", json!({"action": "opened"})),
            ("pull_request", json!({"pull_request": {"number": 1}})),
            ("pull_request", json!({"action": "../x", "pull_request": {"number": 1}})),
            ("issues", json!({"action": "opened", "issue": {"number": "1"}})),
            ("issue_comment", json!({"action": "created"})),
            ("push", json!({"ref": 7})),
            ("push", json!({"ref": "refs/notes/x"})),
            ("check_suite", json!({"action": "completed"})),
            ("star", json!({"action": "created"})),
        ] {
            assert_eq!(check(kind, &body), None, "{kind} {body}");
        }
    }
}
