//! Keys and numbers on the command line: what no store accepts is refused before one is opened.

use std::fmt::Display;
use std::str::FromStr;

use changestore_core::{Etag, Limit, Version, limits};

fn key_part(limit: Limit, text: &str) -> Result<String, String> {
    match limit.check_key_part(text) {
        Ok(()) => Ok(text.to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

pub(crate) fn queue(text: &str) -> Result<String, String> {
    key_part(limits::QUEUE, text)
}

pub(crate) fn uri(text: &str) -> Result<String, String> {
    key_part(limits::URI, text)
}

pub(crate) fn request_id(text: &str) -> Result<String, String> {
    key_part(limits::REQUEST_ID, text)
}

pub(crate) fn pk(text: &str) -> Result<String, String> {
    key_part(limits::PARTITION_KEY, text)
}

pub(crate) fn sk(text: &str) -> Result<String, String> {
    key_part(limits::SORT_KEY, text)
}

pub(crate) fn version(text: &str) -> Result<Version, String> {
    whole_number(text, Version::ABSENT.get(), Version::MAX.get())
        .and_then(|number| Version::new(number).map_err(|error| error.to_string()))
}

/// The version of something that is there.
pub(crate) fn present_version(text: &str) -> Result<Version, String> {
    whole_number(text, Version::FIRST.get(), Version::MAX.get())
        .and_then(|number| Version::new(number).map_err(|error| error.to_string()))
}

pub(crate) fn limit(text: &str) -> Result<usize, String> {
    whole_number(text, 0, usize::MAX)
}

pub(crate) fn delta(text: &str) -> Result<i64, String> {
    whole_number(text, i64::MIN, i64::MAX)
}

fn whole_number<T: FromStr + PartialOrd + Copy + Display>(
    text: &str,
    least: T,
    greatest: T,
) -> Result<T, String> {
    match text.parse() {
        Ok(number) if least <= number && number <= greatest => Ok(number),
        _ => Err(format!(
            "expected a whole number from {least} to {greatest}"
        )),
    }
}

pub(crate) fn etag(text: &str) -> Result<Etag, String> {
    Etag::new(text).map_err(|error| error.to_string())
}
