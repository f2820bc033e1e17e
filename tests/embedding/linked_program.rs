//! Reads the sections with packs in a linked program, with LLVM's tools.

use offload_tests::judges::section_rows;
use offload_tests::prelude::*;

/// The sections that contain packs, unless the macro's options name another section.
pub const PACK_SECTIONS: [&str; 2] = [".hip_fatbin", ".llvm.offloading"];

/// The flags of [`PACK_SECTIONS`]. On x86-64, these sections have the `l` flag for large data,
/// because code need not reach them with short addresses.
const FLAGS: &str = if cfg!(target_arch = "x86_64") { "Al" } else { "A" };

/// A section as `llvm-readelf -SW` lists it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Section {
    pub name: String,
    pub kind: String,
    pub flags: String,
    pub align: String,
}

impl Section {
    pub fn new(name: &str, kind: &str, flags: &str, align: &str) -> Self {
        let [name, kind, flags, align] = [name, kind, flags, align].map(str::to_owned);
        Self { name, kind, flags, align }
    }

    /// Returns the section that contains a pack for AMD's GPUs.
    pub fn hip_fatbin() -> Self {
        Self::new(".hip_fatbin", "PROGBITS", FLAGS, "4096")
    }

    /// Returns the section that contains a pack for several vendors' devices.
    pub fn llvm_offloading() -> Self {
        Self::new(".llvm.offloading", "LLVM_OFFLOADING", FLAGS, "8")
    }
}

/// Returns a program's sections with these names, in the order of [`sections_in`].
pub fn sections(program: &Path, names: &[&str]) -> Vec<Section> {
    sections_in(&stdout(&succeed(llvm("llvm-readelf").arg("-SW").arg(program))), names)
}

/// Returns the sections with these names in the output of `llvm-readelf -SW`. The sections are
/// sorted by name, because linkers order sections differently.
pub fn sections_in(listing: &str, names: &[&str]) -> Vec<Section> {
    let rows = section_rows(listing).into_iter().filter(|row| names.contains(&row[0]));
    let section =
        |row: Vec<&str>| Section::new(row[0], row[1], row[row.len() - 4], row[row.len() - 1]);
    let mut sections: Vec<Section> = rows.map(section).collect();
    sections.sort_unstable();
    sections
}

/// Returns the output of `llvm-objdump --offloading` for a program. The tool reads a link to the
/// program, because it writes files next to its input.
pub fn objdump_offloading(scenario: &Scenario, program: &Path) -> String {
    let link = scenario.folder.join("listed/program");
    fs::create_dir_all(scenario.folder.join("listed")).expect("the scratch folder can be written");
    let _ = fs::remove_file(&link);
    fs::hard_link(program, &link).expect("scratch folders are in the target folder");
    let mut objdump = llvm("llvm-objdump");
    stdout(&succeed(objdump.current_dir(&scenario.folder).arg("--offloading").arg(&link)))
}
