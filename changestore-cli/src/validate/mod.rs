//! `changestore validate`: the validate step of a merge queue, over a file of land-request events.

mod batch;
mod decide;
mod event;
mod fields;
mod input;
mod intent;
mod lines;
mod progress;
mod report;
mod request;
mod snapshot;
mod summary;
#[cfg(test)]
mod tests;

use anyhow::Context;

use crate::backend::Stores;
use crate::cli::ValidateArgs;
use crate::failure::{Failure, Result, print_note};
use crate::interrupt::{Interrupt, Signal};
use crate::output::Output;

use batch::Batches;
use event::Event;
use lines::{Line, MAX_LINE_BYTES, Piece};
use progress::Progress;
use report::Report;

pub(crate) use input::Input;

/// Runs the command.
///
/// However it ends (at the last line, a broken one, a failure of the store, Ctrl-C or SIGTERM), the summary of
/// what has been done is printed, and the same file can be given again.
pub(crate) async fn run(
    stores: &Stores,
    input: Input,
    args: &ValidateArgs,
    output: &mut Output,
) -> Result<()> {
    let progress = Progress::new(output, input.len());
    let interrupt = Interrupt::listen_and({
        let progress = progress.clone();
        move |signal| progress.suspend(|| acknowledge(signal))
    });
    let mut run = Run {
        batches: Batches::new(stores.clone(), args.keep_going),
        report: Report::new(output, progress),
        keep_going: args.keep_going,
    };
    let ended = run.all(input, interrupt).await;
    let Run {
        batches, report, ..
    } = run;
    // Also after a failure: another queue's intent may be in order. The failure comes first, though.
    let cleared = batches.end().await.map_err(Failure::from);
    let ended = report.end(ended);
    ended.and(cleared)
}

/// What is in hand may have to wait, such as for another process that has locked the store.
fn acknowledge(signal: Signal) {
    print_note(match signal {
        Signal::Interrupt => "finishing the events in hand; press Ctrl-C again to quit now",
        Signal::Terminate => "finishing the events in hand; a second SIGTERM quits now",
    });
}

struct Run<'a> {
    batches: Batches,
    report: Report<'a>,
    keep_going: bool,
}

impl Run<'_> {
    async fn all(&mut self, input: Input, mut interrupt: Interrupt) -> Result<()> {
        let mut pieces = input.read();
        loop {
            // Never in the middle of a piece: what has been begun is finished and printed.
            let piece = tokio::select! {
                biased;
                signal = interrupt.wait() => return Err(Failure::Interrupted(signal)),
                piece = pieces.recv() => piece,
            };
            match piece {
                None => return Ok(()),
                Some(piece) => self.piece(piece.map_err(Failure::failed)?).await?,
            }
        }
    }

    async fn piece(&mut self, piece: Piece) -> Result<()> {
        let mut numbers = Vec::new();
        let mut events: Vec<Event> = Vec::new();
        for line in piece.lines {
            match parse(&line) {
                Ok(event) => {
                    if events.last().is_some_and(|last| last.queue != event.queue) {
                        self.events(&mut numbers, &mut events).await?;
                    }
                    numbers.push(line.number);
                    events.push(event);
                }
                Err(reason) => {
                    self.events(&mut numbers, &mut events).await?;
                    self.broken(line.number, &reason)?;
                }
            }
        }
        self.events(&mut numbers, &mut events).await?;
        self.report.piece_done(piece.bytes_read)
    }

    /// Handles events of one queue, and leaves the lists empty.
    async fn events(&mut self, numbers: &mut Vec<u64>, events: &mut Vec<Event>) -> Result<()> {
        let mut done = 0;
        while done < events.len() {
            let (first, last) = (numbers[done], numbers[events.len() - 1]);
            let answers = (self.batches.handle(&events[done..]).await)
                .with_context(|| match last - first {
                    0 => format!("handling line {first}"),
                    _ => format!("handling lines {first} to {last}"),
                })
                .map_err(Failure::failed)?;
            for answer in answers {
                let (number, event) = (numbers[done], &events[done]);
                done += 1;
                match answer {
                    Ok(answer) => self.report.answer(number, event, &answer)?,
                    Err(refusal) => self.broken(number, &refusal.to_string())?,
                }
            }
        }
        numbers.clear();
        events.clear();
        Ok(())
    }

    /// Reports a line of which nothing is applied.
    fn broken(&mut self, number: u64, reason: &str) -> Result<()> {
        self.report.broken(number, reason)?;
        if self.keep_going {
            Ok(())
        } else {
            Err(Failure::Reported)
        }
    }
}

fn parse(line: &Line) -> std::result::Result<Event, String> {
    match &line.bytes {
        Some(bytes) => Event::parse(bytes),
        None => Err(format!("longer than {MAX_LINE_BYTES} bytes")),
    }
}
