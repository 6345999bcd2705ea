//! Random numbers and the time of day: inputs that no replay can derive.
//!
//! **Invariant:** the engine never calls these. The supervisor passes their values in.

use std::io::{self, Read};
use std::time::{SystemTime, UNIX_EPOCH};

use escrow_model::{Millis, RunId};

/// Fills the buffer from the system's random source.
pub fn random_bytes(buffer: &mut [u8]) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::rand::{GetRandomFlags, getrandom};
        // The kernel fills up to 256 bytes at once. A longer buffer, or a sandbox that forbids the call, needs the device.
        if matches!(getrandom(&mut *buffer, GetRandomFlags::empty()), Ok(count) if count == buffer.len()) {
            return Ok(());
        }
    }
    std::fs::File::open("/dev/urandom")?.read_exact(buffer)
}

pub fn random_u64() -> io::Result<u64> {
    let mut bytes = [0; 8];
    random_bytes(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// The id of a run that starts now.
pub fn new_run_id() -> io::Result<RunId> {
    Ok(RunId::new(now_ms(), random_u64()?))
}

/// Milliseconds since the epoch. A clock set before 1970 reads as 0.
pub fn now_ms() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_ids_differ() {
        let ids: std::collections::BTreeSet<_> = (0..1_000).map(|_| new_run_id().unwrap()).collect();
        assert_eq!(ids.len(), 1_000);
    }

    #[test]
    fn random_bytes_fill_the_whole_buffer() {
        let mut bytes = [0; 4_096];
        random_bytes(&mut bytes).unwrap();
        assert!(bytes.chunks(64).all(|chunk| chunk.iter().any(|byte| *byte != 0)));
    }
}
