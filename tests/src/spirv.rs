//! Writes SPIR-V modules that a build must refuse as supplied images.

use crate::scratch;
use std::path::Path;

const HEADER: [u32; 5] = [0x0723_0203, 0x0001_0400, 0, 2, 0];
const SHADER: [u32; 2] = [2 << 16 | 17, 1];
const KERNEL: [u32; 2] = [2 << 16 | 17, 6];
/// The kernel `k`, which requires no particular number of lanes.
const ENTRY: [u32; 4] = [4 << 16 | 15, 6, 1, 0x6b];

/// Writes `shader.spv`, `big_endian.spv` and `opencl.spv` into a folder.
pub fn write_refused(folder: &Path) {
    let write = |name: &str, parts: &[&[u32]], bytes: fn(u32) -> [u8; 4]| {
        let module: Vec<u8> = parts.concat().into_iter().flat_map(bytes).collect();
        scratch::write(folder.join(name), module);
    };
    write("shader.spv", &[&HEADER, &SHADER], u32::to_le_bytes);
    write("big_endian.spv", &[&HEADER, &KERNEL], u32::to_be_bytes);
    write("opencl.spv", &[&HEADER, &KERNEL, &ENTRY], u32::to_le_bytes);
}
