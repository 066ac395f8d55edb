//! Streams of events (`text/event-stream`), as far as MCP uses them: the data
//! of each event is one message.
//!
//! *Invariant*: an event is bounded, so that no server can make the host grow.

use super::link::LONGEST;

#[derive(Debug, Default)]
pub(super) struct Events {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// The last line ended with a carriage return: a line feed belongs to it.
    after_return: bool,
}

/// An event is larger than any may be.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLarge;

impl Events {
    /// Takes in a piece of the stream; returns the data of the events that it
    /// completes.
    pub(super) fn take(&mut self, piece: &[u8]) -> Result<Vec<Vec<u8>>, TooLarge> {
        let mut complete = Vec::new();
        for &byte in piece {
            let follows_return = std::mem::take(&mut self.after_return);
            match byte {
                b'\n' if follows_return => {}
                b'\n' | b'\r' => {
                    self.after_return = byte == b'\r';
                    complete.extend(self.line_ended());
                }
                _ => self.line.push(byte),
            }
            if (self.line.len() + self.data.len()) as u64 > LONGEST {
                return Err(TooLarge);
            }
        }
        Ok(complete)
    }

    fn line_ended(&mut self) -> Option<Vec<u8>> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            return std::mem::take(&mut self.has_data).then_some(data);
        }
        if let Some(data) = line.strip_prefix(b"data:") {
            if self.has_data {
                self.data.push(b'\n');
            }
            self.has_data = true;
            self.data
                .extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_whatever_pieces_they_come_in() {
        let stream =
            b": hello\r\nevent: message\r\ndata: {\"a\":\ndata:1}\n\nid: 3\ndata: x\n\ndata: open";
        for size in [1, 2, 3, 7, stream.len()] {
            let mut events = Events::default();
            let mut all = Vec::new();
            for piece in stream.chunks(size) {
                all.extend(events.take(piece).unwrap());
            }
            let all: Vec<String> = all
                .into_iter()
                .map(|it| String::from_utf8(it).unwrap())
                .collect();
            assert_eq!(all, ["{\"a\":\n1}", "x"], "in pieces of {size}");
        }
    }

    #[test]
    fn an_event_without_end_is_refused() {
        let mut events = Events::default();
        let piece = vec![b'x'; 1024 * 1024];
        let mut taken = Ok(Vec::new());
        for _ in 0..17 {
            taken = events.take(&piece);
        }
        assert_eq!(taken, Err(TooLarge));
    }
}
