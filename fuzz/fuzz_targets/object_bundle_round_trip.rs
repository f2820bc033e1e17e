//! Adds a bundle to a host object, and reads the bundle back. Also checks that adding and removing
//! another bundle leaves a host object unchanged.
#![no_main]

use offload_format::bundle::BundleBuilder;
use offload_format::object_bundle::{ObjectBundle, bundle, strip};
use offload_fuzz::taken;

libfuzzer_sys::fuzz_target!(|input: (bool, Vec<(u8, Vec<u8>)>)| {
    let (elf, entries) = input;
    let host: &[u8] = if elf {
        include_bytes!("../../tests/corpus/object_bundle/host.o")
    } else {
        include_bytes!("../../tests/corpus/fat_file/llvm_offloading.obj")
    };
    let mut builder = BundleBuilder::new();
    let expected = taken(&entries, |id, size| builder.entry(id, size).is_ok());
    let payloads: Vec<&[u8]> = expected.iter().map(|(_, code_object)| *code_object).collect();
    let fat = bundle(host, &builder).unwrap().to_vec(&payloads);
    let found: Vec<_> = ObjectBundle::parse(&fat).unwrap().entries().collect();
    assert_eq!(found.len(), expected.len());
    for (entry, (id, code_object)) in found.iter().zip(&expected) {
        assert_eq!(entry.id_str, id);
        assert!(entry.is_host_placeholder() || entry.code_object == *code_object);
        assert_eq!(entry.is_host_placeholder(), id.starts_with("host-"));
    }
    // The first call of `bundle` may change other parts of the host object, so compare the results
    // of two calls of `strip`.
    let stripped = strip(&fat).unwrap();
    let again = bundle(&stripped, &builder).unwrap().to_vec(&payloads);
    assert_eq!(strip(&again).unwrap(), stripped);
});
