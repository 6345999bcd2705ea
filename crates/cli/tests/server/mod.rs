//! An HTTP server for tests: listens on this machine, answers as it is told, keeps what it was sent.

#![allow(dead_code, reason = "each test file uses the part of the server that it needs")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;

/// One request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

impl Received {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

/// What the server says to a request.
#[derive(Clone, Debug)]
pub(crate) enum Says {
    Answer {
        status: u16,
        headers: Vec<(String, String)>,
        body: String,
    },
    /// Headers that promise more than is sent, and the end of the connection.
    CutAfterHeaders {
        status: u16,
    },
    /// The connection ends without a byte.
    Cut,
    /// A byte of the body now and then, and never all of them.
    Drip,
    /// Nothing, for as long as the test lasts.
    Nothing,
}

impl Says {
    pub(crate) fn status(status: u16) -> Says {
        Says::Answer { status, headers: Vec::new(), body: String::new() }
    }

    pub(crate) fn text(body: &str) -> Says {
        Says::Answer { status: 200, headers: Vec::new(), body: body.to_owned() }
            .with("Content-Type", "text/plain")
    }

    pub(crate) fn json(status: u16, body: &Value) -> Says {
        Says::Answer { status, headers: Vec::new(), body: body.to_string() }
            .with("Content-Type", "application/json; charset=utf-8")
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Says {
        if let Says::Answer { headers, .. } = &mut self {
            headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }
}

pub(crate) struct Server {
    pub(crate) url: String,
    received: Arc<Mutex<Vec<Received>>>,
}

type Answers = Arc<Mutex<dyn FnMut(&Received) -> Says + Send>>;

pub(crate) fn data(name: &str) -> String {
    format!("{}/tests/data/telemetry/{name}", env!("CARGO_MANIFEST_DIR"))
}

pub(crate) fn in_turn(says: Vec<Says>) -> impl FnMut(&Received) -> Says + Send + 'static {
    let mut turn = 0;
    move |_| {
        turn += 1;
        says.get(turn - 1).or(says.last()).expect("it says something").clone()
    }
}

impl Server {
    /// Answers the first requests in turn, and all others like the last.
    pub(crate) fn saying(says: Vec<Says>) -> Server {
        Server::start(in_turn(says))
    }

    pub(crate) fn start(answers: impl FnMut(&Received) -> Says + Send + 'static) -> Server {
        Server::listen(Arc::new(Mutex::new(answers)), None)
    }

    /// Behind TLS, with a certificate of an authority that only the tests know.
    pub(crate) fn start_tls(answers: impl FnMut(&Received) -> Says + Send + 'static) -> Server {
        let chain = vec![CertificateDer::from_pem_file(data("certificate.pem")).expect("a certificate")];
        let key = std::fs::read(data("key.der")).expect("a key");
        let key = PrivateKeyDer::try_from(key).expect("in a form that is known");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the versions are known")
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .expect("the certificate fits its key");
        Server::listen(Arc::new(Mutex::new(answers)), Some(Arc::new(config)))
    }

    fn listen(answers: Answers, tls: Option<Arc<ServerConfig>>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it has an address").port();
        let received = Arc::new(Mutex::new(Vec::new()));
        let scheme = if tls.is_some() { "https" } else { "http" };
        let kept = Arc::clone(&received);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, answers, tls) = (Arc::clone(&kept), Arc::clone(&answers), tls.clone());
                std::thread::spawn(move || match tls {
                    None => serve(&mut &stream, &stream, &kept, &answers),
                    Some(config) => {
                        let connection = ServerConnection::new(config).expect("a connection");
                        let raw = stream.try_clone().expect("a second handle");
                        serve(&mut StreamOwned::new(connection, stream), &raw, &kept, &answers);
                    }
                });
            }
        });
        Server { url: format!("{scheme}://localhost:{port}"), received }
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().expect("no holder panicked").clone()
    }

    /// The methods and paths that were asked for.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.received().iter().map(|one| format!("{} {}", one.method, one.path)).collect()
    }
}

trait ReadWrite: Read + Write {}
impl<T: Read + Write> ReadWrite for T {}

fn serve(stream: &mut dyn ReadWrite, raw: &TcpStream, kept: &Mutex<Vec<Received>>, answers: &Answers) {
    let Some(request) = read(stream) else { return };
    kept.lock().expect("no holder panicked").push(request.clone());
    let says = (answers.lock().expect("no holder panicked"))(&request);
    match says {
        Says::Answer { status, headers, body } => {
            let mut head =
                format!("HTTP/1.1 {status} Told\r\nContent-Length: {}\r\nConnection: close\r\n", body.len());
            for (name, value) in headers {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
            let body = if request.method == "HEAD" { String::new() } else { body };
            let _ = stream.write_all(format!("{head}\r\n{body}").as_bytes());
            let _ = stream.flush();
        }
        Says::CutAfterHeaders { status } => {
            let head = format!("HTTP/1.1 {status} Told\r\nContent-Length: 100\r\n\r\nhalf");
            let _ = stream.write_all(head.as_bytes());
            let _ = stream.flush();
        }
        Says::Cut => {}
        Says::Drip => {
            let _ = stream.write_all(b"HTTP/1.1 200 Told\r\nContent-Length: 100000\r\n\r\n");
            while stream.write_all(b"x").and_then(|()| stream.flush()).is_ok() {
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        }
        Says::Nothing => loop {
            std::thread::park();
        },
    }
    let _ = raw.shutdown(Shutdown::Write);
    // A socket that is closed with unread bytes resets the connection, and the answer with it.
    let _ = raw.set_read_timeout(Some(std::time::Duration::from_millis(200)));
    let _ = std::io::copy(&mut &*raw, &mut std::io::sink());
}

fn read(stream: &mut dyn ReadWrite) -> Option<Received> {
    let mut reader = BufReader::with_capacity(1, stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_ascii_whitespace();
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => headers.insert(name.to_ascii_lowercase(), value.trim().to_owned()),
            None => break,
        };
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Received { method, path, headers, body: String::from_utf8_lossy(&body).into_owned() })
}
