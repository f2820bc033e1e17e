//! The CPU, and its rule: only shared objects for the same architecture, system and C library fit.

use super::device::{DeviceName, InMessages};
use super::{DeviceInfo, Fit, Refusal, VendorDevice};
use crate::target::{ImageCode, ParseError, TargetTriple};
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// The CPU that this program runs on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cpu;

impl Cpu {
    /// Returns the CPU if the text is `cpu`.
    pub(super) fn parse(named: &DeviceName<'_>) -> Option<Result<Self, ParseError>> {
        (named.text == "cpu").then_some(Ok(Self))
    }

    #[inline(always)]
    pub(super) fn judge<'a, S: From<&'a str>>(
        &self,
        code: ImageCode<'a>,
    ) -> Result<Fit, Refusal<S>> {
        code.cpu_triple().map_or_else(|| Err(Refusal::of(code)), judge)
    }
}

impl InMessages for Cpu {
    fn targets(&self) -> Vec<String> {
        vec!["cpu".to_owned()]
    }
}

impl fmt::Display for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the CPU")
    }
}

impl DeviceInfo {
    /// Returns the CPU that this program runs on.
    pub fn cpu() -> Self {
        Self::new(VendorDevice::Cpu(Cpu))
    }
}

fn judge<'a, S: From<&'a str>>(text: &'a str) -> Result<Fit, Refusal<S>> {
    let linux = |env: &'static str| {
        let (arch, vendor) = text.strip_suffix(env)?.strip_suffix("-linux-")?.split_once('-')?;
        (!vendor.contains('-')).then_some(TargetTriple { arch, vendor, os: "linux", env })
    };
    // Most of Cargo's triples for Linux have this form, with all parts at their usual positions,
    // and need no further parsing.
    let triple = match linux("gnu").or_else(|| linux("musl")) {
        Some(triple) => triple,
        None => TargetTriple::parse(text).map_err(|_| Refusal::NotUnderstood)?,
    };
    if is_this_arch(triple.arch) && is_this_system(triple) {
        Ok(Fit::Cpu)
    } else {
        Err(Refusal::OtherHost(text.into()))
    }
}

fn is_this_arch(arch: &str) -> bool {
    match arch {
        "x86_64" => cfg!(target_arch = "x86_64"),
        "aarch64" | "arm64" => cfg!(all(target_arch = "aarch64", target_endian = "little")),
        "i386" | "i486" | "i586" | "i686" => cfg!(target_arch = "x86"),
        "loongarch64" => cfg!(target_arch = "loongarch64"),
        "s390x" => cfg!(target_arch = "s390x"),
        "powerpc64le" => cfg!(all(target_arch = "powerpc64", target_endian = "little")),
        "powerpc64" => cfg!(all(target_arch = "powerpc64", target_endian = "big")),
        _ if arch.starts_with("riscv64") => cfg!(target_arch = "riscv64"),
        _ if arch.starts_with("armeb") || arch.starts_with("thumbeb") => false,
        _ if arch.starts_with("arm") || arch.starts_with("thumb") => cfg!(target_arch = "arm"),
        _ => false,
    }
}

fn is_this_system(triple: TargetTriple<'_>) -> bool {
    // Versions may follow the names, as in macosx14.0 and windows-msvc19.33, so compare only the
    // start.
    let os = triple.os;
    let android = triple.env.starts_with("android");
    let same_os = (os.starts_with("linux") && !android && cfg!(target_os = "linux"))
        || (os.starts_with("linux") && android && cfg!(target_os = "android"))
        || (os.starts_with("windows") && cfg!(target_os = "windows"))
        || (os.starts_with("freebsd") && cfg!(target_os = "freebsd"))
        || (os.starts_with("netbsd") && cfg!(target_os = "netbsd"))
        || (os.starts_with("openbsd") && cfg!(target_os = "openbsd"))
        || (os.starts_with("illumos") && cfg!(target_os = "illumos"))
        || ((os.starts_with("darwin") || os.starts_with("macos")) && cfg!(target_os = "macos"));
    let env = triple.env;
    let one_of_three = cfg!(any(target_env = "gnu", target_env = "musl", target_env = "msvc"));
    let same_env = (env.starts_with("gnu") && cfg!(target_env = "gnu"))
        || (env.starts_with("musl") && cfg!(target_env = "musl"))
        || (env.starts_with("msvc") && cfg!(target_env = "msvc"))
        || (env.starts_with("ohos") && cfg!(target_env = "ohos"))
        || ((android || matches!(env, "" | "unknown")) && !one_of_three);
    same_os && same_env && !env.ends_with(OTHER_ABI)
}

/// The end of the environment's name in triples for this architecture's other ABI.
const OTHER_ABI: &str = if cfg!(target_abi = "eabihf") {
    "eabi"
} else if cfg!(target_abi = "eabi") {
    "eabihf"
} else if cfg!(any(target_abi = "x32", target_abi = "ilp32")) {
    "gnu"
} else if cfg!(target_arch = "aarch64") {
    "ilp32"
} else {
    "x32"
};
