//! What a run prints: an answer per event, broken lines, and the summary.

use serde::Serialize;

use super::decide::{Answer, Said};
use super::event::Event;
use super::progress::Progress;
use super::request::Verdict;
use super::summary::Summary;
use crate::failure::{Failure, Result, print_error};
use crate::output::{Output, Printable};

pub(crate) struct Report<'a> {
    output: &'a mut Output,
    progress: Progress,
    summary: Summary,
    /// The queue of the line before, for people.
    queue: Option<String>,
}

/// An answer for machines.
#[derive(Serialize)]
struct AnswerLine<'a> {
    line: u64,
    event: &'static str,
    queue: &'a str,
    request_id: &'a str,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicate_of: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicate_uri: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'a str>,
    redelivered: bool,
}

#[derive(Serialize)]
struct SummaryLine<'a> {
    summary: &'a Summary,
}

impl<'a> Report<'a> {
    pub(crate) fn new(output: &'a mut Output, progress: Progress) -> Self {
        Self {
            output,
            progress,
            summary: Summary::default(),
            queue: None,
        }
    }

    pub(crate) fn answer(&mut self, line: u64, event: &Event, answer: &Answer) -> Result<()> {
        self.summary.answered(event, answer);
        if self.output.is_json() {
            self.output.object(&answer_line(line, event, answer))?;
            return Ok(());
        }
        if self.queue.as_ref() != Some(&event.queue) {
            let queue = Printable(&event.queue);
            self.output.line(format_args!("queue {queue}"))?;
            self.queue = Some(event.queue.clone());
        }
        let request = Printable(&event.request_id);
        let again = if answer.redelivered {
            "  (redelivered)"
        } else {
            ""
        };
        match &answer.said {
            Said::Verdict(Verdict::Claimed) => {
                self.output
                    .line(format_args!("claimed    {request}{again}"))?;
            }
            Said::Verdict(Verdict::Duplicate { of, uri }) => {
                let (of, uri) = (Printable(of), Printable(uri));
                let line = format_args!("duplicate  {request}  of {of}, {uri}{again}");
                self.output.line(line)?;
            }
            Said::Finished { state } => {
                let state = Printable(state);
                let line = format_args!("finished   {request}  {state}{again}");
                self.output.line(line)?;
            }
        }
        Ok(())
    }

    pub(crate) fn broken(&mut self, line: u64, reason: &str) -> Result<()> {
        self.summary.failed();
        let output = &mut *self.output;
        self.progress.suspend(|| {
            // Where both streams are one terminal, the message comes in its place.
            output.flush()?;
            print_error(&format!("line {line}: {reason}"));
            Ok(())
        })
    }

    pub(crate) fn piece_done(&mut self, bytes: u64) -> Result<()> {
        let output = &mut *self.output;
        self.progress.suspend(|| output.flush())?;
        self.progress.advance(bytes, self.summary.events());
        Ok(())
    }

    /// Prints the summary of a run that ended so, and says how the command ends.
    pub(crate) fn end(mut self, ended: Result<()>) -> Result<()> {
        self.progress.finish();
        let ended = match ended {
            Err(Failure::BrokenPipe) => return Err(Failure::BrokenPipe),
            Err(Failure::Failed(error)) => {
                self.summary.failed();
                Err(Failure::Failed(error))
            }
            Ok(()) if self.summary.has_errors() => Err(Failure::Reported),
            other => other,
        };
        if self.output.is_json() {
            let summary = &self.summary;
            self.output.object(&SummaryLine { summary })?;
        } else {
            self.output.line(format_args!("{}", self.summary))?;
        }
        self.output.flush()?;
        ended
    }
}

fn answer_line<'a>(line: u64, event: &'a Event, answer: &'a Answer) -> AnswerLine<'a> {
    let mut json = AnswerLine {
        line,
        event: if event.is_submit() {
            "submit"
        } else {
            "finish"
        },
        queue: &event.queue,
        request_id: &event.request_id,
        verdict: "claimed",
        duplicate_of: None,
        duplicate_uri: None,
        state: None,
        redelivered: answer.redelivered,
    };
    match &answer.said {
        Said::Verdict(Verdict::Claimed) => {}
        Said::Verdict(Verdict::Duplicate { of, uri }) => {
            json.verdict = "duplicate";
            json.duplicate_of = Some(of);
            json.duplicate_uri = Some(uri);
        }
        Said::Finished { state } => {
            json.verdict = "finished";
            json.state = Some(state);
        }
    }
    json
}
