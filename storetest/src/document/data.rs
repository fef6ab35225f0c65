//! Data: the caller's bytes, all of them, and nothing else.

use changestore_core::limits::DATA;
use changestore_core::{DocumentStore, DocumentStoreExt, NewRecord, QueryOptions};

use super::records::{PK, is_absent, key, put, record};
use crate::expect;
use crate::harness::Fixture;
use crate::race::for_each;

/// Get and query give the bytes back, and so does the put.
async fn come_back(store: &dyn DocumentStore, datas: impl IntoIterator<Item = Vec<u8>>) {
    for_each(datas.into_iter().enumerate(), async |(number, data)| {
        let new = record(&format!("{number:03}"), &data);
        let written = put(store, new).await;
        // Not `assert_eq`: it would print megabytes.
        assert!(written.data == data, "put returned other data");
        let got = store.get(&written.key).await.unwrap();
        assert!(got.data == data, "get returned other data");
        let sk = written.key.sk();
        let queried = store.query_all(PK, sk, QueryOptions::default());
        assert!(
            queried.await.unwrap()[0].data == data,
            "query returned other data"
        );
    })
    .await;
}

pub(super) async fn empty_data_are_data(fixture: &Fixture<dyn DocumentStore>) {
    come_back(&*fixture.store, [vec![]]).await;
}

pub(super) async fn every_byte_survives(fixture: &Fixture<dyn DocumentStore>) {
    let all: Vec<u8> = (0..=255).collect();
    let backwards: Vec<u8> = all.iter().rev().copied().collect();
    let each_alone = (0..=255).map(|byte| vec![byte]);
    come_back(
        &*fixture.store,
        [all, backwards].into_iter().chain(each_alone),
    )
    .await;
}

pub(super) async fn bytes_that_are_no_text_survive(fixture: &Fixture<dyn DocumentStore>) {
    let datas: [&[u8]; 9] = [
        b"\0",
        b"a\0b\0",
        b"\xff\xfe",
        b"\xc3\x28",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"\xef\xbb\xbf{}",
        b"\\x6162",
        b"trailing space \r\n ",
    ];
    come_back(&*fixture.store, datas.map(<[u8]>::to_vec)).await;
}

pub(super) async fn the_longest_data_are_stored(fixture: &Fixture<dyn DocumentStore>) {
    let pattern = |step: usize| -> Vec<u8> {
        let bytes = (0..DATA.max_bytes()).map(|at| (at * step % 251).to_le_bytes()[0]);
        bytes.collect()
    };
    come_back(
        &*fixture.store,
        [pattern(1), pattern(7), vec![0xff; DATA.max_bytes()]],
    )
    .await;
}

pub(super) async fn one_byte_more_is_refused(fixture: &Fixture<dyn DocumentStore>) {
    let over = DATA.max_bytes() + 1;
    let key = key(PK, "sk");
    let refused = NewRecord::new(key.clone(), vec![0; over]);
    expect::too_large(refused, DATA, over);
    is_absent(&*fixture.store, &key).await;
}
