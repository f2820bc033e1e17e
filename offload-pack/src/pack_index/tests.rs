//! Tests that the reader can read the writer's output, and that it rejects damaged text.

use super::ArgumentKind::{Any, Float, Pointer};
use super::*;
use crate::signature::tests::signatures;
use alloc::string::ToString;
use offload_format::section::DeviceSection;
use offload_format::target::PtxVersion;

fn kernel(name: &str, limits: Limits, arguments: Option<&[ArgumentKind]>) -> IndexKernel {
    let argument = |(at, kind): (usize, &ArgumentKind)| IndexArgument {
        offset: 8 * at as u64,
        size: 8,
        kind: *kind,
    };
    let arguments = arguments.map(|kinds| kinds.iter().enumerate().map(argument).collect());
    IndexKernel { name: name.into(), limits, arguments }
}

fn index() -> Index {
    let some = Limits::UNKNOWN.with_shared_memory(0);
    let all = some.with_max_threads(256).with_required_block([8, 4, 1]).with_wavefront_size(64);
    let image = |target: &str, origin, kind| IndexImage {
        target: target.into(),
        offset: 208,
        size: 5376,
        origin,
        kernels: match kind {
            PackImageKind::SharedObject { .. } => None,
            PackImageKind::Cubin => Some(Vec::new()),
            _ => Some(alloc::vec![
                kernel("affine", Limits::UNKNOWN, None),
                kernel("_Z5scalePf", some, Some(&[])),
                kernel("a\tb\\n\r\nimage", all, Some(&[Any, Float])),
                kernel("", Limits::UNKNOWN, Some(&[Pointer])),
            ]),
        },
        kind,
    };
    let module = |name: &str, images: Vec<_>| {
        let bundle = (!images.is_empty()).then_some(128);
        let stream = (name == "affine").then_some(IndexStream {
            offset: 64,
            size: 4000,
            inflated_size: 6000,
            method: Method::Zstd,
        });
        let signatures = signatures();
        IndexModule { bundle, stream, images, signatures, ..IndexModule::new(name.into()) }
    };
    let triple = "x86_64-unknown-linux-gnu".to_string();
    Index::Built(PackIndex {
        name: "saxpy".into(),
        library: "offload_saxpy_90f2".into(),
        library_size: 36264,
        library_offset: 232,
        symbol: "offload_pack_90f2".into(),
        section: DeviceSection::LlvmOffloading,
        size: 31744,
        modules: alloc::vec![
            module(
                "affine",
                alloc::vec![
                    image(
                        "gfx90a:xnack-",
                        Origin::Compiled,
                        PackImageKind::CodeObject { version: 6 }
                    ),
                    image("sm_80", Origin::Prebuilt, PackImageKind::Cubin),
                    image(
                        "compute_80",
                        Origin::Compiled,
                        PackImageKind::Ptx { version: PtxVersion::new(7, 0) }
                    ),
                ]
            ),
            module("empty", Vec::new()),
            module(
                "scale",
                alloc::vec![image("cpu", Origin::Compiled, PackImageKind::SharedObject { triple })]
            ),
        ],
    })
}

#[test]
fn what_is_written_is_read() {
    assert_eq!(Index::parse(&index().to_string()), Ok(index()));
    for compressed in [false, true] {
        let absent = Index::Absent {
            name: "saxpy".into(),
            why: "OFFLOAD_SKIP was set".into(),
            compressed,
            modules: alloc::vec![
                IndexModule { signatures: signatures(), ..IndexModule::new("affine".into()) },
                IndexModule {
                    signatures_unknown: Some("no clang was found\nin PATH".into()),
                    ..IndexModule::new("scale".into())
                }
            ],
        };
        assert_eq!(Index::parse(&absent.to_string()), Ok(absent));
    }
}

#[test]
fn another_version_is_named() {
    let error = Index::parse("offload-pack 99\nnonsense\n").unwrap_err();
    assert_eq!(error, IndexError::Version { found: "99".into() });
    let expected =
        "the pack's index has version 99, but this version of offload-gpu reads version 10: ";
    assert!(error.to_string().starts_with(expected), "{error}");
}

#[test]
fn a_damaged_index_names_the_line() {
    let text = index().to_string();
    for (number, _) in text.lines().enumerate() {
        let damaged =
            text.lines().enumerate().map(|(at, line)| if at == number { "xyz" } else { line });
        let damaged = damaged.collect::<Vec<_>>().join("\n");
        let error = Index::parse(&damaged).unwrap_err();
        assert_eq!(error, IndexError::Line { number: number + 1, text: "xyz".into() });
    }
    // The loop cuts the text only before the first module: an index without its last modules and
    // images is valid, too.
    let head: usize = text
        .lines()
        .take_while(|line| !line.starts_with("module"))
        .map(|line| line.len() + 1)
        .sum();
    for end in (0..head - 1).filter(|&end| text.is_char_boundary(end)) {
        let cut = Index::parse(&text[..end]);
        let last_number_is_short =
            text[..end].lines().last().is_some_and(|line| line.starts_with("size "));
        assert!(cut.is_err() || last_number_is_short, "{end}");
    }
}
