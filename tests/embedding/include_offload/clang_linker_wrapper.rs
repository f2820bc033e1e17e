//! Tests that clang's linker wrapper finds an embedded file's images in the program's object, links
//! them, and registers them. In the program, a library replaces AMD's runtime. LLVM's tools read
//! the linked program.

use crate::sources::{pack, printing};
use offload_tests::prelude::*;

const GPUS: [&str; 2] = ["gfx90a", "gfx1030"];

/// The functions that the linker wrapper's constructor and destructor call.
const HIP: &str = "#include <stdio.h>
void **__hipRegisterFatBinary(const unsigned *wrapper) { printf(\"registered %#x\\n\", wrapper[0]); return 0; }
void __hipUnregisterFatBinary(void **handle) {}
void __hipRegisterFunction(void) {}
void __hipRegisterVar(void) {}
void __hipRegisterManagedVar(void) {}
void __hipRegisterSurface(void) {}
void __hipRegisterTexture(void) {}
";

#[test(LLVM)]
fn clang_linker_wrapper_takes_images_of_a_file() {
    let mut scenario = Scenario::without_sources("include_offload_link");
    scenario.feature("offload-gpu", "files");
    write_images_to_link(&scenario);
    let pack = pack("ADD", "path = \"files/add.ob\", retain");
    scenario.write("src/main.rs", printing(&pack, &["ADD.images().len()"])).write("hip.c", HIP);
    let clang = llvm_bin().join("clang");
    scenario.tool(&clang).args(["-shared", "-fPIC", "hip.c", "-o", "libhip.so"]).passes();
    scenario
        .cargo(&["rustc", "--quiet", "--", "-Clink-arg=--offload-link", "-Clink-arg=-lhip"])
        .arg(format!("-Clink-arg=-L{}", scenario.folder.display()))
        .arg(format!("-Clinker={}", clang.display()))
        .passes();
    let printed = scenario.start("debug").env("LD_LIBRARY_PATH", &scenario.folder).passes();
    // The C library flushes its buffer at the program's end, so the line from C comes last.
    assert_eq!(printed.stdout, "0\nregistered 0x48495046\n");

    let bundle = scenario.folder.join("bundle");
    let dump = format!("--dump-section=.hip_fatbin={}", bundle.display());
    let program = scenario.program("debug", scenario.name());
    succeed(llvm("llvm-objcopy").arg(dump).arg(program).arg(scenario.folder.join("rest")));
    let mut bundler = llvm("clang-offload-bundler");
    let list = stdout(&succeed(bundler.args(["-list", "-type=o", "-input"]).arg(&bundle)));
    for gpu in GPUS {
        assert!(list.contains(gpu), "no {gpu} in\n{list}");
    }
}

/// Writes `src/files/add.ob`, an offload binary with objects that are not linked yet.
fn write_images_to_link(scenario: &Scenario) {
    scenario.write(
        "src/files/add.hip",
        "extern \"C\" __attribute__((amdgpu_kernel)) void add(float *y) { *y += 1; }\n",
    );
    let folder = scenario.folder.join("src/files");
    let mut pack = llvm("llvm-offload-binary");
    pack.current_dir(&folder).args(["-o", "add.ob"]);
    for gpu in GPUS {
        let line = format!(
            "--target=amdgcn-amd-amdhsa -mcpu={gpu} -nogpulib -O2 -c -x c++ add.hip -o {gpu}.o"
        );
        succeed(llvm("clang").current_dir(&folder).args(line.split(' ')));
        pack.arg(format!("--image=file={gpu}.o,triple=amdgcn-amd-amdhsa,arch={gpu},kind=hip"));
    }
    succeed(&mut pack);
}
