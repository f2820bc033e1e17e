//! What is known of modules and images while the program is compiled. The macro writes these
//! tables.

use super::registered;
use offload_format::pack_index::{Origin, PackImageKind};
use offload_format::select::Code;

/// What is known of one module at compile time. The macro writes it; programs use
/// [`Module`](super::Module).
#[derive(Debug, Clone, Copy)]
pub struct ModuleRecord {
    /// Its name.
    pub name: &'static str,
    /// Its first image, among those of all modules in file order.
    pub first: usize,
    /// How many images it has.
    pub count: usize,
    /// Its kernels for HIP's runtime, if the program registers them.
    pub registered: Option<&'static registered::Kernels>,
}

/// What is known of one image at compile time. The macro writes it; programs use
/// [`PackImage`](super::PackImage).
#[derive(Debug, Clone, Copy)]
pub struct ImageRecord {
    /// What was asked for: `gfx90a:xnack-`, `sm_80`, `compute_80`, `cpu`.
    pub target: &'static str,
    /// What the image is.
    pub kind: PackImageKind,
    /// Offset in bytes from the start of the pack; of a compressed one, in what comes out of the
    /// module's stream.
    pub offset: usize,
    /// Size in bytes.
    pub size: usize,
    /// Where it came from.
    pub origin: Origin,
    /// The names of its kernels in alphabetical order, as it has them: those of C++ mangled. `None`
    /// if nobody has read them, as those of an image for the CPU.
    pub kernels: Option<&'static [&'static str]>,
    /// What the rules of selection see: [`ImageRecord::code`] of `target` and `kind`.
    pub code: Code<'static>,
}

impl ImageRecord {
    /// What the rules of selection see, read while the program is compiled.
    ///
    /// # Panics
    /// If the target is malformed, which ends the compilation.
    pub const fn code(target: &'static str, kind: PackImageKind) -> Code<'static> {
        match Code::of_pack_image(target, kind) {
            Some(code) => code,
            None => panic!("a target of the pack is malformed: build it again"),
        }
    }

    /// What is wrong with the place where it lies in a pack of `size` bytes.
    pub(crate) const fn problem(&self, size: usize) -> Option<&'static str> {
        if self.offset > size {
            return Some("an image starts past the end of its pack");
        }
        if self.size > size - self.offset {
            return Some("an image ends past the end of its pack");
        }
        // What `PackImage::as_ptr` promises to drivers.
        match self.kind {
            PackImageKind::Ptx { .. } if self.size == size - self.offset => {
                Some("no NUL can follow PTX at the end of its pack")
            }
            PackImageKind::Ptx { .. } => None,
            _ if self.offset.is_multiple_of(8) => None,
            _ => Some("an image is not aligned in its pack"),
        }
    }
}
