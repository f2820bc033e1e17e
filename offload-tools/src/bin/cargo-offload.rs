//! The program `cargo-offload`, which Cargo runs as `cargo offload`. A program named `offload`
//! would make `cargo install` fail, because another crate already installs one.

fn main() -> std::process::ExitCode {
    offload_tools::cargo_offload()
}
