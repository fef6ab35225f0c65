//! `mem:`, gone when the command ends: for trying things out.

use async_trait::async_trait;
use store_mem::MemStore;

use super::{Access, Backend, Opened, SchemaStep};
use crate::failure::Result;

pub(super) struct Mem;

#[async_trait]
impl Backend for Mem {
    fn schemes(&self) -> &'static [&'static str] {
        &[store_mem::BACKEND]
    }

    fn check(&self, url: &str) -> Result<(), String> {
        match url {
            "mem:" => Ok(()),
            _ => Err("`mem:` takes nothing behind its colon".to_owned()),
        }
    }

    async fn open(&self, _url: &str, _access: Access) -> Result<Opened> {
        Ok(Opened::new(MemStore::new(), None))
    }

    async fn apply_schema(&self, _url: &str) -> Result<()> {
        Ok(())
    }

    fn schema(&self) -> Vec<SchemaStep> {
        Vec::new()
    }
}
