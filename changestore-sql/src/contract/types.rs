//! Which types of values a column can hold, by the type that it was declared with.

/// Which types of values a column can hold.
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a storage class of SQLite's"
)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Types {
    pub(super) integer: bool,
    pub(super) real: bool,
    pub(super) text: bool,
    pub(super) blob: bool,
    /// A REAL that is a whole number becomes an INTEGER, unless that is the least of all.
    pub(super) prefers_integer: bool,
}

impl Types {
    pub(super) const INTEGER: Self = Self {
        integer: true,
        real: false,
        text: false,
        blob: false,
        prefers_integer: true,
    };
    pub(super) const ANY: Self = Self {
        integer: true,
        real: true,
        text: true,
        blob: true,
        prefers_integer: false,
    };

    /// By SQLite's rules of column affinity and of STRICT tables.
    pub(super) fn of(declared: &str, strict: bool) -> Self {
        let declared = declared.to_ascii_uppercase();
        let has = |part: &str| declared.contains(part);
        let only = Self {
            integer: false,
            real: false,
            text: false,
            blob: false,
            prefers_integer: false,
        };
        if strict {
            return match &*declared {
                "INT" | "INTEGER" => Self::INTEGER,
                "REAL" => Self { real: true, ..only },
                "TEXT" => Self { text: true, ..only },
                "BLOB" => Self { blob: true, ..only },
                _ => Self::ANY,
            };
        }
        let prefers_integer = Self {
            prefers_integer: true,
            ..Self::ANY
        };
        if has("INT") {
            prefers_integer
        } else if has("CHAR") || has("CLOB") || has("TEXT") {
            Self {
                text: true,
                blob: true,
                ..only
            }
        } else if has("BLOB") || declared.is_empty() {
            Self::ANY
        } else if has("REAL") || has("FLOA") || has("DOUB") {
            Self {
                integer: false,
                ..Self::ANY
            }
        } else {
            prefers_integer
        }
    }
}
