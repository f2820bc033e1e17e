//! Compares each kernel's parameters across the images of a module. A launch passes the same
//! arguments to every image, so the parameters must agree.

use crate::describe::KernelRecord;
use crate::text::{escaped_str, shortened};
use offload_format::inventory::{self, Container, ContainerKind, Image, ImageKind};
use offload_format::target::Vendor;
use std::collections::{BTreeMap, BTreeSet};

/// The kernels that were read so far from the images at one place.
#[derive(Debug, Default)]
pub(super) struct Parameters {
    place: Place,
    /// The images' modules and targets.
    images: BTreeSet<(String, String)>,
    /// The different layouts of each kernel in a module.
    kernels: BTreeMap<(String, String), Vec<Layout>>,
}

/// The common place of the images in a pack or another container: the slice, the member, the
/// section and the container's number. The number is `None` for offload binaries, of which a pack
/// contains several in a row, one per target.
type Place = (Option<u32>, Option<Vec<u8>>, Option<Vec<u8>>, Option<usize>);

/// A kernel's parameters, and the first image with this layout.
#[derive(Debug)]
struct Layout {
    target: String,
    may_move: bool,
    kernel: KernelRecord,
}

/// The maximum number of layouts of one kernel; further layouts are not reported.
const MOST_LAYOUTS: usize = 8;
/// The maximum length of a name in a message: mangled names may have any length.
const LONGEST_NAME: usize = 200;

impl Parameters {
    /// Compares an image's kernels with those of earlier images. Returns a message for each kernel
    /// with different parameters. `number` is the number of the image's container.
    pub(super) fn compare(
        &mut self,
        (number, container): (usize, &Container<'_>),
        image: &Image<'_>,
        kind: ImageKind,
        kernels: Vec<KernelRecord>,
    ) -> Vec<String> {
        let inventory::Place { slice, member, section, .. } = container.place;
        let number = (container.kind != ContainerKind::OffloadBinary).then_some(number);
        let place: Place = (slice, member.map(<[u8]>::to_vec), section.map(<[u8]>::to_vec), number);
        let (module, target) = (image.module.as_deref().unwrap_or_default(), image.label());
        let is_new = self.images.insert((module.to_owned(), target.to_owned()));
        // If a target occurs again, its image belongs to another pack, which a linker has placed
        // after the first one.
        if self.place != place || !is_new {
            *self = Self { place, ..Self::default() };
            self.images.insert((module.to_owned(), target.to_owned()));
        }
        let may_move = kind.vendor().is_some_and(Vendor::moves_parameters);
        let mut found = Vec::new();
        for kernel in kernels {
            let layouts = self.kernels.entry((module.to_owned(), kernel.name.clone())).or_default();
            let layout = Layout { target: target.to_owned(), may_move, kernel };
            if layouts.len() >= MOST_LAYOUTS
                || layouts.iter().any(|other| layout.agrees_with(other))
            {
                continue;
            }
            found.extend(layouts.first().map(|first| layout.unlike(first)));
            layouts.push(layout);
        }
        found
    }
}

impl Layout {
    /// Whether one launch can be correct for both layouts.
    fn agrees_with(&self, other: &Self) -> bool {
        let (one, two) = (&self.kernel.parameters, &other.kernel.parameters);
        let mut shift = 0;
        one.len() == two.len()
            && one.iter().zip(two).all(|(one, two)| {
                let difference = i128::from(one.offset) - i128::from(two.offset);
                // On NVIDIA's GPUs, parameters start at a multiple of 16 that differs between
                // architectures, so the offset of a parameter aligned to more than 16 bytes
                // differs, too.
                let may_move = self.may_move || other.may_move;
                if may_move && one.offset.is_multiple_of(16) && two.offset.is_multiple_of(16) {
                    shift = difference;
                }
                one.size == two.size && difference == shift
            })
    }

    fn unlike(&self, first: &Self) -> String {
        let name = escaped_str(&self.kernel.name);
        format!(
            "the kernel {} has the parameters {}, but {} in the image for {}",
            shortened(&name, LONGEST_NAME),
            self.kernel.sizes(),
            first.kernel.sizes(),
            shortened(&escaped_str(&first.target), LONGEST_NAME)
        )
    }
}
