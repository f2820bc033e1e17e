//! Tests the dependencies between modules: each module uses only the modules that are listed for
//! it, without cycles.

use crate::sources::{ModulePath, code, module_of, paths_used, sources};
use std::collections::{BTreeMap, BTreeSet};

/// The crates, and what each of their modules may use; each module comes after the modules that it
/// may use.
const CRATES: [(&str, &str); 8] = [
    (
        "offload-format",
        "
            error:
            reader: error
            layout:
            section:
            string_table: error
            target:
            compression: error
            in_a_row: error
            bundle: error reader layout section target
            text_bundle: error layout target bundle
            compressed: error reader layout section bundle compression
            offload_binary: error in_a_row reader layout section string_table compression
            msgpack: error reader
            spirv: error reader target
            image: error reader target msgpack offload_binary spirv
            kpack: error reader compression msgpack
            oxart: error in_a_row reader
            nv_fatbin: error in_a_row reader layout target compression image
            archive: error reader layout
            host_object: layout section offload_binary
            object_file: error reader section
            object_bundle: error reader layout target bundle string_table spirv
            image_table: error reader section compression object_file object_bundle
            device_archive: error reader layout target bundle compressed archive object_bundle image
            fat_file: error reader target bundle offload_binary archive section kpack oxart \
                object_file object_bundle image_table text_bundle image
            inventory: error target section bundle compressed offload_binary nv_fatbin kpack oxart \
                archive object_bundle image_table text_bundle image fat_file
            select: target image",
    ),
    (
        "offload-pack",
        "
            checks:
            escape:
            signature: escape
            pack_index: escape signature
            expansion: escape pack_index signature",
    ),
    (
        "offload-gpu",
        "
            include:
            pack:
            placement: pack
            text:
            suggest:
            supports: pack text
            types: placement
            variable: pack
            call: pack suggest text types
            run: pack call text variable
            __expansion: placement pack call run types variable",
    ),
    (
        "offload-kernel",
        "
            arch:
            atomic: arch
            block: arch
            index: arch
            kernel:
            warp: arch",
    ),
    (
        "offload-toolchain",
        "
            error:
            hash:
            files: error
            cargo: error files hash
            exec: cargo error
            compilers: cargo error exec files hash
            read_files: exec files hash",
    ),
    (
        "offload-build",
        "
            output:
            targets:
            request: targets
            pack: output request targets
            plan: output request targets
            compile: output plan request targets
            build: compile output pack plan request targets
            doctor: build compile targets",
    ),
    (
        "offload-embed-macro",
        "
            sorted:
            suggest:
            error: suggest
            resolve: error
            written: error resolve
            index: error resolve
            declaration:
            derive: declaration
            own:
            input: declaration own suggest
            options: input sorted
            expand: declaration input own sorted suggest
            feature:
            file: expand input suggest
            file_disabled: expand feature input
            embed: declaration expand file index input options resolve written
            embed_disabled: feature written",
    ),
    (
        "offload-tools",
        "
            text:
            files:
            llvm_args:
            compress: files
            describe: text
            packager: files llvm_args text
            bundler: compress files llvm_args text
            cargo_offload: files text
            unpack: files text
            offload: cargo_offload compress describe files llvm_args text unpack",
    ),
];

/// Returns the modules of a list with those that each may use.
fn arrows(list: &'static str) -> Vec<(&'static str, Vec<&'static str>)> {
    let rows = list.lines().filter_map(|line| line.trim().split_once(':'));
    rows.map(|(module, may)| (module, may.split_whitespace().collect())).collect()
}

/// Names at a crate's root that are defined in a module, and that others use as `crate::Name`.
const AT_ROOT: [(&str, &str, &str); 4] = [
    ("offload-format", "error", "Error ErrorKind Result"),
    ("offload-gpu", "call", "impl_argument_of_record"),
    ("offload-gpu", "pack", "Form KernelPack Module Plain"),
    (
        "offload-gpu",
        "placement",
        "list_pack cpu_call own_field impl_buffer_item impl_item_of_cudarc impl_record new_variable pack_symbol placed_file register_bundles track_from_disk with_half",
    ),
];

/// Returns the modules that each module of a crate uses, by their paths. Unit tests, programs and
/// the crate's root are left out.
fn uses(name: &str) -> Vec<(String, ModulePath, BTreeSet<ModulePath>)> {
    let src = format!("{name}/src");
    let mut uses = Vec::new();
    for (path, text) in sources(&src) {
        let module = module_of(&path, &src);
        if module.is_empty() || path.ends_with("tests.rs") || module[0] == "bin" {
            continue;
        }
        let mut used = paths_used(&code(&text), &module);
        used.retain(|path| !path.is_empty());
        uses.push((path, module, used));
    }
    uses
}

#[test]
fn modules_use_those_that_are_listed() {
    for (name, list) in CRATES {
        let arrows = arrows(list);
        let mut seen = 0;
        for (path, module, used) in uses(name) {
            let module = &module[0];
            let (_, may) = arrows
                .iter()
                .find(|(listed, _)| listed == module)
                .unwrap_or_else(|| panic!("the module {module} of {name} is not in CRATES"));
            for first in used.iter().map(|used| used[0].as_str()) {
                let at_root = AT_ROOT.iter().find(|(of, _, exports)| {
                    *of == name && exports.split(' ').any(|export| export == first)
                });
                let target = at_root.map_or(first, |(_, module, _)| module);
                assert!(
                    target == module || may.contains(&target),
                    "{path} uses crate::{first}, and in {name} {module} may use {may:?}"
                );
                seen += usize::from(target != module);
            }
        }
        // If the parsing of sources is broken, it finds no uses.
        assert!(seen > 1, "{name}: uses were found");
    }
}

#[test]
fn arrows_are_listed_from_below() {
    for (name, list) in CRATES {
        let mut below = Vec::new();
        for (module, mut may) in arrows(list) {
            may.retain(|name| !below.contains(name));
            assert!(may.is_empty(), "{module} of {name} uses {may:?}, which are not listed before");
            below.push(module);
        }
    }
}

/// Checks every folder of every crate: no two modules in one folder depend on each other.
#[test]
fn there_is_no_circle() {
    for (name, _) in CRATES {
        let uses = uses(name);
        let modules: BTreeSet<&ModulePath> = uses.iter().map(|(_, module, _)| module).collect();
        // The modules of each folder, and the other modules of that folder that each of them uses.
        let mut folders: BTreeMap<ModulePath, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
        for (_, module, used) in &uses {
            for path in used {
                let mut prefixes = (1..=path.len()).rev().map(|end| path[..end].to_vec());
                let Some(used) = prefixes.find(|it| modules.contains(it)) else { continue };
                let same = module.iter().zip(&used).take_while(|(one, other)| one == other);
                let common = same.count();
                if common < module.len() && common < used.len() {
                    let folder = folders.entry(module[..common].to_vec()).or_default();
                    folder.entry(module[common].clone()).or_default().insert(used[common].clone());
                }
            }
        }
        assert!(!folders.is_empty(), "{name}: folders were found");
        for (folder, mut arrows) in folders {
            // A module that uses none of the remaining modules is in no cycle, so the loop removes
            // it.
            loop {
                let left: BTreeSet<String> = arrows.keys().cloned().collect();
                let before = arrows.len();
                arrows.retain(|_, used| used.iter().any(|name| left.contains(name)));
                if arrows.len() == before {
                    break;
                }
            }
            assert!(arrows.is_empty(), "{name}: a circle in {}: {arrows:?}", folder.join("/"));
        }
    }
}
