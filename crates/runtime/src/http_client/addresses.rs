//! Which addresses a request may be sent to.
//!
//! The resolver of the client judges what it has resolved, and the client connects to just these addresses. A name that is
//! resolved to another address later (DNS rebinding) gains nothing.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use thiserror::Error;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

/// How far a request may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Addresses of the public internet.
    Public,
    /// Also those of private networks and of this machine.
    Private,
}

/// What an address stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Range {
    Public,
    /// Private networks and loopback.
    Private,
    /// Link-local addresses and metadata services of clouds, which hand out credentials; and addresses that are no host.
    Forbidden,
}

#[derive(Debug, Error, PartialEq, Eq)]
pub(super) enum AddressError {
    #[error("{0} is a link-local address, a metadata service or no host: it is never reached")]
    Forbidden(IpAddr),
    #[error("{0} is a private address; `allow_private: true` allows it")]
    Private(IpAddr),
}

impl Reach {
    pub(super) fn judge(self, address: IpAddr) -> Result<(), AddressError> {
        match (Range::of(address), self) {
            (Range::Public, _) | (Range::Private, Reach::Private) => Ok(()),
            (Range::Private, Reach::Public) => Err(AddressError::Private(address)),
            (Range::Forbidden, _) => Err(AddressError::Forbidden(address)),
        }
    }
}

impl Range {
    pub(super) fn of(address: IpAddr) -> Range {
        match address {
            IpAddr::V4(address) => Range::of_v4(address),
            IpAddr::V6(address) => {
                let inner = embedded_v4(address);
                let ranges = inner.iter().map(|inner| Range::of_v4(*inner));
                // The strictest of what it may lead to.
                ranges.max().unwrap_or_else(|| Range::of_v6(address))
            }
        }
    }

    fn of_v4(address: Ipv4Addr) -> Range {
        let [a, b, c, _] = address.octets();
        match (a, b, c) {
            // Metadata services: link-local, Alibaba Cloud, Oracle Cloud, Azure.
            (169, 254, _) => Range::Forbidden,
            _ if METADATA_V4.contains(&address) => Range::Forbidden,
            // "This network": Linux connects 0.0.0.0 to itself.
            (0, _, _) if address == Ipv4Addr::UNSPECIFIED => Range::Private,
            (0, _, _) | (224.., _, _) => Range::Forbidden,
            (10 | 127, _, _) | (172, 16..=31, _) | (192, 168, _) | (100, 64..=127, _) => Range::Private,
            (198, 18..=19, _) | (192, 0, 0 | 2) | (198, 51, 100) | (203, 0, 113) => Range::Private,
            (_, _, _) => Range::Public,
        }
    }

    fn of_v6(address: Ipv6Addr) -> Range {
        let first = address.segments()[0];
        if METADATA_V6.contains(&address) || first & 0xffc0 == 0xfe80 || first & 0xff00 == 0xff00 {
            return Range::Forbidden;
        }
        // Unique local, the deprecated site-local addresses, and documentation.
        let is_private = address.is_loopback()
            || address.is_unspecified()
            || first & 0xfe00 == 0xfc00
            || first & 0xffc0 == 0xfec0
            || (first == 0x2001 && address.segments()[1] == 0xdb8);
        if is_private { Range::Private } else { Range::Public }
    }
}

const METADATA_V4: [Ipv4Addr; 3] =
    [Ipv4Addr::new(100, 100, 100, 200), Ipv4Addr::new(192, 0, 0, 192), Ipv4Addr::new(168, 63, 129, 16)];

/// Amazon and Google.
const METADATA_V6: [Ipv6Addr; 2] =
    [Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254), Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)];

/// The IPv4 addresses that an IPv6 address may lead to: mapped, compatible, NAT64, 6to4, Teredo or ISATAP.
fn embedded_v4(address: Ipv6Addr) -> Vec<Ipv4Addr> {
    let v4 = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    let segments = address.segments();
    let last = v4(segments[6], segments[7]);
    match segments {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => Vec::new(),
        [0, 0, 0, 0, 0, 0 | 0xffff, ..] | [0, 0, 0, 0, 0xffff, 0, ..] => vec![last],
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => vec![last],
        // The local prefix may have any of the lengths of RFC 6052, each with its place for the address.
        [0x64, 0xff9b, _, d, e, f, _, _] => {
            let by_48 = v4(d, e << 8 | f >> 8);
            let by_56 = v4(d << 8 | e & 0xff, f);
            let by_64 = v4(e << 8 | f >> 8, f << 8 | segments[6] >> 8);
            let others = [by_48, by_56, by_64].into_iter().filter(|other| other.octets()[0] != 0);
            [last].into_iter().chain(others).collect()
        }
        [0x2002, high, low, ..] => vec![v4(high, low)],
        [0x2001, 0, ..] => vec![v4(!segments[6], !segments[7]), v4(segments[2], segments[3])],
        [_, _, _, _, 0 | 0x200, 0x5efe, ..] => vec![last],
        _ => Vec::new(),
    }
}

/// Resolves names as the system does, and refuses what may not be reached.
pub(super) struct JudgingResolver {
    pub(super) reach: Reach,
    /// The operator's proxy, which may be anywhere.
    pub(super) proxy: Option<Uri>,
    inner: Box<dyn Resolver>,
}

impl JudgingResolver {
    pub(super) fn new(reach: Reach, proxy: Option<Uri>) -> JudgingResolver {
        JudgingResolver { reach, proxy, inner: Box::new(DefaultResolver::default()) }
    }

    pub(super) fn is_proxy(&self, uri: &Uri) -> bool {
        self.proxy.as_ref().is_some_and(|proxy| proxy.authority() == uri.authority())
    }
}

impl fmt::Debug for JudgingResolver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("JudgingResolver").field("reach", &self.reach).finish()
    }
}

impl Resolver for JudgingResolver {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = self.inner.resolve(uri, config, timeout)?;
        if !self.is_proxy(uri) {
            // One that may not be reached is enough: the name is not to be trusted.
            for address in found.iter() {
                self.reach.judge(address.ip()).map_err(|error| ureq::Error::Other(error.into()))?;
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    fn range(address: &str) -> Range {
        Range::of(address.parse().unwrap())
    }

    #[test]
    fn link_local_and_metadata_addresses_are_never_reached_however_they_are_written() {
        for address in [
            "169.254.169.254",
            "169.254.0.1",
            "169.254.170.2",
            "100.100.100.200",
            "192.0.0.192",
            "168.63.129.16",
            "fd00:ec2::254",
            "fd20:ce::254",
            "fe80::1",
            "febf::1",
            "::ffff:169.254.169.254",
            "::ffff:a9fe:a9fe",
            "::169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::a9fe:a9fe",
            "64:ff9b:1:a9fe:a9:fe00::",
            "::ffff:0.1.2.3",
            "2001:0:a9fe:a9fe::1",
            "2001:0:5ef5:79fd::5601:5601",
            "2606:4700::5efe:169.254.169.254",
            "2002:a9fe:a9fe::1",
            "::ffff:0:169.254.169.254",
            "224.0.0.1",
            "255.255.255.255",
            "ff02::1",
            "0.1.2.3",
        ] {
            assert_eq!(range(address), Range::Forbidden, "{address}");
            for reach in [Reach::Public, Reach::Private] {
                assert!(reach.judge(address.parse().unwrap()).is_err(), "{address}");
            }
        }
    }

    #[test]
    fn private_and_loopback_addresses_need_to_be_allowed() {
        for address in [
            "127.0.0.1",
            "127.8.8.8",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "100.64.0.1",
            "0.0.0.0",
            "198.18.0.1",
            "::1",
            "::",
            "fc00::1",
            "fd12:3456::1",
            "fec0::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::a00:1",
            "2002:7f00:1::",
            "::ffff:0.0.0.0",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::c0a8:1",
        ] {
            assert_eq!(range(address), Range::Private, "{address}");
            assert!(Reach::Public.judge(address.parse().unwrap()).is_err(), "{address}");
            assert!(Reach::Private.judge(address.parse().unwrap()).is_ok(), "{address}");
        }
    }

    /// A name server that says something else each time.
    #[derive(Debug)]
    struct Fickle {
        asked: Arc<AtomicU32>,
        port: u16,
    }

    impl Resolver for Fickle {
        fn resolve(&self, _: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, ureq::Error> {
            let first = self.asked.fetch_add(1, Ordering::SeqCst) == 0;
            let ip = if first { Ipv4Addr::LOCALHOST } else { Ipv4Addr::new(169, 254, 169, 254) };
            let mut found = self.empty();
            found.push((ip, self.port).into());
            Ok(found)
        }
    }

    #[test]
    fn a_name_that_means_something_else_a_moment_later_is_not_asked_again() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut buffer = [0; 1024];
            let _ = stream.read(&mut buffer).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
        });
        let asked = Arc::new(AtomicU32::new(0));
        let call = |reach| {
            let inner = Box::new(Fickle { asked: Arc::clone(&asked), port });
            let resolver = JudgingResolver { reach, proxy: None, inner };
            let config = ureq::Agent::config_builder().max_idle_connections(0).build();
            let connector = ureq::unversioned::transport::DefaultConnector::default();
            let agent = ureq::Agent::with_parts(config, connector, resolver);
            agent.get(format!("http://rebinding.example:{port}/")).call()
        };
        let body = call(Reach::Private).unwrap().body_mut().read_to_string().unwrap();
        assert_eq!((body.as_str(), asked.load(Ordering::SeqCst)), ("ok", 1));
        server.join().unwrap();
        // The second answer of the name server is judged like the first.
        let error = call(Reach::Private).unwrap_err().to_string();
        assert!(error.contains("169.254.169.254"), "{error}");
    }

    #[test]
    fn public_addresses_are_reached() {
        for address in [
            "1.1.1.1",
            "140.82.121.4",
            "172.32.0.1",
            "100.128.0.1",
            "2606:4700::1111",
            "::ffff:1.1.1.1",
            "64:ff9b::101:101",
        ] {
            assert_eq!(range(address), Range::Public, "{address}");
        }
    }
}
