//! Random statements over the archive's tables, the same for the same seed.

/// `SplitMix64`.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// Once in so many.
    pub(crate) fn once_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    pub(crate) fn one_of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        let place = self.below(choices.len() as u64);
        choices[usize::try_from(place).unwrap()]
    }
}

/// Few values, so that statements meet; one of each kind of trouble.
const TEXTS: &[&str] = &[
    "'a'",
    "'A'",
    "'b'",
    "'a '",
    "''",
    "'1'",
    "'é'",
    "'😀\"\\,]'",
    "char(10)",
];
const INTEGERS: &[&str] = &[
    "1",
    "2",
    "3",
    "4",
    "-1",
    "9223372036854775807",
    "-9223372036854775807 - 1",
];
const REALS: &[&str] = &[
    "1.0",
    "0.1 + 0.2",
    "1.0000000000000002",
    "9e999",
    "-9e999",
    "5e-324",
    "-2.5",
    "9007199254740993.0",
];
const BLOBS: &[&str] = &["x'31'", "x'00ff'", "x''", "x'22'"];

fn any(random: &mut Random) -> &'static str {
    let kind = [INTEGERS, TEXTS, REALS, BLOBS][usize::try_from(random.below(4)).unwrap()];
    random.one_of(kind)
}

fn value(random: &mut Random) -> String {
    if random.once_in(6) {
        "NULL".to_owned()
    } else {
        any(random).to_owned()
    }
}

/// A key of this table, as a list of expressions.
fn key(random: &mut Random, table: &str) -> Vec<String> {
    let texts = |random: &mut Random| random.one_of(TEXTS).to_owned();
    match table {
        "nocase" => vec![texts(random)],
        "mixed" => vec![any(random).to_owned()],
        "pair" => vec![random.one_of(INTEGERS).to_owned(), texts(random)],
        "gauge" => vec![random.one_of(REALS).to_owned(), any(random).to_owned()],
        "a b" => vec![texts(random), any(random).to_owned()],
        _ => vec![random.one_of(&INTEGERS[..5]).to_owned()],
    }
}

fn key_columns(table: &str) -> &'static [&'static str] {
    match table {
        "nocase" => &["name"],
        "mixed" => &["k"],
        "pair" => &["a", "b"],
        "gauge" => &["r", "t"],
        "a b" => &["\"order\"", "\"x\"\"y\""],
        "heap" => &["rowid"],
        _ => &["id"],
    }
}

/// The columns beside the key, the last of them unique or a foreign key where there is a second.
fn columns(table: &str) -> &'static [&'static str] {
    match table {
        "child" => &["v", "parent"],
        "heap" => &["v", "u"],
        "a b" => &["\"Ünï\"", "u"],
        _ => &["v"],
    }
}

fn matching(random: &mut Random, table: &str) -> String {
    let parts: Vec<_> = key_columns(table)
        .iter()
        .zip(key(random, table))
        .map(|(column, part)| format!("{column} = {part}"))
        .collect();
    match random.below(8) {
        0 => "1".to_owned(),
        1 => format!("{} IS NULL", columns(table)[0]),
        // One part of a composite key: several rows.
        2..5 => parts[0].clone(),
        _ => parts.join(" AND "),
    }
}

pub(crate) const TRACKED: &[&str] = &[
    "plain", "child", "nocase", "mixed", "heap", "pair", "gauge", "a b", "counts",
];

/// One statement that writes to this table, or tries to.
pub(crate) fn write(random: &mut Random, table: &str) -> String {
    let name = format!("\"{table}\"");
    let key_list = key_columns(table);
    let rest = columns(table);
    let mut listed = key_list.to_vec();
    listed.extend(rest);
    let mut values = key(random, table);
    for column in rest {
        values.push(match *column {
            "parent" if random.once_in(3) => "NULL".to_owned(),
            "parent" => random.one_of(&INTEGERS[..5]).to_owned(),
            "u" => random.one_of(&["NULL", "1", "2", "'x'"]).to_owned(),
            _ => value(random),
        });
    }
    // The rowid is chosen by SQLite as often as not.
    if table == "heap" && random.once_in(2) {
        listed.remove(0);
        values.remove(0);
    }
    let (listed, values) = (listed.join(", "), values.join(", "));
    let changed = match rest.len() {
        2 if random.once_in(3) => {
            format!("{} = {}", rest[1], random.one_of(&["NULL", "1", "2", "3"]))
        }
        _ => format!("{} = {}", rest[0], value(random)),
    };
    let or = random.one_of(&[
        "",
        "",
        "",
        " OR IGNORE",
        " OR REPLACE",
        " OR FAIL",
        " OR ABORT",
    ]);
    match random.below(16) {
        0..5 => format!("INSERT{or} INTO {name}({listed}) VALUES ({values})"),
        5 => format!("REPLACE INTO {name}({listed}) VALUES ({values})"),
        6..8 => format!(
            "INSERT INTO {name}({listed}) VALUES ({values}) ON CONFLICT DO UPDATE SET {changed}"
        ),
        8 => format!("INSERT INTO {name}({listed}) VALUES ({values}) ON CONFLICT DO NOTHING"),
        9..12 => {
            let matching = matching(random, table);
            format!("UPDATE{or} {name} SET {changed} WHERE {matching}")
        }
        12..14 => {
            let matching = matching(random, table);
            let new_key: Vec<_> = key_list
                .iter()
                .zip(key(random, table))
                .map(|(column, part)| format!("{column} = {part}"))
                .collect();
            format!(
                "UPDATE{or} {name} SET {} WHERE {matching}",
                new_key.join(", ")
            )
        }
        14 => format!("DELETE FROM {name} WHERE {}", matching(random, table)),
        _ if random.once_in(4) => format!("DELETE FROM {name}"),
        _ => format!("UPDATE {name} SET {changed} WHERE 0"),
    }
}

/// Some statements to tracked tables, in a transaction or not, with savepoints in it.
pub(crate) fn writes(random: &mut Random) -> Vec<String> {
    let mut statements: Vec<_> = (0..=random.below(5))
        .map(|_| {
            let table = random.one_of(TRACKED);
            write(random, table)
        })
        .collect();
    if random.once_in(4) {
        let inner = random.one_of(&["ROLLBACK TO s", "RELEASE s"]);
        statements.insert(0, "SAVEPOINT s".to_owned());
        statements.push(inner.to_owned());
        let table = random.one_of(TRACKED);
        statements.push(write(random, table));
        statements.insert(0, "BEGIN IMMEDIATE".to_owned());
        statements.push("COMMIT".to_owned());
    } else if random.once_in(2) {
        statements.insert(0, "BEGIN".to_owned());
        statements.push("COMMIT".to_owned());
    }
    if random.once_in(5) {
        let setting = random.one_of(&["ON", "OFF"]);
        statements.insert(0, format!("PRAGMA recursive_triggers = {setting}"));
    }
    statements
}

/// Statements after which no row of a tracked table is another one.
pub(crate) fn quiet(random: &mut Random) -> Vec<String> {
    match random.below(3) {
        0 => {
            let mut statements = writes(random);
            statements.retain(|sql| !sql.starts_with("BEGIN") && !sql.starts_with("COMMIT"));
            statements.insert(0, "BEGIN".to_owned());
            statements.push("ROLLBACK".to_owned());
            statements
        }
        1 => vec![write(random, "other"), write(random, "other")],
        _ => {
            let table = random.one_of(TRACKED);
            vec![format!(
                "UPDATE \"{table}\" SET {} = 1 WHERE 0",
                columns(table)[0]
            )]
        }
    }
}
