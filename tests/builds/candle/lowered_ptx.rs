//! The PTX of `candle-kernels` with its version lowered: which version each module needs, and what
//! the assemblers of that version and of today make of it.

use super::MODULES;
use offload_format::image::PtxHeader;
use offload_format::target::PtxVersion;
use offload_tests::prelude::*;
use offload_tests::published::{self, OLD_PTXAS};

/// The version that nvcc writes, as the tests' toolkit does.
const NEWEST: &str = "9.5";

/// The modules that convert numbers of 8 bits on compute capability 9.0, which PTX 8.1 has.
const NEWER: [&str; 5] = ["affine", "binary", "cast", "indexing", "unary"];

/// Checks the images of modules, which are named `affine.compute_80`. The assembler of each
/// image's version accepts the image. Today's makes the same machine code as of nvcc's own version.
pub fn assert_are_lowered(images: &BTreeMap<String, &[u8]>) {
    let folder = scratch::folder("candle-lowered");
    for (image, text) in images {
        let (module, target) = image.split_once('.').expect("a module and its target");
        assert!(MODULES.iter().any(|(known, _)| *known == module), "{module}");
        let is_newer = target == "compute_90" && NEWER.contains(&module);
        let expected = if is_newer { PtxVersion::new(8, 1) } else { PtxVersion::new(7, 8) };
        let header = PtxHeader::parse(text).expect("PTX has a header");
        assert_eq!(header.version(), expected, "{image}");

        let arch = target.replace("compute", "sm");
        let assemble = |ptxas: Command, name: &str, text: &[u8]| {
            // Cubins name their source, so all sources have the same name.
            let folder = folder.join(name);
            scratch::write(folder.join("k.ptx"), text);
            run(ptxas, &folder, &format!("-arch={arch} -O0 k.ptx -o k.cubin"));
            read(folder.join("k.cubin"))
        };
        let version = (expected.major, expected.minor);
        let (.., old) = OLD_PTXAS
            .iter()
            .find(|(major, minor, _)| (*major, *minor) == version)
            .expect("it is there");
        assemble(Command::new(published::path(old)), "old", text);
        let mut newest = text.to_vec();
        newest.splice(header.version_range(), NEWEST.bytes());
        let lowered = assemble(cuda("ptxas"), "lowered", text);
        let newest = assemble(cuda("ptxas"), "newest", &newest);
        // With line tables, a cubin contains the text, whose version has two digits.
        let others = lowered.iter().zip(&newest).filter(|(a, b)| a != b).count();
        assert!(lowered.len() == newest.len() && others <= 2, "{image}: {others} other bytes");
    }
}
