//! Composite names of ARM's architectures: `arm`, `thumb` or `aarch64`, an optional byte order, and
//! a version.
//!
//! The meanings are what LLVM 22.1.8 returns for each name, and the names themselves come from the
//! code of LLVM's ARMTargetParser.

/// Name prefixes, each with the architecture in both byte orders. Longer prefixes precede their own
/// prefixes, so that they are found first.
const STARTS: &[(&str, [&str; 2])] = &[
    ("aarch64_32", AARCH64),
    ("aarch64", AARCH64),
    ("arm64_32", AARCH64),
    ("arm64e", AARCH64),
    ("arm64", AARCH64),
    ("arm", ["arm", "armeb"]),
    ("thumb", THUMB),
];
const AARCH64: [&str; 2] = ["aarch64", "aarch64_be"];
const THUMB: [&str; 2] = ["thumb", "thumbeb"];

/// Versions, each with its sub-architecture. A version in a name selects the first row that ends
/// with this version.
const VERSIONS: &[(&str, &str)] = &[
    ("v4", ""),
    ("v4t", "v4t"),
    ("v5t", "v5"),
    ("v5te", "v5te"),
    ("v5tej", "v5te"),
    ("v6", "v6"),
    ("v6k", "v6k"),
    ("v6t2", "v6t2"),
    ("v6kz", "v6k"),
    (V6M, "v6m"),
    ("v7-a", "v7"),
    ("v7ve", "v7ve"),
    ("v7-r", "v7"),
    ("v7-m", "v7m"),
    ("v7e-m", "v7em"),
    ("v8-a", "v8"),
    ("v8.1-a", "v8.1a"),
    ("v8.2-a", "v8.2a"),
    ("v8.3-a", "v8.3a"),
    ("v8.4-a", "v8.4a"),
    ("v8.5-a", "v8.5a"),
    ("v8.6-a", "v8.6a"),
    ("v8.7-a", "v8.7a"),
    ("v8.8-a", "v8.8a"),
    ("v8.9-a", "v8.9a"),
    ("v9-a", "v9"),
    ("v9.1-a", "v9.1a"),
    ("v9.2-a", "v9.2a"),
    ("v9.3-a", "v9.3a"),
    ("v9.4-a", "v9.4a"),
    ("v9.5-a", "v9.5a"),
    ("v9.6-a", "v9.6a"),
    ("v9.7-a", "v9.7a"),
    ("v8-r", "v8r"),
    ("v8-m.base", "v8m.base"),
    ("v8-m.main", "v8m.main"),
    ("v8.1-m.main", "v8.1m.main"),
    ("iwmmxt", "v5te"),
    ("iwmmxt2", "v5te"),
    ("xscale", "v5te"),
    ("v7s", "v7s"),
    ("v7k", "v7k"),
];

/// The only version with nothing but Thumb instructions, so its architecture is `thumb` even if the
/// name starts with `arm`.
const V6M: &str = "v6-m";

/// Other names of versions. Forms without the dash (`v8.2a`) are not listed, because
/// `is_without_dash` recognizes them.
const SYNONYMS: &[(&str, &str)] = &[
    ("v5", "v5t"),
    ("v5e", "v5te"),
    ("v6j", "v6"),
    ("v6hl", "v6k"),
    ("v6sm", V6M),
    ("v6s-m", V6M),
    ("v6z", "v6kz"),
    ("v6zk", "v6kz"),
    ("v7", "v7-a"),
    ("v7hl", "v7-a"),
    ("v7l", "v7-a"),
    ("v8", "v8-a"),
    ("v8l", "v8-a"),
    ("v9", "v9-a"),
];

pub(super) fn architecture(name: &str) -> Option<&'static str> {
    let (_, orders) = STARTS.iter().find(|(start, _)| name.starts_with(start))?;
    let version = version(name)?;
    if *orders == THUMB && (version.starts_with("v2") || version.starts_with("v3")) {
        return None;
    }
    let is_v6m = find(version).is_some_and(|(name, _)| *name == V6M);
    let orders = if is_v6m { THUMB } else { *orders };
    let big = ["armeb", "thumbeb", "aarch64_be"].iter().any(|start| name.starts_with(start))
        || !name.starts_with("aarch64") && name.ends_with("eb");
    Some(orders[usize::from(big)])
}

/// Returns the sub-architecture for the version in a name; empty if the version is missing or
/// unknown.
#[cfg(feature = "packs")]
#[inline]
pub(super) fn sub_architecture(name: &str) -> &str {
    match name {
        "arm64e" | "arm64ec" => name,
        "aarch64" | "arm64" => "v8",
        "xscale" | "xscaleeb" => "v5te",
        _ => version(name)
            .filter(|version| !version.is_empty())
            .and_then(find)
            .map_or("", |(_, sub)| *sub),
    }
}

/// Returns the version in a name, which may be empty; `None` if anything else follows the prefix.
fn version(name: &str) -> Option<&str> {
    let (start, _) = STARTS.iter().find(|(start, _)| name.starts_with(start))?;
    let mut rest = &name[start.len()..];
    if *start == "aarch64" {
        if has_eb(name) {
            return None;
        }
        rest = rest.strip_prefix("_be").unwrap_or(rest);
    }
    rest = rest.strip_prefix("eb").or_else(|| rest.strip_suffix("eb")).unwrap_or(rest);
    // LLVM accepts any single letter as a version.
    let is_version = rest.len() < 2 || rest.starts_with('v') && rest.as_bytes()[1].is_ascii_digit();
    (is_version && !has_eb(rest)).then_some(rest)
}

/// Whether the name contains the big-endian mark `eb`.
fn has_eb(name: &str) -> bool {
    name.as_bytes().windows(2).any(|two| two == b"eb")
}

fn find(version: &str) -> Option<&'static (&'static str, &'static str)> {
    let synonym = SYNONYMS.iter().find(|(synonym, _)| *synonym == version).map(|(_, name)| *name);
    let version = synonym.unwrap_or(version);
    VERSIONS.iter().find(|(name, _)| name.ends_with(version) || is_without_dash(version, name))
}

/// Whether `version` is `name` without its dash, such as `v8.2a` for `v8.2-a`.
fn is_without_dash(version: &str, name: &str) -> bool {
    name.split_once('-')
        .is_some_and(|(before, behind)| version.strip_prefix(before) == Some(behind))
}
