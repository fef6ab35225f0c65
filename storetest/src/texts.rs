//! Texts that careless keys confuse.

use changestore_core::Limit;

/// Each of these is another key, whatever a collation, a pattern or a trimming column thinks.
#[rustfmt::skip]
pub(crate) const CONFUSABLE: &[&str] = &[
    // case
    "bug", "Bug", "BUG", "s", "S", "\u{17f}", "k", "K", "\u{212a}", "i", "I", "\u{131}", "\u{130}",
    // spaces and what trims like one
    "bug ", " bug", "bug  ", "bug\t", "bug\n", "bug\r\n", "bug\u{a0}", "bug\u{200b}", " ", "  ",
    // accents, composed and decomposed, and ligatures
    "b\u{f9}g", "bu\u{300}g", "bug\u{301}", "\u{c5}", "\u{212b}", "A\u{30a}", "fi", "\u{fb01}", "ss", "\u{df}",
    "\u{1e9e}",
    // byte order marks and other invisible ones
    "\u{feff}", "\u{feff}bug", "bug\u{feff}", "\u{200d}", "\u{ad}",
    // patterns, quotes and escapes of query languages
    "%", "_", "\\", "*", "?", "[", "]", "[a-z]", "^", "$", ".", "..", ".*", "'", "''", "\"", "`",
    ";", "--", "bug%", "bug_", "bug*", "b_g", "b%g", "b\\_g", "\\\\", "\\'", "$1", "?1", ":a", "@a",
    // percent encodings
    "%25", "%2F", "%00", "a%2Fb", "a/b", "a%2fb",
    // separators
    "/", "//", "#", "a#b", "a\u{1}b", "a\u{ff}b", "a|b", "a:b", "a,b", "a\u{1f}b", "a\\/b",
    // what a typeless column takes for the same number
    "1", "01", "1.0", "1e0", "+1", "-1", "0x1", "NULL", "null", "true", "TRUE", "{}",
    // prefixes of each other
    "a", "ab", "abc",
    // the ends of UTF-8's and UTF-16's ranges
    "\u{1}", "\u{7f}", "\u{80}", "\u{7ff}", "\u{800}", "\u{d7ff}", "\u{e000}", "\u{fffd}",
    "\u{ffff}", "\u{10000}", "\u{1f600}", "\u{10ffff}",
];

/// What composite encodings put between the parts, and what they escape it with.
#[rustfmt::skip]
pub(crate) const SEPARATORS: &[&str] = &[
    "/", "//", "#", ":", "|", ",", ";", " ", "\u{1}", "\u{1}\u{1}", "\u{1}\u{2}", "\u{2}", "\u{1f}",
    "\u{7f}", "\u{ff}", "\u{ffff}", "\\", "\\\\", "%", "%2F", "'", "\"", "\",\"",
];

/// The longest legal text for the limit, of characters of one byte.
pub(crate) fn longest(limit: Limit) -> String {
    "x".repeat(limit.max_bytes())
}

/// The longest legal text of characters of four bytes, filled up with `x`.
pub(crate) fn longest_of_wide_characters(limit: Limit) -> String {
    let wide = limit.max_bytes() / 4;
    "😀".repeat(wide) + &"x".repeat(limit.max_bytes() - 4 * wide)
}

/// The text with another last character of the same length: what an index on a prefix confuses.
pub(crate) fn with_another_end(mut text: String) -> String {
    assert_eq!(text.pop(), Some('x'), "the longest texts end with an x");
    text.push('y');
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_text_stands_twice() {
        for texts in [CONFUSABLE, SEPARATORS] {
            assert_eq!(texts.iter().collect::<BTreeSet<_>>().len(), texts.len());
        }
    }

    #[test]
    fn the_longest_texts_are_as_long_as_they_may_be() {
        for limit in changestore_core::limits::ALL {
            assert_eq!(longest(limit).len(), limit.max_bytes());
            assert_eq!(longest_of_wide_characters(limit).len(), limit.max_bytes());
        }
    }
}
