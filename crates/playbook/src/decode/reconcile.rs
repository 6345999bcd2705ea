//! Decodes `reconcile`: a command, or a map with the command and the expressions that read its output.

use std::rc::Rc;

use escrow_model::{Expression, KeyKind, Reconcile};

use super::Decoder;
use crate::duration;
use crate::source::Stage;
use crate::yaml::Node;

impl Decoder<'_> {
    pub(super) fn reconcile(&mut self, check: &Node) -> Option<Reconcile> {
        let node = check.get("reconcile")?;
        if node.map().is_none() {
            let exec = self.field("reconcile", KeyKind::Exec, node)?;
            return Some(Reconcile { exec: Some(exec), ..Reconcile::by_provider() });
        }
        let done = self.answer("done", node);
        let failed = self.answer("failed", node);
        let retry = self.answer("retry", node);
        let output = self.answer("output", node);
        let timeout = node.get("timeout").and_then(|timeout| duration::milliseconds(timeout).ok());
        let exec = self.field("exec", KeyKind::Exec, node.get("exec")?)?;
        let timeout_ms = timeout.unwrap_or(Reconcile::TIMEOUT_MS);
        Some(Reconcile { exec: Some(exec), done, failed, retry, output, timeout_ms })
    }

    fn answer(&mut self, key: &str, reconcile: &Rc<Node>) -> Option<Expression> {
        self.sources.expression(key, reconcile.get(key)?, Stage::AfterProvider)
    }
}
