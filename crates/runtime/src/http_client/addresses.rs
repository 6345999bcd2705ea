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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
            IpAddr::V6(address) => match embedded_v4(address) {
                Some(inner) => Range::of_v4(inner),
                None => Range::of_v6(address),
            },
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

/// The IPv4 address that an IPv6 address leads to: mapped, compatible, NAT64 or 6to4.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let last = |segments: [u16; 8]| {
        let [a, b] = segments[6].to_be_bytes();
        let [c, d] = segments[7].to_be_bytes();
        Ipv4Addr::new(a, b, c, d)
    };
    let segments = address.segments();
    match segments {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        [0, 0, 0, 0, 0, 0 | 0xffff, ..] | [0, 0, 0, 0, 0xffff, 0, ..] => Some(last(segments)),
        [0x64, 0xff9b, 0 | 1, ..] => Some(last(segments)),
        [0x2002, high, low, ..] => {
            let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
            Some(Ipv4Addr::new(a, b, c, d))
        }
        _ => None,
    }
}

/// Resolves names as the system does, and refuses what may not be reached.
pub(super) struct JudgingResolver {
    pub(super) reach: Reach,
    /// The operator's proxy, which may be anywhere.
    pub(super) proxy: Option<Uri>,
    inner: DefaultResolver,
}

impl JudgingResolver {
    pub(super) fn new(reach: Reach, proxy: Option<Uri>) -> JudgingResolver {
        JudgingResolver { reach, proxy, inner: DefaultResolver::default() }
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
        ] {
            assert_eq!(range(address), Range::Private, "{address}");
            assert!(Reach::Public.judge(address.parse().unwrap()).is_err(), "{address}");
            assert!(Reach::Private.judge(address.parse().unwrap()).is_ok(), "{address}");
        }
    }

    #[test]
    fn public_addresses_are_reached() {
        for address in
            ["1.1.1.1", "140.82.121.4", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "::ffff:1.1.1.1"]
        {
            assert_eq!(range(address), Range::Public, "{address}");
        }
    }
}
