//! Servers and stores for the tests of this crate.
#![allow(dead_code, reason = "each test program uses a part")]

pub(crate) mod proxy;
pub(crate) mod secured;
pub(crate) mod wire;

use std::env;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use changestore_bigtable::{BigtableBuilder, BigtableStore};
use googleapis_tonic_google_bigtable_admin_v2::google::bigtable::admin::v2::bigtable_table_admin_client::BigtableTableAdminClient;
use googleapis_tonic_google_bigtable_admin_v2::google::bigtable::admin::v2::modify_column_families_request::Modification;
use googleapis_tonic_google_bigtable_admin_v2::google::bigtable::admin::v2::modify_column_families_request::modification::Mod;
use googleapis_tonic_google_bigtable_admin_v2::google::bigtable::admin::v2::{
    ColumnFamily, DeleteTableRequest, GetTableRequest, ModifyColumnFamiliesRequest, Table,
};
use tonic::transport::{Channel, Endpoint};

/// Where the address of a server is found.
const URL: &str = "CHANGESTORE_BIGTABLE_URL";

/// An emulator takes any.
pub(crate) const PROJECT: &str = "project";
pub(crate) const INSTANCE: &str = "instance";

/// The address of the server that the tests are given.
pub(crate) fn url() -> String {
    env::var(URL).unwrap_or_else(|_| panic!("{URL} is not set; run cargo xtask conformance"))
}

/// A store to be, of that table on that server.
pub(crate) fn builder(address: &str, table: &str) -> BigtableBuilder {
    BigtableStore::builder(PROJECT, INSTANCE)
        .with_emulator(address)
        .with_table(table)
}

/// The name of a table that nobody else has.
pub(crate) fn new_table() -> String {
    static TABLES: AtomicUsize = AtomicUsize::new(0);
    let begun = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let (process, table) = (std::process::id(), TABLES.fetch_add(1, Ordering::Relaxed));
    format!("case_{process}_{}_{table}", begun.as_millis())
}

/// The stubs of the server's administration.
pub(crate) fn admin() -> BigtableTableAdminClient<Channel> {
    let endpoint = Endpoint::from_shared(format!("http://{}", url())).unwrap();
    BigtableTableAdminClient::new(endpoint.connect_lazy())
}

/// A table as it is there.
pub(crate) async fn described(table: &str) -> Table {
    let request = GetTableRequest {
        name: table.to_owned(),
        view: 0,
    };
    admin().get_table(request).await.unwrap().into_inner()
}

/// Takes the rules of garbage collection off all families of a table.
pub(crate) async fn collect_nothing(table: &str) {
    let families = described(table).await.column_families.into_keys();
    let modifications = families.map(|id| Modification {
        id,
        r#mod: Some(Mod::Update(ColumnFamily::default())),
        ..Modification::default()
    });
    let request = ModifyColumnFamiliesRequest {
        name: table.to_owned(),
        modifications: modifications.collect(),
        ignore_warnings: true,
    };
    admin().modify_column_families(request).await.unwrap();
}

pub(crate) async fn drop_table(table: &str) {
    let request = DeleteTableRequest {
        name: table.to_owned(),
    };
    admin().delete_table(request).await.unwrap();
}
