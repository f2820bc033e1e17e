//! Readers' results for each file of the corpus, compared with a dump that is checked in:
//! `<file>.txt`.
//!
//! `BLESS=1 cargo xtask test --test formats -- golden` writes the dumps again. Read the difference
//! before you commit it.

use offload_format::archive::Archive;
use offload_format::bundle::EntryId;
use offload_format::compressed::{self, Bundles, CompressedBundle, Found};
use offload_format::device_archive::member_symbols;
use offload_format::fat_file::{Container, FileKind, Place, find, wrappers};
use offload_format::image::{Image, Kernel, Kernels};
use offload_format::kpack::{Kpack, KpackReference};
use offload_format::nv_fatbin::{Entry, NvFatbins};
use offload_format::object_bundle::{self, ObjectBundle};
use offload_format::offload_binary::OffloadBinaries;
use offload_format::text_bundle::TextBundle;
use offload_tests::data::{assert_as_checked_in, blesses, corpus, corpus_folders, read};
use offload_tests::registry::{NOTHING, Test};
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

offload_tests::tests! {
    NOTHING => [every_dump_has_its_file];
    dumps(),
}

/// Returns a test for each file of the corpus.
fn dumps() -> impl Iterator<Item = Test> {
    let files = corpus_folders().into_iter().flat_map(|folder| corpus(&folder));
    files.map(|file| {
        Test::new(module_path!(), &short_name(&file), NOTHING, move || is_as_its_dump(&file))
    })
}

/// Returns the file's name with its folder.
fn short_name(file: &Path) -> String {
    let folder = file.parent().and_then(Path::file_name).unwrap_or_default();
    format!("{}/{}", folder.display(), file.file_name().unwrap_or_default().display())
}

fn dump_of(file: &Path) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push(".txt");
    path.into()
}

fn is_as_its_dump(file: &Path) {
    let bytes = read(file);
    let mut dump = Dump::default();
    dump.line(format_args!("{}: {} bytes", short_name(file), bytes.len()));
    dump.file(&bytes);
    assert_as_checked_in(&dump_of(file), &dump.text);
}

fn every_dump_has_its_file() {
    for folder in corpus_folders() {
        let folder = corpus(&folder)[0].parent().expect("a file lies in a folder").to_owned();
        for entry in fs::read_dir(&folder).expect("the corpus can be read").flatten() {
            let dump = entry.path();
            if dump.extension().is_some_and(|it| it == "txt") && !dump.with_extension("").is_file()
            {
                assert!(blesses(), "{} has no file", dump.display());
                fs::remove_file(dump).expect("the corpus can be written");
            }
        }
    }
}

/// The lines of a dump; each line is indented below the part that it belongs to.
#[derive(Default)]
struct Dump {
    text: String,
    depth: usize,
}

impl Dump {
    fn line(&mut self, line: impl Display) {
        self.text.push_str(&format!("{:1$}{line}\n", "", 2 * self.depth));
    }

    fn inside(&mut self, lines: impl FnOnce(&mut Self)) {
        self.depth += 1;
        lines(self);
        self.depth -= 1;
    }

    /// Adds the lines of a part. If the part cannot be read, adds one line with `what` and the
    /// error.
    fn result<T>(
        &mut self,
        what: &str,
        result: Result<T, impl Display>,
        lines: impl FnOnce(&mut Self, T),
    ) {
        match result {
            Ok(value) => lines(self, value),
            Err(error) => self.line(format_args!("{what}: error: {error}")),
        }
    }

    /// Adds all contents of a file.
    fn file(&mut self, bytes: &[u8]) {
        let kind = FileKind::identify(bytes);
        match kind {
            Some(kind) => self.line(format_args!("kind: {kind:?}")),
            None => self.line("kind: unknown"),
        }
        match kind {
            Some(FileKind::Archive) => self.archive(bytes),
            Some(FileKind::Host) => self.host(bytes),
            Some(FileKind::Image) => self.image(bytes),
            _ => {}
        }
        find(bytes, |place, container| self.place(bytes.len(), &place, container));
    }

    fn place(
        &mut self,
        size: usize,
        place: &Place<'_>,
        container: offload_format::Result<Container<'_>>,
    ) {
        let mut name = format!("place at {}", place.offset);
        if let Some(slice) = place.slice {
            name += &format!(", slice for {slice}");
        }
        if let Some(member) = place.member {
            name += &format!(", member {}", member.escape_ascii());
        }
        if let Some(section) = place.section {
            name += &format!(", section {}", section.escape_ascii());
        }
        self.result(&name.clone(), container, |dump, container| match container {
            // If the image is the whole file, its line was already added.
            Container::Image(image) if image.len() == size => {}
            container => {
                dump.line(name);
                dump.inside(|dump| dump.container(&container));
            }
        });
    }

    fn container(&mut self, container: &Container<'_>) {
        match container {
            Container::Bundles(bytes) => self.bundles(bytes),
            Container::OffloadBinaries(bytes) => self.offload_binaries(bytes),
            Container::NvFatbins(bytes) => self.nv_fatbins(bytes),
            Container::ObjectBundle(bundle) => self.object_bundle(bundle),
            Container::TextBundle(bundle) => self.text_bundle(bundle),
            Container::Kpack(file) => self.result("kpack", Kpack::parse(file), |dump, kpack| {
                dump.line(format_args!("kpack: {kpack:?}"));
            }),
            Container::KpackReference(section) => {
                self.line(format_args!("{:?}", KpackReference::parse(section)))
            }
            Container::Image(image) => self.image(image),
            Container::Elsewhere(path) => {
                self.line(format_args!("in the file {}", path.escape_ascii()))
            }
        }
    }

    fn bundles(&mut self, bytes: &[u8]) {
        for found in Bundles::new(bytes, LIMIT) {
            self.result("bundle", found, |dump, (at, found)| match found {
                Found::Plain(bundle) => {
                    let table = bundle.table();
                    dump.line(format_args!(
                        "bundle at {at}: {} bytes, entry table {}",
                        bundle.size(),
                        table.size()
                    ));
                    dump.inside(|dump| {
                        for entry in bundle.entries() {
                            dump.entry(entry.id_str(), entry.offset(), entry.code_object());
                        }
                    });
                }
                Found::Compressed(bundle) => {
                    dump.line(format_args!(
                        "compressed bundle at {at}, version {}",
                        bundle.version()
                    ));
                    dump.inside(|dump| dump.compressed(&bundle));
                }
            });
        }
    }

    fn compressed(&mut self, bundle: &CompressedBundle<'_>) {
        match bundle.method() {
            Some(method) => {
                self.line(format_args!("method: {method} ({})", bundle.method_number()))
            }
            None => self.line(format_args!("method: unknown ({})", bundle.method_number())),
        }
        match bundle.total_size() {
            Some(size) => self.line(format_args!("size: {size}")),
            None => self.result("size", bundle.find_size(LIMIT), |dump, size| {
                dump.line(format_args!("size: {size}, found at the end of the stream"));
            }),
        }
        self.line(format_args!("uncompressed size: {}", bundle.uncompressed_size()));
        self.result("decompressed", bundle.decompress(LIMIT), |dump, bytes| {
            let computed = compressed::hash(&bytes);
            let same =
                if computed == bundle.hash() { "as computed" } else { "another was computed" };
            dump.line(format_args!("hash: {:#018x}, {same}", bundle.hash()));
            dump.line("decompressed");
            dump.inside(|dump| dump.file(&bytes));
        });
    }

    fn text_bundle(&mut self, bundle: &TextBundle<'_>) {
        self.line("text bundle");
        self.inside(|dump| {
            for entry in bundle.entries() {
                dump.entry(entry.id_str(), entry.offset(), entry.payload());
            }
        });
    }

    fn object_bundle(&mut self, bundle: &ObjectBundle<'_>) {
        self.line("object bundle");
        self.inside(|dump| {
            for entry in bundle.entries() {
                dump.entry(entry.id_str(), entry.offset(), entry.code_object());
                if entry.is_host_placeholder() {
                    dump.inside(|dump| dump.line("stands for the object without the bundle"));
                }
            }
        });
    }

    /// Adds an entry of a bundle of any form.
    fn entry(&mut self, id: &str, offset: u64, payload: &[u8]) {
        self.line(format_args!("entry {id:?}"));
        self.inside(|dump| {
            dump.result("ID", EntryId::parse(id), |dump, id| {
                dump.line(format_args!(
                    "kind {:?}, triple {}, target {:?}",
                    id.kind(),
                    id.triple(),
                    id.target()
                ));
                if id.to_canonical() != id.to_string() {
                    dump.line(format_args!("canonical {}", id.to_canonical()));
                }
            });
            dump.payload(offset, payload);
        });
    }

    fn payload(&mut self, offset: u64, payload: &[u8]) {
        self.line(format_args!("{} bytes at {offset}: {}", payload.len(), contents(payload)));
        if Image::parse(payload).is_ok() {
            self.image(payload);
        }
    }

    fn offload_binaries(&mut self, bytes: &[u8]) {
        for found in OffloadBinaries::new(bytes) {
            self.result("offload binary", found, |dump, (at, binary)| {
                dump.line(format_args!(
                    "offload binary at {at}: {:?}, {} bytes",
                    binary.version(),
                    binary.size()
                ));
                dump.inside(|dump| {
                    for image in binary.images() {
                        let (kind, offload_kind) = (image.image_kind(), image.offload_kind());
                        dump.line(format_args!(
                            "image {kind} ({}), offload kind {offload_kind} ({}), flags {:#x}",
                            kind.0,
                            offload_kind.0,
                            image.flags()
                        ));
                        dump.inside(|dump| {
                            for (key, value) in image.strings() {
                                dump.line(format_args!("{key:?} = \"{}\"", value.escape_ascii()));
                            }
                            dump.payload(image.offset(), image.data());
                        });
                    }
                    if let Some(compressed) = binary.compressed() {
                        let (method, size) = (compressed.method(), compressed.inflated_size());
                        dump.line(format_args!("compressed: {method}, {size} bytes"));
                        dump.result("decompressed", compressed.decompress(LIMIT), |dump, bytes| {
                            dump.inside(|dump| dump.offload_binaries(&bytes));
                        });
                    }
                });
            });
        }
    }

    fn nv_fatbins(&mut self, bytes: &[u8]) {
        for found in NvFatbins::new(bytes) {
            self.result("fatbin", found, |dump, (at, fatbin)| {
                dump.line(format_args!("fatbin at {at}: {} bytes", fatbin.size()));
                for entry in fatbin.entries() {
                    dump.inside(|dump| dump.nv_entry(&entry));
                }
            });
        }
    }

    fn nv_entry(&mut self, entry: &Entry<'_>) {
        let (kind, size, offset) = (entry.kind(), entry.size(), entry.offset());
        let (stored, compression) = (entry.stored().len(), entry.compression());
        self.line(format_args!(
            "entry: {kind}, payload at {offset}, {stored} bytes, {compression:?}, {size} bytes"
        ));
        self.result("payload", entry.decompress(LIMIT), |dump, payload| {
            for (image, bytes) in payload.images() {
                dump.inside(|dump| {
                    let arch = image.arch().map_or("unknown".to_owned(), |arch| arch.to_string());
                    dump.line(format_args!(
                        "image: {} for {arch}, version {:?}",
                        image.kind(),
                        image.version()
                    ));
                    dump.inside(|dump| {
                        dump.line(format_args!("name \"{}\"", image.name().escape_ascii()));
                        dump.line(format_args!("options \"{}\"", image.options().escape_ascii()));
                        let bits = if image.is_64_bit() { 64 } else { 32 };
                        let debug = if image.has_debug_info() {
                            "with debug information"
                        } else {
                            "no debug information"
                        };
                        let host =
                            image.host().map_or("unknown".to_owned(), |host| format!("{host:?}"));
                        dump.line(format_args!(
                            "flags {:#x}: host {host}, {bits} bits, {debug}",
                            image.flags()
                        ));
                        dump.payload(0, bytes);
                    });
                });
            }
        });
    }

    fn archive(&mut self, bytes: &[u8]) {
        self.result("archive", Archive::parse(bytes), |dump, archive| {
            let thin = if archive.is_thin() { ", thin" } else { "" };
            dump.line(format_args!("archive: {:?}{thin}", archive.kind()));
            dump.inside(|dump| {
                for member in archive.members() {
                    dump.line(format_args!(
                        "member {} at {}",
                        member.name().escape_ascii(),
                        member.offset()
                    ));
                    dump.inside(|dump| {
                        dump.line(format_args!(
                            "header name \"{}\", modified {:?}, owner {:?}, group {:?}, mode {:?}",
                            member.raw_name().escape_ascii(),
                            member.modified(),
                            member.owner(),
                            member.group(),
                            member.mode(),
                        ));
                        dump.payload(member.data_offset(), member.data().unwrap_or_default());
                        dump.symbols(member.data().unwrap_or_default());
                    });
                }
                dump.result("symbols", archive.symbols(), |dump, symbols| {
                    for symbol in symbols {
                        let (name, offset) = (symbol.name().escape_ascii(), symbol.member_offset());
                        dump.line(format_args!("symbol {name} of the member at {offset}"));
                    }
                });
            });
        });
    }

    fn host(&mut self, bytes: &[u8]) {
        self.symbols(bytes);
        wrappers(bytes, |wrapper| {
            self.line(format_args!("wrapper: {:?}, version {}", wrapper.kind(), wrapper.version()));
            match wrapper.image() {
                Some(image) => self.inside(|dump| {
                    dump.line(format_args!("at {}, {} bytes", wrapper.offset(), image.len()))
                }),
                None => self.inside(|dump| {
                    dump.line(format_args!("at {}, of another file", wrapper.offset()))
                }),
            }
        });
        self.result("without the bundle", object_bundle::strip(bytes), |dump, host| {
            if host != bytes {
                dump.line(format_args!(
                    "without the bundle: {} bytes: {}",
                    host.len(),
                    contents(&host)
                ));
            }
        });
    }

    /// Adds the symbols that an archive would list for a member with these bytes.
    fn symbols(&mut self, bytes: &[u8]) {
        self.result("symbols", member_symbols(bytes), |dump, symbols| {
            let names = symbols
                .iter()
                .flatten()
                .map(|name| name.escape_ascii().to_string())
                .collect::<Vec<_>>();
            if !names.is_empty() {
                dump.line(format_args!("defines {}", names.join(", ")));
            }
        });
    }

    fn image(&mut self, bytes: &[u8]) {
        self.result("image", Image::parse(bytes), |dump, image| {
            match image {
                Image::CodeObject(header) => dump.line(format_args!(
                    "code object, version {}, for {}, generic version {}",
                    header.version(),
                    header.target_id().unwrap_or("an unknown processor".to_owned()),
                    header.generic_version(),
                )),
                Image::Cubin(header) => dump.line(format_args!("cubin for {}", header.number())),
                Image::Ptx(header) => {
                    dump.line(format_args!("PTX {} for {}", header.version(), header.arch()))
                }
                Image::Bitcode => {
                    dump.line("bitcode");
                    dump.inside(|dump| dump.symbols(bytes));
                }
                other => dump.line(format_args!("{other:?}")),
            }
            if matches!(image, Image::CodeObject(_) | Image::Cubin(_) | Image::Ptx(_)) {
                dump.result("kernels", Kernels::parse(bytes), |dump, kernels| {
                    for kernel in kernels {
                        dump.inside(|dump| dump.kernel(kernel));
                    }
                });
            }
        });
    }

    fn kernel(&mut self, kernel: Kernel<'_>) {
        self.line(format_args!("kernel {}", kernel.name));
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
        let known =
            facts.iter().filter_map(|(name, value)| value.map(|value| format!("{name} {value}")));
        self.line(known.collect::<Vec<_>>().join(", "));
        if let Some(block) = kernel.required_block {
            self.line(format_args!("required block {block:?}"));
        }
        for argument in kernel.arguments {
            let kind = argument.value_kind.map(|kind| format!(", {kind}")).unwrap_or_default();
            self.line(format_args!(
                "argument {}: {} bytes at {}{kind}",
                argument.ordinal, argument.size, argument.offset
            ));
        }
        self.depth -= 1;
    }
}

/// The maximum number of bytes that a call may allocate.
const LIMIT: u64 = 1 << 24;

/// Returns short text unchanged. For other bytes, returns the first bytes and a number that changes
/// with any byte (FNV-1a).
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
