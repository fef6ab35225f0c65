//! What PostgreSQL's SQLSTATEs mean: to the caller, and for the connection.

use changestore_core::ErrorKind;
use sqlx::error::DatabaseError;

use crate::flow::classify::{Dialect, Meaning};
use crate::server::Fate;

/// PostgreSQL.
pub(super) const POSTGRES: Dialect = Dialect {
    backend: "postgres",
    meaning,
};

fn meaning(error: &dyn DatabaseError) -> Meaning {
    let code = error.code().unwrap_or_default();
    match code.as_ref() {
        "40001" | "40P01" | "55P03" => {
            Meaning::new(ErrorKind::Unavailable, "another transaction was in the way")
        }
        "25006" => Meaning::new(
            ErrorKind::PermissionDenied,
            "the server, or the session, only reads: it is a replica, or default_transaction_read_only is on",
        ),
        "53300" => Meaning::new(
            ErrorKind::Throttled,
            "the server has no connection left (max_connections, or the role's limit)",
        ),
        "53100" => Meaning::new(ErrorKind::Unavailable, "the server's disk is full"),
        "53200" => Meaning::new(ErrorKind::Unavailable, "the server is out of memory"),
        "57P01" | "57P02" | "57P05" => {
            Meaning::new(ErrorKind::Unavailable, "the server ended the connection")
        }
        "08P01" => Meaning::new(
            ErrorKind::Configuration,
            "the server, or a pooler before it, does not take what the driver sends",
        ),
        "57P03" => Meaning::new(
            ErrorKind::Unavailable,
            "the server is starting, shutting down or recovering",
        ),
        "57P04" | "3D000" => Meaning::new(ErrorKind::Configuration, "there is no such database"),
        "57014" => Meaning::new(
            ErrorKind::Unavailable,
            "the server cancelled the statement: by its statement_timeout, or as somebody asked it to",
        ),
        "58030" => Meaning::new(
            ErrorKind::Unavailable,
            "the server cannot read or write a file",
        ),
        "3F000" => Meaning::new(ErrorKind::Configuration, "there is no such schema"),
        "42P01" | "42703" | "42883" | "42804" => Meaning::new(
            ErrorKind::Configuration,
            "the statement does not fit the database's schema",
        ),
        // A prepared statement that is gone, or that was there already.
        "26000" | "42P05" => Meaning::new(
            ErrorKind::Configuration,
            "the prepared statement is not on this connection: behind a pooler in transaction mode turn \
             prepared statements off",
        ),
        // Text that the database's encoding cannot hold.
        "22021" | "22P05" => Meaning::new(
            ErrorKind::Configuration,
            "the database's encoding cannot hold the text; it must be UTF8",
        ),
        "54000" => Meaning::new(
            ErrorKind::Configuration,
            "a limit of the server's is exceeded",
        ),
        "42501" => Meaning::plain(ErrorKind::PermissionDenied),
        code => match code.get(..2).unwrap_or_default() {
            "08" | "53" | "57" => Meaning::plain(ErrorKind::Unavailable),
            "28" => Meaning::plain(ErrorKind::PermissionDenied),
            "XX" => Meaning::new(ErrorKind::Corrupt, "the server reports damaged data"),
            _ => Meaning::plain(ErrorKind::Other),
        },
    }
}

/// What became of a statement that failed, and of its connection.
pub(super) fn fate(error: &sqlx::Error) -> Fate {
    match error {
        sqlx::Error::Database(error) => {
            let code = error.code().unwrap_or_default();
            match code.as_ref() {
                "40001" | "40P01" | "55P03" => Fate::Conflict,
                // The server said it before the statement came, or it ended the connection in the middle of one,
                // perhaps after the commit.
                "57P01" | "57P02" => Fate::Lost,
                "57P05" => Fate::Stale,
                "25006" | "57P03" | "57P04" | "26000" | "42P05" => Fate::Unfit,
                code if code.starts_with("08") => Fate::Lost,
                _ => Fate::Refused,
            }
        }
        // Nothing was sent, or all was received.
        sqlx::Error::Encode(_)
        | sqlx::Error::ColumnDecode { .. }
        | sqlx::Error::ColumnNotFound(_)
        | sqlx::Error::ColumnIndexOutOfBounds { .. }
        | sqlx::Error::InvalidArgument(_) => Fate::Refused,
        _ => Fate::Lost,
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::error::Error as StdError;
    use std::fmt;

    use sqlx::error::ErrorKind as SqlKind;

    use super::*;

    #[derive(Debug)]
    struct Reported(&'static str);

    impl fmt::Display for Reported {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl StdError for Reported {}

    impl DatabaseError for Reported {
        fn message(&self) -> &str {
            self.0
        }

        fn code(&self) -> Option<Cow<'_, str>> {
            Some(self.0.into())
        }

        fn as_error(&self) -> &(dyn StdError + Send + Sync + 'static) {
            self
        }

        fn as_error_mut(&mut self) -> &mut (dyn StdError + Send + Sync + 'static) {
            self
        }

        fn into_error(self: Box<Self>) -> Box<dyn StdError + Send + Sync + 'static> {
            self
        }

        fn kind(&self) -> SqlKind {
            SqlKind::Other
        }
    }

    #[test]
    fn each_state_has_its_kind_and_says_whether_to_try_again() {
        for (code, kind, retryable) in [
            ("40001", ErrorKind::Unavailable, true),
            ("40P01", ErrorKind::Unavailable, true),
            ("55P03", ErrorKind::Unavailable, true),
            ("53300", ErrorKind::Throttled, true),
            ("53100", ErrorKind::Unavailable, true),
            ("57P03", ErrorKind::Unavailable, true),
            ("08006", ErrorKind::Unavailable, true),
            ("28P01", ErrorKind::PermissionDenied, false),
            ("42501", ErrorKind::PermissionDenied, false),
            ("25006", ErrorKind::PermissionDenied, false),
            ("3D000", ErrorKind::Configuration, false),
            ("3F000", ErrorKind::Configuration, false),
            ("42P01", ErrorKind::Configuration, false),
            ("22021", ErrorKind::Configuration, false),
            ("XX001", ErrorKind::Corrupt, false),
            ("23514", ErrorKind::Other, false),
        ] {
            let meaning = meaning(&Reported(code));
            assert_eq!(
                (meaning.kind, meaning.retryable),
                (kind, retryable),
                "{code}"
            );
        }
    }

    #[test]
    fn only_a_connection_that_ended_leaves_a_write_unknown() {
        let fate_of = |code| fate(&sqlx::Error::Database(Box::new(Reported(code))));
        for code in ["40001", "40P01", "55P03"] {
            assert_eq!(fate_of(code), Fate::Conflict);
        }
        for code in ["57P01", "57P02", "08006"] {
            assert_eq!(fate_of(code), Fate::Lost);
        }
        for code in ["53100", "57014", "42501", "23514"] {
            assert_eq!(fate_of(code), Fate::Refused);
        }
        assert_eq!(fate_of("25006"), Fate::Unfit);
        assert_eq!(fate_of("57P05"), Fate::Stale);
        let reset = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
        assert_eq!(fate(&reset.into()), Fate::Lost);
    }
}
