//! Writes a fatbin, reads it back, and compares the result with the input.
#![no_main]

use offload_format::nv_fatbin::{HostOs, NvFatbin, NvFatbinBuilder};
use offload_format::target::NvidiaArch;

const CUBIN: &[u8] = include_bytes!("../../examples/saxpy/prebuilt/saxpy.sm_90.cubin");

libfuzzer_sys::fuzz_target!(|input: Vec<(u8, bool, Vec<u8>)>| {
    let mut builder = NvFatbinBuilder::new(HostOs::Linux);
    let mut expected: Vec<Vec<u8>> = Vec::new();
    for (number, is_ptx, bytes) in &input {
        let image = if *is_ptx {
            let text: String = bytes.iter().map(|byte| char::from(byte % 96 + 32)).collect();
            format!(".version 8.{}\n.target sm_90\n.address_size 64\n{text}", number % 9)
                .into_bytes()
        } else {
            [CUBIN, bytes].concat()
        };
        let added = if *is_ptx {
            builder.ptx(&image).is_ok()
        } else {
            builder.cubin(NvidiaArch::parse("sm_90").unwrap(), &image).is_ok()
        };
        if added {
            expected.push(image);
        }
    }
    let payloads: Vec<&[u8]> = expected.iter().map(Vec::as_slice).collect();
    let bytes = builder.layout().to_vec(&payloads);
    let fatbin = NvFatbin::parse(&bytes).unwrap();
    assert_eq!(fatbin.size(), bytes.len() as u64);
    let stored: Vec<&[u8]> = fatbin.entries().map(|entry| entry.stored).collect();
    assert_eq!(stored.len(), expected.len());
    for (stored, image) in stored.iter().zip(&expected) {
        // The fatbin may store zeros after the image, up to a multiple of eight bytes.
        assert!(stored.starts_with(image));
        assert!(stored[image.len()..].iter().all(|byte| *byte == 0));
    }
});
