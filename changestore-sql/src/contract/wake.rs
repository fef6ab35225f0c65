//! When it may be worth looking again: the operating system tells of writes to the archive's files, and
//! a slow clock makes up for what it does not tell.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

/// The least time between two looks. A busy writer elsewhere in the archive costs no more than this allows.
const PAUSE: Duration = Duration::from_millis(5);

/// The longest, where the system tells of writes. It does not on every file system.
const WATCHED: Duration = Duration::from_millis(250);

/// The longest, where it does not.
const UNWATCHED: Duration = Duration::from_millis(25);

/// Waits for the archive's files to be written.
#[derive(Debug)]
pub(super) struct Wake {
    written: Arc<Notify>,
    /// Watches as long as it lives.
    watcher: Option<RecommendedWatcher>,
}

impl Wake {
    /// Of the archive at this path.
    pub(super) fn new(path: &Path) -> Self {
        let written = Arc::new(Notify::new());
        // Without notifications it is the clock alone.
        let watcher = watch(path, Arc::clone(&written)).ok();
        Self { written, watcher }
    }

    /// Until something was written, or it is time to look all the same.
    pub(super) async fn wait(&self) {
        sleep(PAUSE).await;
        let longest = if self.watcher.is_some() {
            WATCHED
        } else {
            UNWATCHED
        };
        // What ends the wait makes no difference.
        let _ = timeout(longest, self.written.notified()).await;
    }
}

/// Watches the folder: a file that takes the archive's place is another file of the same name.
fn watch(path: &Path, written: Arc<Notify>) -> notify::Result<RecommendedWatcher> {
    // SQLite keeps its log beside the file that a link leads to.
    let path = path.canonicalize()?;
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(notify::Error::path_not_found());
    };
    let names = ["", "-wal", "-journal"].map(|suffix| {
        let mut name = OsString::from(name);
        name.push(suffix);
        name
    });
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        let concerns = match &event {
            // Reading an archive is an event, too.
            Ok(event) => {
                !event.kind.is_access()
                    && event.paths.iter().any(|path| {
                        path.file_name()
                            .is_some_and(|of| names.iter().any(|name| name == of))
                    })
            }
            // Some were lost: it may have been the one.
            Err(_) => true,
        };
        if concerns {
            written.notify_one();
        }
    })?;
    watcher.watch(folder, RecursiveMode::NonRecursive)?;
    Ok(watcher)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::Instant;

    /// By the clock of the test, which goes on when there is nothing else to do.
    #[tokio::test(start_paused = true)]
    async fn a_wait_is_neither_busy_nor_endless() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("archive.db");
        std::fs::write(&path, "").unwrap();
        let mut wake = Wake::new(&path);
        assert!(wake.watcher.is_some(), "no notifications on this system");
        let begun = Instant::now();
        wake.wait().await;
        assert_eq!(begun.elapsed().as_millis(), (PAUSE + WATCHED).as_millis());

        // However often something is written.
        let begun = Instant::now();
        for _ in 0..100 {
            wake.written.notify_one();
            wake.wait().await;
        }
        assert!(begun.elapsed() >= PAUSE * 100);
        assert!(begun.elapsed() < (PAUSE + WATCHED) * 100);

        wake.watcher = None;
        let begun = Instant::now();
        wake.wait().await;
        assert!(begun.elapsed() <= PAUSE + UNWATCHED + Duration::from_millis(2));
    }

    #[tokio::test]
    async fn writes_to_the_archive_end_the_wait() {
        for written in ["archive.db", "archive.db-wal", "archive.db-journal"] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("archive.db");
            std::fs::write(&path, "").unwrap();
            let wake = Wake::new(&path);
            std::fs::write(folder.path().join(written), "x").unwrap();
            let told = timeout(Duration::from_mins(1), wake.written.notified()).await;
            assert!(told.is_ok(), "{written}");
        }
    }
}
