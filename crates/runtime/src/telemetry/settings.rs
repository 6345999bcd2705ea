//! Where telemetry goes: the environment variables of OpenTelemetry, as its specification reads them.

use std::path::PathBuf;
use std::time::Duration;

/// What the environment asks for. Without an endpoint it asks for nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub traces: Option<Target>,
    pub metrics: Option<Target>,
    pub resource: Vec<(String, String)>,
    /// The span that a run is part of.
    pub parent: Option<Parent>,
    pub temporality: Temporality,
    pub timeout: Duration,
    /// The certificate authorities to trust instead of the usual ones.
    pub certificate: Option<PathBuf>,
}

/// One address, with the headers for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub url: String,
    pub headers: Vec<(String, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parent {
    pub trace: [u8; 16],
    pub span: [u8; 8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Temporality {
    Cumulative,
    Delta,
}

const TIMEOUT_MS: u64 = 10_000;
const TIMEOUT_MS_MAX: u64 = 60_000;
/// Longer values are a mistake.
const VALUE_BYTES_MAX: usize = 64 * 1024;

impl Settings {
    /// What the variables ask for; `None` when telemetry is off; an error in words when they cannot be followed.
    pub fn read(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Settings>, String> {
        let variable = |name: &str| {
            variable(name).filter(|value| !value.trim().is_empty() && value.len() <= VALUE_BYTES_MAX)
        };
        let is =
            |name: &str, word: &str| variable(name).is_some_and(|value| value.eq_ignore_ascii_case(word));
        if is("OTEL_SDK_DISABLED", "true") {
            return Ok(None);
        }
        let parent = variable("TRACEPARENT").and_then(|text| read_parent(&text));
        let unsampled = parent.as_ref().is_some_and(|(_, sampled)| !sampled);
        let mut traces = target("TRACES", "/v1/traces", &variable)?;
        if unsampled || is("OTEL_TRACES_EXPORTER", "none") || is("OTEL_TRACES_SAMPLER", "always_off") {
            traces = None;
        }
        let mut metrics = target("METRICS", "/v1/metrics", &variable)?;
        if is("OTEL_METRICS_EXPORTER", "none") {
            metrics = None;
        }
        if traces.is_none() && metrics.is_none() {
            return Ok(None);
        }
        let timeout = variable("OTEL_EXPORTER_OTLP_TIMEOUT").and_then(|text| text.trim().parse().ok());
        let delta = is("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "delta");
        Ok(Some(Settings {
            traces,
            metrics,
            resource: resource(&variable),
            parent: parent.map(|(parent, _)| parent),
            temporality: if delta { Temporality::Delta } else { Temporality::Cumulative },
            timeout: Duration::from_millis(timeout.unwrap_or(TIMEOUT_MS).min(TIMEOUT_MS_MAX)),
            certificate: variable("OTEL_EXPORTER_OTLP_CERTIFICATE").map(PathBuf::from),
        }))
    }
}

/// The address of a signal: its own as it is, or the common one with the signal's path.
fn target(
    signal: &str,
    path: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<Target>, String> {
    let own = |name: &str| format!("OTEL_EXPORTER_OTLP_{signal}_{name}");
    let common = |name: &str| format!("OTEL_EXPORTER_OTLP_{name}");
    let (name, url) = match (variable(&own("ENDPOINT")), variable(&common("ENDPOINT"))) {
        (Some(url), _) => (own("ENDPOINT"), url.trim().to_owned()),
        (None, Some(url)) => (common("ENDPOINT"), format!("{}{path}", url.trim().trim_end_matches('/'))),
        (None, None) => return Ok(None),
    };
    let known = url.starts_with("http://") || url.starts_with("https://");
    if !known || url.contains(char::is_whitespace) {
        return Err(format!("`{name}` is no address that begins with http:// or https://"));
    }
    let protocol = variable(&own("PROTOCOL")).or_else(|| variable(&common("PROTOCOL")));
    if protocol.as_deref().map(str::trim) == Some("grpc") {
        return Err("OTLP is spoken over HTTP: set `OTEL_EXPORTER_OTLP_PROTOCOL=http/json`".into());
    }
    let headers = variable(&own("HEADERS")).or_else(|| variable(&common("HEADERS"))).unwrap_or_default();
    Ok(Some(Target { url, headers: pairs(&headers) }))
}

/// `OTEL_RESOURCE_ATTRIBUTES`, below what we know better; `OTEL_SERVICE_NAME` beats both.
fn resource(variable: &dyn Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    let mut all = pairs(&variable("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default());
    let service = variable("OTEL_SERVICE_NAME");
    if service.is_some() || !all.iter().any(|(name, _)| name == "service.name") {
        all.retain(|(name, _)| name != "service.name");
        all.push(("service.name".into(), service.unwrap_or_else(|| "escrow".into())));
    }
    all
}

/// `a=1,b=two%20words`.
fn pairs(text: &str) -> Vec<(String, String)> {
    text.split(',')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (decoded(name.trim()), decoded(value.trim())))
        .filter(|(name, _)| !name.is_empty())
        .collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let hex = |one: u8| (one as char).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let ahead = rest.clone().take(2).map(hex).collect::<Option<Vec<u8>>>();
        match ahead.as_deref() {
            Some([high, low]) if byte == b'%' => {
                bytes.push(high << 4 | low);
                rest.nth(1);
            }
            _ => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// `00-<trace>-<span>-<flags>`, and whether it is sampled.
fn read_parent(text: &str) -> Option<(Parent, bool)> {
    let parts: Vec<&str> = text.trim().split('-').collect();
    let [version, trace, span, flags, ..] = parts.as_slice() else { return None };
    if version.len() != 2 || *version == "ff" || (*version == "00" && parts.len() != 4) {
        return None;
    }
    let trace: [u8; 16] = bytes_of(trace)?.try_into().ok()?;
    let span: [u8; 8] = bytes_of(span)?.try_into().ok()?;
    let [flags] = bytes_of(flags)?.try_into().ok()?;
    let real = trace.iter().any(|byte| *byte != 0) && span.iter().any(|byte| *byte != 0);
    real.then_some((Parent { trace, span }, flags & 1 == 1))
}

fn bytes_of(hex: &str) -> Option<Vec<u8>> {
    if !hex.len().is_multiple_of(2) || !hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Option<Settings>, String> {
        Settings::read(&|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    fn url(target: Option<&Target>) -> &str {
        target.map_or("", |target| target.url.as_str())
    }

    #[test]
    fn without_an_endpoint_there_is_no_telemetry() {
        for variables in [
            &[][..],
            &[("OTEL_SERVICE_NAME", "x")],
            &[("OTEL_EXPORTER_OTLP_ENDPOINT", "  ")],
            &[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://here"), ("OTEL_SDK_DISABLED", "TRUE")],
        ] {
            assert_eq!(read(variables), Ok(None));
        }
    }

    #[test]
    fn a_common_endpoint_gets_the_path_of_each_signal_and_an_own_one_is_taken_as_it_is() {
        let settings = read(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://here:4318/otlp/"),
            ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://there/in"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a=1, authorization=Bearer%20x%3D ,broken"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "250"),
        ]);
        let settings = settings.expect("they can be followed").expect("there is an endpoint");
        assert_eq!(url(settings.traces.as_ref()), "https://here:4318/otlp/v1/traces");
        assert_eq!(url(settings.metrics.as_ref()), "http://there/in");
        let headers = settings.traces.expect("traces").headers;
        assert_eq!(headers, [("a".into(), "1".into()), ("authorization".into(), "Bearer x=".into())]);
        assert_eq!(settings.timeout, Duration::from_millis(250));
    }

    #[test]
    fn what_cannot_be_followed_is_told() {
        let grpc = [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://x"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")];
        assert!(read(&grpc).expect_err("it is refused").contains("http/json"));
        let odd = read(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "file:///etc/passwd")]);
        assert!(odd.expect_err("it is refused").contains("OTEL_EXPORTER_OTLP_ENDPOINT"));
    }

    #[test]
    fn a_parent_gives_the_trace_and_one_that_is_not_sampled_ends_it() {
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://x");
        let parent = |text| read(&[endpoint, ("TRACEPARENT", text)]).expect("fine").expect("on");
        let sampled = parent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
        assert_eq!(sampled.parent.expect("it has one").span[0], 0xb7);
        let unsampled = parent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00");
        assert!(unsampled.traces.is_none() && unsampled.metrics.is_some());
        for odd in ["", "00-0-0-01", "zz", "00-00000000000000000000000000000000-b7ad6b7169203331-01"] {
            assert_eq!(parent(odd).parent, None, "{odd}");
        }
    }

    #[test]
    fn the_service_has_a_name() {
        let named = |variables: &[(&str, &str)]| {
            let mut all = vec![("OTEL_EXPORTER_OTLP_ENDPOINT", "http://x")];
            all.extend(variables);
            let resource = read(&all).expect("fine").expect("on").resource;
            resource.into_iter().find(|(name, _)| name == "service.name").map(|(_, value)| value)
        };
        let attributes = ("OTEL_RESOURCE_ATTRIBUTES", "service.name=theirs,team=a");
        assert_eq!(named(&[]).as_deref(), Some("escrow"));
        assert_eq!(named(&[attributes]).as_deref(), Some("theirs"));
        assert_eq!(named(&[attributes, ("OTEL_SERVICE_NAME", "ours")]).as_deref(), Some("ours"));
    }
}
