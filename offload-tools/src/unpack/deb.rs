//! Unpacks Debian packages, which are `ar` archives that contain tar archives.

use super::budget::Budget;
use super::codec::Codec;
use super::{Found, Visit, tar, unopened};
use offload_format::archive::Archive;

/// Unpacks the files that the package installs. Other members, such as `control.tar`, contain no
/// device code.
pub(super) fn walk<E>(bytes: &[u8], budget: &Budget, visit: &mut Visit<'_, E>) -> Result<(), E> {
    let mut problem = |text: String| visit(Found::Problem { name: b"", text });
    let archive = match Archive::parse(bytes) {
        Ok(archive) => archive,
        Err(error) => return problem(error.to_string()),
    };
    let member = archive.members().find(|member| member.name.starts_with(b"data.tar"));
    let Some((name, data)) = member.and_then(|member| Some((member.name, member.data?))) else {
        return problem(
            "the package is damaged: data.tar, which contains its files, is missing".to_owned(),
        );
    };
    match Codec::of(data) {
        Some(codec) => tar::walk(&mut budget.limited(codec.reader(data)), true, visit),
        None if tar::is_start(data) || data.is_empty() => {
            tar::walk(&mut budget.limited(data), false, visit)
        }
        None => {
            let what = unopened(data).unwrap_or("in an unknown format");
            let text = format!(
                "is {what}, which offload cannot open; unpack the package with dpkg-deb --extract"
            );
            visit(Found::Problem { name, text })
        }
    }
}
