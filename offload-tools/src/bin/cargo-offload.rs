//! `cargo offload`, which runs tests with checks of their kernels.

fn main() -> std::process::ExitCode {
    offload_tools::cargo_offload::main()
}
