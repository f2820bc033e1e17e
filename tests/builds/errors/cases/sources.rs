//! Names of packs, modules, and sources with their targets.

cases! {
    CASES:
    // Sources and names.
    "no-source" [.archs(["gfx90a"])] => "no sources: add one with .file(\"kernels/saxpy.cu\")";
    "kernels/add" [.file("kernels/add.cu").archs(["gfx90a"])]
        => "invalid pack name 'kernels/add': use only letters, digits, '_' and '-'";
    "other-language" [.files(["kernels/add.cu", "kernels/add.metal"]).archs(["gfx90a"])]
        => "unknown extension of the source kernels/add.metal: the known extensions are .cu .hip \
            .cl .c .ll .bc .s .ptx .toml .hsaco",
           "For other extensions, name the language: \
            Source::new(\"kernels/add.metal\").language(Language::Cuda)";
    // Modules.
    "same-module" [.modules(["kernels/add.cu", "kernels/more/add.cu"]).archs(["gfx90a"])]
        => "two modules of the pack are called \"add\": kernels/add.cu and kernels/more/add.cu",
           ".module(Module::new(\"add_2\").file(\"kernels/more/add.cu\"))";
    "module-name" [.modules(["kernels/add.v2.cu"]).archs(["gfx90a"])]
        => "invalid module name \"add.v2\" (for kernels/add.v2.cu): use only letters, digits, \
             '_' and '-'";
    "no-include-folder" [.file("kernels/add.cu").include("kernels").include("no/headers").archs(["compute_80"])]
        => "build.rs calls .include(\"no/headers\") for kernels/add.cu, but there is no folder \
            {folder}/no/headers\nPaths are relative to the package's folder.\nIf build.rs creates \
            the folder, create it before this build.";
    "include-of-a-file" [.module(Module::new("add").file("kernels/add.cu").include(concat!(env!("CARGO_MANIFEST_DIR"), "/build.rs")))
            .archs(["cpu"])]
        => "build.rs calls .include(\"{folder}/build.rs\") for kernels/add.cu, but \
             {folder}/build.rs is not a folder\nIf build.rs";
    "include-in-out-dir" [.file("kernels/add.cu").include({
            std::fs::create_dir_all(std::path::Path::new(&std::env::var("OUT_DIR").unwrap()).join("generated")).unwrap();
            "generated"
        }).archs(["gfx90a"])]
        => "there is no folder {folder}/generated\n",
           "To use the folder in OUT_DIR, prepend the value of OUT_DIR: /";
    "empty-module" [.module(Module::new("none")).archs(["gfx90a"])]
        => "the module \"none\" has no sources: add one with .file(...)";
    "no-target-left" [.file("kernels/add.cu").module(Module::new("fp8")
            .file(Source::new("kernels/bad.cu").supports([">=sm_90"])).supports(["nvidia"]))
            .archs(["gfx90a", "compute_80"])]
        => "no target is left for the module \"fp8\": the module is for nvidia, according to \
            build.rs; kernels/bad.cu is for >=sm_90, according to build.rs. The targets are \
            gfx90a, compute_80.",
           ".allow_empty()";
    "no-target-at-all" [.module(Module::new("fp8").file("kernels/add.cu").supports(["sm_90a"]).allow_empty())
            .archs(["gfx90a", "compute_80"])]
        => "no module of the pack \"no-target-at-all\" can be built for any of the targets gfx90a, compute_80";
    "selector" [.file("kernels/add.cu").flag_for("AMD", "-DX").archs(["gfx90a"])]
        => "'AMD' is not a valid selector: 'AMD': not a target: expected an AMD target ID";
    "selector-without-order" [.file(Source::new("kernels/add.cu").supports([">=gfx90a"])).archs(["gfx90a"])]
        => "'>=gfx90a' is not a valid selector: '>=' needs sm_ and a number";
    "excluded-nothing" [.file("kernels/add.cu").exclude("kernels/dad.cu").archs(["gfx90a"])]
        => "'kernels/dad.cu' excludes nothing: no source has this path";
    "excluded-all" [.file("kernels/add.cu").exclude("kernels/*.cu").archs(["gfx90a"])]
        => "no sources: add one with .file(\"kernels/saxpy.cu\")";
    "required-kernel" [.file("kernels/add.cu").requires_kernel("sub").archs(["gfx90a", "compute_80", "cpu"])]
        => "the module \"required-kernel\" lacks kernels that build.rs requires:\n  the image \
             for gfx90a has no kernel sub; it has add\n  the image for compute_80 has no kernel \
             sub; it has add";
    "include" [.file("kernels/add.cu").archs(["gfx90a"])]
        => "invalid pack name 'include': the kernel header's folder has this name; choose a different one";
    // Calls that are only for a static library.
    "static-link" [.file("kernels/add.cu").archs(["cpu"]).device_link()]
        => "device_link() is only for static libraries: ", ". To make a pack, remove this call";
    "static-cudart" [.file("kernels/add.cu").archs(["cpu"]).cudart("static")]
        => "cudart(...) is only for static libraries: ", ". To make a pack, remove this call";
    "static-metadata" [.file("kernels/add.cu").archs(["cpu"]).cargo_metadata(false)]
        => "cargo_metadata(...) is only for static libraries: ",
           ". To make a pack, remove this call";
}
