//! A plan's range of sort keys as DynamoDB takes it: one inclusive condition, and a key to start behind.
//!
//! There is no exclusive range with two ends. So both ends are asked for inclusively. The end at which the query
//! starts, if it is exclusive, is also the key that it starts behind; no item need be there, and it lies inside
//! of the condition, as DynamoDB demands. The other one, if there is an item, is left out here.

use std::ops::Bound;

use aws_sdk_dynamodb::types::AttributeValue;
use changestore_core::{QueryPlan, limits};

use crate::layout::{self, Item};

/// What one page asks for.
#[derive(Debug, PartialEq)]
pub(crate) struct Range {
    /// The condition on `#pk` and `#sk`.
    pub(crate) condition: &'static str,
    /// The values of `:from` and `:to`, as far as the condition has them.
    pub(crate) from: Option<String>,
    pub(crate) to: Option<String>,
    /// The sort key to start behind.
    pub(crate) start: Option<String>,
}

impl Range {
    /// The range of what is left of a plan; none if nothing can be in it.
    pub(crate) fn of(plan: &QueryPlan) -> Option<Self> {
        if plan.is_empty() {
            return None;
        }
        let (mut lower, mut upper) = (plan.lower(), plan.upper());
        // The end of a prefix of full length can be a byte longer than a sort key, which DynamoDB refuses.
        // Only the record of the prefix itself is before it then.
        if let Bound::Excluded(end) = upper
            && end.len() > limits::SORT_KEY.max_bytes()
        {
            let Bound::Included(prefix) = lower else {
                return None;
            };
            lower = Bound::Included(prefix);
            upper = Bound::Included(prefix);
        }
        let start = match if plan.descending() { upper } else { lower } {
            Bound::Excluded(start) => Some(start.to_owned()),
            Bound::Included(_) | Bound::Unbounded => None,
        };
        let (from, to) = (end(lower), end(upper));
        let condition = match (&from, &to) {
            (None, None) => "#pk = :pk",
            (Some(_), None) => "#pk = :pk AND #sk >= :from",
            (None, Some(_)) => "#pk = :pk AND #sk <= :to",
            (Some(_), Some(_)) => "#pk = :pk AND #sk BETWEEN :from AND :to",
        };
        Some(Self {
            condition,
            from,
            to,
            start,
        })
    }

    /// The key to start behind, in this partition.
    pub(crate) fn start_key(&self, pk: &str) -> Option<Item> {
        let start = self.start.clone()?;
        Some(layout::primary_key(layout::document_partition(pk), start))
    }

    /// The values that the condition names, but the partition's.
    pub(crate) fn values(self) -> impl Iterator<Item = (String, AttributeValue)> {
        let value =
            |name: &str, end: Option<String>| Some((name.to_owned(), AttributeValue::S(end?)));
        value(":from", self.from)
            .into_iter()
            .chain(value(":to", self.to))
    }
}

fn end(bound: Bound<&str>) -> Option<String> {
    match bound {
        Bound::Included(end) | Bound::Excluded(end) => Some(end.to_owned()),
        Bound::Unbounded => None,
    }
}

/// Whether a sort key that came is in the plan's range and not only at its inclusive ends.
pub(crate) fn holds(plan: &QueryPlan, sk: &str) -> bool {
    let above = match plan.lower() {
        Bound::Excluded(lower) => sk > lower,
        Bound::Included(lower) => sk >= lower,
        Bound::Unbounded => true,
    };
    let below = match plan.upper() {
        Bound::Excluded(upper) => sk < upper,
        Bound::Included(upper) => sk <= upper,
        Bound::Unbounded => true,
    };
    above && below
}

#[cfg(test)]
mod tests {
    use changestore_core::QueryOptions;

    use super::*;

    fn range(prefix: &str, options: &QueryOptions) -> Option<Range> {
        Range::of(&QueryPlan::new("p", prefix, options).unwrap())
    }

    #[test]
    fn a_prefix_is_between_itself_and_its_end() {
        let range = range("A#", &QueryOptions::default()).unwrap();
        assert_eq!(range.condition, "#pk = :pk AND #sk BETWEEN :from AND :to");
        assert_eq!(range.from.as_deref(), Some("A#"));
        assert_eq!(range.to.as_deref(), Some("A$"));
        assert_eq!(range.start, None);
        let plan = QueryPlan::new("p", "A#", &QueryOptions::default()).unwrap();
        assert!(holds(&plan, "A#") && holds(&plan, "A#z") && !holds(&plan, "A$"));
    }

    #[test]
    fn the_end_at_which_it_starts_is_started_behind() {
        let ascending = QueryOptions::default().with_start_after("A#5");
        let ranges = [
            range("A#", &ascending).unwrap(),
            range("A#", &ascending.with_descending(true)).unwrap(),
        ];
        for range in &ranges {
            assert_eq!(range.start.as_deref(), Some("A#5"));
        }
        assert_eq!(ranges[0].from, ranges[0].start);
        assert_eq!(ranges[1].to, ranges[1].start);
        // Descending, the end of the prefix is excluded in the same way.
        let all = range("A#", &QueryOptions::default().with_descending(true)).unwrap();
        assert_eq!(all.start.as_deref(), Some("A$"));
    }

    #[test]
    fn no_value_is_longer_than_a_sort_key() {
        // Its last character's successor has two bytes.
        let prefix = "a".repeat(1023) + "\u{7f}";
        for descending in [false, true] {
            let options = QueryOptions::default().with_descending(descending);
            let only = range(&prefix, &options).unwrap();
            assert_eq!(only.from.as_ref(), Some(&prefix));
            assert_eq!(only.to.as_ref(), Some(&prefix));
            assert_eq!(only.start, None);
        }
        let behind = QueryOptions::default().with_start_after(prefix.clone());
        assert_eq!(range(&prefix, &behind), None);
    }
}
