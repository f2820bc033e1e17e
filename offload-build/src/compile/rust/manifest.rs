//! Reads values in Cargo's manifests before Cargo reads them.
//!
//! The reader supports all forms of keys, tables and strings in TOML 1.1. It stops at the first
//! error, which Cargo reports later. The crate `toml` would add 85,000 lines of LLVM IR to every
//! build script, even without kernels in Rust.

pub(super) struct Manifest {
    /// Dotted keys with their texts, in file order. A list has one row for each of its texts. A
    /// table has one row without a text.
    rows: Vec<(String, String)>,
}

impl Manifest {
    pub(super) fn parse(text: &str) -> Self {
        let mut reader = Reader { rest: text, rows: Vec::new() };
        let mut table = String::new();
        while reader.entry(&mut table).is_some() {}
        Self { rows: reader.rows }
    }

    /// Returns the value of a key such as `package.name` as text without quotation marks, if the
    /// manifest contains the key.
    pub(super) fn value(&self, key: &str) -> Option<String> {
        self.list(key).into_iter().next()
    }

    pub(super) fn list(&self, key: &str) -> Vec<String> {
        let mut texts = Vec::new();
        for (name, text) in &self.rows {
            if name == key && !text.is_empty() {
                texts.push(text.clone());
            }
        }
        texts
    }

    /// Whether the manifest contains the table `workspace`, or a table inside it.
    pub(super) fn is_workspace(&self) -> bool {
        self.rows.iter().any(|(key, _)| key.split('.').next() == Some("workspace"))
    }
}

/// The remaining text of a manifest, and the rows read so far.
struct Reader<'m> {
    rest: &'m str,
    rows: Vec<(String, String)>,
}

impl Reader<'_> {
    /// Reads the name of the next table, or a value in the current table.
    fn entry(&mut self, table: &mut String) -> Option<()> {
        self.skip();
        if !self.rest.starts_with('[') {
            return self.pair(table);
        }
        self.rest = self.rest.trim_start_matches('[');
        *table = self.key("")?;
        self.rest = self.rest.trim_start_matches(']');
        self.rows.push((table.clone(), String::new()));
        Some(())
    }

    fn pair(&mut self, table: &str) -> Option<()> {
        let key = self.key(table)?;
        self.rest = self.rest.strip_prefix('=')?;
        self.value(&key)
    }

    /// Reads a key, and returns it prefixed with the table's name.
    fn key(&mut self, table: &str) -> Option<String> {
        let mut key = table.to_owned();
        loop {
            self.skip();
            if !key.is_empty() {
                key.push('.');
            }
            key += &self.text(" \t\r\n.=[]{},#")?;
            self.skip();
            match self.rest.strip_prefix('.') {
                Some(rest) => self.rest = rest,
                None => return Some(key),
            }
        }
    }

    fn value(&mut self, key: &str) -> Option<()> {
        self.skip();
        let end = match self.rest.chars().next()? {
            '[' => ']',
            '{' => '}',
            _ => {
                let text = self.text("\n],}#")?;
                self.rows.push((key.to_owned(), text));
                return Some(());
            }
        };
        self.rows.push((key.to_owned(), String::new()));
        self.rest = &self.rest[1..];
        loop {
            self.skip();
            if let Some(rest) = self.rest.strip_prefix(end) {
                self.rest = rest;
                return Some(());
            }
            if end == ']' { self.value(key)? } else { self.pair(key)? }
        }
    }

    /// Reads a quoted string, or bare text up to one of the characters in `ends`.
    fn text(&mut self, ends: &str) -> Option<String> {
        let mut quotes = ["\"\"\"", "'''", "\"", "'"].into_iter();
        let Some(quote) = quotes.find(|quote| self.rest.starts_with(quote)) else {
            let end = self.rest.find(|c| ends.contains(c)).unwrap_or(self.rest.len());
            let (text, rest) = self.rest.split_at(end);
            self.rest = rest;
            return Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        };
        let (mut text, mut chars) = (String::new(), self.rest[quote.len()..].chars());
        loop {
            if let Some(rest) = chars.as_str().strip_prefix(quote) {
                self.rest = rest;
                return Some(text);
            }
            text.push(match chars.next()? {
                // In names and paths, only quotation marks and backslashes need escapes.
                '\\' if quote.starts_with('"') => chars.next()?,
                c => c,
            });
        }
    }

    /// Skips spaces, commas between values, and comments.
    fn skip(&mut self) {
        loop {
            self.rest = self.rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
            let Some(comment) = self.rest.strip_prefix('#') else { return };
            self.rest = comment.find('\n').map_or("", |end| &comment[end..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workspaces() {
        for (manifest, is_so) in [
            ("[package]\nname = \"workspace\"\n[workspace] # none\n", true),
            ("[ workspace . package ]\n", true),
            ("package = { name = \"k\" }\nworkspace = {}", true),
            ("[package]\nworkspace = \"..\"\nversion.workspace = true\n", false),
        ] {
            assert_eq!(Manifest::parse(manifest).is_workspace(), is_so, "{manifest}");
        }
    }

    #[test]
    fn values_of_tables() {
        let text = "profile.release.debug = 1\n[package] # x\nname = \"my-kernels\" # a name\n[lib]\nname='k'\n\
                    [toolchain]\nchannel=\"nightly-2026-05-01\"\n[profile.release]\nopt-level = 2 # lower\n\
                    [profile]\nrelease.overflow-checks = true\n";
        for (key, expected) in [
            ("package.name", Some("my-kernels")),
            ("lib.name", Some("k")),
            ("lib.path", None),
            ("name", None),
            ("toolchain.channel", Some("nightly-2026-05-01")),
            ("profile.release.debug", Some("1")),
            ("profile.release.opt-level", Some("2")),
            ("profile.release.overflow-checks", Some("true")),
        ] {
            assert_eq!(Manifest::parse(text).value(key).as_deref(), expected, "{key}");
        }
        assert_eq!(Manifest::parse("nightly").value("toolchain.channel"), None);
    }

    #[test]
    fn every_spelling_of_a_table() {
        for manifest in [
            "[profile.release]\nopt-level = \"s\"",
            "[ profile . 'release' ]\r\n\"opt-level\"='s' # small",
            "[profile]\nrelease.opt-level = \"s\"",
            "[profile]\nrelease = { debug = 1, opt-level = \"s\" }",
            "profile.release = { package.\"*\" = { opt-level = 3 }, opt-level = 's' }",
            "profile = { release = { # in several lines\n  opt-level = \"s\",\n  },\n}",
            "a = [[1.5, 'x]'], { b = [] }]\nb = 1979-05-27 07:32:00Z\nc = \"\"\"\n]\n\\\"\"\"\"\n\
             [[bin]]\nname = '''a\n[profile]'''\n[\"profile\".release]\nopt-level = \"s\"",
        ] {
            let found = Manifest::parse(manifest).value("profile.release.opt-level");
            assert_eq!(found.as_deref(), Some("s"), "{manifest}");
        }
    }

    #[test]
    fn lists_of_several_lines() {
        let text = "[workspace]\nmembers = []\nexclude = [ # not \"these\"\n  \"kernels\", 'types', # \"b\"\n  \"c]\"]\nresolver = \"3\"\n";
        let manifest = Manifest::parse(text);
        assert_eq!(manifest.list("workspace.exclude"), ["kernels", "types", "c]"]);
        assert!(manifest.list("workspace.members").is_empty());
        let manifest = Manifest::parse("[workspace]\nexclude = [");
        assert!(manifest.list("workspace.exclude").is_empty());
    }
}
