//! Finds the Rust compiler for GPUs, with the sources of `core`. It differs from the program's
//! compiler, because GPU targets need a nightly toolchain.

use super::identity::Identity;
use super::probe_cache::ProbeCache;
use super::program::identity;
use super::search;
use crate::toolchain::cargo::Cargo;
use crate::toolchain::error::{Error, ErrorKind};
use crate::toolchain::exec::{self, probe};
use crate::toolchain::hash::Parts;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone)]
pub struct Rust {
    pub cargo: PathBuf,
    pub rustc: PathBuf,
    /// The environment variables for Cargo and rustc.
    pub env: Vec<(OsString, OsString)>,
    /// The first line of `rustc -vV`.
    pub version: String,
    /// The folder of the toolchain.
    pub sysroot: PathBuf,
    host: String,
    pub identity: Identity,
}

pub struct NoRust {
    /// The reason in a few words.
    pub short: String,
    /// The full reason.
    pub long: String,
    /// The help. Lines that begin with two spaces are commands.
    pub help: String,
}

/// The variable that names the rustc for kernels.
const VARIABLE: &str = "OFFLOAD_RUSTC";

/// The version of Rust with which this crate was tested.
const TRIED: &str = "1.96";

impl Rust {
    /// The name of rustup's toolchain for crates that name none.
    pub const CHANNEL: &'static str = "nightly";

    /// The searched places, in order.
    pub const PLACES: &'static str = "OFFLOAD_RUSTC; the toolchain in rust-toolchain.toml, in the \
                                      crate or a parent folder; otherwise nightly";

    /// Returns the toolchain from `OFFLOAD_RUSTC`, otherwise rustup's toolchain with this name.
    ///
    /// Returns an error if the variable names a program that cannot be used.
    pub fn find(
        cargo: &Cargo,
        probes: &ProbeCache,
        channel: &str,
    ) -> Result<Result<Self, NoRust>, Error> {
        // rustc and Cargo may be rustup's proxies, which start the toolchain that RUSTUP_TOOLCHAIN
        // names. They must not download a toolchain during a build.
        let mut env = vec![
            ("RUSTUP_TOOLCHAIN".into(), channel.into()),
            ("RUSTUP_AUTO_INSTALL".into(), "0".into()),
        ];
        let named = cargo.user_var(VARIABLE);
        let (program, rustc, answer) = if let Some(name) = &named {
            // The user has chosen this compiler, so allow unstable features even if it is not a
            // nightly.
            env.push(("RUSTC_BOOTSTRAP".into(), "1".into()));
            let start = |rustc: &Path| Ok((rustc.to_owned(), ask(probes, rustc, &env, channel)?));
            let (rustc, answer) = search::named(VARIABLE, Path::new(name), cargo, start)?;
            (cargo.program().into(), rustc, answer)
        } else if let Some(rustc) = exec::named(Path::new("rustc"), cargo) {
            let Ok(answer) = ask(probes, &rustc, &env, channel) else {
                cargo.watch(&rustc);
                watch_rustup(cargo);
                let short = format!("no Rust toolchain {channel} was found");
                let long = format!(
                    "{short} ({VARIABLE} is not set, {} has no such toolchain)",
                    rustc.display()
                );
                return Ok(Err(NoRust::install(short, long, channel)));
            };
            let program = exec::named(Path::new("cargo"), cargo);
            (program.unwrap_or_else(|| "cargo".into()), rustc, answer)
        } else {
            cargo.watch_search_path();
            let long = format!("no rustc was found ({VARIABLE} is not set, no rustc in PATH)");
            return Ok(Err(NoRust::install("no rustc was found".to_owned(), long, channel)));
        };
        let field = |name: &str| {
            answer.version_text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("")
        };
        let (release, host) = (field("release: ").to_owned(), field("host: ").to_owned());
        let version = answer.version_text.lines().next().unwrap_or_default().to_owned();
        if named.is_none() && !release.ends_with("-nightly") && !release.ends_with("-dev") {
            cargo.watch(&rustc);
            let short = format!("rustc {release} is not a nightly");
            let long = format!("{} is {version}, but kernels need a nightly", rustc.display());
            return Ok(Err(NoRust::install(short, long, channel)));
        }
        let rust = Self {
            cargo: program,
            identity: Identity { files: vec![answer.real], version_text: answer.version_text },
            rustc,
            env,
            version,
            sysroot: answer.sysroot,
            host,
        };
        if !rust.sources().join("core/src/lib.rs").is_file() {
            // rustup lists installed components in this folder, and installs the sources to it.
            let folder = rust.sysroot.join("lib/rustlib");
            if folder.is_dir() {
                cargo.watch(&folder);
            }
            let short = format!("rustc {release} has no sources of core");
            let long = format!(
                "{} in {} has no sources of core (rust-src)",
                rust.version,
                rust.sysroot.display()
            );
            let help = if named.is_some() {
                format!("install the sources of this Rust into {}", rust.sources().display())
            } else {
                format!(
                    "add the sources of core:\n  \
                     rustup component add rust-src --toolchain {channel}"
                )
            };
            return Ok(Err(NoRust { short, long, help }));
        }
        Ok(Ok(rust))
    }

    /// Returns the toolchain with which Cargo compiles the program.
    ///
    /// Returns an error if the toolchain's rustc does not start.
    pub fn of_program(cargo: &Cargo, probes: &ProbeCache) -> Result<Self, Error> {
        let rustc = PathBuf::from(cargo.rustc());
        let rustc = exec::named(&rustc, cargo).unwrap_or(rustc);
        let answer = ask(probes, &rustc, &[], "").map_err(|why| {
            let message =
                format!("the program's compiler {} does not start: {why}", rustc.display());
            Error::new(ErrorKind::ToolNotFound, message)
        })?;
        // The probed program may be rustup's proxy, which could start a different toolchain for the
        // kernel crate.
        let rustc = if answer.real.is_file() { answer.real.clone() } else { rustc };
        let version = answer.version_text.lines().next().unwrap_or_default().to_owned();
        Ok(Self {
            cargo: cargo.program().into(),
            rustc,
            env: Vec::new(),
            version,
            sysroot: answer.sysroot,
            host: cargo.host.clone(),
            identity: Identity { files: vec![answer.real], version_text: answer.version_text },
        })
    }

    pub fn sources(&self) -> PathBuf {
        self.sysroot.join("lib/rustlib/src/rust/library")
    }

    /// Returns the toolchain's own ELF linker, if it has one.
    pub fn lld(&self) -> Option<PathBuf> {
        exec::program(&self.sysroot.join("lib/rustlib").join(&self.host).join("bin"), "rust-lld")
    }

    /// Returns the processors that rustc supports for a target, or the reason why it lists none.
    fn list(&self, triple: &str) -> Result<Vec<String>, String> {
        let args = ["--print", "target-cpus", "--target", triple].map(OsStr::new);
        let answer = probe(&self.rustc, &args, &self.env).map_err(|error| error.to_string())?;
        if !answer.status.success() {
            return Err(format!("{} does not know {triple}: {}", self.version, answer.stderr));
        }
        Ok(answer.stdout.split_whitespace().map(str::to_owned).collect())
    }

    /// Returns a target's processors whose names start with this prefix and a digit.
    #[inline]
    pub fn processors(&self, triple: &str, prefix: &str) -> Vec<String> {
        let mut names = self.list(triple).unwrap_or_default();
        names.retain(|name| {
            let rest = name.strip_prefix(prefix);
            rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        });
        names
    }

    /// Returns the reason why rustc does not compile for a processor, or `None` if it does.
    pub fn refusal(&self, triple: &str, processor: &str) -> Option<String> {
        match self.list(triple) {
            Ok(known) if known.iter().any(|name| name == processor) => None,
            Ok(_) => Some(format!("{} does not know {processor}\n{}", self.version, self.age())),
            Err(why) => Some(why),
        }
    }

    /// Returns the second number of the compiler's version, such as 96 for Rust 1.96.
    pub fn minor(&self) -> Option<u32> {
        self.version.split(' ').nth(1).and_then(minor)
    }

    /// Returns a line about the compiler's version if it differs from the tested version, otherwise
    /// an empty string.
    pub fn age(&self) -> String {
        match (self.minor(), minor(TRIED)) {
            (Some(own), Some(tried)) if own != tried => {
                let age = if own < tried { "older" } else { "newer" };
                format!(
                    "offload-build's support for kernels in Rust was tested with Rust {TRIED}, but \
                     this compiler is {age}: {}",
                    self.version
                )
            }
            _ => String::new(),
        }
    }
}

fn minor(version: &str) -> Option<u32> {
    version.split('.').nth(1)?.parse().ok()
}

impl NoRust {
    fn install(short: String, long: String, channel: &str) -> Self {
        let help = format!(
            "install nightly Rust with the sources of core:\n  rustup toolchain install {channel} --component rust-src"
        );
        Self { short, long, help }
    }
}

/// Tells Cargo to rerun the build script after rustup installs a toolchain, which writes a file to
/// the watched folder. Does not watch the folder of toolchains, because Cargo would check all of
/// its many files.
fn watch_rustup(cargo: &Cargo) {
    let (named, home) = (cargo.user_var("RUSTUP_HOME"), cargo.user_var("HOME"));
    let folder = match (named, home) {
        (Some(named), _) => PathBuf::from(named),
        (None, Some(home)) => Path::new(&home).join(".rustup"),
        (None, None) => return,
    };
    let folder = folder.join("update-hashes");
    if folder.is_dir() {
        cargo.watch(&folder);
    }
}

struct Answer {
    /// The output of `-vV`.
    version_text: String,
    sysroot: PathBuf,
    /// The compiler itself. The probed program may only be a proxy that starts it.
    real: PathBuf,
}

/// Returns the results of probing a rustc, from the cache if the compiler has not changed.
fn ask(
    probes: &ProbeCache,
    rustc: &Path,
    env: &[(OsString, OsString)],
    channel: &str,
) -> Result<Answer, String> {
    let mut question = Parts::default();
    question.add("rust");
    question.add(&identity(rustc));
    question.add(channel);
    let question = question.finish();
    if let Some(known) = probes.get(question)
        && let Some((real, rest)) = known.split_once('\n')
        && let Some((sysroot, version_text)) = rest.split_once('\n')
    {
        let answer = Answer::new(version_text.to_owned(), sysroot);
        if identity(&answer.real) == real {
            return Ok(answer);
        }
    }
    let run = |args: &[&OsStr]| {
        let answer = probe(rustc, args, env).map_err(|error| error.to_string())?;
        if answer.status.success() { Ok(answer.stdout) } else { Err(answer.stderr) }
    };
    let answer = Answer::new(
        run(&["-vV"].map(OsStr::new))?,
        run(&["--print", "sysroot"].map(OsStr::new))?.trim(),
    );
    let text = format!(
        "{}\n{}\n{}",
        identity(&answer.real),
        answer.sysroot.display(),
        answer.version_text
    );
    probes.put(question, &text);
    Ok(answer)
}

impl Answer {
    fn new(version_text: String, sysroot: &str) -> Self {
        let sysroot = PathBuf::from(sysroot);
        let real = sysroot.join("bin").join(format!("rustc{}", std::env::consts::EXE_SUFFIX));
        Self { version_text, sysroot, real }
    }
}
