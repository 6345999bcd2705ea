//! The certificates that servers are verified by: those of the system, and those of a file.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

/// Where systems keep their roots: Debian, Fedora, openSUSE, Alpine and macOS, FreeBSD.
const BUNDLES: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/usr/local/share/certs/ca-root-nss.crt",
];

/// Trusts the system, and the certificates of the file. Where the system has none, those that Escrow brings along.
pub(super) fn tls(ca_file: Option<&Path>) -> Result<TlsConfig, String> {
    let system = system();
    let roots = match (ca_file, system) {
        (None, None) => RootCerts::WebPki,
        (None, Some(system)) => RootCerts::Specific(Arc::clone(system)),
        (Some(path), system) => {
            let unusable = |why: String| format!("`ca_file` `{}` cannot be used: {why}", path.display());
            let own = certificates(&std::fs::read(path).map_err(|error| unusable(error.to_string()))?);
            if own.is_empty() {
                return Err(unusable("it contains no certificate".into()));
            }
            let system = system.map(|system| system.iter()).into_iter().flatten().cloned();
            RootCerts::Specific(Arc::new(own.into_iter().chain(system).collect()))
        }
    };
    Ok(TlsConfig::builder().root_certs(roots).build())
}

fn system() -> Option<&'static Arc<Vec<Certificate<'static>>>> {
    static SYSTEM: OnceLock<Option<Arc<Vec<Certificate<'static>>>>> = OnceLock::new();
    let read = |path: &Path| {
        let found = certificates(&std::fs::read(path).ok()?);
        (!found.is_empty()).then(|| Arc::new(found))
    };
    SYSTEM
        .get_or_init(|| match std::env::var_os("SSL_CERT_FILE") {
            Some(path) => read(Path::new(&path)),
            None => BUNDLES.iter().find_map(|path| read(Path::new(path))),
        })
        .as_ref()
}

fn certificates(pem: &[u8]) -> Vec<Certificate<'static>> {
    parse_pem(pem)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            Ok(_) | Err(_) => None,
        })
        .collect()
}
