//! What a field is replaced by: all that is known to be awkward, and then anything.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use changestore_core::{Etag, Timestamp, limits};

use super::Value;

/// The edges of the fields' ranges and types.
pub(super) fn awkward() -> Vec<Value> {
    let integers = [
        i64::MIN,
        i64::MIN + 1,
        -253_402_300_800_000,
        -1,
        0,
        1,
        2,
        Timestamp::MAX.as_millis(),
        Timestamp::MAX.as_millis() + 1,
        i64::MAX - 1,
        i64::MAX,
    ];
    let texts = [
        String::new(),
        " ".to_owned(),
        "0".to_owned(),
        "1".to_owned(),
        "-7".to_owned(),
        "1e3".to_owned(),
        "null".to_owned(),
        "{\"a\":".to_owned(),
        "{} {}".to_owned(),
        "[1,2]".to_owned(),
        "\u{fffd}\u{1f980}'\"\\%_".to_owned(),
        "e".repeat(Etag::MAX_BYTES),
        "e".repeat(Etag::MAX_BYTES + 1),
        format!("\"{}\"", "m".repeat(limits::METADATA.max_bytes())),
    ];
    let bytes = [vec![0xff], vec![0xff, 0, 0xfe], vec![0xc3; 100]];
    let mut values = vec![Value::Nothing];
    values.extend(integers.map(Value::Integer));
    values.extend(texts.map(Value::Text));
    values.extend(bytes.map(|mut bytes| {
        bytes[0] = 0xff;
        Value::Bytes(bytes)
    }));
    values
}

/// The `n`-th random value of a seed, the same on every machine.
pub(super) fn random(seed: u64, n: usize) -> Value {
    let draw = |what: u64| {
        // Its keys are fixed: a seed is a run.
        let mut hasher = DefaultHasher::new();
        (seed, n, what).hash(&mut hasher);
        hasher.finish()
    };
    let length = usize::try_from(draw(1) % 80).unwrap_or_default();
    let many = |first: u64| (0..length as u64).map(move |place| draw(first + place));
    match draw(0) % 4 {
        // Of all sizes, and not nearly all of them huge.
        0 => Value::Integer(draw(2).cast_signed() >> (draw(3) % 64)),
        1 => Value::Text(
            many(100)
                .map(|bits| match bits % 3 {
                    0 => char::from_u32(u32::try_from(bits >> 40).unwrap_or(0)).unwrap_or('x'),
                    1 => "{}[]\":,0123456789eE+-.".as_bytes()
                        [usize::try_from(bits % 22).unwrap_or(0)]
                    .into(),
                    _ => 'a',
                })
                .filter(|character| *character != '\0')
                .collect(),
        ),
        _ => Value::Bytes(
            std::iter::once(0xff)
                .chain(many(200).map(|bits| bits.to_le_bytes()[0]))
                .collect(),
        ),
    }
}
