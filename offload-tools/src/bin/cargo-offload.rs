//! The program `cargo-offload`, which Cargo runs as `cargo offload`. Its commands are for people.

fn main() -> std::process::ExitCode {
    offload_tools::offload::main()
}
