//! Rust source text for the scenarios of these tests.

/// The first line of crates that must embed a pack without unsafe code.
pub const FORBID: &str = "#![forbid(unsafe_code)]\n";

/// Returns the source of a `pub static` that embeds a pack. `arguments` are those of
/// `include_offload!`.
pub fn pack(name: &str, arguments: &str) -> String {
    format!(
        "pub static {name}: offload_gpu::KernelPack =\n    offload_gpu::include_offload!({arguments});\n"
    )
}

/// Returns a program that contains these items, and prints the values on one line.
pub fn printing(items: &str, values: &[&str]) -> String {
    let holes = vec!["{}"; values.len()].join(" ");
    format!("{FORBID}{items}fn main() {{\n    println!({holes:?}, {});\n}}\n", values.join(", "))
}
