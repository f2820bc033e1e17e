//! Compares what the readers find in each corpus file with a checked-in dump, `<file>.txt`.
//!
//! `BLESS=1 cargo xtask test --test formats -- golden` rewrites the dumps. Read the diff before you
//! commit it.

use offload_format::Error;
use offload_format::archive::Archive;
use offload_format::bundle::EntryId;
use offload_format::compressed::{self, CompressedBundle, Found};
use offload_format::device_archive::member_symbols;
use offload_format::fat_file::{ContainerKind, Content, FileKind, Place, find, wrappers};
use offload_format::image::{ImageHeader, Kernel, Kernels};
use offload_format::image_table::ImageTable;
use offload_format::kpack::{Kpack, KpackReference};
use offload_format::nv_fatbin::{self, Entry, NvFatbin};
use offload_format::object_bundle::{self, ObjectBundle};
use offload_format::offload_binary::OffloadBinary;
use offload_format::oxart::Oxart;
use offload_format::text_bundle::TextBundle;
use offload_tests::data::{blesses, corpus_files, corpus_folders};
use offload_tests::prelude::*;
use std::fmt::{self, Display};

tests!(dumps());

/// Adds a line to a dump, from arguments like those of `format!`.
macro_rules! line {
    ($dump:ident, $($line:tt)+) => { $dump.line(format_args!($($line)+)) };
}

fn dumps() -> impl Iterator<Item = Test> {
    corpus_files().into_iter().map(|file| {
        Test::new(module_path!(), &file.clone(), NOTHING, move || is_as_its_dump(&file))
    })
}

fn is_as_its_dump(file: &str) {
    let bytes = corpus_file(file);
    let mut dump = Dump::default();
    line!(dump, "{file}: {} bytes", bytes.len());
    dump.file(&bytes);
    let path = workspace().join("tests/corpus").join(format!("{file}.txt"));
    assert_as_checked_in(&path, &dump.text);
}

#[test]
fn every_dump_has_its_file() {
    for folder in corpus_folders() {
        let folder = workspace().join("tests/corpus").join(folder);
        for entry in fs::read_dir(&folder).expect("the corpus can be read").flatten() {
            let dump = entry.path();
            let is_dump = dump.extension().is_some_and(|it| it == "txt");
            if is_dump && !dump.with_extension("").is_file() {
                assert!(blesses(), "{} has no file", dump.display());
                fs::remove_file(dump).expect("the corpus can be written");
            }
        }
    }
}

/// The lines of a dump, each indented below the part that it belongs to.
#[derive(Default)]
struct Dump {
    text: String,
    depth: usize,
}

impl Dump {
    fn line(&mut self, line: fmt::Arguments<'_>) {
        self.text.push_str(&format!("{:1$}{line}\n", "", 2 * self.depth));
    }

    fn inside(&mut self, lines: impl FnOnce(&mut Self)) {
        self.depth += 1;
        lines(self);
        self.depth -= 1;
    }

    /// Adds a part's lines. If the part cannot be read, adds a line with `what` and the error.
    fn result<T>(
        &mut self,
        what: &str,
        result: Result<T, impl Display>,
        lines: impl FnOnce(&mut Self, T),
    ) {
        match result {
            Ok(value) => lines(self, value),
            Err(error) => line!(self, "{what}: error: {error}"),
        }
    }

    fn file(&mut self, bytes: &[u8]) {
        let kind = FileKind::identify(bytes);
        let name = kind.map(|kind| match kind {
            FileKind::Container(kind) => format!("{kind:?}"),
            kind => format!("{kind:?}"),
        });
        line!(self, "kind: {}", or_unknown(name));
        match kind {
            Some(FileKind::Archive) => self.archive(bytes),
            Some(FileKind::Host) => self.host(bytes),
            Some(FileKind::Container(ContainerKind::Raw)) => self.image(bytes),
            _ => {}
        }
        find(bytes, |place, container| self.place(bytes.len(), &place, container));
    }

    fn place(&mut self, size: usize, place: &Place<'_>, container: Result<Content<'_>, Error>) {
        let mut name = format!("place at {}", place.offset);
        let mut add = |what: &str, value: Option<String>| {
            name += &value.map(|value| format!(", {what} {value}")).unwrap_or_default();
        };
        add("slice for", place.slice.map(|slice| slice.to_string()));
        add("member", place.member.map(|member| member.escape_ascii().to_string()));
        add("section", place.section.map(|section| section.escape_ascii().to_string()));
        self.result(&name.clone(), container, |dump, container| match container {
            // If the image is the whole file, the dump already has its line.
            Content::Container(ContainerKind::Raw, image) if image.len() == size => {}
            container => {
                line!(dump, "{name}");
                dump.inside(|dump| dump.container(&container));
            }
        });
    }

    fn container(&mut self, content: &Content<'_>) {
        let (kind, bytes) = match *content {
            Content::Container(kind, bytes) => (kind, bytes),
            Content::KpackReference(it) => {
                return line!(self, "{:?}", KpackReference::parse(it));
            }
            Content::Elsewhere(path) => {
                return line!(self, "in the file {}", path.escape_ascii());
            }
        };
        match kind {
            ContainerKind::Bundle | ContainerKind::CompressedBundle => self.bundles(bytes),
            ContainerKind::OffloadBinary => self.offload_binaries(bytes),
            ContainerKind::Fatbin => self.nv_fatbins(bytes),
            ContainerKind::ObjectBundle => {
                let bundle = ObjectBundle::parse(bytes);
                self.result("object bundle", bundle, |dump, bundle| dump.object_bundle(&bundle));
            }
            ContainerKind::ImageTable => {
                line!(self, "image table");
                for found in ImageTable::find(bytes).expect("it was found").images() {
                    self.result("image", found, |dump, image| {
                        let section = image.section.escape_ascii();
                        line!(dump, "image in {section}, inflated {:?}", image.inflated_size);
                        dump.payload(image.offset, image.stored);
                    });
                }
            }
            ContainerKind::TextBundle => {
                let leader = TextBundle::detect(bytes).expect("it was found by its leader");
                let bundle = TextBundle::parse(bytes, leader);
                self.result("text bundle", bundle, |dump, bundle| dump.text_bundle(&bundle));
            }
            ContainerKind::Kpack => self.result("kpack", Kpack::parse(bytes), |dump, kpack| {
                line!(dump, "kpack: {kpack:?}");
            }),
            ContainerKind::Oxart => {
                for found in Oxart::in_a_row(bytes) {
                    self.result("bundle of cuda-oxide", found, |dump, (at, bundle)| {
                        line!(dump, "bundle of cuda-oxide at {at}: {bundle:?}");
                    });
                }
            }
            ContainerKind::Raw => self.image(bytes),
        }
    }

    fn bundles(&mut self, bytes: &[u8]) {
        for found in Found::in_a_row(bytes, LIMIT) {
            self.result("bundle", found, |dump, (at, found)| match found {
                Found::Plain(bundle) => {
                    let (size, table) = (bundle.size(), bundle.table().size());
                    line!(dump, "bundle at {at}: {size} bytes, entry table {table}");
                    for entry in bundle.entries() {
                        dump.entry(entry.id_str, entry.offset, entry.code_object);
                    }
                }
                Found::Compressed(bundle) => {
                    line!(dump, "compressed bundle at {at}, version {}", bundle.version);
                    dump.inside(|dump| dump.compressed(&bundle));
                }
            });
        }
    }

    fn compressed(&mut self, bundle: &CompressedBundle<'_>) {
        line!(self, "method: {} ({})", or_unknown(bundle.method()), bundle.method_number());
        match bundle.total_size {
            Some(size) => line!(self, "size: {size}"),
            None => self.result("size", bundle.find_size(LIMIT), |dump, size| {
                line!(dump, "size: {size}, found at the end of the stream");
            }),
        }
        line!(self, "uncompressed size: {}", bundle.uncompressed_size);
        self.result("decompressed", bundle.decompress(LIMIT), |dump, bytes| {
            let computed = compressed::hash(&bytes);
            let same = if computed == bundle.hash { "as computed" } else { "another was computed" };
            line!(dump, "hash: {:#018x}, {same}", bundle.hash);
            line!(dump, "decompressed");
            dump.inside(|dump| dump.file(&bytes));
        });
    }

    fn text_bundle(&mut self, bundle: &TextBundle<'_>) {
        line!(self, "text bundle");
        for entry in bundle.entries() {
            self.entry(entry.id_str, entry.offset, entry.code_object);
        }
    }

    fn object_bundle(&mut self, bundle: &ObjectBundle<'_>) {
        line!(self, "object bundle");
        for entry in bundle.entries() {
            self.entry(entry.id_str, entry.offset, entry.code_object);
            if entry.is_host_placeholder() {
                line!(self, "    stands for the object without the bundle");
            }
        }
    }

    /// Adds a bundle entry, indented below its bundle, which may have any form.
    fn entry(&mut self, id: &str, offset: u64, payload: &[u8]) {
        self.depth += 1;
        line!(self, "entry {id:?}");
        self.inside(|dump| {
            dump.result("ID", EntryId::parse(id), |dump, id| {
                let (kind, triple, target) = (id.kind(), id.triple(), id.target());
                line!(dump, "kind {kind:?}, triple {triple}, target {target:?}");
                if id.to_canonical() != id.to_string() {
                    line!(dump, "canonical {}", id.to_canonical());
                }
            });
            dump.payload(offset, payload);
        });
        self.depth -= 1;
    }

    fn payload(&mut self, offset: u64, payload: &[u8]) {
        line!(self, "{} bytes at {offset}: {}", payload.len(), contents(payload));
        if ImageHeader::parse(payload).is_ok() {
            self.image(payload);
        }
    }

    fn offload_binaries(&mut self, bytes: &[u8]) {
        for found in OffloadBinary::in_a_row(bytes) {
            self.result("offload binary", found, |dump, (at, binary)| {
                let (version, size) = (binary.version, binary.size());
                line!(dump, "offload binary at {at}: {version:?}, {size} bytes");
                dump.inside(|dump| dump.offload_binary(&binary));
            });
        }
    }

    fn offload_binary(&mut self, binary: &OffloadBinary<'_>) {
        for image in binary.images() {
            let (kind, offload_kind) = (image.image_kind, image.offload_kind);
            let kinds = format!("{kind} ({}), offload kind {offload_kind}", kind.0);
            line!(self, "image {kinds} ({}), flags {:#x}", offload_kind.0, image.flags);
            self.inside(|dump| {
                for (key, value) in image.strings() {
                    line!(dump, "{key:?} = \"{}\"", value.escape_ascii());
                }
                dump.payload(image.offset, image.data);
            });
        }
        let Some(compressed) = binary.compressed else { return };
        let (method, size) = (compressed.method(), compressed.inflated_size);
        line!(self, "compressed: {method}, {size} bytes");
        self.result("decompressed", compressed.decompress(LIMIT), |dump, bytes| {
            dump.inside(|dump| dump.offload_binaries(&bytes));
        });
    }

    fn nv_fatbins(&mut self, bytes: &[u8]) {
        for found in NvFatbin::in_a_row(bytes) {
            self.result("fatbin", found, |dump, (at, fatbin)| {
                line!(dump, "fatbin at {at}: {} bytes", fatbin.size());
                for entry in fatbin.entries() {
                    dump.inside(|dump| dump.nv_entry(&entry));
                }
            });
        }
    }

    fn nv_entry(&mut self, entry: &Entry<'_>) {
        let (kind, size, offset) = (entry.kind, entry.size, entry.offset);
        let (stored, compression) = (entry.stored.len(), entry.compression);
        line!(
            self,
            "entry: {kind}, payload at {offset}, {stored} bytes, {compression:?}, {size} bytes"
        );
        self.result("payload", entry.decompress(LIMIT), |dump, payload| {
            for (image, bytes) in payload.images() {
                dump.inside(|dump| dump.nv_image(&image, bytes));
            }
        });
    }

    fn nv_image(&mut self, image: &nv_fatbin::Image<'_>, bytes: &[u8]) {
        let (kind, arch, version) = (image.kind, or_unknown(image.arch()), image.version);
        line!(self, "image: {kind} for {arch}, version {version:?}");
        self.inside(|dump| {
            line!(dump, "name \"{}\"", image.name.escape_ascii());
            line!(dump, "options \"{}\"", image.options.escape_ascii());
            let bits = if image.is_64_bit() { 64 } else { 32 };
            let debug = if image.has_debug_info() { "with" } else { "no" };
            let host = or_unknown(image.host().map(|host| format!("{host:?}")));
            let flags = image.flags;
            line!(dump, "flags {flags:#x}: host {host}, {bits} bits, {debug} debug information");
            dump.payload(0, bytes);
        });
    }

    fn archive(&mut self, bytes: &[u8]) {
        self.result("archive", Archive::parse(bytes), |dump, archive| {
            let thin = if archive.is_thin() { ", thin" } else { "" };
            line!(dump, "archive{thin}");
            dump.inside(|dump| {
                for member in archive.members() {
                    line!(dump, "member {} at {}", member.name.escape_ascii(), member.offset);
                    dump.inside(|dump| {
                        dump.payload(member.data_offset, member.data.unwrap_or_default());
                        dump.symbols(member.data.unwrap_or_default());
                    });
                }
            });
        });
    }

    fn host(&mut self, bytes: &[u8]) {
        self.symbols(bytes);
        wrappers(bytes, |wrapper| {
            line!(self, "wrapper: {:?}, version {}", wrapper.kind, wrapper.version);
            let size = wrapper.image.map(|image| format!("{} bytes", image.len()));
            let size = size.unwrap_or("of another file".to_owned());
            self.inside(|dump| line!(dump, "at {}, {size}", wrapper.offset));
        });
        self.result("without the bundle", object_bundle::strip(bytes), |dump, host| {
            if host != bytes {
                line!(dump, "without the bundle: {} bytes: {}", host.len(), contents(&host));
            }
        });
    }

    /// Adds the symbols that an archive would list for a member with these bytes.
    fn symbols(&mut self, bytes: &[u8]) {
        self.result("symbols", member_symbols(bytes), |dump, symbols| {
            let names = symbols.iter().flatten().map(|name| name.escape_ascii().to_string());
            let names: Vec<_> = names.collect();
            if !names.is_empty() {
                line!(dump, "defines {}", names.join(", "));
            }
        });
    }

    fn image(&mut self, bytes: &[u8]) {
        self.result("image", ImageHeader::parse(bytes), |dump, image| {
            match image {
                ImageHeader::CodeObject(header) => {
                    let (version, generic) = (header.version, header.generic_version());
                    let target = header.target_id().map(|id| id.to_string());
                    let target = target.as_deref().unwrap_or("an unknown processor");
                    let of = format!("version {version}, for {target}, generic version {generic}");
                    line!(dump, "code object, {of}");
                }
                ImageHeader::Cubin(header) => line!(dump, "cubin for {}", header.number),
                ImageHeader::Ptx(header) => {
                    line!(dump, "PTX {} for {}", header.version, header.arch)
                }
                ImageHeader::Bitcode => {
                    line!(dump, "bitcode");
                    dump.inside(|dump| dump.symbols(bytes));
                }
                other => line!(dump, "{other:?}"),
            }
            if matches!(
                image,
                ImageHeader::CodeObject(_) | ImageHeader::Cubin(_) | ImageHeader::Ptx(_)
            ) {
                dump.result("kernels", Kernels::parse(bytes), |dump, kernels| {
                    for kernel in kernels {
                        dump.inside(|dump| dump.kernel(kernel));
                    }
                });
            }
        });
    }

    fn kernel(&mut self, kernel: Kernel<'_>) {
        line!(self, "kernel {}", kernel.name);
        self.depth += 1;
        let facts = [
            ("code", kernel.code_size),
            ("arguments", kernel.arguments_size),
            ("registers", kernel.registers),
            ("VGPRs", kernel.vgprs),
            ("AGPRs", kernel.agprs),
            ("SGPRs", kernel.sgprs),
            ("VGPR spills", kernel.vgpr_spills),
            ("SGPR spills", kernel.sgpr_spills),
            ("shared memory", kernel.shared_memory),
            ("private memory", kernel.private_memory),
            ("wavefront size", kernel.wavefront_size),
            ("max threads", kernel.max_threads),
        ];
        let known = facts.iter().filter_map(|(name, value)| Some(format!("{name} {}", (*value)?)));
        line!(self, "{}", known.collect::<Vec<_>>().join(", "));
        if let Some(block) = kernel.required_block {
            line!(self, "required block {block:?}");
        }
        for it in kernel.arguments {
            let kind = it.value_kind.map(|kind| format!(", {kind}")).unwrap_or_default();
            line!(self, "argument {}: {} bytes at {}{kind}", it.ordinal, it.size, it.offset);
        }
        self.depth -= 1;
    }
}

fn or_unknown(value: Option<impl Display>) -> String {
    value.map_or("unknown".to_owned(), |value| value.to_string())
}

/// The maximum number of bytes that a call may allocate.
const LIMIT: u64 = 1 << 24;

/// Returns short text unchanged. For anything else, returns the first bytes and a hash (FNV-1a) of
/// all bytes.
fn contents(bytes: &[u8]) -> String {
    const SHORT: usize = 40;
    let is_text = bytes.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
    if bytes.len() <= SHORT && is_text {
        return format!("\"{}\"", bytes.escape_ascii());
    }
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("\"{}\"... {hash:016x}", bytes[..bytes.len().min(8)].escape_ascii())
}
