//! Where the events come from, and the thread that reads them.

use std::fs::File;
use std::io::{self, Read};

use anyhow::{Context, bail};
use tokio::sync::mpsc;

use super::lines::{Lines, Piece};
use crate::text::Source;

/// So many pieces are read ahead; with the one being handled they bound the memory.
const READ_AHEAD: usize = 2;

/// An opened input.
pub(crate) struct Input {
    name: String,
    reader: Box<dyn Read + Send>,
    len: Option<u64>,
}

impl Input {
    pub(crate) fn open(source: &Source) -> anyhow::Result<Self> {
        let name = source.to_string();
        match source {
            Source::Stdin => Ok(Self {
                name,
                reader: Box::new(io::stdin()),
                len: None,
            }),
            Source::File(path) => {
                let file = File::open(path).with_context(|| format!("cannot open {name}"))?;
                let metadata = file
                    .metadata()
                    .with_context(|| format!("cannot read {name}"))?;
                if metadata.is_dir() {
                    bail!("cannot read {name}: it is a folder");
                }
                Ok(Self {
                    name,
                    reader: Box::new(file),
                    len: metadata.is_file().then_some(metadata.len()),
                })
            }
        }
    }

    /// How many bytes there are, of a regular file.
    pub(crate) fn len(&self) -> Option<u64> {
        self.len
    }

    /// Reads on a thread of its own, since a read of a pipe may wait for ever and has no timeout; the
    /// thread ends with the input, with the receiver, or with the process.
    pub(crate) fn read(self) -> mpsc::Receiver<anyhow::Result<Piece>> {
        let (sender, receiver) = mpsc::channel(READ_AHEAD);
        std::thread::spawn(move || {
            let mut lines = Lines::new(self.reader);
            loop {
                let piece = lines
                    .next_piece()
                    .with_context(|| format!("cannot read {}", self.name))
                    .transpose();
                let Some(piece) = piece else { return };
                let failed = piece.is_err();
                if sender.blocking_send(piece).is_err() || failed {
                    return;
                }
            }
        });
        receiver
    }
}
