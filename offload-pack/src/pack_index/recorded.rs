//! Converts an image's kernels to kernels of the index.

use super::{ArgumentKind, IndexArgument, IndexKernel, Limits};
use alloc::string::ToString;
use alloc::vec::Vec;
use offload_format::image::{Argument, Kernel};

impl IndexKernel {
    /// Converts an image's kernels to kernels of the index, in alphabetical order and without
    /// duplicates.
    pub fn in_order<'data>(kernels: impl Iterator<Item = Kernel<'data>>) -> Vec<Self> {
        let mut all = Vec::new();
        for kernel in kernels {
            all.push(Self::of(kernel));
        }
        Self::sort(&mut all);
        all
    }

    /// Sorts kernels, and removes duplicates. This function is not generic, so it is compiled only
    /// once.
    fn sort(all: &mut Vec<Self>) {
        all.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        all.dedup_by(|one, other| one.name == other.name);
    }

    fn of(kernel: Kernel<'_>) -> Self {
        let mut arguments = Vec::new();
        for argument in kernel.arguments {
            if !argument.is_hidden() {
                arguments.push(IndexArgument::of(argument));
            }
        }
        // Handwritten images may contain the total size of the arguments but no list of them, in
        // which case the arguments are unknown.
        let is_known = !arguments.is_empty() || kernel.arguments_size.is_none_or(|size| size == 0);
        let limits = Limits {
            max_threads: kernel.max_threads,
            required_block: kernel.required_block,
            shared_memory: kernel.shared_memory,
            wavefront_size: kernel.wavefront_size,
        };
        Self { name: kernel.name.to_string(), limits, arguments: is_known.then_some(arguments) }
    }
}

impl IndexArgument {
    fn of(Argument { offset, size, value_kind, type_name, .. }: Argument<'_>) -> Self {
        let kind = match (value_kind, type_name) {
            (Some("global_buffer" | "dynamic_shared_pointer"), _) => ArgumentKind::Pointer,
            // This is PTX's type name. OpenCL C has different type names, but AMD images from
            // OpenCL C also have a `value_kind`.
            (None, Some("f16" | "f32" | "f64")) => ArgumentKind::Float,
            _ => ArgumentKind::Any,
        };
        Self { offset, size, kind }
    }
}
