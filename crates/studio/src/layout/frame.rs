//! Head, navigation and foot.

use escrow_app::{Error, now_ms};
use escrow_model::{Millis, rfc3339};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::kept::kept;
use super::{icon, line};
use crate::assets::{ICON, SCRIPT, STYLE};
use crate::view::{Theme, View};

/// The icons of every page, drawn once and used by reference.
const SPRITE: &str = include_str!("../../assets/sprite.svg");

/// The pages of the navigation, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nav {
    Attention,
    Runs,
    Outcomes,
    Chains,
    Shows,
    Approvals,
    Invocations,
    Effects,
    Lifecycle,
}

impl Nav {
    const ALL: [Nav; 9] = [
        Nav::Attention,
        Nav::Runs,
        Nav::Outcomes,
        Nav::Chains,
        Nav::Shows,
        Nav::Approvals,
        Nav::Invocations,
        Nav::Effects,
        Nav::Lifecycle,
    ];

    fn title(self) -> &'static str {
        match self {
            Nav::Attention => "Attention",
            Nav::Runs => "Runs",
            Nav::Outcomes => "Outcomes",
            Nav::Chains => "Chains",
            Nav::Shows => "Shows",
            Nav::Approvals => "Approvals",
            Nav::Invocations => "Invocations",
            Nav::Effects => "Effects",
            Nav::Lifecycle => "Lifecycle",
        }
    }

    fn path(self) -> &'static str {
        match self {
            Nav::Attention => "/",
            Nav::Runs => "/runs",
            Nav::Outcomes => "/outcomes",
            Nav::Chains => "/chains",
            Nav::Shows => "/shows",
            Nav::Approvals => "/approvals",
            Nav::Invocations => "/invocations",
            Nav::Effects => "/effects",
            Nav::Lifecycle => "/lifecycle",
        }
    }
}

/// What the frame shows of the whole state.
pub(crate) struct Frame {
    pub(crate) causes: usize,
    pub(crate) waiting: usize,
    /// The last entry that the page can have seen: live updates begin behind it.
    position: u64,
}

impl Frame {
    /// Read before the page itself: what is committed in between is then seen again by the live update, not missed.
    pub(crate) async fn of(view: &View) -> Result<Frame, Error> {
        let queries = view.queries()?;
        let position = queries.feed_end().await?;
        let counts = view.studio.counts.of(&*queries).await?;
        Ok(Frame { causes: counts.causes, waiting: counts.waiting, position })
    }

    pub(crate) fn page(&self, view: &View, current: Nav, title: &str, content: &Markup) -> Markup {
        let theme = view.theme.map(Theme::as_str);
        html! {
            (DOCTYPE)
            html lang="en" data-theme=[theme] {
                (head(title))
                body data-feed=(self.position) data-csrf=(view.visitor.form_token) data-now=(now_ms()) {
                    a.skip-link href="#main" { "Skip to content" }
                    (PreEscaped(SPRITE))
                    header.top {
                        a.brand href="/" { (icon("brand", "")) "Escrow" span.where { (view.studio.project) } }
                        nav.nav aria-label="Pages" {
                            @for one in Nav::ALL {
                                a href=(one.path()) aria-current=[(one == current).then_some("page")] {
                                    (one.title()) (self.count(one))
                                }
                            }
                        }
                        form.search role="search" action="/runs" method="get" {
                            label.vh for="q" { "Search runs" }
                            (icon("search", ""))
                            input id="q" name="q" type="search" placeholder="Search runs" autocomplete="off" value=[view.get("q")];
                            kbd aria-hidden="true" { "/" }
                        }
                        span.live role="status" data-live-state="" { "As loaded" }
                    }
                    main.page id="main" { (content) }
                    (self.foot(view))
                }
            }
        }
    }

    fn count(&self, nav: Nav) -> Markup {
        let (number, class, word) = match nav {
            Nav::Attention => (self.causes, "count hot", if self.causes == 1 { "cause" } else { "causes" }),
            Nav::Approvals => (self.waiting, "count ask", "waiting"),
            Nav::Runs
            | Nav::Outcomes
            | Nav::Chains
            | Nav::Shows
            | Nav::Invocations
            | Nav::Effects
            | Nav::Lifecycle => (0, "", ""),
        };
        html! {
            @if number > 0 { span class=(class) { (number) span.vh { " " (word) } } }
        }
    }

    fn foot(&self, view: &View) -> Markup {
        html! {
            footer.foot {
                span.keys {
                    span { kbd { "f" } " next failure" }
                    span { kbd { "j" } " " kbd { "k" } " move" }
                    span { kbd { "Enter" } " open" }
                    span { kbd { "/" } " search" }
                    span { kbd { "?" } " help" }
                }
                span.grow {}
                span { "Acting as " span.mono { (view.visitor.actor) } }
                span { "Times in UTC" }
                span {
                    "Theme: "
                    a href=(view.with(&[("theme", Some("system"))])) { "system" } ", "
                    a href=(view.with(&[("theme", Some("light"))])) { "light" } ", "
                    a href=(view.with(&[("theme", Some("dark"))])) { "dark" }
                }
                span.mono { "escrow " (env!("CARGO_PKG_VERSION")) }
            }
        }
    }
}

fn head(title: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            meta name="referrer" content="same-origin";
            title { (line(title)) " · Escrow" }
            link rel="stylesheet" href=(STYLE.address());
            link rel="icon" type="image/svg+xml" href=(ICON.address());
            script defer src=(SCRIPT.address()) {}
        }
    }
}

/// A page in one file, with its stylesheet inside: to be kept or sent. It has exact times, and neither forms nor links that
/// lead out of it.
pub(crate) fn whole(title: &str, content: &Markup, now: Millis) -> Markup {
    let content = PreEscaped(kept(&content.0));
    let as_of = rfc3339(now).replace('T', " ");
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (line(title)) " · Escrow" }
                style { (PreEscaped(STYLE.text())) }
            }
            body {
                (PreEscaped(SPRITE))
                main.page id="main" {
                    (content)
                    p.small.dim { "As of " (as_of.get(..19).unwrap_or_default()) " UTC, escrow " (env!("CARGO_PKG_VERSION")) ". Times in UTC." }
                }
            }
        }
    }
}

/// A page for an error: with navigation, and without anything that the state would have to be asked for.
pub(crate) fn failed(title: &str, content: &Markup) -> Markup {
    let nav = html! { nav.nav aria-label="Pages" { @for one in Nav::ALL { a href=(one.path()) { (one.title()) } } } };
    outside(title, &nav, content)
}

/// A page without navigation: before a visitor is known.
pub(crate) fn bare(title: &str, content: &Markup) -> Markup {
    outside(title, &html! {}, content)
}

fn outside(title: &str, nav: &Markup, content: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(title))
            body {
                (PreEscaped(SPRITE))
                header.top { a.brand href="/" { (icon("brand", "")) "Escrow" } (nav) }
                main.page id="main" { (content) }
            }
        }
    }
}
