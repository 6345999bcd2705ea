//! Studio, started for a test, and a browser's way of asking it without a browser.

#![allow(dead_code, reason = "each test file uses the part of it that it needs")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::desk::Desk;

pub(crate) struct Studio {
    child: Child,
    /// `127.0.0.1:7878`
    pub(crate) host: String,
}

/// What came back.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) cookies: Vec<String>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

impl Studio {
    pub(crate) fn start(desk: &Desk) -> Studio {
        Studio::start_with(desk, &[])
    }

    pub(crate) fn start_with(desk: &Desk, more: &[&str]) -> Studio {
        let mut arguments = vec!["--output", "jsonl", "studio", "--port", "0", "--no-open"];
        arguments.extend(more);
        let mut child = desk
            .command(&arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary starts");
        let mut line = String::new();
        let out = child.stdout.take().expect("its stdout");
        BufReader::new(out).read_line(&mut line).expect("it says where it is");
        let told: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let url = told["studio"]["url"].as_str().expect("an address");
        let host = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
        Studio { child, host: host.replace("0.0.0.0", "127.0.0.1") }
    }

    /// Sends exactly this, and reads until the server closes.
    pub(crate) fn send(&self, request: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.host).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("it answers");
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text}"));
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).expect("a status");
        let mut answer = Answer {
            status: status.parse().expect("a number"),
            headers: BTreeMap::new(),
            cookies: Vec::new(),
            body: body.to_owned(),
        };
        for line in lines {
            let (name, value) = line.split_once(": ").expect("a header");
            if name == "set-cookie" {
                answer.cookies.push(value.to_owned());
            }
            answer.headers.insert(name.to_owned(), value.to_owned());
        }
        answer
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.get_with(path, "")
    }

    /// As a browser asks for a page, with more headers.
    pub(crate) fn get_with(&self, path: &str, headers: &str) -> Answer {
        let host = &self.host;
        self.send(&format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept: text/html\r\nConnection: close\r\n{headers}\r\n"
        ))
    }

    pub(crate) fn json(&self, path: &str) -> Value {
        let host = &self.host;
        let answer = self.send(&format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept: */*\r\nConnection: close\r\n\r\n"
        ));
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.json()
    }

    /// The session of a browser that has loaded a page: its cookie, and the field of its forms.
    pub(crate) fn session(&self) -> (String, String) {
        let page = self.get("/approvals");
        let cookie = page.cookies.first().expect("a session").split(';').next().expect("a pair").to_owned();
        let token = page.body.split("data-csrf=\"").nth(1).and_then(|rest| rest.split('"').next());
        (cookie, token.expect("a form token").to_owned())
    }

    /// Sends a form of ours, as a browser would.
    pub(crate) fn submit(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let (cookie, token) = self.session();
        let mut all = vec![("csrf", token.as_str())];
        all.extend(fields);
        self.post(path, &all, &format!("Origin: http://{}\r\nCookie: {cookie}\r\n", self.host))
    }

    pub(crate) fn post(&self, path: &str, fields: &[(&str, &str)], headers: &str) -> Answer {
        let encode = |text: &str| text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
        let body: Vec<String> =
            fields.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
        let body = body.join("&");
        self.send(&format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nAccept: text/html\r\nConnection: close\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n{headers}\r\n{body}",
            self.host,
            body.len()
        ))
    }

    /// Sends a JSON document.
    pub(crate) fn post_json(&self, path: &str, document: &Value, headers: &str) -> Answer {
        let body = document.to_string();
        self.send(&format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n{headers}\r\n{body}",
            self.host,
            body.len()
        ))
    }

    /// Whether its process still runs.
    pub(crate) fn is_alive(&mut self) -> bool {
        self.child.try_wait().expect("it can be asked").is_none()
    }

    /// The memory that it holds, in KB.
    pub(crate) fn memory_kb(&self) -> u64 {
        self.memory("VmRSS:")
    }

    /// The same without mapped files: its program and the database.
    pub(crate) fn own_memory_kb(&self) -> u64 {
        self.memory("RssAnon:")
    }

    fn memory(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it runs");
        let line = status.lines().find(|line| line.starts_with(name)).expect("its memory");
        line.split_whitespace().nth(1).expect("a number").parse().expect("a number")
    }

    /// A stream of events that stays open.
    pub(crate) fn events(&self, path: &str, headers: &str) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(&self.host).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nAccept: text/event-stream\r\n{headers}\r\n",
            self.host
        );
        stream.write_all(request.as_bytes()).expect("it reads");
        BufReader::new(stream)
    }
}

impl Drop for Studio {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
