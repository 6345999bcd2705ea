//! Who is at the other end of a connection on this machine.
//!
//! The kernel lists every socket with its owner. A connection whose other end is not listed, or is closed already, has no
//! owner that could be trusted.

use std::net::{IpAddr, SocketAddr};

/// The other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A socket of this user, with its inode.
    Socket { uid: u32, inode: u64 },
    /// The socket is closed, or of another network namespace.
    Gone,
    /// This system does not tell.
    Unknown,
}

impl Peer {
    /// The owner of the socket that is connected from `peer` to `local_port`.
    pub fn of(peer: SocketAddr, local_port: u16) -> Peer {
        let mut is_told = false;
        for path in ["/proc/net/tcp", "/proc/net/tcp6"] {
            let Ok(text) = std::fs::read_to_string(path) else { continue };
            is_told = true;
            if let Some(found) = text.lines().skip(1).find_map(|line| row(line, peer, local_port)) {
                return found;
            }
        }
        if is_told { Peer::Gone } else { Peer::Unknown }
    }

    /// Whether the other end acts for this user. Root may act for everyone.
    pub fn is_own(self) -> bool {
        match self {
            Peer::Socket { uid, inode } => inode != 0 && (uid == own_uid() || uid == 0),
            Peer::Gone => false,
            Peer::Unknown => true,
        }
    }

    /// The runs whose commands hold the socket, or have started the process that does.
    pub fn runs_around(self) -> Vec<String> {
        let Peer::Socket { inode, .. } = self else { return Vec::new() };
        let mut found = Vec::new();
        for pid in holders(inode) {
            found.extend(crate::process::runs_around_process(pid));
        }
        found
    }
}

fn own_uid() -> u32 {
    rustix::process::getuid().as_raw()
}

/// The line of the socket whose own address is `peer`, and whose other end is our port.
fn row(line: &str, peer: SocketAddr, local_port: u16) -> Option<Peer> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [_, own, other, ..] = fields.as_slice() else { return None };
    let (own, other) = (address(own)?, address(other)?);
    if own != (canonical(peer.ip()), peer.port()) || other.1 != local_port {
        return None;
    }
    Some(Peer::Socket { uid: fields.get(7)?.parse().ok()?, inode: fields.get(9)?.parse().ok()? })
}

/// `0100007F:1EC6`: words of four bytes, each as the machine stores it.
fn address(text: &str) -> Option<(IpAddr, u16)> {
    let (host, port) = text.split_once(':')?;
    let mut bytes = Vec::new();
    for word in host.as_bytes().chunks(8) {
        let word = u32::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok()?;
        bytes.extend(word.to_ne_bytes());
    }
    let ip = match bytes.len() {
        4 => IpAddr::from(<[u8; 4]>::try_from(bytes).ok()?),
        16 => IpAddr::from(<[u8; 16]>::try_from(bytes).ok()?),
        _ => return None,
    };
    Some((canonical(ip), u16::from_str_radix(port, 16).ok()?))
}

/// An IPv4 address that a socket of IPv6 uses is the IPv4 address.
fn canonical(ip: IpAddr) -> IpAddr {
    ip.to_canonical()
}

/// The processes that have the socket open, as far as this user may look.
fn holders(inode: u64) -> Vec<i32> {
    let wanted = format!("socket:[{inode}]");
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let holds = |pid: &i32| {
        let open = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        open.filter_map(|file| std::fs::read_link(file.path()).ok())
            .any(|link| link.as_os_str() == wanted.as_str())
    };
    pids.filter(holds).collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn the_owner_of_a_connection_is_known_until_it_is_closed() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let client = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
        let (_server, peer) = listener.accept().expect("a client");
        let found = Peer::of(peer, port);
        assert!(found.is_own(), "{found:?}");
        let Peer::Socket { inode, .. } = found else { panic!("{found:?}") };
        let own = i32::try_from(std::process::id()).expect("a process id");
        assert!(holders(inode).contains(&own));
        drop(client);
        assert!(!Peer::of(peer, port).is_own(), "a closed end has no owner");
        assert_eq!(Peer::of(SocketAddr::from(([127, 0, 0, 1], 1)), port), Peer::Gone);
    }
}
