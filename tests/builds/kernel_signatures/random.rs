//! Random parameters. The tests compare their offsets and sizes in Rust with those in every image,
//! and compilers check them with `static_assert`.

use offload_format::image::{Kernel, Kernels};
use offload_pack::signature::{Content, Field, Record, Signatures, Type};
use offload_tests::prelude::*;
use offload_tests::random_kernels::{RandomKernels, SEEDS};
use std::fmt::Write;

/// The images whose arguments are compared.
const IMAGES: [&str; 4] = ["gfx90a.hsaco", "gfx1100.hsaco", "sm_80.cubin", "compute_80.ptx"];

#[test(COMPILERS.slow())]
fn random_parameters_lie_where_every_image_has_them() {
    let random = RandomKernels::new(1..=40);
    let mut scenario = Scenario::without_sources("signatures_random");
    scenario
        .feature("offload-gpu", "half")
        .manifest("dependencies", "half = { version = \"2\", default-features = false }\n");
    scenario
        .write("kernels/types.h", random.header())
        .write("kernels/random.cu", random.source())
        .write("src/main.rs", "fn main() {}")
        .build_script(BUILD_SCRIPT);
    scenario.build().passes().lacks("different parameters");
    let images = images(&scenario);
    let index = scenario.index("debug", "random");
    let signatures = &index.modules[0].signatures;
    let records = &used(signatures, true);
    let by_value = used(signatures, false);
    if random.are_usual() {
        let is_pointee = |record: &&Record| {
            !by_value.contains(record) && of_fields(record).iter().any(|it| is_record(&it.ty))
        };
        let nested = records.iter().filter(is_pointee).count();
        let empty = records.iter().filter(|record| record.is_empty()).count();
        let named = signatures.enumerations.len();
        assert!(nested > 0 && empty > 0 && named > 0, "{nested} {empty} {named}");
    }
    let is_packed = |record: &Record| matches!(record.content, Content::Packed(_));
    assert!(!random.are_usual() || records.iter().any(is_packed), "some record is packed");

    scenario.write("src/main.rs", random.program("std::ptr::null_mut()", &rest(records)));
    scenario.build().passes();
    let printed = scenario.run().passes().stdout;
    let (calls, layouts): (Vec<&str>, Vec<&str>) =
        printed.lines().partition(|line| line.starts_with("call "));
    assert_eq!(calls.len(), random.kernels.len());
    let without_buffer = compare_with_images(&images, &calls);
    assert!(
        !random.are_usual() || (1..calls.len() / 2).contains(&without_buffer),
        "{without_buffer} kernels have no buffer"
    );

    // Write rustc's layouts as assertions into a source, which is compiled for all images.
    scenario.write("kernels/check.cu", checks(records, &layouts));
    scenario.build().passes();
    compare_with_masks(&scenario, &random, records, &layouts);
}

/// Returns the records that the Rust code declares: those that parameters pass by value and, if
/// `pointees` is set, those behind pointers.
fn used(signatures: &Signatures, pointees: bool) -> Vec<Record> {
    let mut used = Vec::new();
    let mut types: Vec<&Type> =
        signatures.kernels.iter().flat_map(|kernel| &kernel.parameters).map(|it| &it.ty).collect();
    while let Some(ty) = types.pop() {
        match ty {
            Type::Pointer { .. } if !pointees => {}
            Type::Pointer { to: inner, .. } | Type::Array { of: inner, .. } => types.push(inner),
            Type::Record(name) => {
                let record = signatures
                    .records
                    .iter()
                    .find(|it| it.name == *name)
                    .expect("a record has a line");
                if !used.contains(record) {
                    used.push(record.clone());
                    types.extend(of_fields(record).iter().map(|field| &field.ty));
                }
            }
            Type::Scalar(_) | Type::Void => {}
        }
    }
    used
}

/// Number types that are records in C++ but have no fields in Rust.
const NUMBERS: [&str; 4] = ["__half", "__nv_bfloat16", "__nv_fp8_e4m3", "__nv_fp8_e5m2"];

fn of_fields(record: &Record) -> &[Field] {
    let is_number = NUMBERS.contains(&record.name.as_str());
    record.content.fields().filter(|_| !is_number).unwrap_or_default()
}

/// The offset and size of each argument, for each kernel.
type Places = BTreeMap<String, Vec<(u64, u64)>>;

/// Returns the arguments' places in each image, and in the cubins that ptxas makes from the PTX for
/// GPUs with different layouts.
fn images(scenario: &Scenario) -> Vec<(String, Places)> {
    let built =
        IMAGES.map(|name| (name.to_owned(), scenario.output("debug", &format!("random/{name}"))));
    let ptx = scenario.output("debug", "random/compute_80.ptx");
    let of_drivers = ["sm_90", "sm_100"].map(|arch| {
        let cubin = scenario.folder.join(arch);
        succeed(
            cuda("ptxas").arg("-O0").arg(format!("-arch={arch}")).arg(&ptx).arg("-o").arg(&cubin),
        );
        (arch.to_owned(), cubin)
    });
    let places = |(name, path): (String, PathBuf)| {
        let bytes = read(path);
        let kernels = Kernels::parse(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        let of_kernel = |kernel: Kernel<'_>| {
            let passed = kernel.arguments.filter(|argument| !argument.is_hidden());
            (kernel.name.to_owned(), passed.map(|it| (it.offset, it.size)).collect())
        };
        (name, kernels.map(of_kernel).collect())
    };
    built.into_iter().chain(of_drivers).map(places).collect()
}

const BUILD_SCRIPT: &str = r#"
    let targets = ["gfx90a", "gfx1100", "sm_80", "compute_80", "cpu"];
    Build::new().file("kernels/random.cu").archs(targets).compile("random");
    if std::path::Path::new("kernels/check.cu").exists() {
        Build::new().file("kernels/check.cu").archs(targets).compile("check");
    }"#;

/// Returns the end of the program. This part prints the places of each call's arguments, then the
/// layout of each record.
fn rest(records: &[Record]) -> String {
    let mut text = REST.to_owned();
    for record in records.iter().filter(|record| record.size.is_some()) {
        let name = &record.name;
        let field = |Field { name: field, .. }: &Field| {
            let offset = format!("offset_of!(kernels::{name}, {field})");
            format!("(\"{field}\", {offset}, of_field(|it: kernels::{name}| it.{field})), ")
        };
        let fields: String = of_fields(record).iter().map(field).collect();
        let _ = writeln!(text, "    layout::<kernels::{name}>(\"{name}\", &[{fields}]);");
    }
    text + "}\n"
}

const REST: &str = r#"
use std::mem::offset_of;

fn call<const N: usize, const BYTES: usize, const B: bool>(
    call: &Call<N, BYTES, Plain, B>, buffer: Option<(*const c_void, usize)>, sizes: &[usize],
) {
    let (kernel, pointers) = (call.kernel().name(), call.pointers());
    assert_eq!(N, sizes.len());
    match buffer {
        Some((start, size)) => {
            let offsets = pointers.iter().map(|pointer| pointer.addr() - start.addr());
            println!("call {kernel} {size} {:?}", offsets.zip(sizes).collect::<Vec<_>>());
        }
        None => println!("call {kernel} sizes {sizes:?}"),
    }
}

fn of_field<S, F>(_: impl Fn(S) -> F) -> usize {
    size_of::<F>()
}

fn layout<T>(name: &str, fields: &[(&str, usize, usize)]) {
    print!("{name} {} {}", size_of::<T>(), align_of::<T>());
    fields.iter().for_each(|(name, offset, size)| print!(" {name}:{offset}:{size}"));
    println!();
}

fn end() {
"#;

/// Checks that each argument has the same size as in every image. If all images have the same
/// places, the call's arguments must also have these places. Otherwise, the call must have no
/// buffer. Returns the number of kernels without a buffer.
fn compare_with_images(images: &[(String, Places)], calls: &[&str]) -> usize {
    let mut without_buffer = 0;
    for call in calls {
        let (kernel, of_rust) =
            call.strip_prefix("call ").and_then(|rest| rest.split_once(' ')).unwrap();
        let seed = kernel.trim_start_matches('k');
        let all: Vec<&Vec<(u64, u64)>> = images.iter().map(|(_, image)| &image[kernel]).collect();
        let has_buffer = all.iter().all(|places| *places == all[0]);
        without_buffer += usize::from(!has_buffer);
        for ((image, _), places) in images.iter().zip(all) {
            let end = places.last().map_or(0, |(offset, size)| offset + size);
            let of_image = if has_buffer {
                format!("{end} {places:?}")
            } else {
                format!("sizes {:?}", places.iter().map(|(_, size)| size).collect::<Vec<_>>())
            };
            assert_eq!(of_rust, of_image, "{kernel} in {image}; {SEEDS}={seed} makes it again");
        }
    }
    assert!(images.iter().all(|(_, image)| image.len() == calls.len()));
    without_buffer
}

/// Returns a source that compiles if the records have the layout that Rust printed.
fn checks(records: &[Record], layouts: &[&str]) -> String {
    let mut text = CHECKS.to_owned();
    for (record, layout) in with_layouts(records, layouts) {
        let ty = cpp(record);
        let [size, align] = [layout.size, layout.align];
        let _ = writeln!(
            text,
            "    static_assert(sizeof({ty}) == {size});\n    static_assert(alignof({ty}) == {align});"
        );
        for (field, offset, size) in layout.fields.iter().filter(|field| is_checked(field.0)) {
            let _ = writeln!(text, "    static_assert(offsetof({ty}, {field}) == {offset});");
            let _ = writeln!(text, "    static_assert(sizeof({ty}::{field}) == {size});");
        }
    }
    text + "  }\n};\nextern \"C\" __global__ void check() {}\n"
}

const CHECKS: &str = "\
#include \"types.h\"
#undef offsetof
#define offsetof(type, field) __builtin_offsetof(type, field)
template <class T> struct Element { typedef T type; };
template <class T, unsigned long N> struct Element<T[N]> : Element<T> {};
struct Layout {
  __device__ static void check() {
";

/// Whether `static_assert` can check a field. C++ has no `offsetof` for bit-fields and bases, and
/// lanes have no name in C++.
fn is_checked(field: &str) -> bool {
    !["bits", "base", "lanes"].iter().any(|start| field.starts_with(start))
}

/// Returns the type in C++. A struct without a name is described by the field that contains it.
fn cpp(record: &Record) -> String {
    match record.source_name.rsplit_once("::") {
        Some((outer, field)) => format!("Element<decltype({outer}::{field})>::type"),
        None => record.source_name.clone(),
    }
}

/// A record's layout, as printed by Rust.
struct Layout<'a> {
    size: u64,
    align: u64,
    /// Name, offset and size of each field.
    fields: Vec<(&'a str, u64, u64)>,
}

fn with_layouts<'a>(
    records: &'a [Record],
    layouts: &'a [&'a str],
) -> impl Iterator<Item = (&'a Record, Layout<'a>)> {
    let sized = records.iter().filter(|record| record.size.is_some());
    assert_eq!(sized.clone().count(), layouts.len());
    sized.zip(layouts).map(|(record, line)| {
        let mut words = line.split(' ');
        assert_eq!(words.next(), Some(&*record.name));
        let mut numbers = words.by_ref().take(2).map(|word| word.parse().unwrap());
        let (size, align) = (numbers.next().unwrap(), numbers.next().unwrap());
        let field = |word: &'a str| {
            let mut parts = word.split(':');
            let mut next = || parts.next().expect("a field has three parts");
            (next(), next().parse().unwrap(), next().parse().unwrap())
        };
        (record, Layout { size, align, fields: words.map(field).collect() })
    })
}

/// Checks that Rust's fields cover the bytes in which the host's compiler stores the bits of
/// values.
fn compare_with_masks(
    scenario: &Scenario,
    random: &RandomKernels,
    records: &[Record],
    layouts: &[&str],
) {
    // A struct without a name has no separate mask, because it is part of the struct around it.
    let named =
        || with_layouts(records, layouts).filter(|(record, _)| !record.source_name.contains("::"));
    let masks = random
        .masks(&scenario.folder, named().map(|(record, _)| (&*record.name, &*record.source_name)));
    for (record, layout) in named().filter(|(_, layout)| !layout.fields.is_empty()) {
        let mask: Vec<bool> =
            masks[&*record.name].concat().as_bytes().chunks(2).map(|byte| byte != b"00").collect();
        let shown = || format!("{} ({}): {mask:?}", record.name, record.source_name);
        let mut rest = mask.clone();
        for ((name, offset, size), field) in layout.fields.iter().zip(of_fields(record)) {
            let bytes = *offset as usize..(offset + size) as usize;
            let of_field = &mask[bytes.clone()];
            // A field's values need not fill all its bytes. Padding is inside records, and between
            // bit-fields if some of them start in a new unit.
            let is_full = if name.starts_with("bits") {
                of_field.first() == Some(&true) && of_field.last() == Some(&true)
            } else {
                is_record(&field.ty) || !of_field.contains(&false)
            };
            assert!(is_full, "{name} of {}", shown());
            rest[bytes].fill(false);
        }
        assert!(!rest.contains(&true), "bytes without a field in {}", shown());
    }
}

/// Whether a type is a record, or an array of records.
fn is_record(ty: &Type) -> bool {
    match ty {
        Type::Array { of, .. } => is_record(of),
        _ => matches!(ty, Type::Record(_)),
    }
}
