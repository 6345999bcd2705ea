//! A page made still: to be kept or sent, and read where no Studio is.
//!
//! Works on markup that our templates wrote: every `<` begins a tag, because text and attributes are escaped.

/// Exact times in the place of relative ones, no forms, no buttons, and no links that lead out of the page.
pub(super) fn kept(page: &str) -> String {
    let mut still = String::with_capacity(page.len());
    let mut rest = page;
    // Whether each open link stays one.
    let mut links = Vec::new();
    while let Some((before, behind)) = rest.split_once('<') {
        still.push_str(before);
        let Some((tag, after)) = behind.split_once('>') else { break };
        rest = after;
        match name(tag) {
            "form" => rest = behind_element(after, "form"),
            "div" if classes(tag).any(|class| class == "btns") => rest = behind_element(after, "div"),
            "time" if let Some(exact) = attribute(tag, "title") => {
                still.push_str(&format!(
                    "<time datetime=\"{}\">{exact}</time>",
                    attribute(tag, "datetime").unwrap_or_default()
                ));
                rest = behind_element(after, "time");
            }
            "a" => {
                let stays = attribute(tag, "href").is_some_and(|href| href.starts_with('#'));
                links.push(stays);
                match attribute(tag, "class") {
                    _ if stays => still.push_str(&format!("<{tag}>")),
                    Some(class) => still.push_str(&format!("<span class=\"{class}\">")),
                    None => still.push_str("<span>"),
                }
            }
            "/a" => still.push_str(if links.pop().unwrap_or(true) { "</a>" } else { "</span>" }),
            _ => still.push_str(&format!("<{tag}>")),
        }
    }
    still.push_str(rest);
    still
}

fn name(tag: &str) -> &str {
    tag.split([' ', '\n']).next().unwrap_or_default()
}

fn attribute<'t>(tag: &'t str, name: &str) -> Option<&'t str> {
    let (_, behind) = tag.split_once(&format!(" {name}=\""))?;
    Some(behind.split_once('"')?.0)
}

fn classes(tag: &str) -> impl Iterator<Item = &str> {
    attribute(tag, "class").unwrap_or_default().split(' ')
}

/// What follows the end of an element, whose beginning was read.
fn behind_element<'p>(mut rest: &'p str, element: &str) -> &'p str {
    let mut depth = 1;
    while let Some((_, behind)) = rest.split_once('<') {
        let Some((tag, after)) = behind.split_once('>') else { break };
        rest = after;
        match name(tag) {
            one if one == element => depth += 1,
            one if one.strip_prefix('/') == Some(element) => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return rest;
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_studio_is_taken_out_and_the_rest_stays() {
        let page = "<p>a <a class=\"id\" href=\"/runs/r_1\">r_1</a> <a href=\"#why\">why</a></p>\
                    <div class=\"head btns\"><div>x</div><a href=\"/x\">Export</a></div>\
                    <form method=\"post\"><input name=\"csrf\"><button>Go</button></form><div class=\"log\">b</div>";
        assert_eq!(
            kept(page),
            "<p>a <span class=\"id\">r_1</span> <a href=\"#why\">why</a></p><div class=\"log\">b</div>"
        );
    }

    #[test]
    fn times_are_exact() {
        let page = "ended <time datetime=\"2026-11-18T11:10:54Z\" title=\"2026-11-18 11:10:54 UTC\" \
                    data-relative=\"\">14 min ago</time>.";
        assert_eq!(
            kept(page),
            "ended <time datetime=\"2026-11-18T11:10:54Z\">2026-11-18 11:10:54 UTC</time>."
        );
    }
}
