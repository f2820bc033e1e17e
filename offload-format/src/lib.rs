//! Reads and writes device code in files: the containers that LLVM, ROCm and CUDA use, the names of
//! targets, and the rules for which image runs on which device.
//!
//! A crate such as `object` reads a program's sections. This crate reads the GPU code in these
//! sections: an *image* for each *target*, in *containers* of several formats.
//!
//! | to | start with |
//! |---|---|
//! | list the images in any file, with their containers | [`inventory`], as below; [`fat_file`] for the containers alone |
//! | read a section whose bytes `object` gives you | [`section::DeviceSection::from_names`] to find out what it contains, then a reader such as [`OffloadBinary::in_a_row`](offload_binary::OffloadBinary::in_a_row) |
//! | read or write one container | its module, such as [`bundle`] or [`offload_binary`]: a view that reads, a builder that writes |
//! | identify an image: processor, kernels, arguments | [`image`] |
//! | parse names of targets | [`target`] |
//! | choose the image for a device | [`mod@select`] |
//!
//! ```no_run
//! # #[cfg(all(feature = "object", feature = "containers"))] {
//! use offload_format::inventory::Inventory;
//!
//! let file = std::fs::read("target/release/saxpy").unwrap();
//! let inventory = Inventory::of(&file, 1 << 30); // at most 1 GiB of each compressed container
//! for image in &inventory.images {
//!     println!("{} in a {}", image.label(), inventory.container(image).kind.name());
//! }
//! # }
//! ```
//!
//! With the `object` feature, the inventory also lists the images in programs and libraries. This
//! example writes a bundle and reads it again:
//!
//! ```
//! use offload_format::bundle::{BundleBuilder, Bundle};
//! use offload_format::target::TargetId;
//!
//! let code_object = b"\x7fELF...";
//! let mut builder = BundleBuilder::hip();
//! builder.entry("hipv4-amdgcn-amd-amdhsa--gfx90a", code_object.len() as u64).unwrap();
//! let file = builder.layout().to_vec(&[b"", code_object]);
//!
//! let bundle = Bundle::parse(&file).unwrap();
//! let device = TargetId::parse("gfx90a:sramecc+:xnack-").unwrap();
//! let entry = bundle.find_hip(&device).unwrap();
//! assert_eq!(entry.code_object, code_object);
//! ```
//!
//! # Modules
//!
//! | module | contains |
//! |---|---|
//! | [`target`] | target triples, target IDs (`gfx90a:sramecc+:xnack-`), NVIDIA architectures (`sm_90a`), GPU tables |
//! | [`bundle`], [`text_bundle`], `object_bundle` | `__CLANG_OFFLOAD_BUNDLE__`: the binary form, the text form, and sections in a host object |
//! | [`compressed`], [`compression`] | compressed bundles (`CCOB`); compressed and plain bundles in a row; zlib and zstd |
//! | [`offload_binary`] | the container with magic `10 FF 10 AD` |
//! | [`nv_fatbin`] | NVIDIA's container, `.nv_fatbin` |
//! | [`kpack`] | ROCm's kernel packs, and the references to them in libraries |
//! | [`oxart`] | bundles of cuda-oxide, `.oxart` |
//! | `image_table` | the table of the images that DPC++ links into programs |
//! | `device_archive` | archives of bundles, and the single-target archives extracted from them |
//! | [`fat_file`] | the search for containers in executables, shared objects, objects, archives |
//! | [`inventory`] | all containers and images in a file, as one list |
//! | [`image`] | what an image (AMD code object, cubin, PTX) says about itself: its target and kernels |
//! | [`mod@spirv`] | SPIR-V modules: their kernels, with the parameters that a launch passes |
//! | [`mod@select`] | which image fits a device best, and why others do not |
//! | [`section`] | the sections of host files that contain device code: names, alignments, and the first bytes of packs in them |
//! | [`host_object`], [`archive`] | the relocatable object that adds device code to a link, and the static library that contains this object |
//! | [`layout`] | descriptions of files before they are written, so that payloads are copied but not kept in memory |
//!
//! Views borrow from the parsed bytes. Parsing allocates nothing, with two exceptions: the types of
//! [`kpack`] keep lists of their contents, and [`spirv::SpirvModule`] keeps a list of its kernels
//! and uses a table of IDs while reading. The crate does not access files, environment variables,
//! processes or clocks. Input may be hostile: every number from a file is checked before it is used
//! as an index or a size. Iteration over a parsed view never fails.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `packs`, on by default | [`bundle`], [`offload_binary`], [`fat_file`], [`inventory`], [`image`], the headers in [`nv_fatbin`]; modules that write files: [`layout`], [`host_object`], writing of [`archive`]s |
//! | `containers` | [`compressed`], [`text_bundle`], all of [`nv_fatbin`], reading of [`archive`]s: formats that packs do not use; enables `packs` |
//! | `zlib`, `zstd` | decompressing and compressing containers; need std |
//! | `object` | `object_bundle`, `device_archive`, and host files in [`fat_file`] |
//!
//! Without features, the crate contains what programs with packs need: targets, selection and
//! SPIR-V. The features in the last two rows enable `containers`; all features except `packs` add
//! dependencies. A program with a pack compiles this crate twice: once for the build script and the
//! macro, and once for the program itself, each time with only the features needed.
#![no_std]
// Some links refer to modules whose features may be off.
#![cfg_attr(not(feature = "object"), allow(rustdoc::broken_intra_doc_links))]
#![forbid(unsafe_code)]

extern crate alloc;

#[cfg(feature = "packs")]
pub mod archive;
#[cfg(feature = "packs")]
mod budget;
#[cfg(feature = "packs")]
pub mod bundle;
#[cfg(feature = "containers")]
pub mod compressed;
pub mod compression;
#[cfg(feature = "object")]
pub mod device_archive;
mod error;
#[cfg(feature = "packs")]
pub mod fat_file;
#[cfg(feature = "packs")]
pub mod host_object;
#[cfg(feature = "packs")]
pub mod image;
#[cfg(feature = "object")]
pub mod image_table;
#[cfg(feature = "packs")]
mod in_a_row;
#[cfg(feature = "packs")]
pub mod inventory;
#[cfg(feature = "packs")]
pub mod kpack;
#[cfg(feature = "packs")]
pub mod layout;
#[cfg(feature = "packs")]
mod msgpack;
#[cfg(feature = "packs")]
mod numbers;
#[cfg(feature = "packs")]
pub mod nv_fatbin;
#[cfg(feature = "object")]
pub mod object_bundle;
#[cfg(feature = "object")]
mod object_file;
#[cfg(feature = "packs")]
pub mod offload_binary;
#[cfg(feature = "packs")]
pub mod oxart;
mod reader;
pub mod section;
pub mod select;
pub mod spirv;
#[cfg(feature = "packs")]
mod string_table;
pub mod target;
#[cfg(feature = "containers")]
pub mod text_bundle;

pub use error::{Error, ErrorKind, Result};
pub use select::{ComputeCapability, DeviceInfo, select};

// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
