//! TODO

mod embed;
mod include_offload;
mod link_matrix;
mod ui;

fn main() -> std::process::ExitCode {
    offload_tests::registry::run([embed::tests(), include_offload::tests(), link_matrix::tests(), ui::tests()])
}
