//! Tests of programs that load their images: the examples, the guide, and the images that vendors'
//! programs choose.

mod agreement;
mod checks;
mod comgr;
mod cuda_driver;
mod examples;
mod gpu_checks;
mod guide;
mod hip_runtime;
mod kernel_arguments;
mod run;
mod saxpy;

fn main() -> std::process::ExitCode {
    offload_tests::registry::run([
        agreement::tests(),
        checks::tests(),
        comgr::tests(),
        cuda_driver::tests(),
        examples::tests(),
        gpu_checks::tests(),
        guide::tests(),
        hip_runtime::tests(),
        kernel_arguments::tests(),
        run::tests(),
        saxpy::tests(),
    ])
}
