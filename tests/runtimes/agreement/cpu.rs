//! Compares our choice of image with that of LLVM's libomptarget 22, which searches offload
//! binaries for images for this machine's CPU and runs them.
//!
//! libomptarget reads only an image's ELF header, and loads the image with the dynamic linker.
//! libomptarget ignores the operating system and the C library in an image's triple
//! (docs/formats.md, "Selection"). So no two images in these tests differ only in the operating
//! system or the C library.

use super::{Image, assert_same_choice, ours};
use offload_format::offload_binary::{
    OffloadBinary, OffloadBinaryBuilder, OffloadKind, StatedKind, Version,
};
use offload_format::select::DeviceInfo;
use offload_tests::prelude::*;
use offload_tests::stand_ins::{Staged, compile};
use offload_tests::tools::shared_library;

const TRIPLES: &str = "x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu \
    aarch64_be-unknown-linux-gnu i686-unknown-linux-gnu armv7-unknown-linux-gnueabihf \
    riscv64-unknown-linux-gnu powerpc64le-unknown-linux-gnu x86_64-pc-windows-msvc \
    x86_64-apple-macos13 gfx90a";

static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| scratch::folder("agreement-cpu"));

static LOAD: LazyLock<PathBuf> = LazyLock::new(|| {
    let load = FOLDER.join("omp_load");
    compile("omp_load.c", &["-ldl"], &load);
    load
});

/// For each entry of `TRIPLES`, a library with a kernel that writes the entry's index.
static IMAGES: LazyLock<Vec<Image>> = LazyLock::new(|| {
    let source = FOLDER.join("fill.c");
    // libomptarget passes each argument as 64 bits, after an extra first argument (`own`).
    let text = "#ifdef _WIN32\n__declspec(dllexport)\n#endif\n\
                void fill(void *own, unsigned long long n, long long *y) { while (n) y[--n] = TARGET; }\n";
    scratch::write(&source, text);
    let compiled = TRIPLES.split(' ').enumerate().map(|(number, triple)| {
        let [object, library] =
            ["o", "so"].map(|extension| FOLDER.join(format!("{triple}.{extension}")));
        let target = if triple == "gfx90a" { "amdgcn-amd-amdhsa" } else { triple };
        let mut clang = llvm("clang");
        clang.args(["-O1", "-ffreestanding", "-fno-builtin", "-c", "-target", target]);
        if !triple.contains("windows") {
            clang.arg("-fPIC");
        }
        if target != triple {
            clang.args([&format!("-mcpu={triple}"), "-nogpulib"]);
        }
        succeed(clang.arg(format!("-DTARGET={number}")).arg(&source).arg("-o").arg(&object));
        link(triple, &object, &library);
        Image { target: triple.to_owned(), bytes: read(&library) }
    });
    compiled.collect()
});

fn link(triple: &str, object: &Path, library: &Path) {
    let (linker, options) = match triple {
        _ if triple.contains("windows") => {
            let out = format!("/out:{}", library.display());
            let mut lld = llvm("lld-link");
            succeed(lld.args(["/dll", "/noentry", "/nodefaultlib", &out]).arg(object));
            return;
        }
        _ if triple.contains("apple") => (
            "ld64.lld",
            "-dylib -arch x86_64 -platform_version macos 13.0 13.0 -undefined dynamic_lookup",
        ),
        _ => ("ld.lld", "-shared"),
    };
    succeed(llvm(linker).args(options.split(' ')).arg(object).arg("-o").arg(library));
}

/// Returns a file of consecutive offload binaries, one per image.
fn pack(images: &[&Image]) -> Vec<u8> {
    let mut file = Vec::new();
    for image in images {
        let mut builder = OffloadBinaryBuilder::new();
        let entry =
            builder.image(StatedKind::OBJECT, OffloadKind::OPENMP, image.bytes.len() as u64);
        if image.target.starts_with("gfx") {
            entry.string("triple", "amdgcn-amd-amdhsa").string("arch", &image.target)
        } else {
            entry.string("triple", &image.target)
        };
        file.extend(builder.layout(Version::V1).to_vec(&[&image.bytes]));
    }
    file
}

/// Returns the triple of the image that libomptarget runs. The run's files are named `name`.
fn ran<'i>(images: &[&'i Image], name: &str) -> Option<&'i str> {
    let file = pack(images);
    let path = FOLDER.join(format!("{name}.pack"));
    scratch::write(&path, &file);
    let library = shared_library("libomptarget.so.22.1").expect("Tool::OmpTarget was checked");
    let mut args = vec![library.display().to_string(), path.display().to_string()];
    for binary in OffloadBinary::in_a_row(&file) {
        let (at, binary) = binary.expect("it was just written");
        let places = binary.images().map(|image| (at + image.offset, image.data.len()));
        args.extend(places.map(|(offset, size)| format!("{offset}:{size}")));
    }
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = Staged::new(&LOAD, &FOLDER).run(&args, &FOLDER.join(format!("{name}.log")));
    let number = outcome.stdout.trim_end().parse::<usize>().ok();
    // If the runtime runs no image, it prints an error and ends the process.
    assert_eq!(outcome.status == Some(0), number.is_some(), "{outcome:#?}");
    let refused = outcome.stderr.contains("while offloading is mandatory");
    assert_eq!(refused, number.is_none(), "{outcome:#?}");
    number.and_then(|number| TRIPLES.split(' ').nth(number))
}

#[test(needs(&[Tool::Llvm22, Tool::OmpTarget, Tool::Gcc]))]
fn alone() {
    let mut fits = 0;
    for image in &*IMAGES {
        let ours = ours([image], &DeviceInfo::cpu());
        assert_same_choice(ours, ran(&[image], "alone"), &image.target);
        fits += usize::from(ours.is_some());
    }
    assert_eq!(fits, 1, "this machine's own");
    // libomptarget ignores the C library in a triple: an image that needs no C library runs
    // whatever C library its triple names.
    let own = ours(IMAGES.iter(), &DeviceInfo::cpu()).expect("there is one");
    let other = Image { target: own.target.replace("-gnu", "-musl"), bytes: own.bytes.clone() };
    assert_eq!(ours([&other], &DeviceInfo::cpu()), None);
    assert!(ran(&[&other], "musl").is_some());
}

#[test(needs(&[Tool::Llvm22, Tool::OmpTarget, Tool::Gcc]))]
fn among_others() {
    let mut images: Vec<&Image> = IMAGES.iter().collect();
    for _ in 0..images.len() {
        images.rotate_left(1);
        let ours = ours(images.iter().copied(), &DeviceInfo::cpu());
        let order: Vec<&str> = images.iter().map(|image| image.target.as_str()).collect();
        assert_same_choice(ours, ran(&images, "among-others"), &order.join(" "));
    }
}
