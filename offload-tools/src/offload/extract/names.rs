//! Names of extracted files.

use offload_format::inventory::{Container, Image, ImageKind};
use std::collections::HashMap;

/// Names the extracted images: `libfoo.a.member.o.3.hip.gfx90a_xnack-.hsaco`, where 3 is the number
/// of the image's container.
///
/// Names consist of ASCII letters, digits, `-`, `_`, `+` and single dots between these. No name is
/// a path, looks like an option, or is reserved by a system. No two names are equal, even if the
/// file system ignores case.
#[derive(Debug)]
pub(super) struct Names<'u> {
    file: String,
    used: &'u mut Used,
}

/// How often an archive's files have used each name. The keys are lower-case names.
#[derive(Debug, Default)]
pub(super) struct Used(HashMap<String, u64>);

/// The maximum number of characters in each part of a name: file, member, offload kind, target.
/// This keeps the whole name below 255 characters, the limit of file systems.
const MOST: usize = 56;

impl<'u> Names<'u> {
    /// Creates the names for the images of `file`; `used` counts the names already given.
    pub(super) fn new(file: &[u8], used: &'u mut Used) -> Self {
        let mut file = part(file);
        let device = file.split('.').next().unwrap_or("").to_ascii_uppercase();
        let is_reserved = match device.as_str() {
            "" | "CON" | "PRN" | "AUX" | "NUL" => true,
            other => other.len() == 4 && (other.starts_with("COM") || other.starts_with("LPT")),
        };
        if is_reserved || file.starts_with('-') {
            file.insert(0, '_');
        }
        Self { file, used }
    }

    pub(super) fn of(
        &mut self,
        container: &Container<'_>,
        image: &Image<'_>,
        kind: ImageKind,
        bytes: &[u8],
    ) -> String {
        let mut name = self.file.clone();
        let mut add = |text: &str| {
            name.push('.');
            name.push_str(text);
        };
        if let Some(member) = container.place.member {
            add(&part(member));
        }
        add(&image.container.to_string());
        if let Some(kind) = &image.offload_kind {
            add(&part(kind.as_bytes()));
        }
        if image.target_id.is_some() || image.triple.is_some() || image.entry_id.is_some() {
            add(&part(image.label().as_bytes()));
        }
        let extension = kind.extension(bytes);
        loop {
            let count = self.used.0.entry(name.to_ascii_lowercase()).or_insert(0);
            *count += 1;
            if *count == 1 {
                return format!("{name}.{extension}");
            }
            name = format!("{name}.{count}");
        }
    }
}

/// Converts text to a part of a name: replaces characters that are not allowed in names with `_`,
/// and truncates the text to `MOST` characters.
fn part(text: &[u8]) -> String {
    let mut out = String::new();
    for c in String::from_utf8_lossy(text).chars().take(MOST) {
        match c {
            '.' if !out.is_empty() && !out.ends_with('.') => out.push('.'),
            '-' | '+' => out.push(c),
            c if c.is_ascii_alphanumeric() => out.push(c),
            _ => out.push('_'),
        }
    }
    if out.ends_with('.') {
        out.pop();
        out.push('_');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_harmless() {
        for (text, expected) in [
            (&b"gfx90a:xnack-"[..], "gfx90a_xnack-"),
            (b"../../etc/passwd", "_.__.._etc_passwd"),
            (b"..", "__"),
            (b".hidden", "_hidden"),
            (b"a\0b\x1b[31m\n", "a_b__31m_"),
            (b"C:\\x*?<>|\"", "C__x______"),
            (b"x.", "x_"),
            ("gfx\u{202e}906".as_bytes(), "gfx_906"),
            (b"", ""),
        ] {
            let made = part(text);
            assert!(!made.contains(".."), "{made}");
            assert!(!made.contains('/'), "{made}");
            if !expected.contains("..") {
                assert_eq!(made, expected);
            }
        }
        assert_eq!(part(&[b'a'; 10_000]).len(), MOST);
    }

    #[test]
    fn files_are_not_called_as_devices() {
        for (file, expected) in [
            ("con", "_con"),
            ("NUL.o", "_NUL.o"),
            ("com1.so", "_com1.so"),
            ("-rf", "_-rf"),
            ("libfoo.so", "libfoo.so"),
        ] {
            assert_eq!(Names::new(file.as_bytes(), &mut Used::default()).file, expected);
        }
    }
}
