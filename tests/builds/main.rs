//! Build scripts with offload-build, in packages that Cargo builds. Tests packs of kernels in every
//! language, by clang, nvcc and the host's compiler; static libraries; prebuilt sets;
//! `offload/kernel.h`. The tests check the contents and targets of images, the reasons to compile
//! them again, and the messages for an image that cannot be made.
//!
//! `embedding` tests how packs get into programs.

mod build_script;
mod candle;
mod compiler_launchers;
mod compressed_packs;
mod errors;
mod footprint;
mod kernel_header;
mod kernel_signatures;
mod languages;

mod large_packs;
mod launcher_libraries;
mod migrating;
mod model;
mod modules;
mod nvcc;
mod oldest;
mod prebuilt;
mod static_library;
mod targets;
mod workspaces;

fn main() -> std::process::ExitCode {
    offload_tests::registry::run([
        build_script::tests(),
        candle::tests(),
        compiler_launchers::tests(),
        compressed_packs::tests(),
        errors::tests(),
        footprint::tests(),
        kernel_header::tests(),
        kernel_signatures::tests(),
        languages::tests(),
        large_packs::tests(),
        launcher_libraries::tests(),
        migrating::tests(),
        model::tests(),
        modules::tests(),
        nvcc::tests(),
        oldest::tests(),
        prebuilt::tests(),
        static_library::tests(),
        targets::tests(),
        workspaces::tests(),
    ])
}
