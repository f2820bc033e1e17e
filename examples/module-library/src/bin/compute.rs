//! Calls the library's functions.

use std::process::ExitCode;

fn main() -> ExitCode {
    let Err(error) = run() else { return ExitCode::SUCCESS };
    eprintln!("error: {error}");
    ExitCode::FAILURE
}

fn run() -> Result<(), module_library::Error> {
    let mut x: Vec<f32> = (0..8_u16).map(f32::from).collect();
    module_library::scale(&mut x, 3.0)?;
    println!("scale by 3:   {x:?}");
    module_library::shift(&mut x, -1.0)?;
    println!("shift by -1:  {x:?}");
    module_library::limit(&mut x, 10.0)?;
    println!("limit to 10:  {x:?}");
    Ok(())
}
