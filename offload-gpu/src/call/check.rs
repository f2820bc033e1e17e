//! Compares a program's declarations with the arguments in images at compile time.

use super::parameter::{Layout, ParameterKind, ParameterLayout};
use crate::pack::message::Message;
use offload_format::target::NVIDIA_PARAMETERS_ALIGN;
use offload_pack::pack_index::ArgumentKind;

/// A parameter that a program declares.
#[derive(Debug)]
pub struct Declaration {
    /// The kernel's name in images.
    pub kernel: &'static str,
    /// The parameter's number, counted from 1.
    pub number: usize,
    /// The parameter's name.
    pub name: &'static str,
    /// The layout of the parameter's type.
    pub layout: ParameterLayout,
}

/// A kernel's argument as an image describes it. Offsets and sizes are in bytes.
#[derive(Debug)]
pub struct Recorded {
    /// The target of the image.
    pub target: &'static str,
    /// The end of the previous argument.
    pub after: usize,
    /// The offset of the argument's first byte.
    pub offset: usize,
    /// The argument's size.
    pub size: usize,
    /// The kind of the argument's type.
    pub kind: ArgumentKind,
    /// Whether the argument may be at a later offset than its alignment requires: for example,
    /// NVIDIA's compilers align small structs to 4 bytes.
    pub may_be_moved: bool,
}

/// Compares parameter number `at`, counted from 0, with its record in each image.
///
/// # Panics
/// Panics if the record in an image contradicts the declared type.
#[track_caller]
pub const fn check<const N: usize>(declaration: &Declaration, images: &[[Recorded; N]], at: usize) {
    let mut i = 0;
    while i < images.len() {
        if let Some(problem) = problem(declaration, &images[i][at]) {
            panic!("{}", problem.as_str());
        }
        i += 1;
    }
}

impl<const N: usize> Layout<N> {
    /// Whether all of these images have the arguments at the offsets in this layout. With PTX, the
    /// result is false for alignments above `NVIDIA_PARAMETERS_ALIGN`, since such alignments make
    /// the offsets depend on the GPU.
    pub const fn is_of_all(&self, images: &[[Recorded; N]], has_ptx: bool) -> bool {
        let mut i = 0;
        while i < N {
            if has_ptx && self.parameters[i].align > NVIDIA_PARAMETERS_ALIGN as usize {
                return false;
            }
            let mut image = 0;
            while image < images.len() {
                if images[image][i].offset != self.offsets[i] {
                    return false;
                }
                image += 1;
            }
            i += 1;
        }
        true
    }
}

/// Returns a message about the first difference between the declaration and the image's record, if
/// there is one.
#[inline]
const fn problem(declaration: &Declaration, image: &Recorded) -> Option<Message> {
    let ParameterLayout { name, size, align, end, kind } = declaration.layout;
    let message = Message::new()
        .add("parameter ")
        .add_number(declaration.number)
        .add(", `")
        .add(declaration.name);
    let message = message
        .add("`, of the kernel `")
        .add(declaration.kernel)
        .add("` is declared as `")
        .add(name)
        .add("` (");
    let message =
        message.add_bytes(size).add("), but in the image for ").add(image.target).add(" it is ");
    // The image's size may omit the padding at the end of a struct.
    if image.size > size || image.size < end {
        return Some(message.add_bytes(image.size));
    }
    if matches!(image.kind, ArgumentKind::Float)
        && matches!(kind, ParameterKind::Integer | ParameterKind::Enum | ParameterKind::Pointer)
        && size > size_of::<u16>()
    {
        return Some(message.add("a floating-point number of ").add_bytes(image.size));
    }
    if matches!((image.kind, kind), (ArgumentKind::Pointer, ParameterKind::Float)) {
        return Some(message.add("a pointer of ").add_bytes(image.size));
    }
    let offset = image.after.next_multiple_of(align);
    let is_moved =
        image.may_be_moved && image.offset > offset && image.offset.is_multiple_of(align);
    // AMD's compilers align 128-bit integers to only 8 bytes in kernel arguments.
    let is_wide = matches!(kind, ParameterKind::Integer) && size == size_of::<u128>();
    let is_before = is_wide && image.offset == image.after.next_multiple_of(align_of::<u64>());
    if image.offset != offset && !is_moved && !is_before {
        let message = message.add("at offset ").add_number(image.offset).add(", not at offset ");
        let message = message.add_number(offset).add(", which an alignment of ").add_bytes(align);
        return Some(message.add(" requires"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::parameter::Parameter;
    use alloc::string::{String, ToString};

    const IMAGE: Recorded = Recorded {
        target: "gfx90a",
        after: 4,
        offset: 8,
        size: 8,
        kind: ArgumentKind::Any,
        may_be_moved: false,
    };

    fn problem_of<T: Parameter>(image: &Recorded) -> Option<String> {
        with_layout(T::LAYOUT, image)
    }

    fn with_layout(layout: ParameterLayout, image: &Recorded) -> Option<String> {
        let declaration = Declaration { kernel: "saxpy", number: 2, name: "a", layout };
        problem(&declaration, image).map(|message| message.as_str().to_string())
    }

    #[test]
    #[cfg_attr(target_arch = "x86", ignore = "numbers of 8 bytes are aligned to 4 there")]
    fn what_may_be_right_is_accepted() {
        // An image's record can match several declared types. An integer may contain an address or
        // the bits of a floating-point number. A struct or an array may contain a pointer.
        for image in [IMAGE, Recorded { kind: ArgumentKind::Pointer, ..IMAGE }] {
            assert_eq!(problem_of::<u64>(&image), None);
            assert_eq!(problem_of::<*const f32>(&image), None);
            assert_eq!(problem_of::<[*mut f32; 1]>(&image), None);
        }
        assert_eq!(problem_of::<f64>(&IMAGE), None);
        assert_eq!(problem_of::<f64>(&Recorded { kind: ArgumentKind::Float, ..IMAGE }), None);
        assert_eq!(
            problem_of::<u16>(&Recorded { size: 2, offset: 4, kind: ArgumentKind::Float, ..IMAGE }),
            None
        );
        assert_eq!(problem_of::<i128>(&Recorded { size: 16, offset: 8, ..IMAGE }), None);
        assert_eq!(
            problem_of::<[u8; 3]>(&Recorded { size: 3, offset: 8, may_be_moved: true, ..IMAGE }),
            None
        );
    }

    #[test]
    #[cfg_attr(target_arch = "x86", ignore = "numbers of 8 bytes are aligned to 4 there")]
    fn padding_at_the_end_may_be_left_out() {
        #[repr(C)]
        struct Padded(f64, f32);
        let layout =
            ParameterLayout::of_record::<Padded>("Padded", &[(0, f64::LAYOUT), (8, f32::LAYOUT)]);
        for size in [12, 16] {
            assert_eq!(with_layout(layout, &Recorded { size, ..IMAGE }), None);
        }
        assert!(with_layout(layout, &Recorded { size: 8, ..IMAGE }).is_some());
        assert!(with_layout(layout, &Recorded { size: 24, ..IMAGE }).is_some());
    }

    #[test]
    fn what_is_wrong_is_said() {
        let start = |ty: &str| {
            alloc::format!(
                "parameter 2, `a`, of the kernel `saxpy` is declared as `{ty}, but in the image for gfx90a it is "
            )
        };
        assert_eq!(problem_of::<f32>(&IMAGE).unwrap(), start("f32` (4 bytes)") + "8 bytes");
        let float = Recorded { kind: ArgumentKind::Float, ..IMAGE };
        assert_eq!(
            problem_of::<i64>(&float).unwrap(),
            start("i64` (8 bytes)") + "a floating-point number of 8 bytes"
        );
        let pointer = Recorded { kind: ArgumentKind::Pointer, ..IMAGE };
        assert_eq!(
            problem_of::<f64>(&pointer).unwrap(),
            start("f64` (8 bytes)") + "a pointer of 8 bytes"
        );
        let expected = "at offset 8, not at offset 4, which an alignment of 4 bytes requires";
        assert_eq!(
            problem_of::<[i32; 2]>(&IMAGE).unwrap(),
            start("an array` (8 bytes)") + expected
        );
    }
}
