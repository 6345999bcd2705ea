//! The operator's proxy, from the environment of Escrow, or from that which an approval has fixed.

use std::collections::BTreeMap;
use std::env;

use ureq::Proxy;
use ureq::http::Uri;

use crate::providers::Environment;

/// The variables that say through which proxy a request goes.
pub(crate) const PROXY_VARIABLES: &[&str] =
    &["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"];

/// The variables that name proxies, as far as they are set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Proxies(BTreeMap<String, String>);

impl Proxies {
    /// Those that this process has.
    pub(crate) fn inherited() -> Proxies {
        Proxies::read(|name| env::var(name).ok().filter(|value| !value.is_empty()))
    }

    /// Those of an attempt.
    pub(crate) fn of(environment: &Environment) -> Proxies {
        Proxies::read(|name| environment.setting(name))
    }

    fn read(value: impl Fn(&str) -> Option<String>) -> Proxies {
        Proxies(PROXY_VARIABLES.iter().filter_map(|name| Some(((*name).to_owned(), value(name)?))).collect())
    }

    /// The first of these variables that is set, and its value.
    fn first<'n>(&self, names: &[&'n str]) -> Option<(&'n str, &str)> {
        names.iter().find_map(|name| Some((*name, self.0.get(*name)?.as_str())))
    }
}

/// The proxy for a URL, unless `NO_PROXY` names its host.
pub(super) fn proxy_for(proxies: &Proxies, url: &Uri) -> Result<Option<Proxy>, String> {
    let is_excluded = proxies
        .first(&["no_proxy", "NO_PROXY"])
        .is_some_and(|(_, list)| is_listed(list, url.host().unwrap_or_default(), url.port_u16()));
    if is_excluded {
        return Ok(None);
    }
    // A web server sets `HTTP_PROXY` from the `Proxy` header of a request, so only the lower-case spelling counts.
    let names: &[&str] = match url.scheme_str() {
        Some("https") => &["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"],
        Some(_) | None => &["http_proxy", "all_proxy", "ALL_PROXY"],
    };
    let Some((variable, address)) = proxies.first(names) else { return Ok(None) };
    // The address of a proxy may contain a password, so no message has it.
    let refused = |why: &str| {
        format!(
            "the proxy of `{variable}` {why}; change it, or name the host in `NO_PROXY` to send requests without it"
        )
    };
    let scheme = address.split_once("://").map_or("http", |(scheme, _)| scheme).to_ascii_lowercase();
    if scheme.starts_with("socks") {
        return Err(refused(
            "is a SOCKS proxy, which Escrow does not speak: `http` and `https` are supported",
        ));
    }
    let proxy = Proxy::new(address).map_err(|_| refused("has no valid address"))?;
    match proxy.uri().scheme_str() {
        Some("http" | "https") => Ok(Some(proxy)),
        Some(_) | None => Err(refused("is neither `http` nor `https`")),
    }
}

/// `*`, `host`, `.suffix`, `*.suffix`, each with or without a port.
fn is_listed(list: &str, host: &str, port: Option<u16>) -> bool {
    let host = host.trim_matches(['[', ']']).to_ascii_lowercase();
    list.split(',').map(|entry| entry.trim().to_ascii_lowercase()).any(|entry| {
        let (name, wanted) = match entry.rsplit_once(':') {
            Some((name, digits)) if digits.parse::<u16>().is_ok() && !name.contains(':') => {
                (name, digits.parse::<u16>().ok())
            }
            Some(_) | None => (entry.as_str(), None),
        };
        let suffix = name.trim_start_matches('*').trim_start_matches('.');
        let is_named = name == "*"
            || (!suffix.is_empty()
                && (host == suffix || host.strip_suffix(suffix).is_some_and(|before| before.ends_with('.'))));
        is_named && (wanted.is_none() || wanted == port)
    })
}

#[cfg(test)]
mod tests {
    use super::is_listed;

    #[test]
    fn no_proxy_names_hosts_suffixes_and_ports() {
        for (list, host, expected) in [
            ("*", "a.example", true),
            ("a.example", "a.example", true),
            ("example", "a.example", true),
            (".example", "a.example", true),
            ("*.example", "a.example", true),
            ("b.example, a.example", "A.example", true),
            ("a.example:81", "a.example", false),
            ("a.example:80", "a.example", true),
            ("ample", "a.example", false),
            ("", "a.example", false),
            ("::1", "[::1]", true),
        ] {
            assert_eq!(is_listed(list, host, Some(80)), expected, "{list} {host}");
        }
    }
}
