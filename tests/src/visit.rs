//! Runs every reader of offload-format on arbitrary bytes.
//!
//! [`all`] runs every reader to its end. Each kind of container also has a separate function. The
//! bytes need not be well formed. The functions panic if a reader panics, if a result does not
//! borrow from the bytes, if a reader returns more items than the bytes can contain
//! ([`ITEMS_PER_BYTE`]), or if a reported offset is wrong.

use offload_format::archive::Archive;
use offload_format::bundle::{Bundle, BundleBuilder, Composition, EntryId, EntryTable};
use offload_format::compressed::{CompressedBundle, Found};
use offload_format::fat_file::{ContainerKind, Content};
use offload_format::image::{
    Bitcode, CodeObjectHeader, CubinHeader, ImageHeader, Kernels, PtxHeader, global_symbols,
    oldest_ptx_version, unique_symbol,
};
use offload_format::image_table::ImageTable;
use offload_format::kpack::{Kpack, KpackManifest, KpackReference};
use offload_format::nv_fatbin::NvFatbin;
use offload_format::object_bundle::ObjectBundle;
use offload_format::offload_binary::OffloadBinary;
use offload_format::oxart::Oxart;
use offload_format::select::{Candidate, judge};
use offload_format::spirv::{SpirvModule, with_memory_barriers};
use offload_format::target::{ImageCode, NvidiaArch, OffloadArch, TargetId, TargetTriple};
use offload_format::text_bundle::{CommentLeader, TextBundle};
use offload_format::{
    ComputeCapability, DeviceInfo, ErrorKind, Result, device_archive as device_archives,
    fat_file as fat,
};
use offload_pack::pack_index::Index;
use std::fmt::{self, Debug, Display, Write};

/// The limit in bytes that is passed to each call with a limit on allocations.
pub const LIMIT: u64 = 1 << 20;

/// The maximum number of items that a reader may return per byte. The number is larger than one,
/// because names and sections may share bytes.
pub const ITEMS_PER_BYTE: usize = 64;

/// The maximum number of code objects to decompress per container. In a compressed bundle, reading
/// a code object decompresses the whole stream again.
const CODE_OBJECTS: usize = 3;

/// Runs every reader.
pub fn all(bytes: &[u8]) {
    bundle(bytes);
    compressed(bytes);
    text_bundle(bytes);
    object_bundle(bytes);
    offload_binary(bytes);
    nv_fatbin(bytes);
    archive(bytes);
    device_archive(bytes);
    fat_file(bytes);
    image(bytes);
    spirv(bytes);
    kpack(bytes);
    oxart(bytes);
    bitcode(bytes);
    names(bytes);
}

/// Reads a bundle, then only its entry table.
pub fn bundle(bytes: &[u8]) {
    let mut seen = Seen::new(bytes);
    if let Some(bundle) = seen.result(Bundle::parse(bytes)) {
        assert!(bundle.size() <= bytes.len() as u64);
        seen.bundle(&bundle);
    }
    if let Some(table) = seen.result(EntryTable::parse(bytes)) {
        assert!(table.size() <= bytes.len() as u64);
        table.entries().for_each(|entry| seen.id(entry.id_str));
        seen.show(table);
    }
}

/// Reads a compressed bundle with its contents, and several consecutive bundles, plain or
/// compressed.
pub fn compressed(bytes: &[u8]) {
    let mut seen = Seen::new(bytes);
    if let Some(bundle) = seen.result(CompressedBundle::parse(bytes)) {
        seen.compressed(&bundle);
        if let Some(table) = seen.kept(bundle.entry_table(LIMIT)) {
            let mut inside = Seen::new(&table);
            let parsed = EntryTable::parse(&table).expect("it was read to its end");
            for (number, entry) in parsed.entries().enumerate() {
                inside.id(entry.id_str);
                if number < CODE_OBJECTS {
                    inside.kept(bundle.code_object(&entry, LIMIT));
                }
            }
        }
        if let Some(whole) = seen.kept(bundle.decompress(LIMIT)) {
            self::bundle(&whole);
            text_bundle(&whole);
        }
    }
    seen.bundles(bytes);
}

/// Reads a text bundle with each comment leader.
pub fn text_bundle(bytes: &[u8]) {
    for leader in CommentLeader::ALL {
        let mut seen = Seen::new(bytes);
        if let Some(bundle) = seen.result(TextBundle::parse(bytes, leader)) {
            seen.text_bundle(&bundle);
        }
    }
    let _ = TextBundle::detect(bytes);
}

/// Reads a host object whose sections contain a bundle. Then writes the object without the bundle,
/// and computes the layout of the object with a different bundle.
pub fn object_bundle(bytes: &[u8]) {
    let mut seen = Seen::new(bytes);
    if let Some(bundle) = seen.result(ObjectBundle::parse(bytes)) {
        seen.object_bundle(&bundle);
    }
    if let Some(host) = seen.kept(offload_format::object_bundle::strip(bytes)) {
        let bundle = ObjectBundle::parse(&host).expect("what is written can be read");
        assert_eq!(bundle.entries().count(), 0, "a bundle was taken out");
    }
    let mut entries = BundleBuilder::new();
    entries.entry("openmp-amdgcn-amd-amdhsa--gfx906", 4).expect("an ID as it should be");
    // Only compute the layout, because the new object could be up to 4 GiB large. A COFF section
    // may have bytes in the new object, but none in the input.
    if let Some(layout) = seen.told(offload_format::object_bundle::bundle(bytes, &entries)) {
        assert!(layout.offset_of(0).is_some_and(|offset| offset + 4 <= layout.size()));
    }
}

/// Reads one offload binary, or several in a row.
pub fn offload_binary(bytes: &[u8]) {
    let mut seen = Seen::new(bytes);
    if let Some(binary) = seen.result(OffloadBinary::parse(bytes))
        && let Some(compressed) = binary.compressed
        && let Some(whole) = seen.kept(compressed.decompress(LIMIT))
    {
        Seen::new(&whole).offload_binaries(&whole);
    }
    seen.offload_binaries(bytes);
}

/// Reads a fatbin with its payloads, and several consecutive fatbins.
pub fn nv_fatbin(bytes: &[u8]) {
    let mut seen = Seen::new(bytes);
    if let Some(fatbin) = seen.result(NvFatbin::parse(bytes)) {
        fatbin.entries().for_each(|entry| seen.show(entry));
        for entry in fatbin.entries().take(CODE_OBJECTS) {
            let Some(payload) = seen.told(entry.decompress(LIMIT)) else { continue };
            seen.assert_small(payload.bytes());
            assert_eq!(payload.bytes().len() as u64, entry.size);
            assert_eq!(payload.images().count(), entry.images().count());
            let mut inside = Seen::new(payload.bytes());
            payload.images().for_each(|(_, image)| inside.part(image));
        }
    }
    seen.nv_fatbins(bytes);
}

/// Reads an archive.
pub fn archive(bytes: &[u8]) {
    let mut seen = Seen::new(bytes);
    let Some(archive) = seen.result(Archive::parse(bytes)) else { return };
    for member in archive.members() {
        seen.parts([member.name, member.data.unwrap_or(b"")]);
        let size = bytes.len() as u64;
        assert!(member.offset < size, "a member starts outside of the archive");
        assert!(member.data_offset <= size, "a member's data starts outside of the archive");
    }
    seen.show(archive);
}

/// Extracts the libraries for two targets from an archive. Also reads the symbols that an archive
/// would list for a member with these bytes.
pub fn device_archive(bytes: &[u8]) {
    let mut seen = Seen::new(bytes);
    let symbols = seen.result(device_archives::member_symbols(bytes));
    symbols.iter().flatten().flatten().for_each(|name| seen.part(name));
    let archive = Archive::parse(bytes).ok();
    let members =
        archive.iter().flat_map(Archive::members).filter_map(|it| Some((it.name, it.data?)));
    // Also read the bytes as a member of an archive.
    let members = members.chain([(&b"member.o"[..], bytes)]);
    let requested =
        ["host-x86_64-unknown-linux-gnu", "openmp-amdgcn-amd-amdhsa--gfx906:sramecc+:xnack+"]
            .map(|id| EntryId::parse(id).expect("an ID as it should be"));
    let mut options = device_archives::UnbundleOptions::default();
    options.limit = LIMIT;
    options.hip_openmp_compatible = true;
    let taken = seen.told(device_archives::unbundle(members, &requested, &options));
    for device_archive in taken.into_iter().flatten() {
        let Some(written) = seen.told(device_archive.to_vec()) else { continue };
        let written = Archive::parse(&written).expect("what is written can be read");
        assert_eq!(written.members().count(), device_archive.members().count());
    }
}

/// Reads device code anywhere in a file, and the structures that refer to it.
pub fn fat_file(bytes: &[u8]) {
    let _ = fat::FileKind::identify(bytes);
    let mut seen = Seen::new(bytes);
    fat::find(bytes, |place, container| {
        assert!(place.offset <= bytes.len() as u64, "{place:?} is outside of the file");
        seen.parts([place.member, place.section].map(Option::unwrap_or_default));
        let Some(content) = seen.result(container) else { return };
        let (kind, part) = match content {
            Content::Container(kind, part) => (kind, part),
            Content::Elsewhere(part) | Content::KpackReference(part) => return seen.part(part),
        };
        if !part.is_empty() {
            let offset = part.as_ptr() as usize - bytes.as_ptr() as usize;
            assert_eq!(place.offset, offset as u64, "{place:?}");
        }
        match kind {
            ContainerKind::Bundle | ContainerKind::CompressedBundle => seen.bundles(part),
            ContainerKind::OffloadBinary => seen.offload_binaries(part),
            ContainerKind::Fatbin => seen.nv_fatbins(part),
            ContainerKind::ObjectBundle => {
                seen.result(ObjectBundle::parse(part)).iter().for_each(|it| seen.object_bundle(it))
            }
            ContainerKind::ImageTable => {
                ImageTable::find(part).iter().for_each(|table| seen.image_table(table))
            }
            ContainerKind::TextBundle => {
                let leader = TextBundle::detect(part).expect("it was found by its leader");
                let bundle = seen.result(TextBundle::parse(part, leader));
                bundle.iter().for_each(|bundle| seen.text_bundle(bundle))
            }
            ContainerKind::Kpack => seen.kpack(part),
            ContainerKind::Oxart => seen.oxarts(part),
            ContainerKind::Raw => seen.part(part),
        }
    });
    let mut seen = Seen::new(bytes);
    fat::wrappers(bytes, |wrapper| seen.part(wrapper.image.unwrap_or_default()));
    let mut seen = Seen::new(bytes);
    for section in fat::sections(bytes).into_iter().flatten() {
        seen.part(section.name);
        assert!(section.size == 0 || section.offset + section.size <= bytes.len() as u64);
    }
}

/// Reads ROCm's kernel packs, references to them, and their manifests.
pub fn kpack(bytes: &[u8]) {
    let mut seen = Seen::new(bytes);
    seen.kpack(bytes);
    if let Some(reference) = seen.result(KpackReference::parse(bytes)) {
        seen.part(reference.kernel_name.as_bytes());
        reference.search_paths.iter().for_each(|path| seen.part(path.as_bytes()));
    }
    for file in seen.result(KpackManifest::parse(bytes)).into_iter().flat_map(|it| it.files) {
        seen.parts([file.file.as_bytes(), file.target.as_bytes()]);
    }
}

/// Reads consecutive bundles of cuda-oxide.
pub fn oxart(bytes: &[u8]) {
    Seen::new(bytes).oxarts(bytes);
}

/// Reads the header of an image, and its kernels.
pub fn image(bytes: &[u8]) {
    let mut seen = Seen::new(bytes);
    seen.result(CodeObjectHeader::parse(bytes))
        .map(|header| header.target_id().map(|id| seen.target(&id.to_string())));
    seen.result(CubinHeader::parse(bytes));
    if let Some(header) = seen.result(PtxHeader::parse(bytes)) {
        seen.part(&bytes[header.version_range()]);
    }
    if let Err(unknown) = oldest_ptx_version(bytes) {
        display(&unknown);
        assert!(unknown.offset() <= bytes.len());
    }
    if let Some(image) = seen.result(ImageHeader::parse(bytes)) {
        seen.show(image);
        let candidate = Read(image);
        for device in [
            DeviceInfo::cuda(ComputeCapability { major: 9, minor: 0 }, 12_080),
            DeviceInfo::hip("gfx90a:xnack-").expect("a device"),
            DeviceInfo::cpu(),
        ] {
            let _ = judge(&candidate, &device);
        }
    }
    if let Some(Some(symbol)) = seen.result(unique_symbol(bytes)) {
        seen.part(symbol);
    }
    for symbol in seen.result(global_symbols(bytes)).into_iter().flatten() {
        seen.part(symbol.name);
    }
    for (number, kernel) in seen.result(Kernels::parse(bytes)).into_iter().flatten().enumerate() {
        assert!(number < bytes.len(), "more kernels than bytes");
        assert!(kernel.arguments.clone().count() <= bytes.len(), "more arguments than bytes");
        seen.part(kernel.name.as_bytes());
        for argument in kernel.arguments {
            seen.part(argument.value_kind.unwrap_or_default().as_bytes());
        }
    }
}

/// Reads a SPIR-V module, and the variants of the module that drivers compile.
pub fn spirv(bytes: &[u8]) {
    let seen = Seen::new(bytes);
    let _ = SpirvModule::why_not_launched(bytes);
    let ordered = with_memory_barriers(bytes);
    assert!(ordered.len() <= 2 * bytes.len(), "more than one instruction for each");
    let Some(module) = seen.result(SpirvModule::parse(bytes)) else { return };
    let again = SpirvModule::parse(&ordered).expect("only barriers were added");
    assert_eq!(again.kernels(), module.kernels());
    for size in [0, 100, u64::MAX] {
        if let Some(Some(changed)) = seen.result(module.for_driver(size)) {
            let again = SpirvModule::parse(&changed).expect("only a length and blocks changed");
            assert_eq!(again.kernels().len(), module.kernels().len());
        }
    }
}

/// Reads the symbols of LLVM bitcode.
pub fn bitcode(bytes: &[u8]) {
    let mut seen = Seen::new(bytes);
    if let Some(variables) = seen.result(Bitcode::variables_in_section(bytes, ".llvm.offloading")) {
        let size: usize = variables.iter().map(Vec::len).sum();
        assert!(size <= bytes.len() * 64, "{size} bytes came out of {}", bytes.len());
    }
    if let Some(bitcode) = seen.result(Bitcode::parse(bytes)) {
        bitcode.defined_globals().for_each(|name| seen.part(name));
        bitcode.target_triple().into_iter().for_each(|triple| seen.part(triple.as_bytes()));
        seen.show(bitcode);
    }
}

/// Reads names of targets, devices and bundle entries, one per line. Compares each name with the
/// name in the previous line. Also reads the whole text as a pack's index.
pub fn names(bytes: &[u8]) {
    let mut seen = Seen::new(bytes);
    let Ok(text) = str::from_utf8(bytes) else { return };
    let _ = Index::parse(text).map(|index| seen.show(&index));
    let mut composition = Composition::default();
    let mut last = "";
    for line in text.lines().take(64) {
        seen.id(line);
        seen.target(line);
        let _ = composition.add(line);
        if let (Ok(one), Ok(other)) = (EntryId::parse(last), EntryId::parse(line)) {
            let _ = (one.provides_for(&other, true), one.provides_for(&other, false));
        }
        if let (Ok(one), Ok(other)) = (TargetId::parse(last), TargetId::parse(line)) {
            let _ = (one.provides_for(&other), one.conflicts_with(&other));
        }
        last = line;
    }
    let _ = Composition::find_conflict(text.lines().take(64));
}

/// The bytes that are read, and the number of items that readers may still return.
struct Seen<'a> {
    bytes: &'a [u8],
    items_left: usize,
}

impl<'a> Seen<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, items_left: ITEMS_PER_BYTE * (bytes.len() + 1) }
    }

    /// Counts an item, and panics if there are too many.
    #[track_caller]
    fn item(&mut self) {
        let left = self.items_left.checked_sub(1);
        self.items_left =
            left.unwrap_or_else(|| panic!("too many items in {} bytes", self.bytes.len()));
    }

    /// Counts an item, and checks that the item borrows from the bytes.
    #[track_caller]
    fn part(&mut self, part: &[u8]) {
        self.item();
        let (whole, range) = (self.bytes.as_ptr_range(), part.as_ptr_range());
        if !part.is_empty() {
            assert!(whole.start <= range.start, "it starts before the bytes");
            assert!(range.end <= whole.end, "it ends after the bytes");
        }
    }

    #[track_caller]
    fn parts<'b>(&mut self, parts: impl IntoIterator<Item = &'b [u8]>) {
        parts.into_iter().for_each(|part| self.part(part));
    }

    /// Reads the IDs and payloads of a bundle's entries. The bundle may have any form.
    fn entries<'b>(&mut self, entries: impl Iterator<Item = (&'b str, &'b [u8])>) {
        for (id, payload) in entries {
            self.part(payload);
            self.id(id);
        }
    }

    /// Formats a view. Formatting must not panic.
    fn show(&self, view: impl Debug) {
        write!(Nowhere::default(), "{view:?}").expect("what is shown goes nowhere");
    }

    /// Formats an error, and checks that the error's offset is within the bytes.
    #[track_caller]
    fn result<T>(&self, result: Result<T>) -> Option<T> {
        if let Err(error) = &result {
            // A truncated item may start after the end of the bytes.
            let inside = error.offset() <= self.bytes.len() as u64;
            let is_cut = matches!(error.kind(), ErrorKind::Truncated { have: 0, .. });
            assert!(inside || is_cut, "{error} (in {} bytes)", self.bytes.len());
        }
        self.told(result)
    }

    /// Formats an error without checking its offset, which may count from the start of other bytes.
    fn told<T>(&self, result: Result<T>) -> Option<T> {
        result.inspect_err(display).ok()
    }

    /// Formats an error. If there is no error, checks the size of the buffer that the reader has
    /// returned.
    #[track_caller]
    fn kept(&self, result: Result<Vec<u8>>) -> Option<Vec<u8>> {
        self.told(result).inspect(|kept| self.assert_small(kept))
    }

    /// Asserts that a returned buffer has at most [`LIMIT`] bytes plus 24 bytes per input byte. A
    /// stripped object may be larger than the input, because it has zeros between its sections.
    #[track_caller]
    fn assert_small(&self, kept: &[u8]) {
        let most = LIMIT as usize + 24 * self.bytes.len();
        assert!(kept.len() <= most, "{} bytes out of {}", kept.len(), self.bytes.len());
    }

    fn id(&mut self, text: &str) {
        self.part(text.as_bytes());
        let _ = EntryId::parse_strict(text);
        match EntryId::parse(text) {
            Ok(id) => {
                display(&id);
                self.part(id.target().as_bytes());
                let target = id.target_id().map(|target| target.to_canonical());
                let _ = (id.to_canonical(), target, id.is_host());
            }
            Err(error) => display(&error),
        }
    }

    /// Reads a target's name in each spelling.
    fn target(&mut self, text: &str) {
        let _ = TargetId::parse(text).inspect_err(display).map(|id| {
            id.features().for_each(|(name, state)| assert_eq!(id.feature(name), state));
            assert!(id.provides_for(&id), "{id} is for itself");
        });
        let _ = TargetTriple::parse(text).inspect_err(display).map(|triple| {
            assert!(triple.is_compatible_with(&triple), "{triple} goes with itself");
        });
        let _ = NvidiaArch::parse(text).inspect_err(display).map(|arch| arch.lowest_ptx());
        let _ = OffloadArch::parse(text).inspect_err(display).map(|arch| arch.to_canonical());
        let _ = DeviceInfo::parse(text).inspect_err(display).inspect(display);
    }

    fn bundle(&mut self, bundle: &Bundle<'_>) {
        self.entries(bundle.entries().map(|entry| (entry.id_str, entry.code_object)));
        self.show(bundle);
    }

    fn compressed(&mut self, bundle: &CompressedBundle<'_>) {
        self.part(bundle.payload);
        self.show(bundle);
        if let Some(size) = self.told(bundle.find_size(LIMIT)) {
            assert!(size <= self.bytes.len() as u64);
        }
    }

    fn bundles(&mut self, section: &[u8]) {
        for (number, found) in Found::in_a_row(section, LIMIT).enumerate() {
            assert!(number < section.len(), "more bundles than bytes");
            match self.result(found) {
                Some((_, Found::Plain(bundle))) => self.bundle(&bundle),
                Some((_, Found::Compressed(bundle))) => self.compressed(&bundle),
                None => {}
            }
        }
    }

    fn text_bundle(&mut self, bundle: &TextBundle<'_>) {
        self.entries(bundle.entries().map(|entry| (entry.id_str, entry.code_object)));
        self.show(bundle);
    }

    fn object_bundle(&mut self, bundle: &ObjectBundle<'_>) {
        assert!(bundle.entries().count() <= self.bytes.len(), "more entries than bytes");
        self.entries(bundle.entries().map(|entry| (entry.id_str, entry.code_object)));
        for entry in bundle.entries() {
            let looks_so = entry.id_str.starts_with("host-") && entry.code_object == b"\0";
            assert!(looks_so || !entry.is_host_placeholder());
        }
        self.show(bundle);
    }

    fn image_table(&mut self, table: &ImageTable<'_>) {
        for image in table.images() {
            let Some(image) = self.result(image) else { continue };
            self.part(image.stored);
            let read = self.result(image.read(LIMIT));
            assert!(read.is_none_or(|bytes| bytes.len() as u64 <= LIMIT));
        }
    }

    fn offload_binaries(&mut self, section: &[u8]) {
        for (number, found) in OffloadBinary::in_a_row(section).enumerate() {
            assert!(number < section.len(), "more offload binaries than bytes");
            let Some((_, binary)) = self.result(found) else { continue };
            for image in binary.images() {
                self.parts([image.data, image.arch().unwrap_or_default().as_bytes()]);
                self.parts(image.strings().flat_map(|(key, value)| [key.as_bytes(), value]));
                let kinds = (image.image_kind, image.offload_kind);
                let _ = (image.triple(), kinds, image.flags);
            }
            self.show(binary);
        }
    }

    /// Reads a kernel pack, with its images.
    fn kpack(&mut self, bytes: &[u8]) {
        let Some(kpack) = self.result(Kpack::parse(bytes)) else { return };
        self.show(&kpack);
        for kernel in kpack.kernels() {
            self.parts([kernel.stored, kernel.binary.as_bytes(), kernel.target.as_bytes()]);
            if let Some(image) = self.told(kernel.read(LIMIT)) {
                let is_allowed = image.len() as u64 <= LIMIT || !kernel.is_compressed;
                assert!(is_allowed, "more than was allowed");
            }
        }
    }

    /// Reads bundles of cuda-oxide.
    fn oxarts(&mut self, section: &[u8]) {
        for found in Oxart::in_a_row(section) {
            let Some((_, bundle)) = self.result(found) else { continue };
            self.parts([bundle.bytes, bundle.name.as_bytes(), bundle.target.as_bytes()]);
            for payload in bundle.payloads() {
                self.parts([payload.data, payload.name.as_bytes()]);
            }
            for entry in bundle.entries() {
                self.part(entry.symbol.as_bytes());
                let _ = (entry.kind, entry.metadata);
            }
            self.show(bundle);
        }
    }

    fn nv_fatbins(&mut self, section: &[u8]) {
        for found in NvFatbin::in_a_row(section) {
            let Some((_, fatbin)) = self.result(found) else { continue };
            for entry in fatbin.entries() {
                self.part(entry.stored);
                for image in entry.images() {
                    self.parts([image.name, image.options]);
                    let _ = (image.arch(), image.suffix(), image.host(), image.kind);
                }
            }
            self.show(fatbin);
        }
    }
}

/// An image, of which selection knows only the header.
struct Read(ImageHeader);

impl Candidate for Read {
    fn code(&self) -> ImageCode<'_> {
        match self.0 {
            ImageHeader::Cubin(header) => {
                let arch = NvidiaArch::parse(&format!("sm_{}", header.number));
                arch.map_or(ImageCode::Other, ImageCode::Cubin)
            }
            ImageHeader::Ptx(header) => {
                ImageCode::Ptx { arch: header.arch, version: Some(header.version) }
            }
            _ => ImageCode::Other,
        }
    }

    fn label(&self) -> &str {
        "image"
    }
}

/// Formats a value. Formatting must not panic, and the text must not be empty.
fn display(value: &impl Display) {
    let mut written = Nowhere::default();
    write!(written, "{value}").expect("what is shown goes nowhere");
    assert_ne!(written.0, 0, "nothing is displayed");
}

/// A writer that counts the bytes of text and discards them.
#[derive(Default)]
struct Nowhere(usize);

impl Write for Nowhere {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.len();
        Ok(())
    }
}
