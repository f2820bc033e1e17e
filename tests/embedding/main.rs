//! TODO

mod built_packs;
mod include_offload;
mod link_matrix;
mod linked_program;
mod sources;
mod ui;

fn main() -> std::process::ExitCode {
    offload_tests::registry::run([built_packs::tests(), include_offload::tests(), link_matrix::tests(), ui::tests()])
}
