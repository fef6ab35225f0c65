//! A prefix is exact bytes, and its range ends where the last text with it does.

use changestore_core::limits::SORT_KEY;
use changestore_core::{DocumentStore, QueryOptions};

use super::records::{put, record, sort_keys};
use crate::harness::Fixture;
use crate::race::for_each;
use crate::texts::{CONFUSABLE, longest, with_another_end};

/// Each prefix finds those of the sort keys that start with it, in both directions.
async fn find_what_starts_with_them(
    store: &dyn DocumentStore,
    sks: &[String],
    prefixes: impl IntoIterator<Item = String>,
) {
    for_each(sks, async |sk| {
        put(store, record(sk, "")).await;
    })
    .await;
    for prefix in prefixes {
        let mut expected: Vec<_> = sks.iter().filter(|sk| sk.starts_with(&prefix)).collect();
        expected.sort_unstable_by_key(|sk| sk.as_bytes());
        let found = sort_keys(store, &prefix, QueryOptions::default()).await;
        assert_eq!(
            found.iter().collect::<Vec<_>>(),
            expected,
            "prefix {prefix:?}"
        );
        let descending = QueryOptions::default().with_descending(true);
        let mut found = sort_keys(store, &prefix, descending).await;
        found.reverse();
        assert_eq!(
            found.iter().collect::<Vec<_>>(),
            expected,
            "prefix {prefix:?}, descending"
        );
    }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

pub(super) async fn pattern_characters_are_ordinary(fixture: &Fixture<dyn DocumentStore>) {
    let sks = owned(&[
        "a%", "a%1", "a_", "a_1", "ax1", "a1", "a\\%", "a\\_1", "a\\1", "a*1", "a?1", "a[b]1",
        "ab1", "a[", "a]", "%", "_", "*", "'", "''1", "a'1", "\"1", "a.1", "a.*", "^a", "a$",
        "a(1", "a{1}",
    ]);
    let prefixes = owned(&[
        "%", "_", "*", "?", "a%", "a_", "_1", "%1", "a\\", "a\\%", "a\\_", "a*", "a?", "a[", "a[b",
        "a[b]", "a[a-z]", "'", "''", "a'", "\"", "a.", "a.*", "^", "a$", "a(", "a{", "a{1}",
    ]);
    find_what_starts_with_them(&*fixture.store, &sks, prefixes).await;
}

pub(super) async fn case_accents_and_spaces_count(fixture: &Fixture<dyn DocumentStore>) {
    let sks: Vec<_> = CONFUSABLE
        .iter()
        .flat_map(|text| [(*text).to_owned(), format!("{text}1"), format!("x{text}")])
        .collect();
    let mut sks_once = sks.clone();
    sks_once.sort_unstable();
    sks_once.dedup();
    find_what_starts_with_them(&*fixture.store, &sks_once, owned(CONFUSABLE)).await;
}

pub(super) async fn the_range_ends_behind_the_last_character(fixture: &Fixture<dyn DocumentStore>) {
    // The last characters of the UTF-8 lengths, and both sides of the hole that the surrogates leave.
    let ends = [
        "\u{1}",
        "\u{7e}",
        "\u{7f}",
        "\u{80}",
        "\u{7ff}",
        "\u{800}",
        "\u{d7ff}",
        "\u{e000}",
        "\u{ffff}",
        "\u{10000}",
        "\u{10fffe}",
        "\u{10ffff}",
    ];
    let mut sks = owned(&["p", "q", "o\u{10ffff}"]);
    let mut prefixes = owned(&["", "p"]);
    for end in ends {
        for tail in ["", "a", "\u{10ffff}", "\u{1}"] {
            sks.push(format!("p{end}{tail}"));
        }
        prefixes.push(format!("p{end}"));
        prefixes.push(format!("p{end}\u{10ffff}"));
    }
    sks.sort_unstable();
    sks.dedup();
    find_what_starts_with_them(&*fixture.store, &sks, prefixes).await;
}

pub(super) async fn the_greatest_character_alone_is_a_prefix(fixture: &Fixture<dyn DocumentStore>) {
    // No text is greater than all with this prefix: the range has no upper end.
    let last = "\u{10ffff}";
    let sks = [
        "a".to_owned(),
        last.to_owned(),
        format!("{last}a"),
        last.repeat(2),
        last.repeat(256),
    ];
    let prefixes = [last.to_owned(), last.repeat(2), last.repeat(256)];
    find_what_starts_with_them(&*fixture.store, &sks, prefixes).await;
}

pub(super) async fn the_record_of_the_prefix_itself_comes(fixture: &Fixture<dyn DocumentStore>) {
    let sks = owned(&["WORK", "WORK#", "WORK#1", "WORK#11", "WORK$", "WORL"]);
    let prefixes = owned(&["WORK", "WORK#", "WORK#1", "WORK#11", "WORK#111"]);
    find_what_starts_with_them(&*fixture.store, &sks, prefixes).await;
}

pub(super) async fn it_may_be_as_long_as_a_sort_key(fixture: &Fixture<dyn DocumentStore>) {
    let sk = longest(SORT_KEY);
    let other = with_another_end(sk.clone());
    let shorter = sk[..sk.len() - 1].to_owned();
    let greatest = "\u{10ffff}".repeat(SORT_KEY.max_bytes() / 4);
    let sks = [sk.clone(), other.clone(), shorter.clone(), greatest.clone()];
    find_what_starts_with_them(&*fixture.store, &sks, [sk, other, shorter, greatest]).await;
}
