//! The program `cargo offload`, which runs tests and checks their kernels.

fn main() -> std::process::ExitCode {
    offload_tools::cargo_offload::main()
}
