//! Studio: the web pages of Escrow. Every listening socket is opened here.
//!
//! ```text
//!   socket ──▶ guard (host, token or person, origin, form token, limits) ──▶ ROUTES
//!                                                            ├─▶ pages: HTML, readable without script
//!                                                            ├─▶ api: the documents of the command line
//!                                                            └─▶ feed: one reader of the journal for all viewers
//!   actions ──▶ app: the use cases of the command line ──▶ Driver: runs continue on threads of their own
//! ```
//!
//! **Invariant:** no SQL and no event of its own. Whatever a page shows is a value of `app`; whatever a form does is a
//! use case of `app`. Text of runs reaches a page only through the templates, which escape it.

mod action;
mod answer;
mod api;
mod assets;
mod compress;
mod counts;
mod daemon;
mod feed;
mod guard;
mod hooks;
mod host;
mod hosted;
mod known_query;
mod layout;
mod long_runs;
mod pages;
mod rate;
mod routes;
mod server;
mod settings;
mod studio;
mod view;
mod visitor;

pub use hooks::Hooks;
pub use routes::{Access, ROUTES, Route, Verb};
pub use server::{Serving, open, router};
pub use settings::Settings;
pub use studio::Studio;
