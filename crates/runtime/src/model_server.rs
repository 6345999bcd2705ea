//! A socket around a scripted model, on the loopback interface: `harness doctor` and the tests drive real programs with it.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use escrow_harness::scripted::{ScriptedModel, Step, Then};

/// The largest request that is read.
const REQUEST_BYTES_MAX: usize = 16 << 20;

const LINE_BYTES_MAX: u64 = 64 << 10;

#[derive(Debug)]
pub struct ModelServer {
    port: u16,
    model: Arc<Mutex<ScriptedModel>>,
}

impl ModelServer {
    /// Serves until the process ends.
    pub fn start(steps: Vec<Step>) -> io::Result<ModelServer> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let model = Arc::new(Mutex::new(ScriptedModel::new(steps)));
        let shared = Arc::clone(&model);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let model = Arc::clone(&shared);
                std::thread::spawn(move || answer(stream, &model));
            }
        });
        Ok(ModelServer { port, model })
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// How many steps of the script were played.
    pub fn played(&self) -> usize {
        self.model.lock().unwrap_or_else(PoisonError::into_inner).played()
    }
}

fn answer(mut stream: TcpStream, model: &Mutex<ScriptedModel>) {
    let Ok(reading) = stream.try_clone() else { return };
    let mut reader = BufReader::new(reading);
    let Some((method, path, body)) = request(&mut reader) else { return };
    let reply = model.lock().unwrap_or_else(PoisonError::into_inner).answer(&method, &path, &body);
    let _ = stream.write_all(&reply.bytes).and_then(|()| stream.flush());
    match reply.then {
        Then::Close => {}
        // Until the other side closes.
        Then::Hang => drop(reader.read(&mut [0])),
    }
}

/// Method, path and body of a request.
fn request(reader: &mut impl BufRead) -> Option<(String, String, Vec<u8>)> {
    let first = line(reader)?;
    let mut words = first.split_whitespace();
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (mut length, mut is_chunked) = (0, false);
    loop {
        let header = line(reader)?.trim().to_ascii_lowercase();
        match header.split_once(':') {
            None => break,
            Some(("content-length", value)) => length = value.trim().parse().ok()?,
            Some(("transfer-encoding", value)) => is_chunked = value.contains("chunked"),
            Some(_) => {}
        }
    }
    let mut body = Vec::new();
    read(reader, &mut body, length)?;
    while is_chunked {
        let size = usize::from_str_radix(line(reader)?.trim().split(';').next()?, 16).ok()?;
        read(reader, &mut body, size)?;
        line(reader)?;
        is_chunked = size > 0;
    }
    Some((method, path, body))
}

fn line(reader: &mut impl BufRead) -> Option<String> {
    let mut text = String::new();
    reader.take(LINE_BYTES_MAX).read_line(&mut text).ok()?;
    Some(text)
}

fn read(reader: &mut impl BufRead, body: &mut Vec<u8>, size: usize) -> Option<()> {
    let start = body.len();
    let end = start.checked_add(size).filter(|end| *end <= REQUEST_BYTES_MAX)?;
    body.resize(end, 0);
    reader.read_exact(&mut body[start..]).ok()
}
