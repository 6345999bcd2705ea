//! Records whether any byte of a request was sent. Without one, a failed request had no effect.
//!
//! It stands behind the TLS handshake, so a certificate that is refused counts as nothing sent; and behind the tunnel of a
//! proxy, whose own request is none of ours.

use std::fmt::Debug;
use std::sync::atomic::{AtomicU8, Ordering};

use ureq::http::Uri;
use ureq::unversioned::transport::{Buffers, ConnectionDetails, Connector, NextTimeout, Transport};

use super::{CallError, Problem};
use std::sync::Arc;

/// How far a call has come. Between `Waiting` and the others there is no way back: a call that was abandoned sends nothing
/// any more, and one that has sent something cannot be abandoned unnoticed.
#[derive(Debug, Default)]
pub(super) struct Progress(AtomicU8);

const WAITING: u8 = 0;
const SENT: u8 = 1;
const ABANDONED: u8 = 2;

impl Progress {
    /// Nothing may be sent from here on, unless something was sent already.
    pub(super) fn abandon(&self) {
        let _ = self.0.compare_exchange(WAITING, ABANDONED, Ordering::SeqCst, Ordering::SeqCst);
    }

    pub(super) fn was_sent(&self) -> bool {
        self.0.load(Ordering::SeqCst) == SENT
    }

    pub(super) fn error(&self, problem: Problem, message: impl Into<String>) -> CallError {
        CallError { problem, message: message.into(), was_sent: self.was_sent() }
    }

    fn send(&self) -> Result<(), ureq::Error> {
        match self.0.compare_exchange(WAITING, SENT, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) | Err(SENT) => Ok(()),
            Err(_) => Err(std::io::Error::other("abandoned").into()),
        }
    }
}

/// The last link in the chain of connectors.
#[derive(Debug)]
pub(super) struct Witness {
    pub(super) progress: Arc<Progress>,
    pub(super) proxy: Option<Uri>,
}

impl<In: Transport> Connector<In> for Witness {
    type Out = Witnessed<In>;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> Result<Option<Witnessed<In>>, ureq::Error> {
        let is_proxy = self.proxy.as_ref().is_some_and(|proxy| proxy.authority() == details.uri.authority());
        let progress = (!is_proxy).then(|| Arc::clone(&self.progress));
        Ok(chained.map(|inner| Witnessed { inner, progress }))
    }
}

#[derive(Debug)]
pub(super) struct Witnessed<T> {
    inner: T,
    progress: Option<Arc<Progress>>,
}

impl<T: Transport> Transport for Witnessed<T> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.inner.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), ureq::Error> {
        if let Some(progress) = &self.progress {
            progress.send()?;
        }
        self.inner.transmit_output(amount, timeout)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, ureq::Error> {
        self.inner.await_input(timeout)
    }

    fn is_open(&mut self) -> bool {
        self.inner.is_open()
    }

    fn is_tls(&self) -> bool {
        self.inner.is_tls()
    }
}
