//! Detects the host program's linker, as far as a build script can, and checks whether a pack is
//! too large for it.
//!
//! In x86-64 ELF files, code can only reach data within 2 GiB. The `SHF_X86_64_LARGE` flag on the
//! pack's section allows a larger distance. Linkers place a pack of 2.2 GiB as follows:
//!
//! | linker | location of the pack, and result |
//! |---|---|
//! | rust-lld of rustc 1.95 | before all other read-only data: links, runs, unwinds |
//! | GNU ld 2.40 | between code and data: "relocation overflows"; at the end, with a linker script |
//! | mold 1.10 | between unwinding tables and code: links, but a panic ends in "failed to initiate panic" |

use crate::request::Request;
use crate::toolchain::exec::probe;
use crate::toolchain::{Cargo, Error};
use offload_format::host_object::Machine;
use offload_format::section::ObjectFormat;
use std::ffi::OsStr;
use std::path::Path;

const GIB: u64 = 1 << 30;

/// The size in bytes above which a pack causes a warning.
const PLENTY: u64 = GIB;

/// The size in bytes of the largest pack that every linker can link into a program of usual size.
const MOST: u64 = GIB + GIB / 2;

/// The kinds of linkers that treat large packs differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Linker {
    Lld,
    Gnu,
    Mold,
    Other,
}

/// Warns about a large pack.
///
/// Returns an error if the linker cannot link the pack, or would break the program. With
/// `large_pack_script`, GNU ld can link the pack.
pub(crate) fn check_size(
    name: &str,
    size: u64,
    machine: Machine,
    request: &Request,
    cargo: &Cargo,
) -> Result<(), Error> {
    if size <= PLENTY {
        return Ok(());
    }
    // Recommend compression only if build.rs does not request it already.
    let (or_compress, compress) = if request.compressed {
        ("", "Fewer targets make")
    } else {
        ("`compress` or ", "`compress` makes")
    };
    let pack = format!("{:.2} GiB ({size} bytes)", size as f64 / GIB as f64);
    let has_limit = machine.format() == ObjectFormat::Elf && cargo.target_arch == "x86_64";
    if size > MOST && has_limit {
        let flags = cargo.rustc_flags();
        let (linker, from) =
            chosen(&flags, cargo.linker().as_deref()).unwrap_or_else(|| default(cargo));
        let (linker, what) = match linker {
            Linker::Gnu if !request.large_pack_script => (
                "GNU ld",
                "GNU ld puts the pack between code and data, which are then too far apart: the \
                 link fails with \"relocation truncated to fit\"",
            ),
            Linker::Mold => (
                "mold",
                "mold puts the pack between unwinding tables and code, which are then too far \
                 apart. The program would link, but would abort at its first panic with \"failed \
                 to initiate panic\"",
            ),
            _ => ("", ""),
        };
        if !what.is_empty() {
            let script = if linker == "GNU ld" {
                "\n- or keep GNU ld: call .large_pack_script() in build.rs, and link with the \
                 linker script shown in that method's documentation"
            } else {
                ""
            };
            return Err(Error::config(format!(
                "the pack is {pack}, but {linker} links the program ({from}).\n{what}.\n- link \
                 with rust-lld, the default linker of rustc 1.90 and newer on x86-64 Linux\n- or \
                 make the pack smaller, with {or_compress}fewer targets{script}"
            )));
        }
    }
    let limit = if has_limit { ". A pack over 1.5 GiB needs rust-lld" } else { "" };
    cargo.warn(&format!(
        "pack \"{name}\" adds {pack} to each program that uses it. {compress} the pack \
         smaller{limit}"
    ));
    Ok(())
}

/// Returns the linker that rustc's options select, with the text of the option. Returns `None` if
/// they leave the choice to rustc. `program` is the linker in Cargo's configuration.
fn chosen(flags: &[String], program: Option<&str>) -> Option<(Linker, String)> {
    let mut program = program.map(|program| {
        (program.to_owned(), format!("linker = {program:?} in Cargo's configuration"))
    });
    let (mut fuse, mut lld_is_off) = (None, None);
    let mut flags = flags.iter();
    while let Some(flag) = flags.next() {
        // rustc accepts an option in three forms: -C <option>, -C<option> and --codegen=<option>.
        let option = match flag.as_str() {
            "-C" | "-Z" | "--codegen" => flags.next().map(String::as_str),
            flag => ["-C", "-Z", "--codegen="].iter().find_map(|prefix| flag.strip_prefix(prefix)),
        };
        let Some((key, value)) = option.and_then(|option| option.split_once('=')) else { continue };
        match key {
            "linker" => program = Some((value.to_owned(), format!("-Clinker={value}"))),
            "link-arg" | "link-args" => {
                for word in value.split_whitespace() {
                    let path = ["-fuse-ld=", "--ld-path="]
                        .iter()
                        .find_map(|prefix| word.strip_prefix(prefix));
                    fuse = path.map(|path| (path.to_owned(), format!("-C{key}={word}"))).or(fuse);
                }
            }
            "linker-features" | "link-self-contained" => {
                for word in value.split(',') {
                    match (key, word) {
                        (_, "-lld") | ("link-self-contained", "-linker") => {
                            lld_is_off = Some(format!("-C{key}={value}"))
                        }
                        (_, "+lld") => lld_is_off = None,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    // If the program is a compiler, the linker option that it gets (`-fuse-ld`) takes precedence
    // over the program's name.
    if let Some((path, from)) = fuse {
        return Some((known(&path).unwrap_or(Linker::Other), from));
    }
    if let Some((path, from)) = program
        && let Some(linker) = known(&path)
    {
        return Some((linker, from));
    }
    // If the options turn lld off, rustc uses the system's linker.
    lld_is_off.map(|flag| (Linker::Gnu, flag))
}

/// Returns the linker with this name, or `None` for a compiler or an unknown linker.
fn known(path: &str) -> Option<Linker> {
    let name = Path::new(path).file_name()?.to_str()?;
    match name.rsplit('-').next().unwrap_or(name) {
        "lld" | "ld.lld" => Some(Linker::Lld),
        "mold" | "ld.mold" | "sold" => Some(Linker::Mold),
        "bfd" | "ld.bfd" | "ld" | "gold" | "ld.gold" => Some(Linker::Gnu),
        _ => None,
    }
}

fn default(cargo: &Cargo) -> (Linker, String) {
    let rustc = cargo.rustc();
    let ask = |what: &[&str]| {
        let args: Vec<&OsStr> = what.iter().map(OsStr::new).collect();
        let answer = probe(Path::new(&rustc), &args, &[]).ok()?;
        Some(answer.stdout.trim().to_owned())
    };
    let version = ask(&["--version"]).unwrap_or_default();
    // The output looks like `rustc 1.95.0 (…)`.
    let number = version.split(['.', ' ']).nth(2).and_then(|minor| minor.parse::<u32>().ok());
    let own = ask(&["--print", "sysroot"]).is_some_and(|sysroot| {
        Path::new(&sysroot)
            .join("lib/rustlib")
            .join(&cargo.host)
            .join("bin/gcc-ld/ld.lld")
            .is_file()
    });
    if cargo.target == "x86_64-unknown-linux-gnu" && number.is_some_and(|minor| minor >= 90) && own
    {
        (Linker::Lld, "rust-lld".to_owned())
    } else {
        (Linker::Gnu, format!("the system's linker, which {version} uses for {}", cargo.target))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offload_format::host_object::CargoTarget;

    #[test]
    fn advice_is_what_is_not_followed_yet() {
        // For musl, rustc uses the system's linker.
        let mut cargo = Cargo::outside("x86_64-unknown-linux-musl", true);
        cargo.target_arch = "x86_64".to_owned();
        let target =
            CargoTarget { arch: "x86_64", os: "linux", pointer_width: "64", endian: "little" };
        let machine = Machine::of(&target).expect("packs can be embedded there");
        for (compressed, advice) in [
            (false, "smaller, with `compress` or fewer targets"),
            (true, "smaller, with fewer targets"),
        ] {
            let request = Request { compressed, ..Request::default() };
            let error =
                check_size("huge", MOST + 1, machine, &request, &cargo).unwrap_err().to_string();
            assert!(error.contains("but GNU ld links the program"), "{error}");
            assert!(error.contains(advice), "{error}");
        }
    }

    #[test]
    fn the_linker_that_flags_ask_for() {
        for (flags, program, expected) in [
            (&[][..], None, None),
            (&["-Copt-level=3", "-C", "target-cpu=native"][..], Some("clang"), None),
            (&["-Clink-arg=-fuse-ld=mold"], None, Some(Linker::Mold)),
            (&["-C", "link-arg=-fuse-ld=/opt/mold/bin/mold"], None, Some(Linker::Mold)),
            (
                &["--codegen=link-args=-s --ld-path=/usr/bin/ld.bfd"],
                Some("mold"),
                Some(Linker::Gnu),
            ),
            (&["-Clink-arg=-fuse-ld=bfd", "-Clink-arg=-fuse-ld=lld"], None, Some(Linker::Lld)),
            (&["-Clink-arg=-fuse-ld=wild"], None, Some(Linker::Other)),
            (&["-Clinker=/usr/bin/x86_64-linux-gnu-gcc"], Some("mold"), None),
            (&["-Clinker=rust-lld"], None, Some(Linker::Lld)),
            (&[], Some("/usr/bin/x86_64-linux-gnu-ld"), Some(Linker::Gnu)),
            (&["-Clinker-features=-lld"], None, Some(Linker::Gnu)),
            (&["-Zlinker-features=-lld", "-C", "linker-features=+lld"], Some("cc"), None),
            (&["-Clink-self-contained=-linker"], None, Some(Linker::Gnu)),
        ] {
            let owned: Vec<String> = flags.iter().map(ToString::to_string).collect();
            let found = chosen(&owned, program).map(|(linker, _)| linker);
            assert_eq!(found, expected, "{flags:?}, {program:?}");
        }
    }
}
