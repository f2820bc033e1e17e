//! Tests packs whose tables fit their bytes, and packs whose tables do not fit.

use super::names::position;
use super::*;
use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec::Vec;
use offload_format::compression::Method;
use offload_format::target::PtxVersion;
use offload_pack::pack_index::{IndexStream, PackImageKind};

const NO_IMAGES: &[ModuleRecord] =
    &[ModuleRecord::new("affine", &[]), ModuleRecord::new("scale", &[])];

#[test]
fn several_modules_are_told_apart() {
    static PACK: KernelPack = linked("two", ".llvm.offloading", &[], NO_IMAGES);
    const SCALE: Module<'_> = PACK.module("scale");
    assert_eq!(SCALE.name(), "scale");
    assert!(PACK.find_module("scal").is_none());
    assert!(PACK.find_module("scale2").is_none());
    let device = DeviceInfo::parse("gfx90a").unwrap();
    let error = PACK.select(&device).unwrap_err();
    assert_eq!(error.modules(), ["affine", "scale"]);
    assert_eq!(
        error.to_string(),
        "the pack has 2 modules, each with its own images: affine, scale. Select from \
         one module, as in PACK.module(\"affine\").select(...)"
    );
    assert_eq!(
        SCALE.select(&device).unwrap_err().to_string(),
        "no image for gfx90a: the module \"scale\" has no images: build.rs lists no target that the module supports, and calls .allow_empty()"
    );
}

/// Modules without images have no keys: an empty pack may have the same address as another pack.
#[cfg(feature = "run")]
#[test]
fn modules_with_images_have_keys_of_their_own() {
    const fn module(name: &'static str, first: usize, count: usize) -> ModuleRecord {
        ModuleRecord::new(name, some(first, count))
    }
    const MODULES: &[ModuleRecord] = &[
        module("none", 0, 0),
        module("still none", 0, 0),
        module("two", 0, 2),
        module("between", 2, 0),
        module("three", 2, 3),
        module("last", 5, 0),
    ];
    static BYTES: [u8; 8] = [0; 8];
    static PACK: KernelPack = linked("k", ".llvm.offloading", &BYTES, MODULES);
    static AGAIN: KernelPack = linked("k", ".llvm.offloading", &BYTES, MODULES);
    static EMPTY: KernelPack =
        linked("e", ".llvm.offloading", BYTES.split_at(0).0, &[module("two", 0, 0)]);
    let start = BYTES.as_ptr().addr();
    let keys: Vec<_> = PACK.modules().map(|module| module.key()).collect();
    assert_eq!(keys, [None, None, Some((start, "two")), None, Some((start, "three")), None]);
    assert_eq!(AGAIN.module("two").key(), PACK.module("two").key());
    assert_eq!((EMPTY.bytes().as_ptr().addr(), EMPTY.module("two").key()), (start, None));
    assert_eq!(not_built::<Plain>("k", "skipped", NO_IMAGES).module("scale").key(), None);

    // When the program was compiled, the first module had no images, and there was one more module.
    const OLD: &[ModuleRecord] = &[module("two", 0, 0), module("three", 0, 3), module("old", 3, 2)];
    let pack: KernelPack = on_disk("k", ".llvm.offloading", OLD, || &PACK);
    let keys: Vec<_> = pack.modules().map(|module| module.key()).collect();
    assert_eq!(keys, [Some((start, "two")), Some((start, "three")), None]);
}

#[test]
fn a_module_that_is_gone_from_the_disk() {
    static OLD: &[ModuleRecord] = &[ModuleRecord::new("old", &[])];
    fn load() -> &'static KernelPack {
        static NOW: KernelPack = linked("two", ".llvm.offloading", &[], NO_IMAGES);
        &NOW
    }
    let pack: KernelPack = on_disk("two", ".llvm.offloading", OLD, load);
    let error = pack.select(&DeviceInfo::parse("sm_90").unwrap()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no image for sm_90: the pack on disk no longer contains a module with this name: build \
         the program again"
    );
    assert_eq!(error.targets_to_add(), [""; 0]);
}

#[test]
fn names_are_found_wherever_they_are() {
    let names = ["a", "aa", "ab", "b", "ba", "é"];
    for size in 0..=names.len() {
        for (at, name) in names.iter().enumerate() {
            assert_eq!(
                position(&names[..size], name),
                (at < size).then_some(at),
                "{name} in {size}"
            );
        }
        for other in ["", "A", "aaa", "bb", "c", "ê"] {
            assert_eq!(position(&names[..size], other), None, "{other} in {size}");
        }
    }
}

#[test]
#[should_panic(
    expected = "the pack has compressed streams, but its type is for uncompressed packs"
)]
fn a_stream_in_a_plain_pack() {
    linked::<Plain>("test", ".llvm.offloading", &[0; 4], &[STREAMED]);
}

const STREAMED: ModuleRecord = ModuleRecord { stream: Some(STREAM), ..NO_IMAGES[0] };
const STREAM: IndexStream =
    IndexStream { offset: 0, size: 4, inflated_size: 16, method: Method::Zstd };

#[test]
fn images_of_each_module_are_compared_with_their_stream() {
    let image = |offset| ImageRecord { offset, ..record("sm_80", None) };
    let problem = |at, offset| {
        let images = Box::leak(Box::new([image(8), image(at)]));
        let stream = Some(IndexStream { offset, ..STREAM });
        record::problem(&[ModuleRecord { stream, ..ModuleRecord::new("", images) }], 8, true)
    };
    assert_eq!(problem(8, 4), None);
    assert_eq!(problem(9, 4), Some("an image ends past the end of its pack or stream"));
    assert_eq!(problem(17, 4), Some("an image starts past the end of its pack or stream"));
    assert_eq!(problem(8, 5), Some("a stream ends past the end of its pack"));
    assert_eq!(problem(8, 9), Some("a stream starts past the end of its pack"));
    let modules = [ModuleRecord::new("", Box::leak(Box::new([image(0)]))), STREAMED];
    assert_eq!(
        record::problem(&modules, 8, true),
        Some("only some modules of the pack are compressed")
    );
}

#[test]
fn a_pack_that_was_not_built_has_its_modules() {
    let pack: KernelPack = not_built("two", "OFFLOAD_SKIP was set", NO_IMAGES);
    let error = pack.module("affine").select(&DeviceInfo::cpu()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no image for the CPU: the pack was not built: OFFLOAD_SKIP was set"
    );
}

#[test]
#[should_panic(
    expected = "the pack \"two\" has no module \"offset\"; it has \"affine\", \"scale\""
)]
fn a_module_that_is_not_there() {
    let pack: KernelPack = not_built("two", "OFFLOAD_SKIP was set", NO_IMAGES);
    let _ = pack.module("offset");
}

const BOTH: &[&str] = &["affine", "saxpy"];
const ONE: &[&str] = &["saxpy"];
const SOME_LACK: &[ImageRecord] = &[
    record("gfx90a", Some(ONE)),
    record("sm_90", Some(BOTH)),
    record("cpu", None),
    record("gfx90a", Some(ONE)),
    record("cpu", None),
];

/// Returns `count` of the images, starting with the image `first`.
const fn some(first: usize, count: usize) -> &'static [ImageRecord] {
    SOME_LACK.split_at(first).1.split_at(count).0
}

const fn record(target: &'static str, kernels: Option<&'static [&'static str]>) -> ImageRecord {
    let kind = PackImageKind::SharedObject { triple: "x86_64-unknown-linux-gnu" };
    ImageRecord { kernels, ..ImageRecord::of(target, kind) }
}

static KERNELS: KernelPack = linked(
    "kernels",
    ".llvm.offloading",
    &[0; 8],
    &[
        ModuleRecord::new("fp8", some(0, 3)),
        ModuleRecord::new("plain", some(3, 1)),
        ModuleRecord::new("cpu", some(4, 1)),
    ],
);

#[test]
fn kernels_are_facts_of_images() {
    const AFFINE: Kernel<'_> = KERNELS.kernel("affine");
    assert_eq!((AFFINE.name(), AFFINE.module().name()), ("affine", "fp8"));
    let has: Vec<Option<bool>> =
        AFFINE.module().images().map(|image| image.has_kernel(AFFINE.name())).collect();
    assert_eq!(has, [Some(false), Some(true), None]);
    assert_eq!(KERNELS.module("plain").kernel("saxpy").module().name(), "plain");
    // The kernels of the module `cpu` are unknown, so any name is accepted.
    assert_eq!(KERNELS.module("cpu").kernel("any").name(), "any");
    assert_eq!(
        not_built::<Plain>("two", "OFFLOAD_SKIP was set", &NO_IMAGES[..1]).kernel("any").name(),
        "any"
    );
}

/// Kernels that the other modules lack belong to the module `cpu`, whose kernels are unknown. If
/// there is no such module, they belong to a module without images.
#[test]
fn a_kernel_of_a_module_whose_kernels_are_not_known() {
    const SUM: Kernel<'_> = KERNELS.kernel("sum");
    assert_eq!((SUM.name(), SUM.module().name()), ("sum", "cpu"));
    static EMPTY: KernelPack = linked(
        "empty",
        ".llvm.offloading",
        &[0; 8],
        &[ModuleRecord::new("plain", some(0, 2)), ModuleRecord::new("none", &[])],
    );
    assert_eq!(EMPTY.kernel("sum").module().name(), "none");
    assert_eq!(EMPTY.kernel("affine").module().name(), "plain");
    static BEFORE_CPU: KernelPack = linked(
        "before",
        ".llvm.offloading",
        &[0; 8],
        &[ModuleRecord::new("none", &[]), ModuleRecord::new("cpu", some(4, 1))],
    );
    assert_eq!(BEFORE_CPU.kernel("sum").module().name(), "cpu");
}

#[test]
#[should_panic(
    expected = "the pack \"known\" has no kernel \"afine\"; it has \"saxpy\", \"affine\""
)]
fn a_kernel_that_is_not_there() {
    const MODULES: &[ModuleRecord] =
        &[ModuleRecord::new("fp8", some(0, 3)), ModuleRecord::new("plain", some(3, 1))];
    let pack: KernelPack = linked("known", ".llvm.offloading", &[0; 8], MODULES);
    pack.kernel("afine");
}

#[test]
#[should_panic(expected = "the module \"plain\" has no kernel \"affine\"; it has \"saxpy\"")]
fn a_kernel_of_another_module() {
    KERNELS.module("plain").kernel("affine");
}

#[test]
#[should_panic(
    expected = "\"saxpy\" is a kernel of several modules of the pack \"kernels\": \"fp8\", \"plain\""
)]
fn a_kernel_of_two_modules() {
    KERNELS.kernel("saxpy");
}

#[test]
fn an_image_lies_in_its_pack() {
    let ptx = PackImageKind::Ptx { version: PtxVersion::new(8, 0) };
    for (kind, offset, size, expected) in [
        (PackImageKind::Cubin, 8, 56, None),
        (PackImageKind::Cubin, 8, 57, Some("an image ends past the end of its pack or stream")),
        (PackImageKind::Cubin, 72, 0, Some("an image starts past the end of its pack or stream")),
        (ptx, 8, 56, Some("PTX at the end of its pack is not followed by a NUL")),
        (PackImageKind::Cubin, 4, 8, Some("an image is not aligned in its pack")),
    ] {
        let image = ImageRecord { offset, size, ..ImageRecord::of("sm_80", kind) };
        let modules =
            Box::leak(Box::new([ModuleRecord::new("test", Box::leak(Box::new([image])))]));
        assert_eq!(record::problem(modules, 64, false), expected);
        if expected.is_none() {
            let pack: KernelPack = linked("test", ".llvm.offloading", &[7; 64], modules);
            let image = pack.images().next().unwrap();
            assert_eq!((image.offset(), image.bytes().len()), (offset, size));
        }
    }
}
