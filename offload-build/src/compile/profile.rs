//! Chooses the optimization level and the debug information of device code.
//!
//! | compiler | optimization | debug information |
//! |---|---|---|
//! | clang with our header, C++ for the CPU | Cargo's `opt-level`; for SPIR-V at least 1 | Cargo's `debug`; for NVIDIA full information only without optimization, otherwise lines |
//! | nvcc, ptxas, clang with CUDA's or ROCm's headers | 3 | lines, if Cargo's `debug` requests any |
//!
//! With full debug information, the compilers in the second row emit five times as much code and
//! need gigabytes of memory, so the build requests it only if build.rs does. A call to `opt_level`
//! or `debug` in build.rs overrides the default in the table. A compiler flag in build.rs overrides
//! both.

use super::Compilations;
use crate::plan::{PlannedModule, PlannedSource};
use crate::request::{Headers, Recipe};
use crate::targets::Target;
use crate::toolchain::Cargo;
use offload_format::target::Vendor;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DebugInfo {
    None,
    Lines,
    Full,
}

/// The optimization level and the debug information for one source and target.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Profile {
    /// The level, as in `-O<level>`.
    pub(super) level: String,
    pub(super) debug: DebugInfo,
    pub(super) set_by_flags: FlagSettings,
}

/// Settings found in build.rs's flags.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FlagSettings {
    /// The level of the last `-O`.
    pub(super) level: Option<String>,
    /// The debug information that `-g` or a similar option requests. clang and ptxas apply it to
    /// all code, but nvcc only to host code.
    pub(super) debug: Option<DebugInfo>,
    /// The debug information that `-G` or `-lineinfo` requests for device code.
    pub(super) device_debug: Option<DebugInfo>,
}

impl FlagSettings {
    pub(super) fn of(flags: &[&str]) -> Self {
        let mut set = Self::default();
        let mut before = "";
        for &flag in flags {
            // In `-Xptxas -O1`, the level is only for ptxas, not for the compilation.
            let is_passed_on = before.starts_with("-X") && !before.contains(['=', ',']);
            before = flag;
            if is_passed_on {
                continue;
            }
            if let Some(level) = level(flag) {
                set.level = Some(level.to_owned());
            }
            match flag {
                "-G" | "--device-debug" => set.device_debug = Some(DebugInfo::Full),
                "-lineinfo" | "--generate-line-info" => set.device_debug = Some(DebugInfo::Lines),
                _ => set.debug = debug_info(flag).or(set.debug),
            }
        }
        set
    }
}

fn level(flag: &str) -> Option<&str> {
    let level = flag.strip_prefix("--optimize").or_else(|| flag.strip_prefix("-O"))?;
    // nvcc's `-Ofast-compile` and `-Ofc` are not optimization levels.
    let is_other = level.starts_with("fast-compile") || level.starts_with("fc");
    let level = level.trim_start_matches('=');
    (!is_other).then_some(if level.is_empty() { "1" } else { level })
}

fn debug_info(flag: &str) -> Option<DebugInfo> {
    match flag {
        "-g" | "-g2" | "-g3" | "--debug" => Some(DebugInfo::Full),
        "-g1" | "-gmlt" => Some(DebugInfo::Lines),
        "-g0" => Some(DebugInfo::None),
        _ if flag.starts_with("-gline-") => Some(DebugInfo::Lines),
        _ if flag.starts_with("-ggdb") || flag.starts_with("-gdwarf") => Some(DebugInfo::Full),
        _ => None,
    }
}

impl Compilations<'_> {
    pub(super) fn profile(&self, source: &PlannedSource) -> Profile {
        Profile::of(self.module, source, self.target(), self.cargo)
    }
}

/// Returns the distinct optimization levels of the sources in a module's image for a target. The
/// manifest of a prebuilt set lists these levels.
pub(crate) fn levels(module: &PlannedModule, target: &Target, cargo: &Cargo) -> Vec<String> {
    let mut levels: Vec<String> = Vec::new();
    for source in module.sources_for(target) {
        let level = Profile::of(module, source, target, cargo).level;
        if !levels.contains(&level) {
            levels.push(level);
        }
    }
    levels
}

impl Profile {
    /// Returns the profile of a source: build.rs's settings, or else the defaults in the table.
    fn of(module: &PlannedModule, source: &PlannedSource, target: &Target, cargo: &Cargo) -> Self {
        let set_by_flags = FlagSettings::of(&module.flags_for(source, target));
        let asked_debug = source.options.debug.or(module.options.debug);
        let asked_level =
            source.options.opt_level.or(module.options.opt_level).map(|level| level.to_string());
        let recipe = source.recipe(target);
        let is_vendors = matches!(
            recipe,
            Some(
                Recipe::Nvcc
                    | Recipe::Ptx
                    | Recipe::Cargo
                    | Recipe::Offload(Headers::Cuda | Headers::Rocm)
            )
        );
        let debug = match recipe {
            Some(Recipe::Nvcc) => set_by_flags.device_debug,
            _ => set_by_flags.debug.or(set_by_flags.device_debug),
        };
        let is_nvidia = target.vendor() == Vendor::Nvidia;
        let default_level = match (is_vendors, asked_debug) {
            // NVIDIA's debugger needs unoptimized code.
            (_, Some(true)) if is_nvidia || is_vendors => "0",
            (true, _) => "3",
            // Without optimization, clang 22 emits invalid modules, whose field indices are not
            // constants.
            (false, _) if target.vendor() == Vendor::Intel && cargo.opt_level == "0" => "1",
            (false, _) => &cargo.opt_level,
        };
        let level =
            set_by_flags.level.clone().or(asked_level).unwrap_or_else(|| default_level.to_owned());
        let default_debug = match asked_debug {
            Some(true) => DebugInfo::Full,
            Some(false) => DebugInfo::None,
            None if !cargo.debug => DebugInfo::None,
            None if is_vendors => DebugInfo::Lines,
            // ptxas optimizes the machine code even if clang does not. For optimized code, ptxas
            // supports only line information.
            None if is_nvidia && (level != "0" || !target.is_ptx()) => DebugInfo::Lines,
            None => DebugInfo::Full,
        };
        Profile { level, debug: debug.unwrap_or(default_debug), set_by_flags }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_that_say_it_themselves() {
        let own = |flags: &str| {
            let own = FlagSettings::of(&flags.split(' ').collect::<Vec<_>>());
            (own.level, own.debug, own.device_debug)
        };
        let level = |level: &str| Some(level.to_owned());
        for (flags, expected) in [
            ("-O1 -lineinfo", (level("1"), None, Some(DebugInfo::Lines))),
            ("-O3 --optimize=2", (level("2"), None, None)),
            ("-g -G", (None, Some(DebugInfo::Full), Some(DebugInfo::Full))),
            ("-gline-tables-only", (None, Some(DebugInfo::Lines), None)),
            ("-g0", (None, Some(DebugInfo::None), None)),
            ("-gencode arch=compute_80,code=sm_80", (None, None, None)),
            ("-Xptxas -O1 -Xcompiler -g", (None, None, None)),
            ("-Ofast-compile=max", (None, None, None)),
            ("-Xptxas=-v -Ofast", (level("fast"), None, None)),
        ] {
            assert_eq!(own(flags), expected, "{flags}");
        }
    }
}
