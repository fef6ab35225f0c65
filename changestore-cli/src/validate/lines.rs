//! The file's lines, in pieces that never outgrow memory.

use std::io::{self, BufRead, BufReader, Read};

/// The longest line. No legal event is as long: a request's record holds at most 384 KiB.
pub(crate) const MAX_LINE_BYTES: usize = 1024 * 1024;

/// How many lines a piece has at most. They are decided together, so it bounds that work too.
pub(crate) const MAX_LINES: usize = 256;

/// A piece is not made longer by further lines once it has so many bytes.
const FULL_PIECE_BYTES: usize = 256 * 1024;

/// A line with its number, counted from 1, without its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) number: u64,
    /// None where the line was too long and has been skipped.
    pub(crate) bytes: Option<Vec<u8>>,
}

/// A few lines on end.
#[derive(Debug, Default)]
pub(crate) struct Piece {
    pub(crate) lines: Vec<Line>,
    /// How many bytes of the file they took, their ends and blank lines between them included.
    pub(crate) bytes_read: u64,
}

/// Reads pieces.
pub(crate) struct Lines<R> {
    reader: BufReader<R>,
    number: u64,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self {
            reader: BufReader::with_capacity(FULL_PIECE_BYTES, reader),
            number: 0,
        }
    }

    /// The next piece: at least one line that is not blank, and further ones as long as they are
    /// there already, so that lines from a pipe are handled as they come. None at the end.
    pub(crate) fn next_piece(&mut self) -> io::Result<Option<Piece>> {
        let mut piece = Piece::default();
        let mut line_bytes = 0;
        while let Some((bytes, read)) = self.next_line()? {
            self.number += 1;
            piece.bytes_read += read;
            let bytes = match bytes {
                Some(bytes) if bytes.iter().all(u8::is_ascii_whitespace) => continue,
                other => other,
            };
            line_bytes += bytes.as_ref().map_or(0, Vec::len);
            piece.lines.push(Line {
                number: self.number,
                bytes,
            });
            let would_wait = !self.reader.buffer().contains(&b'\n');
            if would_wait || piece.lines.len() == MAX_LINES || line_bytes >= FULL_PIECE_BYTES {
                break;
            }
        }
        Ok((!piece.lines.is_empty()).then_some(piece))
    }

    /// One line (none of its bytes if it was too long) and how many bytes it took; none at the end.
    fn next_line(&mut self) -> io::Result<Option<(Option<Vec<u8>>, u64)>> {
        let mut bytes = Vec::new();
        let longest_with_its_end = MAX_LINE_BYTES as u64 + 2;
        let mut read = (&mut self.reader)
            .take(longest_with_its_end)
            .read_until(b'\n', &mut bytes)? as u64;
        if read == 0 {
            return Ok(None);
        }
        let ended = bytes.ends_with(b"\n");
        if ended {
            bytes.pop();
            if bytes.ends_with(b"\r") {
                bytes.pop();
            }
        }
        if !ended && read == longest_with_its_end {
            read += self.reader.skip_until(b'\n')? as u64;
        }
        if bytes.len() > MAX_LINE_BYTES {
            return Ok(Some((None, read)));
        }
        if self.number == 0 && bytes.starts_with(b"\xef\xbb\xbf") {
            bytes.drain(..3);
        }
        Ok(Some((Some(bytes), read)))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn all(text: &[u8]) -> Vec<(u64, Option<Vec<u8>>)> {
        let mut lines = Lines::new(text);
        let mut all = Vec::new();
        let mut bytes_read = 0;
        while let Some(piece) = lines.next_piece().unwrap() {
            assert!(piece.lines.len() <= MAX_LINES);
            bytes_read += piece.bytes_read;
            all.extend(
                piece
                    .lines
                    .into_iter()
                    .map(|line| (line.number, line.bytes)),
            );
        }
        assert!(bytes_read <= text.len() as u64);
        all
    }

    #[test]
    fn ends_of_lines_and_blank_lines_are_none_of_the_events_business() {
        let lines = all(b"\xef\xbb\xbfa\r\n\n \t\r\nb\n\nc");
        let expected = [(1, "a"), (4, "b"), (6, "c")];
        let expected = expected.map(|(number, text)| (number, Some(text.as_bytes().to_vec())));
        assert_eq!(lines, expected);
        assert_eq!(all(b""), []);
        assert_eq!(all(b"\n\r\n"), []);
    }

    #[test]
    fn the_longest_line_is_read_and_a_longer_one_is_skipped_whole() {
        let longest = vec![b'x'; MAX_LINE_BYTES];
        for (more, end) in [
            (0, "\n"),
            (0, "\r\n"),
            (0, ""),
            (1, "\n"),
            (9, "\r\n"),
            (1, ""),
        ] {
            let mut text = b"a\n".to_vec();
            text.extend(&longest);
            text.extend(vec![b'x'; more]);
            text.extend(end.as_bytes());
            if !end.is_empty() {
                text.extend(b"b\n");
            }
            let lines = all(&text);
            let whole = (more == 0).then(|| longest.clone());
            assert!(lines[1] == (2, whole), "{more} {end:?}");
            assert_eq!(lines.len(), if end.is_empty() { 2 } else { 3 });
        }
    }

    #[test]
    fn many_lines_come_in_bounded_pieces_and_in_order() {
        let mut text = Vec::new();
        for number in 1..=10_000 {
            writeln!(text, "{number}").unwrap();
        }
        let lines = all(&text);
        assert_eq!(lines.len(), 10_000);
        for (number, bytes) in lines {
            assert_eq!(bytes.unwrap(), number.to_string().into_bytes());
        }
    }
}
