//! Malicious bundles in cuda-oxide's format. `golden` covers all fields of the corpus's bundles,
//! which cuda-oxide wrote.

use offload_format::ErrorKind;
use offload_format::oxart::{Oxart, PayloadKind};
use offload_tests::prelude::*;

fn kind(bytes: &[u8]) -> ErrorKind {
    Oxart::parse(bytes).map(|_| ()).unwrap_err().kind()
}

#[test]
fn headers_that_are_wrong() {
    let good = corpus_file("oxart/kinds.oxart");
    assert_eq!(kind(b"OXIDEARX"), ErrorKind::BadMagic);
    assert_eq!(kind(&patched(&good, 8, &[3])), ErrorKind::UnsupportedVersion { version: 3 });
    assert_eq!(kind(&patched(&good, 8, &[0])), ErrorKind::UnsupportedVersion { version: 0 });
    assert_eq!(kind(&patched(&good, 10, &[40])), ErrorKind::Malformed);
    let len = good.len() as u64;
    let size = len + 1;
    let outside = ErrorKind::OutOfBounds { start: 0, size, len };
    assert_eq!(kind(&patched(&good, 12, &(size as u32).to_le_bytes())), outside);
    // Try sizes that end inside the header, and large numbers in its fields.
    for size in 0..32_u32 {
        let bytes = patched(&good, 12, &size.to_le_bytes());
        assert!(Oxart::parse(&bytes).is_err(), "{size}");
    }
    for at in [16, 18, 20, 22] {
        let bytes = patched(&good, at, &[0xff, 0xff]);
        assert!(Oxart::parse(&bytes).is_err(), "{at}");
    }
    assert_eq!(kind(&patched(&good, 32, &[0xff])), ErrorKind::Malformed);
    for len in 0..good.len() {
        assert!(Oxart::parse(&good[..len]).is_err(), "{len}");
    }
}

/// The offset of the records in `kinds.oxart`. The records follow the header, the bundle's name,
/// and its target.
const RECORDS: usize = 32 + "kinds".len() + "sm_90a".len();

#[test]
fn records_that_are_wrong() {
    let good = corpus_file("oxart/kinds.oxart");
    for record in 0..6 {
        for field in [4, 8, 12, 16] {
            let at = RECORDS + record * 24 + field;
            // In these records, the fields contain metadata instead of an offset and a size.
            if record >= 4 && field < 12 {
                continue;
            }
            let wrong =
                patched(&good, at, &u32::MAX.to_le_bytes()[..if field == 16 { 2 } else { 4 }]);
            assert!(matches!(kind(&wrong), ErrorKind::OutOfBounds { .. }), "{record} {field}");
        }
    }
    // All records share one long name.
    let count = 60_000_u16;
    let mut bytes = b"OXIDEART\x01\0\x20\0".to_vec();
    let size = 32 + usize::from(count) * 24 + usize::from(u16::MAX);
    bytes.extend((size as u32).to_le_bytes());
    bytes.extend([0, 0, 0, 0, 0, 0]);
    bytes.extend(count.to_le_bytes());
    bytes.resize(32, 0);
    for _ in 0..count {
        let mut record = [0; 24];
        record[12..16].copy_from_slice(&((size - usize::from(u16::MAX)) as u32).to_le_bytes());
        record[16..18].copy_from_slice(&u16::MAX.to_le_bytes());
        bytes.extend(record);
    }
    bytes.resize(size, b'a');
    let error = Oxart::parse(&bytes).unwrap_err();
    assert!(error.to_string().contains("share too many bytes"), "{error}");

    // All payloads share the bundle's long target.
    let mut bytes = b"OXIDEART\x01\0\x20\0".to_vec();
    bytes.extend((size as u32).to_le_bytes());
    bytes.extend([0, 0]);
    bytes.extend(u16::MAX.to_le_bytes());
    bytes.extend(count.to_le_bytes());
    bytes.resize(32, 0);
    bytes.resize(32 + usize::from(u16::MAX), b'a');
    bytes.resize(size, 0);
    let error = Oxart::parse(&bytes).unwrap_err();
    assert!(error.to_string().contains("share too many bytes"), "{error}");
}

/// Unknown kinds and options are kept.
#[test]
fn what_is_unknown() {
    let good = corpus_file("oxart/kinds.oxart");
    let other = patched(&patched(&good, RECORDS, &[0x34, 0x12]), 24, &[0xff; 8]);
    let bundle = Oxart::parse(&other).unwrap();
    assert_eq!(bundle.options, u64::MAX);
    let payload = bundle.payloads().next().unwrap();
    assert_eq!(
        (payload.kind, payload.kind.to_string()),
        (PayloadKind(0x1234), "kind 0x1234".to_owned())
    );
}

#[test]
fn bundles_in_a_row() {
    let one = corpus_file("oxart/kinds.oxart");
    let bytes = [&[0; 8][..], &one, &one, &[0; 24], &one, &[0; 3]].concat();
    let found: Vec<u64> = Oxart::in_a_row(&bytes).map(|found| found.unwrap().0).collect();
    let size = one.len() as u64;
    assert_eq!(found, [8, 8 + size, 32 + 2 * size]);
    let bytes = [&one[..], b"rest"].concat();
    let mut found = Oxart::in_a_row(&bytes);
    assert!(found.next().unwrap().is_ok());
    let error = found.next().unwrap().unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::BadMagic, size));
    assert!(found.next().is_none());
}
