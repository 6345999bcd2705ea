//! Clients that stay: started once, then asked over their standard input and output.
//!
//! **Invariant:** a question ends with its answer, its deadline or its client, never later than the deadline. A
//! client that broke the conversation is ended, and started again for the next event.

use std::io;
use std::time::Duration;

use escrow_protocol::callback::{CallbackFailure, CallbackResult};
use escrow_protocol::dispatch::Client;
use escrow_protocol::envelope::DispatchEnvelope;
use escrow_protocol::stream::{Heard, LINE_LIMIT_BYTES, Stream, StreamError};
use escrow_protocol::version::WireVersion;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::{command, current_thread_runtime};
use crate::process::{NoLine, Resident};

/// How long a client may take to end when its input has ended.
const GRACE: Duration = Duration::from_millis(500);

/// How long a client may take to listen to something that wants no answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// The clients of one stream.
pub struct Residents {
    rooms: Vec<Option<Room>>,
    runtime: Runtime,
}

/// A client, and what is open with it.
struct Room {
    client: Client,
    resident: Option<Resident>,
    stream: Stream,
}

impl Residents {
    /// Starts no process yet.
    pub fn new(clients: Vec<Client>) -> io::Result<Residents> {
        let room = |client| Some(Room { client, resident: None, stream: Stream::default() });
        Ok(Residents { rooms: clients.into_iter().map(room).collect(), runtime: current_thread_runtime()? })
    }

    /// Asks the clients at these positions, all at once, and gives their answers in the same order.
    pub fn ask(
        &mut self,
        envelope: &DispatchEnvelope,
        version: WireVersion,
        positions: &[usize],
        deadline_ms: u64,
    ) -> Vec<CallbackResult> {
        let _inside = self.runtime.enter();
        let mut asked = JoinSet::new();
        for &position in positions {
            if let Some(mut room) = self.rooms.get_mut(position).and_then(Option::take) {
                let envelope = envelope.clone();
                asked.spawn_on(
                    async move {
                        let answer = room.ask(&envelope, version, deadline_ms).await;
                        (position, room, answer)
                    },
                    self.runtime.handle(),
                );
            }
        }
        let mut answers = self.runtime.block_on(asked.join_all());
        answers.sort_by_key(|(position, ..)| positions.iter().position(|asked| asked == position));
        let mut in_order = Vec::new();
        for (position, room, answer) in answers {
            self.rooms[position] = Some(room);
            in_order.push(answer);
        }
        in_order
    }

    /// Sends a line that wants no answer to every client.
    pub fn tell(&mut self, line: &str) {
        self.runtime.block_on(async {
            for room in self.rooms.iter_mut().flatten() {
                room.tell(line).await;
            }
        });
    }
}

impl Drop for Residents {
    fn drop(&mut self) {
        let _inside = self.runtime.enter();
        let mut leaving = JoinSet::new();
        for room in self.rooms.iter_mut().flatten() {
            if let Some(resident) = room.resident.take() {
                leaving.spawn_on(resident.end(GRACE), self.runtime.handle());
            }
        }
        self.runtime.block_on(leaving.join_all());
    }
}

impl Room {
    async fn ask(
        &mut self,
        envelope: &DispatchEnvelope,
        version: WireVersion,
        deadline_ms: u64,
    ) -> CallbackResult {
        self.let_go_of_the_deaf().await;
        let Room { client, resident, stream } = self;
        let resident = match resident {
            Some(resident) => resident,
            None => resident.insert(start(client)?),
        };
        let (id, line) = stream.ask(envelope, version, deadline_ms).map_err(|error| unsaid(&error))?;
        let hear = |line: &[u8], reply: &mut Vec<u8>| match stream.hear(line) {
            Ok(Heard::Answer(settled)) if settled.id == id => Some(settled.outcome),
            Ok(Heard::Answer(_) | Heard::Unexpected | Heard::Remark { .. }) => None,
            Ok(Heard::Question { refusal, .. }) => {
                reply.extend_from_slice(refusal.as_bytes());
                None
            }
            Err(error) => Some(Err(CallbackFailure::Garbage(error.to_string()))),
        };
        let deadline = Duration::from_millis(deadline_ms);
        let heard = timeout(deadline, resident.converse(line.into_bytes(), LINE_LIMIT_BYTES, hear)).await;
        let failure = match heard {
            Ok(Ok(Err(garbage @ CallbackFailure::Garbage(_)))) => garbage,
            Ok(Ok(answer)) => return answer,
            Ok(Err(NoLine::TooLong)) => unsaid(&StreamError::TooLong),
            Ok(Err(NoLine::Unreadable(error))) => CallbackFailure::Unreadable(error.to_string()),
            Ok(Err(NoLine::Ended)) => self.how_it_left().await,
            Err(_) => CallbackFailure::TimedOut,
        };
        // Whatever was open with it stays unanswered.
        self.stream.close(&failure);
        self.dismiss().await;
        Err(failure)
    }

    /// A client that closed its output: gone, or going.
    async fn how_it_left(&mut self) -> CallbackFailure {
        let code = match self.resident.take() {
            Some(resident) => resident.end(GRACE).await,
            None => None,
        };
        match code {
            Some(0) => CallbackFailure::Unreadable("the client ended without an answer".to_owned()),
            Some(code) => CallbackFailure::ExitCode { code, stderr: String::new() },
            None => CallbackFailure::Signalled { stderr: String::new() },
        }
    }

    async fn tell(&mut self, line: &str) {
        self.let_go_of_the_deaf().await;
        if self.resident.is_none() {
            self.resident = start(&self.client).ok();
        }
        if let Some(resident) = &mut self.resident {
            let told = timeout(PATIENCE, resident.tell(line.as_bytes())).await;
            if told != Ok(true) {
                self.dismiss().await;
            }
        }
    }

    async fn let_go_of_the_deaf(&mut self) {
        if self.resident.as_mut().is_some_and(|resident| !resident.listens()) {
            self.dismiss().await;
        }
    }

    /// Ends the client with everything that it started, without waiting for it.
    async fn dismiss(&mut self) {
        if let Some(resident) = self.resident.take() {
            resident.end(Duration::ZERO).await;
        }
    }
}

fn start(client: &Client) -> Result<Resident, CallbackFailure> {
    command(&client.program, &client.arguments, &client.environment)
        .and_then(|command| Resident::start(command).map_err(|error| error.to_string()))
        .map_err(CallbackFailure::NotStarted)
}

fn unsaid(error: &StreamError) -> CallbackFailure {
    CallbackFailure::Unreadable(error.to_string())
}
