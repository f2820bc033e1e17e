//! Tests the commands for other systems, and the guide's copy of the commands.

use super::*;
use std::fs;

const BOOKWORM: &str = "ID=debian\nVERSION_ID=\"12\"\nVERSION_CODENAME=bookworm\n";
const TRIXIE: &str = "ID=debian\nVERSION_CODENAME=trixie\n";
const JAMMY: &str = "ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=jammy\nUBUNTU_CODENAME=jammy\n";
const NOBLE: &str = "ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=noble\n";
const FEDORA: &str = "ID=fedora\n";
const ARCH: &str = "ID=arch\n";
const LEAP: &str = "ID=\"opensuse-leap\"\nID_LIKE=\"suse opensuse\"\n";
const ALPINE: &str = "ID=alpine\n";

/// Returns the commands as one line, for root on a system without pip.
fn commands(wanted: &Installable, os: &str, os_release: &str) -> String {
    wanted.commands(&System::of(os, os_release)).join(" ; ")
}

#[test]
fn clang_by_the_names_of_each_system() {
    let clang = |os_release| commands(&Installable::Clang(15), "linux", os_release);
    let apt = "apt-get update && apt-get install -y --no-install-recommends";
    assert_eq!(clang(BOOKWORM), format!("{apt} clang-22 lld-22"));
    assert_eq!(clang(TRIXIE), format!("{apt} clang lld"));
    assert_eq!(clang(NOBLE), format!("{apt} clang lld"));
    assert_eq!(clang(JAMMY), format!("{apt} clang-15 lld-15"));
    // Linux Mint is derived from Ubuntu. Its own code name is not in the table.
    let mint = "ID=linuxmint\nID_LIKE=\"ubuntu debian\"\nVERSION_CODENAME=virginia\nUBUNTU_CODENAME=jammy\n";
    assert_eq!(clang(mint), format!("{apt} clang-15 lld-15"));
    assert_eq!(clang(FEDORA), "dnf install -y clang lld");
    assert_eq!(clang("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n"), "dnf install -y clang lld");
    assert_eq!(clang(ARCH), "pacman -Syu --noconfirm clang lld");
    assert_eq!(clang(LEAP), "zypper --non-interactive install clang lld");
    assert_eq!(clang(ALPINE), "apk add -U clang lld");
    assert_eq!(clang("ID=nixos\n"), "");
    assert_eq!(clang("ID=debian\nVERSION_CODENAME=bullseye\n"), "", "its clang is too old");
    assert!(
        commands(&Installable::Clang(15), "macos", "")
            .starts_with("brew install llvm lld ; export OFFLOAD_CLANG=")
    );
    assert!(
        commands(&Installable::Clang(15), "windows", "")
            .starts_with("winget install --exact --id LLVM.LLVM ; $env:")
    );
}

#[test]
fn a_user_who_is_not_root_asks_sudo() {
    let system = System { needs_sudo: true, ..System::of("linux", TRIXIE) };
    assert_eq!(
        Installable::Lld(Some(19)).help_on(&system),
        "install the lld that matches clang:\n  sudo apt-get update && sudo apt-get install -y \
         --no-install-recommends lld-19\nor name a different clang in OFFLOAD_CLANG"
    );
}

#[test]
fn a_cross_compiler_comes_with_the_variable_of_the_linker() {
    let help = |triple: &str, os_release: &str| {
        Installable::CrossCxx(triple.to_owned()).help_on(&System::of("linux", os_release))
    };
    let printed = help("riscv64gc-unknown-linux-gnu", TRIXIE);
    assert!(printed.contains(" g++-riscv64-linux-gnu\n"), "{printed}");
    assert!(printed.contains("or name one in CXX_riscv64gc_unknown_linux_gnu,"), "{printed}");
    let linker = "CARGO_TARGET_RISCV64GC_UNKNOWN_LINUX_GNU_LINKER=riscv64-linux-gnu-gcc";
    assert!(printed.ends_with(linker), "{printed}");
    let printed = help("x86_64-unknown-linux-gnu", TRIXIE);
    assert!(printed.contains(" g++-x86-64-linux-gnu\n"), "{printed}");
    // No package is known for these triples on these systems.
    for (triple, os_release) in
        [("aarch64-linux-android", TRIXIE), ("aarch64-unknown-linux-gnu", FEDORA)]
    {
        let printed = help(triple, os_release);
        assert!(printed.starts_with("install a cross compiler for C++\nor name one"), "{printed}");
    }
}

const fn ptxas(old: bool) -> Installable {
    Installable::Ptxas { old, or_ptx: true }
}

#[test]
fn ptxas_without_root_where_pip_is() {
    let system = System { needs_sudo: true, has_pip: true, ..System::of("linux", BOOKWORM) };
    let folder = "$HOME/.local/share/offload/ptxas";
    assert_eq!(
        ptxas(false).commands(&system),
        [format!("pip3 install --upgrade --no-deps --target \"{folder}\" nvidia-cuda-nvcc")]
    );
    let old = commands(&ptxas(true), "linux", FEDORA);
    assert!(old.starts_with("dnf install -y python3-pip ; pip3 install "), "{old}");
    assert!(old.ends_with("/ptxas-12\" nvidia-cuda-nvcc-cu12"), "{old}");
    for (os, os_release, why) in [("linux", ALPINE, "glibc"), ("macos", "", "macOS")] {
        let help = ptxas(false).help_on(&System::of(os, os_release));
        assert!(help.contains(why) && help.ends_with("compute_90 in place of sm_90"), "{help}");
        assert!(!help.contains("pip3"), "{help}");
    }
    let alone = Installable::Ptxas { old: false, or_ptx: false }.help_on(&system);
    assert!(alone.ends_with("or name ptxas in OFFLOAD_PTXAS"), "{alone}");
}

#[test]
fn a_new_clang_only_where_the_lists_have_one() {
    assert!(commands(&Installable::NewClang, "linux", BOOKWORM).ends_with(" clang-22 lld-22"));
    assert!(
        commands(&Installable::LinkingClang, "linux", BOOKWORM)
            .ends_with(" clang-22 lld-22 llvm-22")
    );
    assert_eq!(commands(&Installable::NewClang, "linux", JAMMY), "");
    assert_eq!(
        commands(&Installable::LinkingClang, "linux", FEDORA),
        "dnf install -y clang lld llvm"
    );
    assert!(commands(&Installable::LinkingClang, "linux", TRIXIE).ends_with(" clang lld llvm"));
    for (least, os_release, packages) in [
        (18, NOBLE, " clang lld"),
        (19, NOBLE, " clang-20 lld-20"),
        (21, NOBLE, ""),
        (19, TRIXIE, " clang lld"),
        (20, TRIXIE, ""),
        (19, BOOKWORM, " clang-22 lld-22"),
        (23, BOOKWORM, ""),
        (16, JAMMY, ""),
        (16, "ID=debian\nVERSION_CODENAME=unheard\n", ""),
    ] {
        let commands = commands(&Installable::Clang(least), "linux", os_release);
        assert_eq!(commands.is_empty(), packages.is_empty(), "{least}: {commands}");
        assert!(commands.ends_with(packages), "{least}: {commands}");
    }
}

#[test]
fn opencl_where_there_are_packages() {
    let apt = commands(&Installable::OpenCl, "linux", BOOKWORM);
    assert!(apt.ends_with(" ocl-icd-libopencl1 intel-opencl-icd"), "{apt}");
    let fedora = "dnf install -y ocl-icd intel-compute-runtime";
    assert_eq!(commands(&Installable::OpenCl, "linux", FEDORA), fedora);
    for (os, os_release) in [("linux", TRIXIE), ("windows", ""), ("macos", "")] {
        let help = Installable::OpenCl.help_on(&System::of(os, os_release));
        assert_eq!(
            help,
            "install OpenCL's loader, and Intel's driver for its GPUs\nor install Intel's own \
             driver for this system"
        );
    }
}

/// Returns the Markdown that the guide's page must contain between its marks.
fn page_of_the_guide() -> String {
    let systems = [
        ("Debian 12", "linux", BOOKWORM),
        ("Debian 13, Ubuntu 24.04 and newer", "linux", TRIXIE),
        ("Ubuntu 22.04", "linux", JAMMY),
        ("Fedora, Red Hat Enterprise Linux", "linux", FEDORA),
        ("Arch Linux", "linux", ARCH),
        ("openSUSE", "linux", LEAP),
        ("Alpine", "linux", ALPINE),
        ("macOS", "macos", ""),
        ("Windows", "windows", ""),
    ];
    let mut page = "| system | clang and lld | C++ compiler |\n|---|---|---|\n".to_owned();
    let cell = |commands: &[String]| {
        commands.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join("<br>")
    };
    for (name, os, os_release) in systems {
        let system = System::of(os, os_release);
        let [clang, cxx] = [Installable::Clang(15), Installable::Cxx("CXX")]
            .map(|wanted| cell(&wanted.commands(&system)));
        page += &format!("| {name} | {clang} | {cxx} |\n");
    }
    let of_ptxas = |old| ptxas(old).commands(&System::of("linux", BOOKWORM)).join("\n");
    page + &format!(
        "\nOn Debian and Ubuntu, the commands below install `ptxas` without the rest of CUDA. If pip is already installed, only the last\n\
         line is needed:\n\n\
         ```text\n{}\n```\n\nThis ptxas supports `sm_75` and newer. For older GPUs, use the ptxas of CUDA 12:\n\n```text\n{}\n```\n",
        of_ptxas(false),
        of_ptxas(true)
    )
}

#[test]
fn the_guide_has_the_same_commands() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/guide/src/build.md");
    // The published package does not contain the guide.
    let Ok(text) = fs::read_to_string(&path) else { return };
    let (start, end) = ("<!-- commands -->\n\n", "\n<!-- end of commands -->");
    let from = text.find(start).expect("the page has the first mark") + start.len();
    let to = from + text[from..].find(end).expect("the page has the last mark");
    let page = page_of_the_guide();
    assert_eq!(
        &text[from..to],
        page,
        "{} between its marks; it should be:\n{page}",
        path.display()
    );
}
