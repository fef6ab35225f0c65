//! A program as one reads it.

use std::fmt::{self, Display, Write as _};

use super::program::{At, ClaimAt, Failure, On, Program, Step};
use crate::cancel::CancelPoint;

/// The program, a step a line.
pub(super) fn show(program: &Program) -> String {
    let mut text = String::new();
    for (step, failure) in &program.steps {
        let (shown, fails) = (Shown { program, step }, Fails(*failure));
        let _ = writeln!(text, "  {shown}{fails};");
    }
    text
}

struct Fails(Option<Failure>);

impl Display for Fails {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => Ok(()),
            Some(Failure::Dropped(CancelPoint { polls, when_woken })) => {
                let when = if when_woken { "when it is woken " } else { "" };
                write!(f, ", dropped {when}after {polls} polls")
            }
            Some(Failure::Fault { after, fault }) => {
                write!(f, ", with {fault:?} after {after} requests")
            }
        }
    }
}

struct Shown<'a> {
    program: &'a Program,
    step: &'a Step,
}

impl Shown<'_> {
    fn key(&self, at: At) -> String {
        format!(
            "({:?}, {:?})",
            self.program.outer[at.partition], self.program.inner[at.sort_key]
        )
    }

    fn claim(&self, at: ClaimAt) -> String {
        let Program { outer, inner, .. } = self.program;
        format!(
            "({:?}, {:?}, {:?})",
            outer[at.queue], outer[at.uri], inner[at.request]
        )
    }
}

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Program { outer, inner, .. } = self.program;
        match self.step {
            Step::Get(at) => write!(f, "get{}", self.key(*at)),
            Step::Put {
                at,
                data,
                condition,
                expires_in,
            } => {
                let data = data.escape_ascii();
                write!(
                    f,
                    "put{} = b\"{data}\"{}{}",
                    self.key(*at),
                    If(*condition),
                    Expires(*expires_in)
                )
            }
            Step::Delete { at, condition } => {
                write!(f, "delete{}{}", self.key(*at), If(*condition))
            }
            Step::Increment {
                at,
                delta,
                expires_in,
            } => {
                write!(
                    f,
                    "increment{} by {delta}{}",
                    self.key(*at),
                    Expires(*expires_in)
                )
            }
            Step::Query {
                partition,
                prefix,
                descending,
                limit,
                start_after,
            } => {
                let order = if *descending {
                    "descending"
                } else {
                    "ascending"
                };
                write!(
                    f,
                    "query({:?}, the first {} characters of {:?}, {order}, limit {limit}",
                    outer[*partition], prefix.1, inner[prefix.0]
                )?;
                if let Some(after) = start_after {
                    write!(f, ", after {:?}", inner[*after])?;
                }
                f.write_str(")")
            }
            Step::Create { at, metadata } => write!(f, "create{} = {metadata:?}", self.claim(*at)),
            Step::GetByUri { queue, uri } => {
                write!(f, "get_by_uri({:?}, {:?})", outer[*queue], outer[*uri])
            }
            Step::UpdateMetadata {
                at,
                metadata,
                old,
                new,
            } => {
                write!(
                    f,
                    "update_metadata{} = {metadata:?}, version {new}{}",
                    self.claim(*at),
                    If(*old)
                )
            }
            Step::Clock(millis) => write!(f, "clock {millis:+} ms"),
        }
    }
}

struct If(On);

impl Display for If {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            On::Nothing => Ok(()),
            On::Absence => f.write_str(" if absent"),
            On::ItsVersion => f.write_str(" if its version"),
            On::Version(version) => write!(f, " if version {version}"),
            On::EtagOfWrite(0) => f.write_str(" if the etag of its last write"),
            On::EtagOfWrite(before) => write!(f, " if the etag of its last write but {before}"),
            On::NobodysEtag => f.write_str(" if nobody's etag"),
        }
    }
}

struct Expires(Option<i64>);

impl Display for Expires {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => Ok(()),
            Some(millis) => write!(f, ", expires in {millis} ms"),
        }
    }
}
