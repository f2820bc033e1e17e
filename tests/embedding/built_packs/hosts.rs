//! Hosts without packs, such as WebAssembly, 32-bit systems and iOS. With `allow_empty`, the pack
//! is empty on such hosts, so a library needs no `cfg`. rustc checks the library for the installed
//! hosts.

use crate::sources::{FORBID, pack};
use offload_tests::prelude::*;
use offload_tests::tools::hosts_without_packs;

const FOREIGN: Needs = needs(&[Tool::HostWithoutPacks]);

/// The body of a library that uses all parts of the API that differ between hosts.
const PORTABLE: &str = r#"
pub fn report() -> String {
    let listed: Vec<_> = offload_gpu::linked_packs().map(|pack| pack.name()).collect();
    match KERNELS.select(&offload_gpu::DeviceInfo::cpu()) {
        Ok(image) => format!("{} bytes, {listed:?}", image.bytes().len()),
        Err(error) => format!("{error}, {listed:?}"),
    }
}
"#;

/// This machine cannot compile for other hosts. So the build script sets Cargo's variables itself,
/// as if Cargo built for another host.
#[test(NOTHING.slow())]
fn a_host_without_packs_gets_an_empty_one() {
    let scenario = Scenario::without_sources("embed_host");
    let library = format!("{FORBID}{}{PORTABLE}", pack("KERNELS", "\"kernels\", retain"));
    scenario
        .write("src/lib.rs", library)
        .write("src/main.rs", "fn main() { println!(\"{}\", embed_host::report()); }\n");
    for (os, arch, width, target) in [
        ("unknown", "wasm32", "32", "wasm32-unknown-unknown"),
        ("linux", "x86", "32", "i686-unknown-linux-gnu"),
        ("ios", "aarch64", "64", "aarch64-apple-ios"),
    ] {
        let host = |calls: &str| {
            format!(
                r#"for (name, value) in [
        ("CARGO_CFG_TARGET_OS", "{os}"), ("CARGO_CFG_TARGET_ARCH", "{arch}"),
        ("CARGO_CFG_TARGET_POINTER_WIDTH", "{width}"), ("TARGET", "{target}"),
    ] {{
        // SAFETY: no other thread is there yet.
        unsafe {{ std::env::set_var(name, value) }};
    }}
    Build::new().file("kernels/add.cu").archs(["gfx90a", "cpu"]){calls}.compile("kernels");"#
            )
        };
        scenario.build_script(&host(".allow_empty()"));
        let why = format!("packs cannot be embedded in programs for {target}");
        let expected = format!("no image for the CPU: the pack was not built: {why}, []\n");
        assert_eq!(scenario.run().passes().stdout, expected);

        scenario.build_script(&host(""));
        scenario.build().fails().has(&format!(
            "not for {target}. Call .allow_empty() in build.rs to make the pack empty there"
        ));
    }
}

#[test(FOREIGN.slow())]
fn a_portable_library_needs_no_cfg() {
    let mut scenario = Scenario::without_sources("embed_portable");
    scenario.files_alone();
    let library = format!("{FORBID}{}{PORTABLE}", pack("KERNELS", "\"kernels\", retain"))
        + &pack("FILE", "path = \"saxpy.ptx\", retain");
    scenario
        .pack("kernels", r#".file("kernels/add.cu").archs(["gfx90a", "cpu"]).allow_empty()"#)
        .kernel("add", "1.0f")
        .write(
            "src/saxpy.ptx",
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry saxpy() { ret; }\n",
        )
        .write("src/lib.rs", library);
    for host in hosts_without_packs() {
        scenario.check().args(["--target", &host]).passes();
    }
}
