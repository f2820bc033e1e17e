//! Lists the entries of an uncompressed offload bundle, as written by clang-offload-bundler.

use offload_format::bundle::Bundle;
use std::error::Error;
use std::process::ExitCode;
use std::{env, fs};

fn list(path: &str) -> Result<(), Box<dyn Error>> {
    let file = fs::read(path)?;
    for entry in Bundle::parse(&file)?.entries() {
        println!("{:6} bytes at {:5}  {}", entry.code_object.len(), entry.offset, entry.id_str);
    }
    Ok(())
}

fn main() -> ExitCode {
    let path = env::args().nth(1).unwrap_or_else(|| "vector_add.hipfb".to_owned());
    let Err(error) = list(&path) else { return ExitCode::SUCCESS };
    eprintln!("error: {path}: {error}");
    ExitCode::FAILURE
}
