//! Who sends a request.

use escrow_app::tokens::Role;

/// Decided by the guard; handlers find it among the extensions of the request.
#[derive(Clone, Debug)]
pub(crate) struct Visitor {
    /// `os:NAME` or `token:NAME`, as each action is recorded.
    pub(crate) actor: String,
    pub(crate) role: Role,
    /// The value of the hidden field of forms.
    pub(crate) form_token: String,
    /// The runs whose commands sent the request.
    pub(crate) runs_around: Vec<String>,
}

impl Visitor {
    pub(crate) fn may(&self, role: Role) -> bool {
        self.role >= role
    }
}
