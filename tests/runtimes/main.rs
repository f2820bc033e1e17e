//! Tests of programs that load their images: the examples, the guide, the run time, and comparisons
//! with the choices of vendors' programs.

#[macro_use]
extern crate offload_tests;

mod agreement;
mod checks;
mod comgr;
mod examples;
mod gpu_checks;
mod guide;
mod hip_runtime;
mod kernel_arguments;
mod run;
mod saxpy;

fn main() -> std::process::ExitCode {
    offload_tests::registry::run()
}
