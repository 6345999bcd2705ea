//! Limits how often an address may ask. On this machine alone only signing in is limited.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Addresses that are remembered. Beyond that, those that have been quiet are forgotten.
const ADDRESSES_MAX: usize = 4_096;

/// A bucket of requests for each address, which fills up again.
pub(crate) struct RateLimit {
    burst: f64,
    per_second: f64,
    buckets: Mutex<HashMap<IpAddr, Bucket>>,
}

struct Bucket {
    left: f64,
    at: Instant,
}

impl RateLimit {
    /// For requests of any kind.
    pub(crate) fn requests() -> RateLimit {
        RateLimit::new(300.0, 30.0)
    }

    /// For requests without a valid token: guessing is slow.
    pub(crate) fn refusals() -> RateLimit {
        RateLimit::new(20.0, 0.2)
    }

    /// For tokens that are typed into the form and are not valid: a person mistypes a few times, a program guesses.
    pub(crate) fn sign_ins() -> RateLimit {
        RateLimit::new(5.0, 1.0 / 60.0)
    }

    fn new(burst: f64, per_second: f64) -> RateLimit {
        RateLimit { burst, per_second, buckets: Mutex::default() }
    }

    /// Takes one from the bucket of the address. `false`: it is empty.
    pub(crate) fn admits(&self, address: IpAddr) -> bool {
        let now = Instant::now();
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= ADDRESSES_MAX && !buckets.contains_key(&address) {
            let full = self.burst / self.per_second;
            buckets.retain(|_, bucket| now.duration_since(bucket.at).as_secs_f64() < full);
            if buckets.len() >= ADDRESSES_MAX {
                return false;
            }
        }
        let bucket = buckets.entry(address).or_insert(Bucket { left: self.burst, at: now });
        let gained = now.duration_since(bucket.at).as_secs_f64() * self.per_second;
        bucket.left = (bucket.left + gained).min(self.burst);
        bucket.at = now;
        let admits = bucket.left >= 1.0;
        if admits {
            bucket.left -= 1.0;
        }
        admits
    }

    /// Whether the bucket of the address is empty, without taking from it.
    pub(crate) fn is_spent(&self, address: IpAddr) -> bool {
        let buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        buckets
            .get(&address)
            .is_some_and(|bucket| bucket.left + bucket.at.elapsed().as_secs_f64() * self.per_second < 1.0)
    }
}
