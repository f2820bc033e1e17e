//! Types of declared parameters, and their layouts.

use crate::types::{Bool, Pointer};
use core::mem::MaybeUninit;

/// A type that a kernel takes by value, directly or in a struct: a number, a pointer, an array of
/// these, or a struct or enum that derives this trait.
///
/// ```
/// use offload_gpu::Parameter;
///
/// #[derive(Clone, Copy, Parameter)]
/// #[repr(C)]
/// struct Range {
///     first: i32,
///     count: i64,
/// }
/// ```
///
/// Derive it for structs that declared kernels take by value (`extern` in
/// [`include_kernels!`](crate::include_kernels)), and for structs that replace a kernel's structs
/// (`use`). Each field, and each type parameter of a generic struct, has to be a `Parameter`, too.
/// Enums without fields, which are integers in C++, can also derive it:
///
/// ```
/// # use offload_gpu::Parameter;
/// #[derive(Clone, Copy, Parameter)]
/// #[repr(C)]
/// enum Kind {
///     Min,
///     Max,
/// }
///
/// #[derive(Clone, Copy, Parameter)]
/// #[repr(C)]
/// struct Clamp<T> {
///     kind: Kind,
///     limit: T,
/// }
/// ```
///
/// The struct has to be `repr(C)` or `repr(transparent)`, since otherwise Rust may reorder the
/// fields. The following struct does not compile:
///
/// ```compile_fail
/// #[derive(Clone, Copy, offload_gpu::Parameter)]
/// struct Range {
///     first: i32,
///     count: i64,
/// }
/// ```
///
/// If the crate has a different name than `offload_gpu`, set its path with
/// `#[offload(crate = ::gpu::offload_gpu)]`.
///
/// Source: the sizes and alignments of C types, which are the same in code for the host, for AMD's
/// GPUs and for NVIDIA's GPUs (LLVM's AMDGPUUsage, NVIDIA's CUDA C++ Programming Guide).
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a kernel parameter",
    label = "not a number, a pointer or a struct that derives `Parameter`",
    note = "for a struct, add #[derive(Clone, Copy, offload_gpu::Parameter)] #[repr(C)]"
)]
pub trait Parameter: Copy {
    /// The layout of the type in device memory.
    #[doc(hidden)]
    const LAYOUT: ParameterLayout;
}

/// A [`Parameter`] for parameter `NUMBER`, called `Name`, of the kernel `Kernel`. In the images,
/// the argument has `BYTES` bytes.
#[diagnostic::on_unimplemented(
    message = "parameter {NUMBER}, `{Name}`, of the kernel `{Kernel}` is {BYTES} bytes in the images: `{Self}` cannot be its type",
    label = "not a number, a pointer or a struct that derives `Parameter`",
    note = "for a struct, add #[derive(Clone, Copy, offload_gpu::Parameter)] #[repr(C)]"
)]
pub trait DeclaredParameter<Kernel, Name, const NUMBER: usize, const BYTES: usize> {
    /// The layout of the type in device memory.
    const LAYOUT: ParameterLayout;
}

#[diagnostic::do_not_recommend]
impl<T: Parameter, Kernel, Name, const NUMBER: usize, const BYTES: usize>
    DeclaredParameter<Kernel, Name, NUMBER, BYTES> for T
{
    const LAYOUT: ParameterLayout = <T as Parameter>::LAYOUT;
}

/// The layout of a type. Sizes are in bytes.
#[derive(Debug, Clone, Copy)]
pub struct ParameterLayout {
    /// The name of the type, for messages.
    pub(super) name: &'static str,
    pub(super) size: usize,
    pub(super) align: usize,
    /// The offset of the end of the last field; padding may follow.
    pub(super) end: usize,
    pub(super) kind: ParameterKind,
}

/// The kind of a type.
#[derive(Debug, Clone, Copy)]
pub(super) enum ParameterKind {
    Float,
    /// An integer or `bool`.
    Integer,
    /// An 8- or 16-bit number that programs represent by its bits.
    Bits,
    /// An integer with named values.
    Enum,
    Pointer,
    /// An array of this type, or a vector.
    Array(&'static ParameterLayout),
    /// A struct. Its fields have these offsets in bytes.
    Record(&'static [(usize, ParameterLayout)]),
}

impl ParameterLayout {
    const fn of<T>(name: &'static str, kind: ParameterKind) -> Self {
        let size = size_of::<T>();
        Self { name, size, align: align_of::<T>(), end: size, kind }
    }

    /// Returns the layout of an enum without fields. Only macro expansions use it.
    pub const fn of_enum<T>(name: &'static str) -> Self {
        Self::of::<T>(name, ParameterKind::Enum)
    }

    /// Returns the layout of a struct whose fields are at these offsets. Only macro expansions use
    /// it.
    pub const fn of_record<T>(name: &'static str, fields: &'static [(usize, Self)]) -> Self {
        let (mut end, mut i) = (0, 0);
        while i < fields.len() {
            let end_of_field = fields[i].0 + fields[i].1.size;
            if end < end_of_field {
                end = end_of_field;
            }
            i += 1;
        }
        Self { end, ..Self::of::<T>(name, ParameterKind::Record(fields)) }
    }

    /// Returns the layout of an array. Only macro expansions use it.
    pub const fn of_array(item: &'static Self, count: usize) -> Self {
        let size = item.size * count;
        Self { size, end: size, kind: ParameterKind::Array(item), ..*item }
    }

    /// Returns the layout of a number that programs represent by its bits.
    pub(crate) const fn of_bits<T>(name: &'static str) -> Self {
        Self::of::<T>(name, ParameterKind::Bits)
    }

    /// Returns the layout of a vector whose elements have the layout `number`.
    pub(crate) const fn of_vector<T>(name: &'static str, number: &'static Self) -> Self {
        Self::of::<T>(name, ParameterKind::Array(number))
    }
}

/// The offsets of a kernel's arguments, in bytes.
#[derive(Debug)]
pub struct Layout<const N: usize> {
    /// The layout of each parameter.
    pub parameters: [ParameterLayout; N],
    /// The offset of each argument.
    pub offsets: [usize; N],
    /// The end of the last argument.
    pub bytes: usize,
}

/// Lays out arguments, each at the next multiple of its alignment.
pub const fn layout<const N: usize>(parameters: [ParameterLayout; N]) -> Layout<N> {
    let (mut offsets, mut bytes, mut i) = ([0; N], 0_usize, 0);
    while i < N {
        offsets[i] = bytes.next_multiple_of(parameters[i].align);
        bytes = offsets[i] + parameters[i].size;
        i += 1;
    }
    Layout { parameters, offsets, bytes }
}

macro_rules! impl_parameter {
    ($($kind:expr => { $([$($generics:tt)*] $ty:ty, $name:expr;)* })*) => {$($(
        impl<$($generics)*> Parameter for $ty {
            const LAYOUT: ParameterLayout = ParameterLayout::of::<$ty>($name, $kind);
        }
    )*)*};
}

impl_parameter! {
    ParameterKind::Float => {
        [] f32, "f32";
        [] f64, "f64";
    }
    ParameterKind::Integer => {
        [] bool, "bool";
        [] i8, "i8";
        [] u8, "u8";
        [] i16, "i16";
        [] u16, "u16";
        [] i32, "i32";
        [] u32, "u32";
        [] i64, "i64";
        [] u64, "u64";
        [] i128, "i128";
        [] u128, "u128";
        [] isize, "isize";
        [] usize, "usize";
    }
    ParameterKind::Bits => {
        [] Bool, "Bool";
    }
    ParameterKind::Pointer => {
        [T] *const T, "*const _";
        [T] *mut T, "*mut _";
        [T] Pointer<T>, "Pointer";
    }
    ParameterKind::Array(&T::LAYOUT) => {
        [T: Parameter, const N: usize] [T; N], "an array";
        [T: Parameter] MaybeUninit<T>, "MaybeUninit";
    }
}

#[cfg(feature = "half")]
impl_parameter! {
    ParameterKind::Bits => {
        [] half::f16, "f16";
        [] half::bf16, "bf16";
    }
}
