//! The program `offload`, whose commands are for people.

fn main() -> std::process::ExitCode {
    offload_tools::offload::main()
}
