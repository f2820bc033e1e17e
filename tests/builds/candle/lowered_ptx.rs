//! The PTX of `candle-kernels` after the build has lowered its version. Tests which PTX version
//! each module needs, and that the assembler of this version and today's assembler accept the PTX.

use super::MODULES;
use crate::nvcc::lowered_ptx::assert_is_lowered;
use offload_format::target::PtxVersion;
use offload_tests::prelude::*;

/// The modules that convert 8-bit numbers on compute capability 9.0. Such conversions need PTX 8.1.
const NEWER: [&str; 5] = ["affine", "binary", "cast", "indexing", "unary"];

/// Checks modules' images, which are named like `affine.compute_80`.
pub fn assert_are_lowered(images: &BTreeMap<String, &[u8]>) {
    let folder = scratch::folder("candle-lowered");
    for (image, text) in images {
        let (module, target) = image.split_once('.').expect("a module and its target");
        assert!(MODULES.iter().any(|(known, _)| *known == module), "{module}");
        let is_newer = target == "compute_90" && NEWER.contains(&module);
        let expected = if is_newer { PtxVersion::new(8, 1) } else { PtxVersion::new(7, 8) };
        assert_is_lowered(&folder.join(image), target, text, expected);
    }
}
