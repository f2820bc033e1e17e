//! Copies the containers' information about images to the listing.

use super::Image;
use crate::bundle::EntryId;
use crate::offload_binary;
use alloc::borrow::{Cow, ToOwned};
use alloc::string::{String, ToString};
use core::ops::Range;

/// Copies a bundle entry ID and its parts to the image: offload kind, triple and target ID.
pub(super) fn name<'a>(image: &mut Image<'a>, id: Cow<'a, str>) {
    let part = |range: Range<usize>| match &id {
        Cow::Borrowed(id) => Cow::Borrowed(&id[range]),
        Cow::Owned(id) => Cow::Owned(id[range].to_owned()),
    };
    if let Ok(parsed) = EntryId::parse(&id) {
        let kind = parsed.kind().len();
        // Old compilers wrote a dash after the target ID.
        let before = [id.as_ref(), id.trim_end_matches('-')]
            .into_iter()
            .find_map(|it| it.strip_suffix(parsed.target()));
        let target = before.map_or(id.len(), str::len);
        let triple = id[..target].trim_end_matches('-').len();
        if before.is_some() && !parsed.target().is_empty() {
            image.target_id = Some(part(target..target + parsed.target().len()));
        }
        if triple > kind + 1 {
            image.triple = Some(part(kind + 1..triple));
        }
        image.offload_kind = Some(part(0..kind));
    }
    image.entry_id = Some(id);
}

/// Copies an offload binary's information about an image to `image`. Replaces invalid UTF-8, and
/// ignores empty strings.
pub(super) fn describe<'b, 'a: 'b>(
    image: &mut Image<'a>,
    found: &offload_binary::Image<'b>,
    keep: fn(Cow<'b, str>) -> Cow<'a, str>,
) {
    let bytes = |key| found.bytes(key).filter(|value| !value.is_empty());
    let string = |key| bytes(key).map(String::from_utf8_lossy).map(keep);
    image.offload_kind = Some(Cow::Owned(found.offload_kind.to_string()));
    image.module = string("module");
    image.triple = string("triple");
    image.target_id = string("arch");
}

#[cfg(test)]
mod tests {
    use super::super::image::Bytes;
    use super::*;

    #[test]
    fn entry_ids_are_taken_apart() {
        for (id, kind, triple, target) in [
            (
                "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-",
                "hipv4",
                "amdgcn-amd-amdhsa",
                "gfx90a:xnack-",
            ),
            ("hip-amdgcn-amd-amdhsa-gfx906", "hip", "amdgcn-amd-amdhsa", "gfx906"),
            ("hip-amdgpu9.06-amd-amdhsa--gfx906", "hip", "amdgpu9.06-amd-amdhsa", "gfx906"),
            ("hip-amdgcn-amd-amdhsa--gfx11-generic", "hip", "amdgcn-amd-amdhsa", "gfx11-generic"),
            ("openmp-nvptx64-nvidia-cuda-sm_70-", "openmp", "nvptx64-nvidia-cuda", "sm_70"),
            ("openmp-nvptx64-nvidia-cuda--sm_70", "openmp", "nvptx64-nvidia-cuda", "sm_70"),
            ("host-x86_64-unknown-linux-gnu-", "host", "x86_64-unknown-linux-gnu", ""),
            ("host-x86_64-unknown-linux", "host", "x86_64-unknown-linux", ""),
            (
                "hip-amdgcn-amd-amdhsa--gfx\u{fffd}9-\u{fffd}-",
                "hip",
                "amdgcn-amd-amdhsa",
                "gfx\u{fffd}9-\u{fffd}-",
            ),
            ("hip-a-----", "hip", "a", "-"),
            ("nonsense", "", "", ""),
        ] {
            for text in [Cow::Borrowed(id), Cow::Owned(id.to_owned())] {
                let mut image = Image::new(0, Bytes::Here(b""), 0);
                name(&mut image, text);
                let part = |text: &Option<Cow<'_, str>>| text.as_deref().unwrap_or("").to_owned();
                let found =
                    (part(&image.offload_kind), part(&image.triple), part(&image.target_id));
                assert_eq!(found, (kind.to_owned(), triple.to_owned(), target.to_owned()), "{id}");
            }
        }
    }
}
