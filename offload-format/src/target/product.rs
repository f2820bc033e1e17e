//! GPU targets by product name, as shops and drivers write it.
//!
//! Sources: NVIDIA's pages "CUDA GPU Compute Capability" and "Legacy CUDA GPU Compute Capability"
//! (developer.nvidia.com/cuda-gpus, CUDA 13); the column "Example Products" of LLVM's AMDGPUUsage
//! (LLVM 22); the tables of GPUs in ROCm's documentation (ROCm 7). Names missing from these sources
//! come from AMD's table of device IDs (GPUOpen's `device_info`), TheRock's list of targets, and
//! the device names of drivers. According to the tests of intel/llvm (2025), the chip DG2 (Arc A
//! and Flex series) does not support `double`. The table starts at compute capability 5.0 and
//! gfx900, and lists only a few Intel products. It is incomplete, because new products appear more
//! often than new versions of this crate. For a missing product, use its target (`sm_89`,
//! `gfx942`). Names shared by two different chips (Radeon 840M, "Krackan Point") are omitted.
//!
//! The functions are `inline`, so programs that name no products do not compile them.

use alloc::string::String;

/// A product and its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Product {
    /// The product's name without the vendor's name, such as `GeForce RTX 4090` or
    /// `Instinct MI300X`.
    pub name: &'static str,
    /// The target: the processor (`gfx942`), the name of machine code for the product's compute
    /// capability (`sm_89`), or `spirv64` with the features that the product lacks
    /// (`spirv64:float64-`).
    pub target: &'static str,
}

/// The targets, each with the names of its products.
pub const PRODUCTS: &[(&str, &[&str])] = &[
    // NVIDIA.
    ("sm_121", &["GB10", "DGX Spark"]),
    (
        "sm_120",
        &[
            "RTX PRO 6000 Blackwell",
            "RTX PRO 6000",
            "RTX PRO 5000 Blackwell",
            "RTX PRO 4500 Blackwell",
            "RTX PRO 4000 Blackwell",
            "RTX PRO 4000 Blackwell SFF",
            "RTX PRO 2000 Blackwell",
            "GeForce RTX 5090",
            "GeForce RTX 5080",
            "GeForce RTX 5070 Ti",
            "GeForce RTX 5070",
            "GeForce RTX 5060 Ti",
            "GeForce RTX 5060",
            "GeForce RTX 5050",
        ],
    ),
    ("sm_110", &["Jetson T5000", "Jetson T4000", "Jetson AGX Thor", "Thor", "Jetson Thor"]),
    ("sm_103", &["GB300", "B300"]),
    ("sm_100", &["GB200", "B200"]),
    ("sm_90", &["GH200", "H200", "H100", "H20"]),
    (
        "sm_89",
        &[
            "L4",
            "L40",
            "L40S",
            "RTX 6000 Ada",
            "RTX 5000 Ada",
            "RTX 4500 Ada",
            "RTX 4000 Ada",
            "RTX 4000 SFF Ada",
            "RTX 2000 Ada",
            "GeForce RTX 4090",
            "GeForce RTX 4080 SUPER",
            "GeForce RTX 4080",
            "GeForce RTX 4070 Ti SUPER",
            "GeForce RTX 4070 Ti",
            "GeForce RTX 4070 SUPER",
            "GeForce RTX 4070",
            "GeForce RTX 4060 Ti",
            "GeForce RTX 4060",
            "GeForce RTX 4050",
            "L20",
            "RTX 5880 Ada",
        ],
    ),
    (
        "sm_87",
        &[
            "Jetson AGX Orin",
            "Jetson Orin NX",
            "Jetson Orin Nano",
            "Orin",
            "Jetson Orin Nano Super",
        ],
    ),
    (
        "sm_86",
        &[
            "A40",
            "A10",
            "A16",
            "A2",
            "RTX A6000",
            "RTX A5000",
            "RTX A4000",
            "RTX A3000",
            "RTX A2000",
            "GeForce RTX 3090 Ti",
            "GeForce RTX 3090",
            "GeForce RTX 3080 Ti",
            "GeForce RTX 3080",
            "GeForce RTX 3070 Ti",
            "GeForce RTX 3070",
            "GeForce RTX 3060 Ti",
            "GeForce RTX 3060",
            "GeForce RTX 3050 Ti",
            "GeForce RTX 3050",
            "A10G",
            "RTX A4500",
            "GeForce RTX 2050",
            "GeForce MX570",
        ],
    ),
    ("sm_80", &["A100", "A30"]),
    (
        "sm_75",
        &[
            "T4",
            "Quadro RTX 8000",
            "Quadro RTX 6000",
            "Quadro RTX 5000",
            "Quadro RTX 4000",
            "TITAN RTX",
            "GeForce RTX 2080 Ti",
            "GeForce RTX 2080 SUPER",
            "GeForce RTX 2080",
            "GeForce RTX 2070 SUPER",
            "GeForce RTX 2070",
            "GeForce RTX 2060 SUPER",
            "GeForce RTX 2060",
            "GeForce GTX 1660 Ti",
            "GeForce GTX 1660 SUPER",
            "GeForce GTX 1660",
            "GeForce GTX 1650 Ti",
            "GeForce GTX 1650 SUPER",
            "GeForce GTX 1650",
            "Quadro RTX 3000",
            "Quadro T2000",
            "T1200",
            "T1000",
            "T600",
            "T500",
            "T400",
            "GeForce MX450",
            "GeForce MX550",
        ],
    ),
    ("sm_72", &["Jetson AGX Xavier", "Jetson Xavier NX", "Xavier"]),
    ("sm_70", &["V100", "Quadro GV100", "TITAN V", "GV100"]),
    ("sm_62", &["Jetson TX2"]),
    (
        "sm_61",
        &[
            "P40",
            "P4",
            "TITAN Xp",
            "GeForce GTX 1080 Ti",
            "GeForce GTX 1080",
            "GeForce GTX 1070 Ti",
            "GeForce GTX 1070",
            "GeForce GTX 1060",
            "GeForce GTX 1050 Ti",
            "GeForce GTX 1050",
            "TITAN X",
            "Quadro P6000",
            "Quadro P5000",
            "Quadro P4000",
            "Quadro P2200",
            "Quadro P2000",
            "Quadro P1000",
            "Quadro P620",
            "Quadro P600",
            "Quadro P400",
            "GeForce GT 1030",
            "GeForce MX150",
            "GeForce MX250",
            "GeForce MX350",
        ],
    ),
    ("sm_60", &["P100", "Quadro GP100"]),
    ("sm_53", &["Jetson Nano", "Jetson TX1"]),
    (
        "sm_52",
        &[
            "M60",
            "M40",
            "GeForce GTX TITAN X",
            "GeForce GTX 980 Ti",
            "GeForce GTX 980",
            "GeForce GTX 970",
            "GeForce GTX 960",
            "GeForce GTX 950",
            "GeForce GTX 980M",
            "GeForce GTX 970M",
            "GeForce GTX 965M",
            "Quadro M6000",
            "Quadro M5000",
            "Quadro M4000",
            "Quadro M2000",
        ],
    ),
    (
        "sm_50",
        &[
            "GeForce GTX 750 Ti",
            "GeForce GTX 750",
            "GeForce GTX 960M",
            "GeForce GTX 950M",
            "GeForce 940M",
            "Quadro K2200",
            "Quadro K1200",
            "Quadro K620",
        ],
    ),
    // AMD.
    (
        "gfx900",
        &[
            "Radeon Vega Frontier Edition",
            "Radeon RX Vega 64",
            "Radeon RX Vega 56",
            "Radeon Instinct MI25",
            "Radeon Pro WX 9100",
            "Radeon Pro WX 8200",
            "Radeon Pro V340",
        ],
    ),
    ("gfx906", &["Radeon Instinct MI60", "Radeon Instinct MI50", "Radeon VII", "Radeon Pro VII"]),
    ("gfx908", &["Instinct MI100"]),
    ("gfx90a", &["Instinct MI250X", "Instinct MI250", "Instinct MI210"]),
    ("gfx942", &["Instinct MI325X", "Instinct MI300X", "Instinct MI300A", "Instinct MI308X"]),
    ("gfx950", &["Instinct MI355X", "Instinct MI350X", "Instinct MI350P"]),
    (
        "gfx1010",
        &[
            "Radeon RX 5700 XT",
            "Radeon RX 5700",
            "Radeon RX 5600 XT",
            "Radeon RX 5700M",
            "Radeon RX 5600M",
            "Radeon Pro W5700",
        ],
    ),
    ("gfx1011", &["Radeon Pro V520", "Radeon Pro 5600M"]),
    (
        "gfx1012",
        &[
            "Radeon RX 5500 XT",
            "Radeon RX 5500",
            "Radeon RX 5500M",
            "Radeon RX 5300",
            "Radeon Pro W5500",
        ],
    ),
    (
        "gfx1030",
        &[
            "Radeon RX 6950 XT",
            "Radeon RX 6900 XT",
            "Radeon RX 6800 XT",
            "Radeon RX 6800",
            "Radeon Pro W6800",
            "Radeon Pro V620",
        ],
    ),
    (
        "gfx1031",
        &[
            "Radeon RX 6750 XT",
            "Radeon RX 6700 XT",
            "Radeon RX 6750 GRE",
            "Radeon RX 6700",
            "Radeon RX 6800M",
            "Radeon RX 6700M",
        ],
    ),
    (
        "gfx1032",
        &[
            "Radeon RX 6650 XT",
            "Radeon RX 6600 XT",
            "Radeon RX 6600",
            "Radeon RX 6650M",
            "Radeon RX 6600M",
            "Radeon RX 6800S",
            "Radeon RX 6700S",
            "Radeon RX 6600S",
            "Radeon Pro W6600",
        ],
    ),
    ("gfx1033", &["Van Gogh"]),
    (
        "gfx1034",
        &[
            "Radeon RX 6500 XT",
            "Radeon RX 6400",
            "Radeon RX 6550M",
            "Radeon RX 6500M",
            "Radeon RX 6300M",
            "Radeon Pro W6400",
        ],
    ),
    ("gfx1035", &["Radeon 680M"]),
    ("gfx1036", &["Radeon 610M", "Raphael"]),
    (
        "gfx1100",
        &[
            "Radeon RX 7900 XTX",
            "Radeon RX 7900 XT",
            "Radeon RX 7900 GRE",
            "Radeon Pro W7900",
            "Radeon Pro W7800",
            "Radeon RX 7900M",
            "Radeon Pro W7900 Dual Slot",
        ],
    ),
    (
        "gfx1101",
        &[
            "Radeon RX 7800 XT",
            "Radeon RX 7700 XT",
            "Radeon Pro W7700",
            "Radeon RX 7700",
            "Radeon RX 7800M",
            "Radeon Pro V710",
        ],
    ),
    (
        "gfx1102",
        &[
            "Radeon RX 7600 XT",
            "Radeon RX 7600",
            "Radeon RX 7700S",
            "Radeon RX 7600S",
            "Radeon RX 7600M XT",
            "Radeon RX 7600M",
            "Radeon RX 7650 GRE",
            "Radeon RX 7400",
            "Radeon Pro W7600",
            "Radeon Pro W7500",
        ],
    ),
    ("gfx1103", &["Radeon 780M", "Radeon 760M", "Radeon 740M"]),
    (
        "gfx1150",
        &[
            "Radeon 890M",
            "Strix Point",
            "Radeon 880M",
            "Ryzen AI 9 HX 370",
            "Ryzen AI 9 HX 375",
            "Ryzen AI 9 365",
        ],
    ),
    (
        "gfx1151",
        &[
            "Radeon 8060S",
            "Ryzen AI Max+ 395",
            "Strix Halo",
            "Radeon 8050S",
            "Radeon 8040S",
            "Ryzen AI Max+ 392",
            "Ryzen AI Max+ 388",
            "Ryzen AI Max 390",
            "Ryzen AI Max 385",
        ],
    ),
    ("gfx1152", &["Radeon 860M", "Ryzen AI 7 350", "Ryzen AI 5 340"]),
    ("gfx1200", &["Radeon RX 9060 XT", "Radeon RX 9060", "Radeon RX 9060 XT LP", "Radeon RX 9050"]),
    (
        "gfx1201",
        &[
            "Radeon RX 9070 XT",
            "Radeon RX 9070 GRE",
            "Radeon RX 9070",
            "Radeon AI PRO R9700",
            "Radeon AI PRO R9700S",
            "Radeon AI PRO R9600D",
        ],
    ),
    // Intel. The devices in the first group lack `double`.
    (
        "spirv64:float64-",
        &[
            "Arc A770",
            "Arc A750",
            "Arc A580",
            "Arc A380",
            "Arc A310",
            "Data Center GPU Flex 170",
            "Data Center GPU Flex 140",
        ],
    ),
    ("spirv64", &["Arc B580", "Arc B570", "Data Center GPU Max 1550", "Data Center GPU Max 1100"]),
];

/// Finds a product by its name as people or drivers write it. Case, spaces and punctuation are
/// ignored. The name may omit manufacturers, brands, memory sizes, form factors and similar words.
///
/// ```
/// use offload_format::target::product;
///
/// for name in ["RTX 4090", "rtx4090", "NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 4090 Laptop GPU"] {
///     assert_eq!(product::find(name).unwrap().target, "sm_89");
/// }
/// assert_eq!(product::find("NVIDIA A100-SXM4-80GB").unwrap().name, "A100");
/// ```
#[inline]
pub fn find(name: &str) -> Option<Product> {
    let wanted = key(name);
    if wanted.is_empty() {
        return None;
    }
    for (target, names) in PRODUCTS {
        for name in *names {
            // A key is never longer than its name, so skip names that are too short.
            if name.len() >= wanted.len() && has_key(name, &wanted) {
                return Some(Product { name, target });
            }
        }
    }
    None
}

/// Whether a product's name has this key. Compares word by word instead of building each product's
/// key, because most names differ in the first word.
#[inline]
fn has_key(name: &str, key: &str) -> bool {
    let mut rest = key;
    for word in words(name) {
        match rest.split_at_checked(word.len()) {
            Some((start, end)) if start.eq_ignore_ascii_case(word) => rest = end,
            _ => return false,
        }
    }
    rest.is_empty()
}

/// Words ignored when comparing names.
const WORDS: [&str; 34] = [
    "nvidia",
    "amd",
    "intel",
    "r",
    "geforce",
    "tesla",
    "radeon",
    "instinct",
    "tm",
    "gpu",
    "graphics",
    "laptop",
    "mobile",
    "generation",
    "workstation",
    "server",
    "edition",
    "pcie",
    "nvl",
    "oam",
    "sxm",
    "sxm2",
    "sxm3",
    "sxm4",
    "sxm5",
    "sxm6",
    "ac",
    "developer",
    "kit",
    "hbm3",
    "hbm3e",
    "maxq",
    "with",
    "design",
];

/// Words ignored at the start of a name even if no space follows, as in `geforcertx4090`.
const PREFIXES: [&str; 7] = ["nvidia", "amd", "intel", "geforce", "tesla", "radeon", "instinct"];

/// Returns the part of a name that identifies the product, in lower case and without brands, memory
/// sizes and similar words.
#[inline]
fn key(name: &str) -> String {
    let mut text = String::new();
    for part in name.to_ascii_lowercase().split('-') {
        // `Max-Q` becomes the single word `maxq`, which `WORDS` contains.
        if !(text.ends_with("max") && part.starts_with('q')) {
            text.push(' ');
        }
        text.push_str(part);
    }
    let mut key: String = words(&text).collect();
    while let Some(rest) =
        PREFIXES.iter().find_map(|prefix| key.strip_prefix(prefix)).map(String::from)
    {
        key = rest;
    }
    key
}

/// Returns the words of a name, except those in `WORDS` and memory sizes.
fn words(name: &str) -> impl Iterator<Item = &str> {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric());
    words.filter(|word| {
        !WORDS.iter().any(|noise| noise.eq_ignore_ascii_case(word)) && !is_memory(word)
    })
}

/// Whether a word is a memory size, such as `80gb` or `144g`.
#[inline]
fn is_memory(word: &str) -> bool {
    let unit = word.trim_start_matches(|c: char| c.is_ascii_digit());
    unit.len() < word.len() && (unit.eq_ignore_ascii_case("gb") || unit.eq_ignore_ascii_case("g"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::{NvidiaArch, amdgpu};
    use alloc::collections::BTreeMap;

    #[test]
    fn names_are_found_by_themselves_and_targets_are_known() {
        let mut keys = BTreeMap::new();
        for (target, names) in PRODUCTS {
            let known = match NvidiaArch::parse(target) {
                Ok(arch) => arch.suffix.is_none() && arch.lowest_ptx().is_some(),
                Err(_) if target.starts_with("spirv64") => true,
                Err(_) => amdgpu::find(target).is_some_and(|row| row.name == *target),
            };
            assert!(known, "{target}");
            for name in *names {
                // `find` compares the key of the requested name with the words of each product's
                // name, so a product's key and its words must be equal.
                assert_eq!(words(name).collect::<String>().to_ascii_lowercase(), key(name));
                assert_eq!(find(name), Some(Product { name, target }));
                assert_eq!(keys.insert(key(name), name), None, "{name}");
            }
        }
    }

    /// Checks names as drivers and people write them.
    #[test]
    fn names_in_use() {
        for (name, target) in [
            ("NVIDIA GeForce RTX 4090", "sm_89"),
            ("nvidiageforcertx4090", "sm_89"),
            ("rtx 4070 ti super", "sm_89"),
            ("NVIDIA RTX 6000 Ada Generation", "sm_89"),
            ("Quadro RTX 6000", "sm_75"),
            ("Tesla T4", "sm_75"),
            ("Tesla V100-SXM2-16GB", "sm_70"),
            ("Tesla P100-PCIE-16GB", "sm_60"),
            ("NVIDIA GeForce GTX 1650 with Max-Q Design", "sm_75"),
            ("NVIDIA A100 80GB PCIe", "sm_80"),
            ("NVIDIA H100 80GB HBM3", "sm_90"),
            ("NVIDIA GH200 144G HBM3e", "sm_90"),
            ("NVIDIA B200", "sm_100"),
            ("NVIDIA B300 SXM6 AC", "sm_103"),
            ("NVIDIA Jetson Orin Nano Developer Kit", "sm_87"),
            ("Jetson AGX Thor Developer Kit", "sm_110"),
            // The RTX 3050 A, which is not in the table, has a different chip than the RTX 3050.
            ("NVIDIA GeForce RTX 3050 A Laptop GPU", ""),
            ("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "sm_120"),
            ("NVIDIA GB10", "sm_121"),
            ("AMD Radeon RX 7900 XTX", "gfx1100"),
            ("AMD Radeon(TM) 8060S Graphics", "gfx1151"),
            ("strix halo", "gfx1151"),
            ("AMD Instinct MI300X", "gfx942"),
            ("mi300x", "gfx942"),
            ("AMD Instinct MI50", "gfx906"),
            ("Intel(R) Arc(TM) A770 Graphics", "spirv64:float64-"),
            ("Intel(R) Arc(TM) B580 Graphics", "spirv64"),
            ("Intel(R) Data Center GPU Max 1550", "spirv64"),
            ("arc a380", "spirv64:float64-"),
            ("Intel(R) UHD Graphics 770", ""),
            // Ambiguous and unknown names are not found.
            ("RTX 6000", ""),
            ("AMD Radeon 840M Graphics", ""),
            ("AMD Radeon Graphics", ""),
            ("NVIDIA", ""),
            ("", ""),
            ("gfx90a", ""),
        ] {
            assert_eq!(find(name).map_or("", |product| product.target), target, "{name}");
        }
    }
}
