//! Reading what a pty says: text for people, and between it the sequences by
//! which a shell says where its commands begin and end.
//!
//! *Invariant*: whatever the chunks are that the bytes come in, the text is
//! the same and whole in UTF-8, and no sequence of the shell integration is
//! in it. Bytes that may still become either are held back.

use std::mem;

/// A sequence that grows longer than this is none: it is shown as it is.
const LONGEST_SEQUENCE: usize = 64 * 1024;

/// What was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Heard {
    Text(String),
    Title(String),
    /// A path, or a `file:` URI.
    Directory(String),
    CommandDetection,
    CommandExecuted {
        line: String,
    },
    CommandFinished {
        exit_code: Option<i64>,
    },
}

#[derive(Debug)]
pub(super) struct Parser {
    /// What the sequences of our own scripts end with; a program that prints
    /// such sequences does not know it.
    nonce: String,
    /// Text that is not yet given out.
    text: Vec<u8>,
    /// The bytes of an operating system command so far, with its beginning.
    sequence: Vec<u8>,
    state: State,
    /// The line of the command that is about to run.
    line: Option<String>,
    running: bool,
    /// Our own integration speaks: others who do so too are not listened to.
    ours: bool,
    detection: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Text,
    /// After an escape character.
    Escape,
    /// Within an operating system command.
    Command,
    /// After an escape character within one.
    CommandEscape,
}

const ESC: u8 = 0x1b;
const BEL: u8 = 0x07;
/// CAN and SUB end any sequence.
const ABORTS: [u8; 2] = [0x18, 0x1a];

impl Parser {
    pub(super) fn new(nonce: String) -> Self {
        Self {
            nonce,
            text: Vec::new(),
            sequence: Vec::new(),
            state: State::Text,
            line: None,
            running: false,
            ours: false,
            detection: false,
        }
    }

    pub(super) fn read(&mut self, bytes: &[u8]) -> Vec<Heard> {
        let mut heard = Vec::new();
        for &byte in bytes {
            self.step(byte, &mut heard);
        }
        self.give_out_text(&mut heard, false);
        heard
    }

    /// Nothing follows: gives out what was held back.
    pub(super) fn finish(&mut self) -> Vec<Heard> {
        let mut heard = Vec::new();
        let held = mem::take(&mut self.sequence);
        self.text.extend(held);
        self.state = State::Text;
        self.give_out_text(&mut heard, true);
        heard
    }

    fn step(&mut self, byte: u8, heard: &mut Vec<Heard>) {
        match self.state {
            State::Text if byte == ESC => {
                self.sequence.push(byte);
                self.state = State::Escape;
            }
            State::Text => self.text.push(byte),
            State::Escape if byte == b']' => {
                self.sequence.push(byte);
                self.state = State::Command;
            }
            State::Escape => {
                self.text.append(&mut self.sequence);
                self.state = State::Text;
                self.step(byte, heard);
            }
            State::Command if byte == BEL => self.end_sequence(&[BEL], heard),
            State::Command if byte == ESC => self.state = State::CommandEscape,
            State::Command => {
                self.sequence.push(byte);
                if ABORTS.contains(&byte) || self.sequence.len() > LONGEST_SEQUENCE {
                    self.text.append(&mut self.sequence);
                    self.state = State::Text;
                }
            }
            State::CommandEscape if byte == b'\\' => self.end_sequence(&[ESC, b'\\'], heard),
            State::CommandEscape => {
                // It was cut off by the beginning of something else.
                self.text.append(&mut self.sequence);
                self.sequence.push(ESC);
                self.state = State::Escape;
                self.step(byte, heard);
            }
        }
    }

    fn end_sequence(&mut self, end: &[u8], heard: &mut Vec<Heard>) {
        self.state = State::Text;
        let sequence = mem::take(&mut self.sequence);
        let body = String::from_utf8_lossy(&sequence[2..]).into_owned();
        let (number, rest) = body.split_once(';').unwrap_or((&body, ""));
        match number {
            "633" | "133" => {
                self.give_out_text(heard, true);
                self.shell_says(number == "633", rest, heard);
                return;
            }
            "0" | "2" => {
                self.give_out_text(heard, true);
                heard.push(Heard::Title(rest.to_owned()));
            }
            "7" => {
                self.give_out_text(heard, true);
                heard.push(Heard::Directory(rest.to_owned()));
            }
            _ => {}
        }
        self.text.extend(sequence);
        self.text.extend(end);
    }

    fn shell_says(&mut self, vscode: bool, words: &str, heard: &mut Vec<Heard>) {
        let mut fields: Vec<&str> = words.split(';').collect();
        let is_ours = vscode && fields.last() == Some(&self.nonce.as_str());
        if is_ours {
            self.ours = true;
            fields.pop();
        } else if self.ours {
            return;
        }
        if !self.detection {
            self.detection = true;
            heard.push(Heard::CommandDetection);
        }
        let second = fields.get(1).copied();
        match fields.first().copied().unwrap_or_default() {
            "E" => self.line = second.map(unescaped),
            "C" => {
                let line = self.line.take().unwrap_or_default();
                if mem::replace(&mut self.running, true) {
                    heard.push(Heard::CommandFinished { exit_code: None });
                }
                heard.push(Heard::CommandExecuted { line });
            }
            "D" if mem::take(&mut self.running) => {
                let exit_code = second.and_then(|code| code.parse().ok());
                heard.push(Heard::CommandFinished { exit_code });
            }
            "P" => {
                let directory = second.and_then(|value| value.strip_prefix("Cwd="));
                heard.extend(directory.map(|path| Heard::Directory(unescaped(path))));
            }
            _ => {}
        }
    }

    /// Gives out what is whole of the text; all of it if nothing follows on it.
    fn give_out_text(&mut self, heard: &mut Vec<Heard>, all: bool) {
        let whole = match all {
            true => self.text.len(),
            false => whole_prefix(&self.text),
        };
        if whole > 0 {
            let rest = self.text.split_off(whole);
            let text = mem::replace(&mut self.text, rest);
            let text = match String::from_utf8(text) {
                Ok(text) => text,
                Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
            };
            heard.push(Heard::Text(text));
        }
    }
}

/// How much of some bytes is not the beginning of a character that is cut off.
fn whole_prefix(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let at = bytes.len() - back;
        let needs = match bytes[at] {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            0x80..=0xbf => continue,
            _ => return bytes.len(),
        };
        return if needs > back { at } else { bytes.len() };
    }
    bytes.len()
}

/// Reads `\\` and `\x3b`.
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        plain.push_str(before);
        let code = after.strip_prefix('x').and_then(|hex| hex.get(..2));
        let code = code.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        rest = match (code, after.strip_prefix('\\')) {
            (Some(code), _) => {
                plain.push(char::from(code));
                &after[3..]
            }
            (None, Some(after)) => {
                plain.push('\\');
                after
            }
            (None, None) => {
                plain.push('\\');
                after
            }
        };
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn joined(heard: Vec<Heard>) -> Vec<Heard> {
        let mut joined: Vec<Heard> = Vec::new();
        for one in heard {
            match (joined.last_mut(), one) {
                (Some(Heard::Text(known)), Heard::Text(more)) => known.push_str(&more),
                (_, one) => joined.push(one),
            }
        }
        joined
    }

    fn read(bytes: &[u8]) -> Vec<Heard> {
        let mut parser = Parser::new("n".to_owned());
        let mut heard = parser.read(bytes);
        heard.extend(parser.finish());
        joined(heard)
    }

    fn text(text: &str) -> Heard {
        Heard::Text(text.to_owned())
    }

    #[test]
    fn commands_are_heard_and_their_sequences_are_not_seen() {
        let said = b"$ \x1b]633;A;n\x07ls\r\n\x1b]633;E;ls\\x3b x\\\\y;n\x07\x1b]633;C;n\x07out\x1b]633;D;3;n\x1b\\$ ";
        let executed = Heard::CommandExecuted {
            line: "ls; x\\y".to_owned(),
        };
        let exit_code = Some(3);
        assert_eq!(
            read(said),
            [
                text("$ "),
                Heard::CommandDetection,
                text("ls\r\n"),
                executed,
                text("out"),
                Heard::CommandFinished { exit_code },
                text("$ "),
            ]
        );
    }

    #[test]
    fn a_program_that_prints_such_sequences_is_not_taken_for_the_shell() {
        let said = b"\x1b]633;A;n\x07\x1b]633;E;rm;fake\x07\x1b]633;C\x07\x1b]133;C\x07x";
        assert_eq!(read(said), [Heard::CommandDetection, text("x")]);
    }

    #[test]
    fn titles_and_directories_are_heard_and_stay_in_the_text() {
        let said = "\x1b]0;my title\x07a\x1b]7;file:///tmp\x1b\\b";
        assert_eq!(
            read(said.as_bytes()),
            [
                Heard::Title("my title".to_owned()),
                text("\x1b]0;my title\x07a"),
                Heard::Directory("file:///tmp".to_owned()),
                text("\x1b]7;file:///tmp\x1b\\b"),
            ]
        );
    }

    #[test]
    fn what_only_looks_like_a_sequence_is_shown() {
        for said in [
            "\x1b[31mred\x1b[0m",
            "\x1b]unfinished",
            "\x1b]x\x18y",
            "\x1b\x1b",
        ] {
            assert_eq!(read(said.as_bytes()), [text(said)], "{said:?}");
        }
        let endless = format!("\x1b]{}", "x".repeat(2 * LONGEST_SEQUENCE));
        assert_eq!(read(endless.as_bytes()), [text(&endless)]);
    }

    fn piece() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            "[a-zäöü€😀]{0,6}".prop_map(String::into_bytes),
            prop::collection::vec(any::<u8>(), 0..4),
            prop::sample::select(vec![
                &b"\x1b]633;C;n\x07"[..],
                b"\x1b]633;D;0;n\x07",
                b"\x1b]633;E;a b;n\x1b\\",
                b"\x1b]0;title\x07",
                b"\x1b]",
                b"\x1b",
                b"\x07",
            ])
            .prop_map(<[u8]>::to_vec),
        ]
    }

    proptest! {
        #[test]
        fn where_the_chunks_are_cut_makes_no_difference(
            pieces in prop::collection::vec(piece(), 0..12),
            cuts in prop::collection::vec(1_usize..5, 0..64),
        ) {
            let bytes = pieces.concat();
            let mut parser = Parser::new("n".to_owned());
            let mut heard = Vec::new();
            let mut rest = &bytes[..];
            for cut in cuts {
                let (chunk, after) = rest.split_at(cut.min(rest.len()));
                heard.extend(parser.read(chunk));
                rest = after;
            }
            heard.extend(parser.read(rest));
            heard.extend(parser.finish());
            prop_assert_eq!(joined(heard), read(&bytes));
        }
    }
}
