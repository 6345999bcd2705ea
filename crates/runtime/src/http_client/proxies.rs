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

    fn first(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.0.get(*name)).map(String::as_str)
    }
}

/// The proxy for a URL, unless `NO_PROXY` names its host.
pub(super) fn proxy_for(proxies: &Proxies, url: &Uri) -> Result<Option<Proxy>, String> {
    let is_excluded = proxies
        .first(&["no_proxy", "NO_PROXY"])
        .is_some_and(|list| is_listed(list, url.host().unwrap_or_default(), url.port_u16()));
    if is_excluded {
        return Ok(None);
    }
    // A web server sets `HTTP_PROXY` from the `Proxy` header of a request, so only the lower-case spelling counts.
    let names: &[&str] = match url.scheme_str() {
        Some("https") => &["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"],
        Some(_) | None => &["http_proxy", "all_proxy", "ALL_PROXY"],
    };
    let Some(proxy) = proxies.first(names) else { return Ok(None) };
    // The address of a proxy may contain a password.
    let proxy =
        Proxy::new(proxy).map_err(|_| "the proxy of the environment has no valid address".to_owned())?;
    match proxy.uri().scheme_str() {
        Some("http" | "https") => Ok(Some(proxy)),
        Some(_) | None => Err("the proxy of the environment is neither `http` nor `https`".into()),
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
