//! The program `cargo-offload`, which Cargo runs as `cargo offload`. Its commands are for people.
//! A program `offload` would collide with another crate's: `cargo install` then fails.

fn main() -> std::process::ExitCode {
    offload_tools::cargo_offload()
}
