//! Where Studio listens, and what it does besides.

use std::net::{IpAddr, SocketAddr};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    pub bind: IpAddr,
    /// 0 chooses a free port.
    pub port: u16,
    /// Whether abandoned runs are picked up and schedules are kept.
    pub daemon: bool,
}

impl Settings {
    pub fn address(&self) -> SocketAddr {
        SocketAddr::new(self.bind, self.port)
    }

    /// Only processes of this machine can connect.
    pub fn is_local(&self) -> bool {
        self.bind.is_loopback()
    }
}
