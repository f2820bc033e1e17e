//! Resolves `native`: the build machine's GPUs, with one target for each kind of GPU.
//!
//! | vendor | searched until one reports a GPU |
//! |---|---|
//! | NVIDIA | `nvidia-smi --query-gpu=compute_cap` in `PATH`, or WSL's; `nvptx-arch` beside clang or in `PATH` |
//! | AMD | `amdgpu-arch` beside clang or in `PATH`; `rocm_agent_enumerator` in `PATH` or ROCm; Linux's list of devices in `/sys` |
//! | Intel | Linux's list of devices in `/sys`, which only shows that a GPU exists |
//!
//! `native` adds no target for an Intel GPU, because SPIR-V is the same for every Intel GPU, and
//! build.rs lists it by name. Therefore OpenCL drivers, which may be for a CPU, have no effect on a
//! build.
//!
//! These programs report names without features, such as `gfx90a`. Code for such a name runs in
//! every mode of the GPU.

use super::item::TargetOrigin;
use super::target;
use crate::toolchain::compilers::Tools;
use crate::toolchain::exec::{NvccFlags, numbered, probe, program};
use crate::toolchain::{Cargo, Error, ErrorKind};
use offload_format::target::Vendor;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder in which Linux lists compute devices, with a subfolder for each device.
const TOPOLOGY: &str = "/sys/class/kfd/kfd/topology/nodes";

/// The folder in which Linux lists GPUs of all vendors.
const CARDS: &str = "/sys/class/drm";

/// Returns the targets of the machine's GPUs.
///
/// Returns an error if there is no GPU, because no other target replaces `native`.
pub(super) fn targets(
    tools: &Tools<'_>,
    vendor: Option<Vendor>,
    by: &TargetOrigin,
) -> Result<Vec<String>, Error> {
    let log = match find(tools, vendor)? {
        Gpus::Found(targets) => return Ok(targets),
        Gpus::None { log, .. } => log,
    };
    let search = SEARCHES.iter().find(|(of, ..)| vendor == Some(*of));
    let (whose, example) = search.map_or(("", "sm_80"), |(_, whose, example, _)| (whose, example));
    let message = format!(
        "the target 'native' (from {by}) means this machine's {whose}GPU, but no GPU was \
         found:\n{}\nList the program's targets, as in OFFLOAD_ARCH={example}, or let build.rs \
         name a target for machines without a GPU: .native_or([\"{example}\"]){}",
        log.iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n"),
        flags_with_gpus(tools.cargo)
    );
    Err(Error::new(ErrorKind::Config, message))
}

/// Returns a line for each of nvcc's variables that names GPUs. Users of other programs choose
/// their targets this way, and Cargo hides the build's warning about it if the package is a
/// dependency.
fn flags_with_gpus(cargo: &Cargo) -> String {
    let mut lines = String::new();
    for flags in NvccFlags::set(cargo) {
        if !flags.gpu_options.is_empty() {
            lines += &format!(
                "\n{} contains {}, which does not set the targets of this build. To build for \
                 these GPUs, {}",
                flags.name,
                flags.gpu_options,
                flags.advice()
            );
        }
    }
    lines
}

/// Returns the targets of the machine's GPUs from this vendor, or from all vendors. If no GPU is
/// found, warns and returns `others`. If `others` is empty, the build has other default targets.
pub(super) fn targets_or(
    tools: &Tools<'_>,
    vendor: Option<Vendor>,
    others: &[String],
) -> Result<Vec<String>, Error> {
    let other = match find(tools, vendor)? {
        Gpus::Found(targets) => return Ok(targets),
        Gpus::None { other, .. } => beside(other),
    };
    let search = SEARCHES.iter().find(|(of, ..)| vendor == Some(*of));
    let whose = search.map_or("", |row| row.1);
    let instead = match others {
        [] => "for 'native': building only for the other default targets of build.rs".to_owned(),
        others => format!("on this machine: building for {}", others.join(", ")),
    };
    tools.cargo.warn_once(&format!("no {whose}GPU found {instead}{other}"));
    Ok(others.to_vec())
}

/// Returns the end of the warning "no GPU found", which names the Intel GPU that `native` ignores,
/// or an empty string if there is none.
fn beside(other: Option<String>) -> String {
    other.map_or_else(String::new, |other| format!(" ({other})"))
}

pub(crate) enum Gpus {
    /// The targets of the GPUs, without duplicates.
    Found(Vec<String>),
    /// No GPU with its own target was found.
    None {
        /// Lines for messages. Each line names a program or a folder, and what was found there.
        log: Vec<String>,
        /// Text that names a GPU without its own target, and the target to use instead.
        other: Option<String>,
    },
}

/// A vendor, its name and an example target for messages about missing GPUs, and the search for its
/// GPUs.
type VendorSearch = (Vendor, &'static str, &'static str, fn(&mut Search<'_>) -> Vec<String>);

const SEARCHES: [VendorSearch; 3] = [
    (Vendor::Nvidia, "NVIDIA ", "sm_80", |search| search.nvidia()),
    (Vendor::Amd, "AMD ", "gfx1100", |search| search.amd(Path::new(TOPOLOGY))),
    (Vendor::Intel, "Intel ", "spirv64", |search| search.intel(Path::new(CARDS))),
];

pub(super) fn find(tools: &Tools<'_>, vendor: Option<Vendor>) -> Result<Gpus, Error> {
    let clang = tools.clang()?.ok();
    let beside_clang = clang.and_then(|clang| clang.path.parent()).map(Path::to_owned);
    let mut search = Search { cargo: tools.cargo, beside_clang, log: Vec::new(), other: None };
    let mut targets = Vec::new();
    for (of, .., find) in SEARCHES {
        if vendor.is_none_or(|vendor| vendor == of) {
            targets.extend(find(&mut search));
        }
    }
    if targets.is_empty() {
        // A user may install a driver before the next build, so Cargo watches the search path.
        tools.cargo.watch_search_path();
        return Ok(Gpus::None { log: search.log, other: search.other });
    }
    Ok(Gpus::Found(targets))
}

struct Search<'a> {
    cargo: &'a Cargo,
    beside_clang: Option<PathBuf>,
    log: Vec<String>,
    other: Option<String>,
}

impl Search<'_> {
    fn nvidia(&mut self) -> Vec<String> {
        let smi = self.program("nvidia-smi", &["/usr/lib/wsl/lib".into()]);
        let args = ["--query-gpu=compute_cap", "--format=csv,noheader"];
        // `nvidia-smi` prints a line for each GPU, such as `9.0`.
        let nvidia = |name: &str| target::nvidia(name).map(|arch| arch.to_string());
        let found =
            self.ask(smi, &args, &|line| nvidia(&format!("sm_{}", line.replacen('.', "", 1))));
        if !found.is_empty() {
            return found;
        }
        let arch = self.program("nvptx-arch", &[]);
        // `nvptx-arch` prints names such as `sm_90`. Remove a letter after the number, because it
        // would limit which GPUs run the code.
        self.ask(arch, &[], &|line| nvidia(line.trim_end_matches(['a', 'f'])))
    }

    fn amd(&mut self, topology: &Path) -> Vec<String> {
        let rocm =
            PathBuf::from(self.cargo.user_var("ROCM_PATH").unwrap_or_else(|| "/opt/rocm".into()));
        let processor = |line: &str| {
            // ROCm's programs list a CPU as `gfx000`.
            target::processor(line).filter(|processor| processor != "gfx000")
        };
        let arch = self.program("amdgpu-arch", &[rocm.join("llvm").join("bin")]);
        let found = self.ask(arch, &[], &processor);
        if !found.is_empty() {
            return found;
        }
        let enumerator = self.program("rocm_agent_enumerator", &[rocm.join("bin")]);
        let found = self.ask(enumerator, &["-name"], &processor);
        if !found.is_empty() {
            return found;
        }
        let found = devices(topology);
        if found.is_empty() {
            self.log.push(if topology.is_dir() {
                format!("AMD: {} lists no GPU", topology.display())
            } else {
                format!("AMD: no {}", topology.display())
            });
        }
        found
    }

    /// Logs whether Linux's list contains an Intel GPU, which has no target of its own.
    fn intel(&mut self, cards: &Path) -> Vec<String> {
        self.other = intel_card(cards).map(|card| {
            format!(
                "{} is an Intel GPU. 'native' adds no target for Intel GPUs: add the target \
                 spirv64, which covers all of them",
                card.display()
            )
        });
        self.log.push(match &self.other {
            Some(card) => format!("Intel: {card}"),
            None => format!("Intel: no GPU in {}", cards.display()),
        });
        Vec::new()
    }

    /// Finds a program in clang's folder, in `PATH`, or in the folders `more`. The error is a line
    /// for the log.
    fn program(&mut self, name: &str, more: &[PathBuf]) -> Result<PathBuf, String> {
        let mut folders: Vec<PathBuf> = self.beside_clang.iter().cloned().collect();
        folders.extend(self.cargo.search_path());
        folders.extend_from_slice(more);
        folders.iter().find_map(|folder| program(folder, name)).ok_or_else(|| {
            let more: String =
                more.iter().map(|folder| format!(" or {}", folder.display())).collect();
            format!("no {name} beside clang or in PATH{more}")
        })
    }

    /// Runs a program, and returns the targets that it prints, without duplicates.
    fn ask(
        &mut self,
        program: Result<PathBuf, String>,
        args: &[&str],
        read: &dyn Fn(&str) -> Option<String>,
    ) -> Vec<String> {
        let program = match program {
            Ok(program) => program,
            Err(missing) => {
                self.log.push(missing);
                return Vec::new();
            }
        };
        let mut found = Vec::new();
        let args: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
        let answer = match probe(&program, &args, &[]) {
            Err(error) => format!("does not start: {error}"),
            Ok(answer) => {
                let text = answer.stdout;
                for item in text.lines().filter_map(|line| read(line.trim())) {
                    if !found.contains(&item) {
                        found.push(item);
                    }
                }
                let line = text + &answer.stderr;
                let line = line.lines().map(str::trim).find(|line| !line.is_empty());
                match (answer.status.success(), line) {
                    (true, None) => "lists no GPU".to_owned(),
                    (true, Some(line)) => format!("prints '{line}'"),
                    (false, None) => format!("ended with {}", answer.status),
                    (false, Some(line)) => format!("ended with {}: {line}", answer.status),
                }
            }
        };
        if found.is_empty() {
            self.log.push(format!("{} {answer}", program.display()));
        }
        found
    }
}

/// Returns the processors of the GPUs in Linux's list `topology`, without duplicates.
fn devices(topology: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for folder in numbered(topology, "") {
        let Ok(properties) = fs::read_to_string(folder.join("properties")) else { continue };
        let version = properties.lines().find_map(|line| line.strip_prefix("gfx_target_version "));
        // The version consists of three numbers with two decimal digits each. For example, `90010`
        // is 9, 0 and 10, which means `gfx90a`. For a CPU, the version is 0.
        let Some(version) =
            version.and_then(|text| text.trim().parse::<u32>().ok()).filter(|it| *it != 0)
        else {
            continue;
        };
        let name = format!("gfx{}{:x}{:x}", version / 10_000, version / 100 % 100, version % 100);
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// Returns the first Intel GPU in Linux's list `cards`.
fn intel_card(cards: &Path) -> Option<PathBuf> {
    /// Intel's PCI vendor ID.
    const INTEL: &str = "0x8086";
    numbered(cards, "card").into_iter().find(|card| {
        fs::read_to_string(card.join("device/vendor")).is_ok_and(|vendor| vendor.trim() == INTEL)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linux_list_of_devices() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path();
        for (node, properties) in [
            ("0", "cpu_cores_count 8\ngfx_target_version 0\n"),
            ("1", "simd_count 304\ngfx_target_version 90402\n"),
            ("2", "gfx_target_version 90010\n"),
            ("3", "gfx_target_version 90402\n"),
            ("4", "gfx_target_version 110001\n"),
            ("5", "gfx_target_version what\n"),
        ] {
            fs::create_dir_all(folder.join(node)).unwrap();
            fs::write(folder.join(node).join("properties"), properties).unwrap();
        }
        let found = devices(folder);
        assert_eq!(found, ["gfx942", "gfx90a", "gfx1101"]);
        assert!(devices(&folder.join("missing")).is_empty());
    }

    #[test]
    fn linux_list_of_cards() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path();
        for (card, vendor) in
            [("card0", "0x10de\n"), ("card1", "0x1002\n"), ("renderD128", "0x8086\n")]
        {
            fs::create_dir_all(folder.join(card).join("device")).unwrap();
            fs::write(folder.join(card).join("device/vendor"), vendor).unwrap();
        }
        assert_eq!(intel_card(folder), None);
        let (cargo, card) =
            (Cargo::outside("x86_64-unknown-linux-gnu", true), folder.join("card2"));
        let answer = || {
            let mut search =
                Search { cargo: &cargo, beside_clang: None, log: Vec::new(), other: None };
            assert!(search.intel(folder).is_empty());
            (search.log.pop().unwrap(), beside(search.other))
        };
        assert_eq!(answer(), (format!("Intel: no GPU in {}", folder.display()), String::new()));
        fs::create_dir_all(card.join("device")).unwrap();
        fs::write(card.join("device/vendor"), "0x8086\n").unwrap();
        let is_one = format!(
            "{} is an Intel GPU. 'native' adds no target for Intel GPUs: add the target \
             spirv64, which covers all of them",
            card.display()
        );
        assert_eq!(answer(), (format!("Intel: {is_one}"), format!(" ({is_one})")));
    }
}
