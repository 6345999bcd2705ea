//! A socket around a scripted model, on the loopback interface.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use escrow_harness::scripted::{ScriptedModel, Step, Then};

pub(crate) struct ModelServer {
    port: u16,
    model: Arc<Mutex<ScriptedModel>>,
}

impl ModelServer {
    /// Serves until the test ends.
    pub(crate) fn start(steps: Vec<Step>) -> ModelServer {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let model = Arc::new(Mutex::new(ScriptedModel::new(steps)));
        let shared = Arc::clone(&model);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let model = Arc::clone(&shared);
                std::thread::spawn(move || serve(stream, &model));
            }
        });
        ModelServer { port, model }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(crate) fn played(&self) -> usize {
        self.model.lock().expect("no test panicked with it").played()
    }
}

fn serve(stream: TcpStream, model: &Mutex<ScriptedModel>) {
    let Ok(reading) = stream.try_clone() else { return };
    let mut reader = BufReader::new(reading);
    let Some((method, path, body)) = request(&mut reader) else { return };
    let reply = model.lock().expect("no test panicked with it").answer(&method, &path, &body);
    let mut stream = stream;
    let _ = stream.write_all(&reply.bytes).and_then(|()| stream.flush());
    match reply.then {
        Then::Close => {}
        // Until the other side closes.
        Then::Hang => drop(reader.read(&mut [0])),
    }
}

/// Method, path and body of a request.
fn request(reader: &mut impl BufRead) -> Option<(String, String, Vec<u8>)> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (mut length, mut is_chunked) = (0, false);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let header = header.trim().to_ascii_lowercase();
        match header.split_once(':') {
            None => break,
            Some(("content-length", value)) => length = value.trim().parse().ok()?,
            Some(("transfer-encoding", value)) => is_chunked = value.contains("chunked"),
            Some(_) => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let mut is_open = is_chunked;
    while is_open {
        let mut size = String::new();
        reader.read_line(&mut size).ok()?;
        let size = usize::from_str_radix(size.trim().split(';').next()?, 16).ok()?;
        let mut chunk = vec![0; size + 2];
        reader.read_exact(&mut chunk).ok()?;
        is_open = size > 0;
        body.extend_from_slice(&chunk[..size]);
    }
    Some((method, path, body))
}
