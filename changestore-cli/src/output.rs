//! Standard output: lines for people, or one JSON object per line for machines.

use std::fmt::{self, Write as _};
use std::io::{self, BufWriter, Stdout, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use changestore_core::Timestamp;
use serde::Serialize;

/// Writes results, buffered; [`flush`](Self::flush) at the end.
pub(crate) struct Output {
    json: bool,
    stdout: BufWriter<Stdout>,
}

impl Output {
    pub(crate) fn new(json: bool) -> Self {
        Self {
            json,
            stdout: BufWriter::new(io::stdout()),
        }
    }

    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// A line for people.
    pub(crate) fn line(&mut self, line: fmt::Arguments<'_>) -> io::Result<()> {
        self.stdout.write_fmt(line)?;
        self.stdout.write_all(b"\n")
    }

    /// A line for machines.
    pub(crate) fn object(&mut self, object: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.stdout, object)?;
        self.stdout.write_all(b"\n")
    }

    /// Bytes as they are.
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stdout.write_all(bytes)
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.stdout.flush()
    }
}

/// Text of others in a line for people: control characters are escaped, so that it stays one line and
/// cannot command the terminal.
pub(crate) struct Printable<'a>(pub(crate) &'a str);

impl fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for char in self.0.chars() {
            if char.is_control() {
                write!(f, "{}", char.escape_debug())?;
            } else {
                f.write_char(char)?;
            }
        }
        Ok(())
    }
}

/// A time for people: RFC 3339, UTC.
pub(crate) struct Time(pub(crate) Timestamp);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0.as_millis()) {
            Ok(time) => time.fmt(f),
            // The last hours of 9999, which another time zone would put into the year 10000.
            Err(_) => write!(f, "{} ms", self.0),
        }
    }
}

/// Bytes for machines: `data` if they are UTF-8, else `data_base64`.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Data<'a> {
    Text { data: &'a str },
    Base64 { data_base64: String },
}

impl<'a> Data<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(data) => Self::Text { data },
            Err(_) => Self::Base64 {
                data_base64: BASE64.encode(bytes),
            },
        }
    }
}

/// Bytes for people, on one line.
impl fmt::Display for Data<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text { data } => Printable(data).fmt(f),
            Self::Base64 { data_base64 } => write!(f, "base64:{data_base64}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_printable_commands_a_terminal() {
        let text = Printable("a\u{1b}[2J\r\nb\u{9b}ü 'x' \\").to_string();
        assert_eq!(text, "a\\u{1b}[2J\\r\\nb\\u{9b}ü 'x' \\");
    }

    #[test]
    fn every_time_can_be_printed() {
        let time = |millis| Time(Timestamp::from_millis(millis).unwrap()).to_string();
        assert_eq!(time(0), "1970-01-01T00:00:00Z");
        assert_eq!(time(1_768_328_247_250), "2026-01-13T18:17:27.25Z");
        assert_eq!(time(Timestamp::MAX.as_millis()), "253402300799999 ms");
    }
}
