//! What a query asks for, and the exact range of sort keys that it comes down to.

use std::ops::Bound;

use crate::error::Result;
use crate::limits;

/// How a [query](crate::DocumentStore::query) runs.
///
/// ```
/// use changestore_core::QueryOptions;
///
/// let newest_ten = QueryOptions::default().with_descending(true).with_limit(10);
/// let next_ten = newest_ten.clone().with_start_after("2026-11-30T12:00:00Z#W17");
/// # let _ = next_ten;
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct QueryOptions {
    /// From the greatest sort key to the least.
    pub descending: bool,
    /// At most so many records; 0 sets no limit. Expired records do not count.
    pub limit: usize,
    /// Only records behind this sort key, in the direction of the query and without the key itself.
    /// No record need have it, and it may lie outside of the prefix: the query yields the
    /// intersection. It is a legal sort key (not empty, at most 1,024 bytes, no NUL).
    pub start_after: Option<String>,
}

impl QueryOptions {
    /// Sets [`descending`](Self::descending).
    #[must_use]
    pub fn with_descending(mut self, descending: bool) -> Self {
        self.descending = descending;
        self
    }

    /// Sets [`limit`](Self::limit).
    #[must_use]
    pub fn with_limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Sets [`start_after`](Self::start_after).
    #[must_use]
    pub fn with_start_after(mut self, sk: impl Into<String>) -> Self {
        self.start_after = Some(sk.into());
        self
    }
}

/// A checked query as one range of sort keys: what an adapter sends to its server.
///
/// Prefix and `start_after` are intersected here, once for all backends:
///
/// ```
/// use changestore_core::{QueryOptions, QueryPlan};
/// use std::ops::Bound;
///
/// let options = QueryOptions::default().with_start_after("SUPP#7");
/// let plan = QueryPlan::new("WORK#1", "SUPP#", &options)?;
/// assert_eq!(plan.lower(), Bound::Excluded("SUPP#7"));
/// assert_eq!(plan.upper(), Bound::Excluded("SUPP$")); // '$' follows '#'
/// assert!(!plan.is_empty());
/// # Ok::<(), changestore_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryPlan {
    pk: String,
    lower: Bound<String>,
    upper: Bound<String>,
    descending: bool,
    remaining: Option<usize>,
}

impl QueryPlan {
    /// Checks the arguments of a query and intersects them.
    ///
    /// # Errors
    /// [`TooLarge`](crate::ErrorKind::TooLarge) or
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) of `pk`, `sk_prefix` or `start_after`.
    pub fn new(pk: &str, sk_prefix: &str, options: &QueryOptions) -> Result<Self> {
        limits::PARTITION_KEY.check_key_part(pk)?;
        limits::SORT_KEY_PREFIX.check_prefix(sk_prefix)?;
        let lower = match sk_prefix {
            "" => Bound::Unbounded,
            prefix => Bound::Included(prefix.to_owned()),
        };
        let upper = match prefix_successor(sk_prefix) {
            Some(successor) => Bound::Excluded(successor),
            None => Bound::Unbounded,
        };
        let mut plan = Self {
            pk: pk.to_owned(),
            lower,
            upper,
            descending: options.descending,
            remaining: (options.limit > 0).then_some(options.limit),
        };
        if let Some(start_after) = &options.start_after {
            limits::START_AFTER.check_key_part(start_after)?;
            plan.start_after(start_after);
        }
        Ok(plan)
    }

    /// The partition.
    #[must_use]
    pub fn pk(&self) -> &str {
        &self.pk
    }

    /// The lower end of the sort keys, in UTF-8 byte order, in both directions.
    #[must_use]
    pub fn lower(&self) -> Bound<&str> {
        self.lower.as_ref().map(String::as_str)
    }

    /// The upper end of the sort keys: exclusive or none.
    #[must_use]
    pub fn upper(&self) -> Bound<&str> {
        self.upper.as_ref().map(String::as_str)
    }

    /// Whether to go from the upper end to the lower.
    #[must_use]
    pub fn descending(&self) -> bool {
        self.descending
    }

    /// How many records are still wanted; none for all.
    #[must_use]
    pub fn remaining(&self) -> Option<usize> {
        self.remaining
    }

    /// How many records to ask the server for, with pages of at most `page_size`.
    #[must_use]
    pub fn page_limit(&self, page_size: usize) -> usize {
        self.remaining
            .map_or(page_size, |remaining| remaining.min(page_size))
    }

    /// Whether no sort key can be in the range, or no record is wanted any more: no request is
    /// needed. (A range of a sorted map panics on such ends; a server may refuse them.)
    #[must_use]
    pub fn is_empty(&self) -> bool {
        if self.remaining == Some(0) {
            return true;
        }
        match (self.lower(), self.upper()) {
            (Bound::Included(lower) | Bound::Excluded(lower), Bound::Excluded(upper)) => {
                lower >= upper
            }
            _ => false,
        }
    }

    /// Goes on behind a page: its last sort key, and how many records it yielded.
    pub fn advance(&mut self, last_sk: &str, yielded: usize) {
        self.start_after(last_sk);
        if let Some(remaining) = &mut self.remaining {
            *remaining = remaining.saturating_sub(yielded);
        }
    }

    /// Moves the end at which the query starts, never outwards.
    fn start_after(&mut self, sk: &str) {
        if self.descending {
            let outside = matches!(&self.upper, Bound::Excluded(upper) if sk >= upper.as_str());
            if !outside {
                self.upper = Bound::Excluded(sk.to_owned());
            }
        } else {
            let outside = match &self.lower {
                Bound::Included(lower) => sk < lower.as_str(),
                Bound::Excluded(lower) => sk <= lower.as_str(),
                Bound::Unbounded => false,
            };
            if !outside {
                self.lower = Bound::Excluded(sk.to_owned());
            }
        }
    }
}

/// The least text greater than every text with this prefix; none if there is no greater one.
///
/// It is the prefix with its last character replaced by the next one. In UTF-8 byte order the
/// characters stand in the order of their scalar values, so nothing lies between.
fn prefix_successor(prefix: &str) -> Option<String> {
    let mut successor = prefix.to_owned();
    while let Some(last) = successor.pop() {
        // The scalar values have one hole, the surrogates; `char` ranges step over it.
        if let Some(next) = (last..=char::MAX).nth(1) {
            successor.push(next);
            return Some(successor);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn successors_step_over_the_surrogates_and_carry() {
        assert_eq!(prefix_successor("a").as_deref(), Some("b"));
        assert_eq!(prefix_successor("a\u{d7ff}").as_deref(), Some("a\u{e000}"));
        assert_eq!(prefix_successor("a\u{7f}").as_deref(), Some("a\u{80}"));
        assert_eq!(
            prefix_successor("a\u{10ffff}\u{10ffff}").as_deref(),
            Some("b")
        );
        assert_eq!(prefix_successor("\u{10ffff}"), None);
        assert_eq!(prefix_successor(""), None);
    }

    #[test]
    fn a_page_never_asks_for_more_than_is_wanted() {
        let options = QueryOptions::default().with_limit(5);
        let mut plan = QueryPlan::new("p", "", &options).unwrap();
        assert_eq!(plan.page_limit(3), 3);
        plan.advance("c", 3);
        assert_eq!(plan.page_limit(3), 2);
        plan.advance("e", 2);
        assert!(plan.is_empty());
    }

    fn in_range(plan: &QueryPlan, sk: &str) -> bool {
        let above = match plan.lower() {
            Bound::Unbounded => true,
            Bound::Included(lower) => sk >= lower,
            Bound::Excluded(lower) => sk > lower,
        };
        let below = match plan.upper() {
            Bound::Unbounded => true,
            Bound::Included(upper) => sk <= upper,
            Bound::Excluded(upper) => sk < upper,
        };
        above && below
    }

    proptest! {
        // A small alphabet with the hard characters, so that prefixes really meet.
        #[test]
        fn the_range_is_the_intersection_and_nothing_else(
            prefix in "[ab\u{7f}\u{d7ff}\u{e000}\u{1f600}\u{10ffff}]{0,3}",
            sk in "[ab\u{7f}\u{d7ff}\u{e000}\u{1f600}\u{10ffff}]{1,4}",
            after in proptest::option::of("[ab\u{7f}\u{d7ff}\u{e000}\u{1f600}\u{10ffff}]{1,4}"),
            descending: bool,
        ) {
            let options = QueryOptions { descending, limit: 0, start_after: after.clone() };
            let plan = QueryPlan::new("p", &prefix, &options).unwrap();
            let behind = after.is_none_or(|after| if descending { sk < after } else { sk > after });
            prop_assert_eq!(in_range(&plan, &sk), sk.starts_with(&prefix) && behind);
            prop_assert!(!(plan.is_empty() && in_range(&plan, &sk)));
        }
    }
}
