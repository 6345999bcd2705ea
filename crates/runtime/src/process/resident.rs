//! A long-lived process that is spoken to in lines.
//!
//! **Invariant:** what is read is never lost, even when the reader gave up. `end` leaves nothing behind
//! of what the process started; dropping it kills the process.

use std::io;
use std::process::{Command, Stdio};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, ChildStdout};

use super::child::Child;
use super::descendants::Tree;
use super::follow::end_everything;
use super::start::spawn;

/// Speaks through its standard input and output; what it says on standard error goes to ours.
pub struct Resident {
    child: Child,
    tree: Tree,
    input: Option<ChildStdin>,
    output: Option<ChildStdout>,
    /// Read, and not yet taken.
    pending: Vec<u8>,
    /// How much of `pending` was searched for the end of a line.
    searched: usize,
}

/// A line that cannot be had.
#[derive(Debug)]
pub enum NoLine {
    /// It said nothing more, and closed its output.
    Ended,
    TooLong,
    Unreadable(io::Error),
}

impl Resident {
    pub fn start(command: Command) -> io::Result<Resident> {
        let (mut child, tree) = spawn(command, Stdio::piped(), Stdio::piped(), Stdio::inherit())?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        Ok(Resident { child: Child::Standard(child), tree, input, output, pending: Vec::new(), searched: 0 })
    }

    /// Sends text, and meanwhile takes lines, so that neither side waits for the other with full pipes. Gives up
    /// when `hear` gives a value; what it wants to say in return follows the text.
    pub async fn converse<T>(
        &mut self,
        mut text: Vec<u8>,
        line_bytes_max: usize,
        mut hear: impl FnMut(&[u8], &mut Vec<u8>) -> Option<T>,
    ) -> Result<T, NoLine> {
        let mut written = 0;
        loop {
            while let Some(line) = self.next_pending(line_bytes_max)? {
                if let Some(value) = hear(&line, &mut text) {
                    // It has answered without listening to the end, so it will take the rest for something else.
                    if written < text.len() {
                        self.input = None;
                    }
                    return Ok(value);
                }
            }
            let Resident { input, output, pending, .. } = self;
            let output = output.as_mut().ok_or(NoLine::Ended)?;
            let wants_to_write = written < text.len() && input.is_some();
            tokio::select! {
                count = output.read_buf(pending) => match count {
                    Ok(0) => return Err(NoLine::Ended),
                    Ok(_) => {}
                    Err(error) => return Err(NoLine::Unreadable(error)),
                },
                count = write_some(input.as_mut(), &text[written..]), if wants_to_write => match count {
                    Ok(count) => written += count,
                    // It does not listen any more. It may still answer.
                    Err(_) => *input = None,
                },
            }
        }
    }

    /// Sends text that wants no answer. `false` when it does not listen.
    pub async fn tell(&mut self, text: &[u8]) -> bool {
        match &mut self.input {
            Some(input) => input.write_all(text).await.is_ok(),
            None => false,
        }
    }

    /// Whether it can still be spoken to.
    pub fn listens(&mut self) -> bool {
        match self.child.try_wait() {
            Ok(None) => self.input.is_some(),
            Ok(Some(_)) | Err(_) => {
                self.tree.child_was_reaped();
                false
            }
        }
    }

    /// Lets it end by itself, as its input has ended; then ends what is left. Gives its exit code, if it has one.
    pub async fn end(mut self, grace: Duration) -> Option<i32> {
        self.input = None;
        let exited = tokio::time::timeout(grace, self.child.wait()).await;
        if let Ok(Ok(_)) = exited {
            self.tree.child_was_reaped();
        }
        end_everything(&mut self.child, &mut self.tree, Duration::ZERO).await;
        exited.ok()?.ok()?.code()
    }

    fn next_pending(&mut self, line_bytes_max: usize) -> Result<Option<Vec<u8>>, NoLine> {
        let end = self.pending[self.searched..].iter().position(|byte| *byte == b'\n');
        match end {
            Some(end) => {
                let rest = self.pending.split_off(self.searched + end + 1);
                self.searched = 0;
                Ok(Some(std::mem::replace(&mut self.pending, rest)))
            }
            None if self.pending.len() > line_bytes_max => Err(NoLine::TooLong),
            None => {
                self.searched = self.pending.len();
                Ok(None)
            }
        }
    }
}

async fn write_some(input: Option<&mut ChildStdin>, text: &[u8]) -> io::Result<usize> {
    match input {
        Some(input) => input.write(text).await,
        None => std::future::pending().await,
    }
}
