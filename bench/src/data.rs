//! Generates the files that the benches read.

use offload_format::bundle::{Bundle, BundleBuilder, HIP_ALIGN, HIP_ENTRY_PREFIX};
use offload_format::compressed::Found;
use offload_format::fat_file::{Content, find};
use offload_format::layout::Piece;
use std::fs::File;
use std::io::{BufWriter, Result, Write};
use std::path::PathBuf;

/// How many bundles [`section`] writes.
pub const BUNDLES: usize = 95;

/// The approximate total size of all bundles in bytes.
pub const SECTION_SIZE: usize = 490_000_000;

/// Returns the folder for the benches' files, inside Cargo's target folder.
pub fn folder() -> PathBuf {
    let exe = std::env::current_exe().expect("a program knows its path");
    let folder =
        exe.ancestors().nth(2).expect("a program lies in <target>/<profile>").join("offload-bench");
    std::fs::create_dir_all(&folder).expect("the target folder can be written");
    folder
}

/// The processors of the code objects in each bundle.
pub const PROCESSORS: [&str; 4] = ["gfx906", "gfx90a", "gfx942", "gfx1100"];

/// A pseudo-random generator that yields the same numbers in every run: the upper half of a linear
/// congruential generator's state.
pub struct Generator(pub u64);

impl Generator {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 32
    }

    /// Returns `size` bytes. About `fresh` percent of the bytes are new; the rest repeat earlier
    /// ones.
    pub fn code(&mut self, size: usize, fresh: u64) -> Vec<u8> {
        const STRETCH: usize = 512;
        let mut out: Vec<u8> = Vec::with_capacity(size);
        while out.len() < size {
            let stretch = STRETCH.min(size - out.len());
            if out.len() < 16 * STRETCH || self.next() % 100 < fresh {
                out.extend((0..stretch).map(|_| self.next() as u8));
            } else {
                let from = self.next() as usize % (out.len() - stretch);
                out.extend_from_within(from..from + stretch);
            }
        }
        out
    }
}

/// Writes a bundle with one code object for each of [`PROCESSORS`]. `code` contains the code
/// objects, in the same order.
pub fn write_bundle(out: &mut impl Write, code: &[&[u8]]) -> Result<()> {
    let mut builder = BundleBuilder::hip();
    for (processor, code) in PROCESSORS.iter().zip(code) {
        builder
            .entry(&format!("{HIP_ENTRY_PREFIX}{processor}"), code.len() as u64)
            .expect("entries differ");
    }
    for piece in builder.layout().pieces() {
        match piece {
            Piece::Bytes(bytes) => out.write_all(bytes)?,
            Piece::Zeros(size) => {
                std::io::copy(&mut std::io::Read::take(std::io::repeat(0), *size), out).map(drop)?
            }
            Piece::Payload { index, .. } => {
                out.write_all(if *index == 0 { &[] } else { code[*index - 1] })?
            }
        }
    }
    Ok(())
}

/// Writes the section to a file, and returns the path. The section consists of consecutive bundles,
/// each aligned to 4096 bytes.
pub fn section() -> Result<PathBuf> {
    let path = folder().join("section");
    let each = SECTION_SIZE / BUNDLES / PROCESSORS.len() - 3 * HIP_ALIGN as usize / 2;
    let code = Generator(1).code(each, 30);
    let mut out = BufWriter::new(File::create(&path)?);
    let mut written = 0;
    for _ in 0..BUNDLES {
        let mut bundle = Vec::new();
        write_bundle(&mut bundle, &[code.as_slice(); PROCESSORS.len()])?;
        bundle.resize(bundle.len().next_multiple_of(HIP_ALIGN as usize), 0);
        out.write_all(&bundle)?;
        written += bundle.len();
    }
    out.flush()?;
    println!("  {}: {written} bytes, {BUNDLES} bundles", path.display());
    Ok(path)
}

/// Passes each uncompressed bundle of a well-formed file to `each`.
pub fn bundles<'a>(file: &'a [u8], mut each: impl FnMut(Bundle<'a>)) {
    find(file, |_, container| {
        let Ok(Content::Container(_, section)) = container else { return };
        for (_, found) in Found::in_a_row(section, 0).flatten() {
            if let Found::Plain(bundle) = found {
                each(bundle);
            }
        }
    });
}
