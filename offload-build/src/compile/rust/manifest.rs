//! Values in Cargo's manifests, which a build reads before Cargo does. The reader knows keys in
//! lines of their own, as `name = "x"` below `[package]`, or `package.name = "x"`, but no tables
//! in one line.

/// Returns the text of a value, without quotation marks, if the manifest has this key:
/// `package.name`.
pub(super) fn value(manifest: &str, key: &str) -> Option<String> {
    let text = find(manifest, key)?.lines().next()?;
    let value = match text.chars().next().filter(|it| matches!(it, '"' | '\'')) {
        Some(quote) => text[1..].split(quote).next()?,
        None => text.split('#').next()?.trim(),
    };
    (!value.is_empty()).then(|| value.to_owned())
}

/// Returns the texts in a list of a manifest.
pub(super) fn list(manifest: &str, key: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let Some(mut rest) = find(manifest, key).and_then(|text| text.strip_prefix('[')) else {
        return texts;
    };
    while let Some(at) = rest.find(['"', '\'', '#', ']']) {
        let (mark, after) = (&rest[at..at + 1], &rest[at + 1..]);
        let end = if mark == "#" { "\n" } else { mark };
        match after.split_once(end) {
            Some((text, next)) if mark != "]" => {
                texts.extend((mark != "#").then(|| text.to_owned()));
                rest = next;
            }
            _ => break,
        }
    }
    texts
}

/// Whether a manifest has the table `[workspace]`, or one inside of it.
pub(super) fn is_workspace(manifest: &str) -> bool {
    for line in manifest.lines() {
        if let Some(table) = table(line)
            && (table == "workspace" || table.starts_with("workspace."))
        {
            return true;
        }
    }
    false
}

/// Returns the text from the value of a key on.
fn find<'m>(manifest: &'m str, key: &str) -> Option<&'m str> {
    let (mut prefix, mut end) = (String::new(), 0);
    for line in manifest.split_inclusive('\n') {
        let start = end;
        end += line.len();
        if let Some(table) = table(line) {
            prefix = table + ".";
        } else if let Some((name, _)) = line.split_once('=')
            && key.strip_prefix(&prefix).is_some_and(|rest| rest == plain(name))
        {
            return Some(manifest[start + name.len() + 1..].trim_start());
        }
    }
    None
}

/// Returns the name of the table that begins with a line.
fn table(line: &str) -> Option<String> {
    let line = line.split('#').next()?.trim();
    Some(plain(line.strip_prefix('[')?).trim_matches(['[', ']']).to_owned())
}

/// Returns a name without spaces and quotation marks.
fn plain(name: &str) -> String {
    name.replace([' ', '\t', '"', '\''], "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workspaces() {
        for (manifest, is_so) in [
            ("[package]\nname = \"workspace\"\n[workspace] # none\n", true),
            ("[ workspace . package ]\n", true),
            ("[package]\nworkspace = \"..\"\nversion.workspace = true\n", false),
        ] {
            assert_eq!(is_workspace(manifest), is_so, "{manifest}");
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
            assert_eq!(value(text, key).as_deref(), expected, "{key}");
        }
        assert_eq!(value("nightly", "toolchain.channel"), None);
    }

    #[test]
    fn lists_of_several_lines() {
        let text = "[workspace]\nmembers = []\nexclude = [ # not \"these\"\n  \"kernels\", 'types', # \"b\"\n  \"c]\"]\nresolver = \"3\"\n";
        assert_eq!(list(text, "workspace.exclude"), ["kernels", "types", "c]"]);
        assert!(list(text, "workspace.members").is_empty());
        assert!(list(text, "workspace.resolver").is_empty());
        assert!(list("[workspace]\nexclude = [", "workspace.exclude").is_empty());
    }
}
