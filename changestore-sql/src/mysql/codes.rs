//! What the error numbers of MySQL and MariaDB mean.
//!
//! The numbers are the engines' own; SQLSTATE is too coarse here (a deadlock and a rolled back XA branch share
//! one, most have `HY000`). Where the two engines use a number differently it is left out.

use changestore_core::ErrorKind;
use sqlx::error::DatabaseError;
use sqlx::mysql::MySqlDatabaseError;

use crate::flow::classify::{Dialect, Meaning};
use crate::server::Fate;

/// MySQL and MariaDB.
pub(crate) const MYSQL: Dialect = Dialect {
    backend: "mysql",
    meaning,
};

/// The error's number, or none if no server spoke.
fn number(error: &dyn DatabaseError) -> Option<u16> {
    let error = error.try_downcast_ref::<MySqlDatabaseError>()?;
    Some(error.number())
}

/// Whether a sum has more than 64 bits.
pub(super) fn is_out_of_range(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(number) == Some(1690)
}

fn meaning(error: &dyn DatabaseError) -> Meaning {
    let Some(number) = number(error) else {
        return Meaning::plain(ErrorKind::Other);
    };
    match number {
        1205 | 1213 | 1614 => Meaning::new(
            ErrorKind::Unavailable,
            "another transaction holds the lock of the row",
        ),
        1040 | 1203 => Meaning::new(
            ErrorKind::Throttled,
            "the server has no connection to spare (max_connections, max_user_connections)",
        ),
        1226 => Meaning::new(
            ErrorKind::Throttled,
            "the account's quota of the server is used up",
        ),
        1461 => Meaning::new(
            ErrorKind::Throttled,
            "the server holds as many prepared statements as it may (max_prepared_stmt_count)",
        ),
        1053 | 1077 | 1079 => Meaning::new(ErrorKind::Unavailable, "the server is shutting down"),
        1047 => Meaning::new(
            ErrorKind::Unavailable,
            "the server is not part of its cluster at the moment",
        ),
        1927 | 4031 => Meaning::new(ErrorKind::Unavailable, "the server closed the connection"),
        1152 | 1156..=1161 => Meaning::new(ErrorKind::Unavailable, "the connection was lost"),
        1153 => Meaning::new(
            ErrorKind::Configuration,
            "the server's max_allowed_packet is too small for the statement",
        ),
        1317 | 1969 | 3024 => Meaning::new(
            ErrorKind::Unavailable,
            "the statement was interrupted, by its time limit or by an administrator",
        ),
        1412 | 1615 => Meaning::new(
            ErrorKind::Unavailable,
            "the table was altered at the same moment",
        ),
        1180 => Meaning::new(ErrorKind::Unavailable, "the commit failed"),
        1021 | 1114 => Meaning::new(ErrorKind::Unavailable, "the server's disk is full"),
        1037 | 1038 | 1041 | 1135 => {
            Meaning::new(ErrorKind::Unavailable, "the server is out of memory")
        }
        1026 | 1030 | 1878 => Meaning::new(
            ErrorKind::Unavailable,
            "the server's storage engine failed; its log says why",
        ),
        1290 | 1792 | 1836 => Meaning::new(
            ErrorKind::PermissionDenied,
            "the server is read only; is it a replica? Writes and consistent reads go to the primary",
        ),
        1044 | 1045 | 1130 | 1142 | 1143 | 1227 | 1370 | 1698 | 1820 | 1862 | 3118 | 4151 => {
            Meaning::plain(ErrorKind::PermissionDenied)
        }
        1129 => Meaning::new(
            ErrorKind::PermissionDenied,
            "the server has blocked this host after too many failed connections (FLUSH HOSTS)",
        ),
        1046 => Meaning::new(ErrorKind::Configuration, "the URL names no database"),
        1049 => Meaning::new(ErrorKind::Configuration, "there is no such database"),
        1665 => Meaning::new(
            ErrorKind::Configuration,
            "the server logs statements; READ COMMITTED needs binlog_format ROW or MIXED",
        ),
        1071 | 1118 | 1709 => Meaning::new(
            ErrorKind::Configuration,
            "the server's pages are too small for the keys; innodb_page_size must be 16 KiB or more",
        ),
        1054 | 1064 | 1146 | 1193 | 1231 | 1286 | 1305 | 3161 => Meaning::new(
            ErrorKind::Configuration,
            "the statement does not fit the server or the database's schema",
        ),
        1048 | 1264 | 1364 | 1366 | 1406 | 3819 | 4025 => Meaning::new(
            ErrorKind::Configuration,
            "the table refuses what the contract allows; was it altered?",
        ),
        1034 | 1035 | 1194 | 1195 | 1712 => {
            Meaning::new(ErrorKind::Corrupt, "the table is damaged")
        }
        _ => Meaning::plain(ErrorKind::Other),
    }
}

/// What became of a statement that failed in autocommit mode, and of its connection.
pub(super) fn fate(error: &sqlx::Error) -> Fate {
    match error {
        sqlx::Error::Database(error) => match number(error.as_ref()) {
            // A lock that was waited for in vain rolls back the statement, which is all there is.
            Some(1205 | 1213 | 1412 | 1614 | 1615) => Fate::Conflict,
            // What a server says before it closes the connection, or as long as it is no primary.
            Some(1047 | 1053 | 1077 | 1079 | 1153 | 1290 | 1792 | 1836 | 1927) => Fate::Unfit,
            // It was idle for too long, and closed before the statement came.
            Some(4031) => Fate::Stale,
            // The server could not say what it had done.
            Some(1152 | 1156..=1161 | 1180) => Fate::Lost,
            _ => Fate::Refused,
        },
        // It came whole.
        sqlx::Error::ColumnDecode { .. }
        | sqlx::Error::ColumnNotFound(_)
        | sqlx::Error::ColumnIndexOutOfBounds { .. }
        | sqlx::Error::Decode(_)
        // It never went.
        | sqlx::Error::Encode(_) => Fate::Refused,
        _ => Fate::Lost,
    }
}
