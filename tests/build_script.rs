//! What a build script does: which compilers it starts and when, and what is in the images.

use offload_format::pack_index::Index;
use offload_tests::data::read;
use offload_tests::package::{Package, printed};
use offload_tests::scratch;
use offload_tests::tools::{Tool, cuda, llvm, llvm_bin, stderr, stdout, succeed};
use offload_tests::{run, test};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::SystemTime;

fn main() -> ExitCode {
    const LLVM: &[Tool] = &[Tool::Llvm22, Tool::Gcc];
    const ALL: &[Tool] = &[Tool::Llvm22, Tool::Gcc, Tool::Cuda];
    run(vec![
        test("a_second_build_compiles_nothing", ALL, second_build),
        test("the_environment_names_the_targets", ALL, targets_from_the_environment),
        test("only_what_a_change_reaches_is_compiled", ALL, changes),
        test("an_edit_while_a_compiler_runs_is_not_lost", LLVM, edit_while_compiling),
        test("one_job_is_one_compiler", ALL, one_job),
        test("a_cap_is_one_for_all_packs", ALL, capped_jobs),
        test("the_longest_chain_starts_first", ALL, longest_first),
        test("another_compiler_in_path_is_noticed", LLVM, compiler_in_path),
        test("a_moved_work_folder_stays_fresh", LLVM, moved),
        test("folders_with_spaces_and_other_letters", ALL, strange_folders),
        test("nothing_is_built_for_docs_rs", &[Tool::Gcc], skipped),
        test("several_files_make_one_program", ALL, several_files),
        test("each_image_says_its_target", ALL, image_headers),
        test("the_code_object_version_is_the_one_asked_for", LLVM, code_object_version),
        test("the_same_inputs_make_the_same_bytes_in_any_folder", ALL, twins),
        test("the_same_bytes_wherever_cargo_builds", LLVM, target_folders),
        test("a_nul_follows_every_ptx", LLVM, ptx_ends),
        test("options_reach_every_compiler", ALL, options),
        test("each_modules_options_are_asked_about", LLVM, refusal_of_one_module),
        test("warnings_are_shown_once", LLVM, warnings),
        test("a_failure_that_is_handled_is_not_final", LLVM, handled_failure),
        test("two_packs_of_one_name_are_refused", LLVM, two_packs_of_one_name),
        test("tools_may_be_given_by_bare_names", LLVM, bare_names),
        test("another_compiler_behind_the_same_name_is_noticed", LLVM, changed_compiler),
        test("the_library_is_for_the_host_program", LLVM, hosts),
        test("a_prebuilt_set_can_travel", LLVM, travelling_set),
        test("a_prebuilt_set_of_a_generated_source", LLVM, set_of_a_generated_source),
    ])
}

/// A kernel for one thread each; `value` is what it adds.
fn kernel(name: &str, value: &str) -> String {
    format!(
        "extern \"C\" __global__ void {name}(int n, const float *x, float *y) {{\n  \
           int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n)\n    y[i] = x[i] + {value};\n}}\n"
    )
}

/// A library package whose build script has this `main`, where `Build` needs no path.
fn package(name: &str, main: &str) -> Package {
    let package = Package::new(name);
    package.write("src/lib.rs", "").write("build.rs", build_script(main));
    package
}

fn build_script(main: &str) -> String {
    format!("use offload_build::Build;\n\nfn main() {{\n    {main}\n}}\n")
}

/// `cargo build` with LLVM 22's clang.
fn cargo_build(package: &Package, profile: &str) -> Command {
    let mut command = package.cargo(&["build"]);
    command.env("OFFLOAD_CLANG", llvm_bin().join("clang"));
    if profile == "release" {
        command.arg("--release");
    }
    command
}

fn targets(package: &Package, pack: &str) -> Vec<String> {
    package.index("debug", pack).images().map(|image| image.target.clone()).collect()
}

/// Scripts in front of the real compilers, which write down every call.
struct Watched {
    folder: PathBuf,
}

/// What stands in the log where one compiler was started before another had ended.
const OVERLAP: &str = "overlap";

impl Watched {
    fn new(package: &Package) -> Self {
        let folder = package.folder.join("watched");
        let ptxas = cuda("ptxas").get_program().to_owned();
        let tools = [("clang", llvm_bin().join("clang").into_os_string()), ("c++", "g++".into()), ("ptxas", ptxas)];
        let (log, busy) = (folder.join("log"), folder.join("busy"));
        for (name, real) in tools {
            let script = format!(
                "#!/bin/sh\n\
                 echo \"{name} $*\" >> '{log}'\n\
                 mkdir '{busy}' 2> /dev/null || echo {OVERLAP} >> '{log}'\n\
                 '{real}' \"$@\"\n\
                 status=$?\n\
                 rmdir '{busy}' 2> /dev/null\n\
                 exit $status\n",
                log = log.display(),
                busy = busy.display(),
                real = real.display(),
            );
            scratch::write(folder.join(name), script);
            succeed(Command::new("chmod").arg("+x").arg(folder.join(name)));
        }
        Self { folder }
    }

    /// Lets a build use the scripts.
    fn set<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .env("OFFLOAD_CLANG", self.folder.join("clang"))
            .env("OFFLOAD_PTXAS", self.folder.join("ptxas"))
            .env("CXX", self.folder.join("c++"))
    }

    /// The calls since this was last asked.
    fn calls(&self) -> Vec<String> {
        let text = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        let _ = fs::remove_file(self.folder.join("log"));
        text.lines().map(str::to_owned).collect()
    }

    /// Those of the calls that read a source or make a file; the others ask what a tool is and can do.
    fn compilations(&self) -> Vec<String> {
        let work = |call: &String| {
            let words: Vec<&str> = call.split(' ').collect();
            let any = |list: &[&str]| list.iter().any(|word| words.contains(word));
            match words[0] {
                "clang" => !any(&["--version", "-###"]) && !words.iter().any(|word| word.starts_with("-print-")),
                "ptxas" => !any(&["--version", "/dev/null"]),
                // The crate that finds this one has it compile a file of its own, to see which options it takes.
                "c++" => any(&["-c", "-shared"]) && !call.contains("/flag_check.cpp"),
                OVERLAP => false,
                other => panic!("unknown tool {other}"),
            }
        };
        self.calls().into_iter().filter(work).collect()
    }
}

/// How many calls each tool has.
fn count(calls: &[String]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for call in calls {
        *counts.entry(call.split(' ').next().expect("a line has a word")).or_default() += 1;
    }
    counts
}

/// Every file under a folder with its time of change.
fn times(folder: &Path) -> BTreeMap<PathBuf, SystemTime> {
    let mut all = BTreeMap::new();
    for path in fs::read_dir(folder).expect("the folder can be read").flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            all.extend(times(&path));
        } else {
            let time = fs::metadata(&path).and_then(|metadata| metadata.modified()).expect("the file is there");
            all.insert(path, time);
        }
    }
    all
}

fn second_build() {
    const MAIN: &str =
        r#"Build::new().file("kernels/add.cu").archs(["gfx90a", "compute_80", "sm_80", "cpu"]).compile("add");"#;
    let package = package("build_twice", MAIN);
    package.write("kernels/add.cu", kernel("add", "1.0f"));
    let watched = Watched::new(&package);
    let build = || {
        let output = succeed(watched.set(&mut cargo_build(&package, "debug")).arg("-v"));
        printed(&output)
    };

    build();
    let first = watched.compilations();
    assert_eq!(count(&first), BTreeMap::from([("clang", 6), ("ptxas", 1), ("c++", 2)]), "{first:#?}");

    let text = build();
    assert!(text.contains("Fresh build_twice") && !text.contains("/build-script-build`"), "{text}");
    assert_eq!(watched.calls(), [""; 0], "a build without a change started tools");

    // The script runs again, finds all images as they should be, and leaves every file alone but the index, which each run
    // writes, so that a pack that is no longer made is no longer found.
    let folder = package.own_output("debug", "add.index").parent().expect("it lies in a folder").to_owned();
    let before = times(&folder);
    package.write("build.rs", build_script(MAIN));
    let text = build();
    assert!(text.contains("/build-script-build`"), "the build script did not run again:\n{text}");
    assert_eq!(watched.calls(), [""; 0], "started a tool without a change");
    // Nor when the reason is a variable that no compiler knows.
    package.write(
        "build.rs",
        build_script(&MAIN.replace("Build::", "println!(\"cargo::rerun-if-env-changed=AGAIN\"); Build::")),
    );
    build();
    let again = succeed(watched.set(&mut cargo_build(&package, "debug")).env("AGAIN", "1").arg("-v"));
    assert!(printed(&again).contains("/build-script-build`"), "{}", printed(&again));
    assert_eq!(watched.calls(), [""; 0], "started a tool because of a variable");
    let after = times(&folder);
    let written = after.iter().filter(|(path, time)| before.get(*path) != Some(time)).map(|it| it.0);
    let written: Vec<_> = written.map(|path| path.strip_prefix(&folder).expect("it lies in the folder")).collect();
    assert_eq!(written, [Path::new("add.index")], "written again without a change");
}

fn targets_from_the_environment() {
    let package =
        package("build-env", r#"Build::new().file("kernels/add.cu").archs(["gfx90a", "compute_80"]).compile("add");"#);
    package.write("kernels/add.cu", kernel("add", "1.0f"));
    let watched = Watched::new(&package);
    let build = |variables: &[(&str, &str)]| {
        succeed(watched.set(&mut cargo_build(&package, "debug")).envs(variables.iter().copied()));
        targets(&package, "add")
    };
    let pack = || read(package.own_output("debug", "add.pack"));

    assert_eq!(build(&[]), ["gfx90a", "compute_80"]);
    let own = pack();
    let list = [("OFFLOAD_ARCH", "gfx1100,sm_80;cpu compute_90, gfx1100")];
    assert_eq!(build(&list), ["gfx1100", "sm_80", "cpu", "compute_90"]);
    let other = pack();
    assert!(own != other);
    // Canonical order of features.
    assert_eq!(build(&[("OFFLOAD_ARCH", "gfx90a:xnack-:sramecc+")]), ["gfx90a:sramecc+:xnack-"]);
    // The package's own variable is before the one for all; empty is not set.
    assert_eq!(build(&[("OFFLOAD_ARCH_build_env", "gfx942"), ("OFFLOAD_ARCH", "gfx1100")]), ["gfx942"]);
    assert_eq!(build(&[("OFFLOAD_ARCH_build_env", ""), ("OFFLOAD_ARCH", "gfx942")]), ["gfx942"]);

    // Going back takes the images that are there.
    watched.calls();
    assert_eq!(build(&[]), ["gfx90a", "compute_80"]);
    assert_eq!(watched.compilations(), [""; 0]);
    assert!(pack() == own);
    assert_eq!(build(&list), ["gfx1100", "sm_80", "cpu", "compute_90"]);
    assert_eq!(watched.compilations(), [""; 0]);
    assert!(pack() == other);
}

fn changes() {
    let main = |defines: &str| {
        format!(
            r#"for name in ["with", "without"] {{
        let mut build = Build::new();
        build.file(format!("kernels/{{name}}.cu")).include("include").archs(["gfx90a", "compute_80", "cpu"]);
        if name == "without" {{
            build{defines};
        }}
        build.compile(name);
    }}"#
        )
    };
    let package = package("build_changes", &main(".define(\"VALUE\", \"1.0f\")"));
    let conditional = "#if defined(OFFLOAD_CPU)\n#include \"cpu only.h\"\n#endif\n#include \"used one.h\"\n";
    package
        .write("include/used one.h", "#define USED 1.0f\n")
        .write("include/cpu only.h", "#define CPU_ONLY 1\n")
        .write("include/unused.h", "#define UNUSED 1.0f\n")
        .write("kernels/with.cu", conditional.to_owned() + &kernel("with", "USED"))
        .write("kernels/without.cu", kernel("without", "VALUE"));
    // Not the real ptxas, which is not needed here and may not be there.
    let watched = Watched::new(&package);
    let build = || {
        succeed(watched.set(&mut cargo_build(&package, "debug")));
        watched.compilations()
    };
    let every_image = BTreeMap::from([("clang", 4), ("c++", 2)]);
    // A pack's name is a folder in every path that its commands write.
    let of = |pack: &str, calls: &[String]| calls.iter().all(|call| call.contains(&format!("/offload/{pack}/")));

    let all = build();
    assert_eq!(count(&all), BTreeMap::from([("clang", 8), ("c++", 4)]), "{all:#?}");

    package.write("include/used one.h", "#define USED 2.0f\n");
    let calls = build();
    assert!(count(&calls) == every_image && of("with", &calls), "a header that one pack includes:\n{calls:#?}");

    package.write("include/cpu only.h", "#define CPU_ONLY 2\n");
    let calls = build();
    assert!(count(&calls) == BTreeMap::from([("c++", 2)]) && of("with", &calls), "the CPU's header:\n{calls:#?}");

    package.write("include/unused.h", "#define UNUSED 2.0f\n");
    assert_eq!(build(), [""; 0], "a header that nothing includes");

    package.write("build.rs", build_script(&main(".define(\"VALUE\", \"2.0f\")")));
    let calls = build();
    assert!(count(&calls) == every_image && of("without", &calls), "a definition:\n{calls:#?}");

    package.write("build.rs", build_script(&main(".define(\"VALUE\", \"2.0f\").flag(\"-DMORE\")")));
    let calls = build();
    assert!(count(&calls) == every_image && of("without", &calls), "an option:\n{calls:#?}");

    package.write("kernels/without.cu", kernel("without", "VALUE + 1.0f"));
    let calls = build();
    assert!(count(&calls) == every_image && of("without", &calls), "a source:\n{calls:#?}");

    // Other compilers, as far as the time and the size of their files tell.
    Watched::new(&package);
    let calls = build();
    assert!(count(&calls) == BTreeMap::from([("clang", 8), ("c++", 4)]), "other compilers:\n{calls:#?}");

    // An image that somebody changed or removed is made again.
    fs::remove_file(package.own_output("debug", "with/gfx90a.hsaco")).expect("the image is there");
    let ptx = package.own_output("debug", "without/compute_80.ptx");
    fs::write(&ptx, b"damaged").expect("the image can be written");
    package.write("build.rs", build_script(&main(".define(\"VALUE\", \"2.0f\").flag(\"-DMORE\")")));
    let calls = build();
    assert!(count(&calls) == BTreeMap::from([("clang", 4)]), "two images that were damaged:\n{calls:#?}");
    assert!(String::from_utf8_lossy(&read(&ptx)).contains(".visible .entry without("));
}

/// The file is saved again after the compiler has read it and before the build has ended.
fn edit_while_compiling() {
    const MAIN: &str = r#"Build::new().file("kernels/add.cu").archs(["compute_80", "cpu"]).compile("add");"#;
    let package = package("build_edited", MAIN);
    let source = package.folder.join("kernels").join("add.cu");
    let clang = package.folder.join("clang");
    // Saves a new text behind the first compilation.
    scratch::write(
        &clang,
        format!(
            "#!/bin/sh\n'{real}' \"$@\" || exit $?\n\
             case \"$*\" in *-###*) ;; *-emit-llvm*) test ! -f '{new}' || {{ cat '{new}' > '{source}'; rm '{new}'; }};; esac\n",
            real = llvm_bin().join("clang").display(),
            new = package.folder.join("new.cu").display(),
            source = source.display(),
        ),
    );
    succeed(Command::new("chmod").arg("+x").arg(&clang));
    let ptx = || {
        succeed(cargo_build(&package, "debug").env("OFFLOAD_CLANG", &clang));
        String::from_utf8(read(package.own_output("debug", "add/compute_80.ptx"))).expect("PTX is text")
    };
    package.write("kernels/add.cu", kernel("old_name", "1.0f")).write("new.cu", kernel("new_name", "1.0f"));
    let first = ptx();
    assert!(
        first.contains(".entry old_name(") && fs::read_to_string(&source).is_ok_and(|text| text.contains("new_name"))
    );
    let second = ptx();
    assert!(second.contains(".entry new_name("), "the image is older than its source:\n{second}");
}

fn one_job() {
    let archs = r#"["gfx90a", "gfx1100", "compute_80", "sm_80", "cpu"]"#;
    let package = package(
        "build_one_job",
        &format!(r#"Build::new().files(["kernels/a.cu", "kernels/b.cu"]).archs({archs}).compile("ab");"#),
    );
    let watched = Watched::new(&package);
    package.write("kernels/a.cu", kernel("a", "1.0f")).write("kernels/b.cu", kernel("b", "1.0f"));
    succeed(watched.set(&mut cargo_build(&package, "debug")).arg("-j1"));
    let calls = watched.calls();
    assert!(calls.iter().filter(|call| !call.starts_with(OVERLAP)).count() > 15, "{calls:#?}");
    assert!(!calls.iter().any(|call| call == OVERLAP), "two compilers at a time:\n{calls:#?}");

    // What is allowed is done: the same with four jobs.
    package.write("kernels/a.cu", kernel("a", "2.0f")).write("kernels/b.cu", kernel("b", "2.0f"));
    succeed(watched.set(&mut cargo_build(&package, "debug")).arg("-j4"));
    let calls = watched.calls();
    assert!(calls.iter().any(|call| call == OVERLAP), "never two compilers at a time:\n{calls:#?}");
}

fn capped_jobs() {
    let package = package(
        "build_capped",
        r#"println!("cargo::rerun-if-changed=build.rs");
    Build::new().file("kernels/a.cu").max_parallel(1).archs(["gfx90a", "gfx1100", "compute_80", "cpu"]).compile("a");"#,
    );
    let watched = Watched::new(&package);
    package.write("kernels/a.cu", kernel("a", "1.0f"));
    let build = |jobs: &str| {
        let output = watched.set(&mut cargo_build(&package, "debug")).args(["-j4"]).env("OFFLOAD_JOBS", jobs).output();
        (output.expect("cargo starts"), watched.calls())
    };
    // Empty is not set.
    for (jobs, value) in [("", "1.0f"), ("1", "2.0f")] {
        package.write("kernels/a.cu", kernel("a", value));
        let (output, calls) = build(jobs);
        assert!(output.status.success(), "{}", printed(&output));
        assert!(calls.len() > 8 && !calls.iter().any(|call| call == OVERLAP), "two at a time:\n{calls:#?}");
    }
    // It is no input: nothing runs when it changes.
    assert_eq!(build("3").1, [""; 0]);
    package.write("kernels/a.cu", kernel("a", "3.0f"));
    let (output, _) = build("none");
    assert!(printed(&output).contains("OFFLOAD_JOBS is 'none'; it is how many compilers may run at a time: 1 or more"));
}

fn longest_first() {
    let package = package(
        "build_longest",
        r#"Build::new().file("kernels/a.cu").archs(["cpu", "gfx90a", "sm_80"]).compile("a");"#,
    );
    let watched = Watched::new(&package);
    package.write("kernels/a.cu", kernel("a", "1.0f"));
    succeed(watched.set(&mut cargo_build(&package, "debug")).arg("-j1"));
    let calls = watched.compilations();
    // Three steps of one chain before two of another; of equal ones the first in the list.
    let kinds: Vec<&str> = calls
        .iter()
        .map(|call| match call {
            _ if call.contains("sm_80") => "sm_80",
            _ if call.contains("gfx90a") => "gfx90a",
            _ => "cpu",
        })
        .collect();
    assert_eq!(kinds, ["sm_80", "cpu", "gfx90a", "sm_80", "cpu", "gfx90a", "sm_80"], "{calls:#?}");
}

/// Another PATH makes the script run; it compiles only if it finds another compiler there.
fn compiler_in_path() {
    let package = package("build_path", r#"Build::new().file("kernels/add.cu").archs(["gfx90a"]).compile("add");"#);
    package.write("kernels/add.cu", kernel("add", "1.0f"));
    let log = package.folder.join("log");
    for folder in ["one", "two"] {
        let clang = package.folder.join(folder).join("clang");
        let real = llvm_bin().join("clang");
        let script = format!("#!/bin/sh\necho {folder} >> '{}'\nexec '{}' \"$@\"\n", log.display(), real.display());
        scratch::write(&clang, script);
        succeed(Command::new("chmod").arg("+x").arg(&clang));
    }
    fs::create_dir_all(package.folder.join("empty")).expect("the folder can be made");
    let build = |folders: &[&str]| {
        let path = std::env::var_os("PATH").expect("PATH is set");
        let folders = folders.iter().map(|folder| package.folder.join(folder)).chain(std::env::split_paths(&path));
        let mut command = package.cargo(&["build", "-v"]);
        command.env("PATH", std::env::join_paths(folders).expect("folders of PATH make a PATH"));
        let text = printed(&succeed(&mut command));
        let calls = fs::read_to_string(&log).unwrap_or_default();
        let _ = fs::remove_file(&log);
        (text.contains("/build-script-build`"), calls.lines().map(str::to_owned).collect::<Vec<_>>())
    };
    let (ran, calls) = build(&["one"]);
    assert!(ran && calls.len() > 2 && calls.iter().all(|call| call == "one"), "{calls:?}");
    assert_eq!(build(&["one"]), (false, vec![]), "the same PATH");
    assert_eq!(build(&["empty", "one"]), (true, vec![]), "another PATH with the same compiler");
    let (ran, calls) = build(&["two", "one"]);
    assert!(ran && calls.len() > 2 && calls.iter().all(|call| call == "two"), "another compiler: {calls:?}");
}

/// A package that is moved with the folder that it is built in.
fn moved() {
    let package = package(
        "build_moved",
        r#"Build::new().file("kernels/add.cu").include("include").archs(["gfx90a", "cpu"]).compile("add");"#,
    );
    package
        .write("kernels/add.cu", format!("#include \"value.h\"\n{}", kernel("add", "VALUE")))
        .write("include/value.h", "#define VALUE 1.0f\n");
    let watched = Watched::new(&package);
    let build = |folder: &Path| {
        let mut command = cargo_build(&package, "debug");
        command.current_dir(folder).env("CARGO_TARGET_DIR", folder.join("built")).arg("-v");
        printed(&succeed(watched.set(&mut command)))
    };
    let there = package.folder.join("there");
    for name in ["Cargo.toml", "Cargo.lock", "build.rs", "src", "kernels", "include"] {
        let to = there.join(name);
        fs::create_dir_all(&there).expect("the folder can be made");
        fs::rename(package.folder.join(name), to).expect("it can be moved");
    }
    build(&there);
    assert!(!watched.compilations().is_empty());
    let here = package.folder.join("here, with a longer name");
    fs::rename(&there, &here).expect("the folder can be moved");
    let text = build(&here);
    assert!(text.contains("Fresh build_moved"), "the script ran only because of the new place:\n{text}");
    let again = fs::read(here.join("build.rs")).expect("it is there");
    scratch::write(here.join("build.rs"), again);
    let text = build(&here);
    assert!(text.contains("/build-script-build`"), "the script did not run again:\n{text}");
    assert_eq!(watched.compilations(), [""; 0], "compiled anew in another place");
}

fn strange_folders() {
    let package = package(
        "build_strange",
        r#"Build::new()
        .file("kernels/größe 1.cu")
        .include("include dir/ü")
        .archs(["gfx90a", "sm_80", "compute_80", "cpu"])
        .compile("add");"#,
    );
    package
        .write("kernels/größe 1.cu", format!("#include \"wert $1#.h\"\n{}", kernel("add", "VALUE")))
        .write("include dir/ü/wert $1#.h", "#define VALUE 1.0f\n");
    let folder = package.folder.with_file_name("build strange $(ls) 'größe'");
    let _ = fs::remove_dir_all(&folder);
    fs::rename(&package.folder, &folder).expect("the folder can be moved");
    let build = || {
        let mut command = cargo_build(&package, "debug");
        command.current_dir(&folder).env("CARGO_TARGET_DIR", folder.join("gebaut für alle")).arg("-v");
        printed(&succeed(&mut command))
    };
    build();
    let text = build();
    assert!(text.contains("Fresh build_strange"), "a file is not found by Cargo:\n{text}");
    // The dependency files of all compilers were read: an edit reaches every image.
    let images = || {
        let all = times(&folder.join("gebaut für alle/debug/build")).into_iter();
        let is_image = |path: &Path| {
            path.extension().is_some_and(|it| ["hsaco", "cubin", "ptx", "so"].iter().any(|image| it == *image))
                && path.parent().is_some_and(|folder| folder.ends_with("add"))
        };
        all.filter(|(path, _)| is_image(path)).map(|(path, _)| read(&path)).collect::<Vec<_>>()
    };
    let before = images();
    scratch::write(folder.join("include dir/ü/wert $1#.h"), "#define VALUE 2.0f\n");
    build();
    let after = images();
    assert_eq!((before.len(), after.len()), (4, 4));
    assert!(before.iter().zip(&after).all(|(before, after)| before != after), "an image did not change");
}

/// No compiler for GPUs, no C++ compiler: what docs.rs, editors and `cargo package` get.
fn skipped() {
    let package = package(
        "build_skipped",
        r#"Build::new().file("kernels/add.cu").archs(["gfx90a", "native", "sm_80", "all-major", "cpu"]).compile("add");"#,
    );
    package.write("kernels/add.cu", kernel("add", "1.0f")).write(
        "src/lib.rs",
        "pub static ADD: offload_format::KernelPack = offload_embed_macro::include_offload!(\"add\");\n",
    );
    // rustc links with `cc`.
    let tools = package.folder.join("tools");
    fs::create_dir_all(&tools).expect("the folder can be made");
    let path = std::env::var_os("PATH").expect("PATH is set");
    for name in ["cc", "cargo", "rustc", "rustdoc", "ld"] {
        if let Some(real) = std::env::split_paths(&path).map(|it| it.join(name)).find(|it| it.is_file()) {
            // Not a link: rustup's programs go by the name that they are started by.
            let script = format!("#!/bin/sh\nexec '{}' \"$@\"\n", real.display());
            scratch::write(tools.join(name), script);
            succeed(Command::new("/bin/chmod").arg("+x").arg(tools.join(name)));
        }
    }
    let cargo = |args: &[&str], variable: (&str, &str)| {
        let mut command = package.cargo(args);
        for name in ["CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR", "ROCM_PATH", "CXX"] {
            command.env_remove(name);
        }
        succeed(command.env("PATH", &tools).env(variable.0, variable.1));
        let text = String::from_utf8(read(package.own_output("debug", "add.index"))).expect("an index is text");
        match Index::parse(&text) {
            Ok(Index::Absent { why, .. }) => why,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(cargo(&["check"], ("OFFLOAD_SKIP", "1")), "OFFLOAD_SKIP was set");
    assert_eq!(cargo(&["check"], ("DOCS_RS", "1")), "docs.rs has no GPU compilers");
    assert_eq!(cargo(&["doc", "--no-deps"], ("DOCS_RS", "1")), "docs.rs has no GPU compilers");

    // What is to be published names versions; the crates of this checkout stand for the published ones.
    let manifest = fs::read_to_string(package.folder.join("Cargo.toml")).expect("a package has a manifest");
    package.write("Cargo.toml", manifest.replace("{ path", "{ version = \"0.1.0\", path"));
    let patches = ["offload-format", "offload-embed-macro", "offload-build"]
        .map(|name| format!("patch.crates-io.{name}.path='{}'", scratch::workspace().join(name).display()));
    let mut args = vec!["package", "--allow-dirty"];
    args.extend(patches.iter().flat_map(|patch| ["--config", patch]));
    assert_eq!(cargo(&args, ("OFFLOAD_SKIP", "1")), "OFFLOAD_SKIP was set");
}

/// Kernels in two files call a function in a third.
fn several_files() {
    let package = package(
        "build_several",
        r#"Build::new()
        .files(["kernels/add.cu", "kernels/twice.cu", "kernels/scale.cu"])
        .archs(["gfx90a", "gfx1100", "compute_80", "sm_80", "cpu"])
        .compile("several");"#,
    );
    let declaration = "__device__ float twice(float x);\n";
    package
        .write("kernels/twice.cu", "__device__ float twice(float x) { return x + x; }\n")
        .write("kernels/add.cu", declaration.to_owned() + &kernel("add", "twice(y[i])"))
        .write("kernels/scale.cu", declaration.to_owned() + &kernel("scale", "twice(x[i]) * 3.0f"));
    for profile in ["debug", "release"] {
        succeed(&mut cargo_build(&package, profile));
        let image = |file: &str| package.own_output(profile, &format!("several/{file}"));
        for name in ["add", "scale"] {
            for file in ["gfx90a.hsaco", "gfx1100.hsaco"] {
                assert!(defines(&image(file), name, 'T'), "no {name} in {file}, {profile}");
                assert!(defines(&image(file), &format!("{name}.kd"), 'R'), "no {name}.kd in {file}, {profile}");
            }
            assert!(defines(&image("cpu.so"), name, 'T'), "no {name} in cpu.so, {profile}");
            let ptx = String::from_utf8(read(image("compute_80.ptx"))).expect("PTX is text");
            assert!(ptx.contains(&format!(".visible .entry {name}(")), "no {name} in {profile}:\n{ptx}");
            assert!(!ptx.contains(".extern"), "something is not defined, {profile}:\n{ptx}");
            let cubin = symbols(&image("sm_80.cubin"));
            let kernel = |it: &&[String; 4]| it[0] == "FUNC" && it[1] == "GLOBAL" && it[2] != "UND" && it[3] == name;
            assert!(cubin.iter().any(|it| kernel(&it)), "no {name}, {profile}: {cubin:#?}");
        }
        for file in ["gfx90a.hsaco", "gfx1100.hsaco", "sm_80.cubin", "cpu.so"] {
            // A weak one may stay open; a symbol with a version was found in a library by the linker.
            let open: Vec<_> = symbols(&image(file))
                .into_iter()
                .filter(|[_, binding, section, name]| {
                    section == "UND" && binding != "WEAK" && !name.is_empty() && !name.contains('@')
                })
                .collect();
            assert!(open.is_empty(), "{file}, {profile}: {open:#?}");
        }
    }
}

/// Whether an image exports a symbol, with the letter that `nm` gives it.
fn defines(image: &Path, name: &str, letter: char) -> bool {
    let listing = stdout(&succeed(llvm("llvm-nm").args(["--dynamic", "--defined-only"]).arg(image)));
    listing.lines().any(|line| line.ends_with(&format!(" {letter} {name}")))
}

/// Type, binding, section and name of each symbol.
fn symbols(image: &Path) -> Vec<[String; 4]> {
    let listing = stdout(&succeed(llvm("llvm-readelf").arg("-sW").arg(image)));
    let rows = listing.lines().map(|line| line.replace("[<other: 0x10>]", ""));
    rows.filter(|line| line.trim_start().split_once(':').is_some_and(|(number, _)| number.parse::<u32>().is_ok()))
        .map(|line| {
            // Number, value, size, type, binding, visibility, section, name; a section's symbol may have no name.
            let word = |index: usize| line.split_whitespace().nth(index).unwrap_or("").to_owned();
            [word(3), word(4), word(6), word(7)]
        })
        .collect()
}

fn image_headers() {
    // The flags as llvm-readelf names them: processor, xnack, sramecc. A bare "xnack" means: any.
    const AMD: [(&str, &str); 5] = [
        ("gfx90a:xnack-", "gfx90a, xnack-, sramecc"),
        ("gfx942", "gfx942, xnack, sramecc"),
        ("gfx1100", "gfx1100"),
        ("gfx12-generic", "gfx12-generic, generic_v1"),
        ("gfx9-4-generic:sramecc+:xnack-", "gfx9-4-generic, xnack-, sramecc+, generic_v1"),
    ];
    const CUBINS: [&str; 4] = ["sm_75", "sm_80", "sm_90a", "sm_100"];
    const PTX: [&str; 4] = ["compute_75", "compute_90", "compute_90a", "compute_100"];
    let all: Vec<&str> = AMD.map(|it| it.0).into_iter().chain(CUBINS).chain(PTX).collect();
    let package =
        package("build_headers", &format!(r#"Build::new().file("kernels/add.cu").archs({all:?}).compile("add");"#));
    package.write("kernels/add.cu", kernel("add", "1.0f"));
    succeed(&mut cargo_build(&package, "release"));
    let image = |target: &str, extension: &str| {
        package.own_output("release", &format!("add/{}.{extension}", target.replace(':', "_")))
    };
    for (target, flags) in AMD {
        let header = stdout(&succeed(llvm("llvm-readelf").arg("-h").arg(image(target, "hsaco"))));
        let line = header.lines().find(|line| line.trim_start().starts_with("Flags:")).expect("a header has flags");
        assert_eq!(line.split_once(", ").expect("flags have names").1, flags, "{target}:\n{header}");
        assert!(header.contains("EM_AMDGPU") && header.contains("AMDGPU - HSA"), "{target}:\n{header}");
    }
    for target in CUBINS {
        let text = stdout(&succeed(cuda("cuobjdump").arg("-elf").arg(image(target, "cubin"))));
        let number = target.trim_start_matches("sm_");
        assert!(text.contains(&format!(" sm={number},")), "{target}:\n{text}");
    }
    for target in PTX {
        let text = String::from_utf8(read(image(target, "ptx"))).expect("PTX is text");
        let name = target.replace("compute_", "sm_");
        assert!(text.lines().any(|line| line == format!(".target {name}")), "{target}:\n{text}");
    }
}

fn code_object_version() {
    let package = package(
        "build_versions",
        r#"for version in [5, 6] {
        Build::new()
            .file("kernels/add.cu")
            .archs(["gfx90a", "gfx1100"])
            .code_object_version(version)
            .compile(&format!("v{version}"));
    }"#,
    );
    package.write("kernels/add.cu", kernel("add", "1.0f"));
    succeed(&mut cargo_build(&package, "debug"));
    for (version, abi) in [(5, "3"), (6, "4")] {
        for target in ["gfx90a", "gfx1100"] {
            let image = package.own_output("debug", &format!("v{version}/{target}.hsaco"));
            let header = stdout(&succeed(llvm("llvm-readelf").arg("-h").arg(image)));
            let line = header.lines().find(|line| line.trim_start().starts_with("ABI Version:"));
            assert_eq!(line.and_then(|line| line.split_whitespace().last()), Some(abi), "{target}:\n{header}");
        }
        let text = String::from_utf8(read(package.own_output("debug", &format!("v{version}.index")))).expect("text");
        assert_eq!(text.matches(&format!(" code-object {version}\n")).count(), 2, "{text}");
    }
}

fn twins() {
    const MAIN: &str = r#"Build::new()
        .files(["kernels/add.cu", "kernels/scale.cu"])
        .include("include")
        .archs(["gfx90a", "gfx1100", "compute_80", "sm_80", "cpu"])
        .compile("twin");"#;
    const IMAGES: [&str; 5] = ["gfx90a.hsaco", "gfx1100.hsaco", "compute_80.ptx", "sm_80.cubin", "cpu.so"];
    let twins = [package("build_twin", MAIN), package("build_twin_in_a_folder_with_a_longer_name", MAIN)];
    for twin in &twins {
        twin.write("include/factor.h", "static __device__ inline float factor(float x) { return x * 3.0f; }\n")
            .write("kernels/add.cu", "#include \"factor.h\"\n".to_owned() + &kernel("add", "factor(y[i])"))
            .write("kernels/scale.cu", "#include \"factor.h\"\n".to_owned() + &kernel("scale", "factor(x[i])"));
    }
    for profile in ["debug", "release"] {
        for twin in &twins {
            succeed(&mut cargo_build(twin, profile));
        }
        let [one, two] = [&twins[0], &twins[1]].map(|twin| |file: &str| twin.own_output(profile, file));
        let differ: Vec<&str> = IMAGES
            .into_iter()
            .filter(|file| {
                let file = format!("twin/{file}");
                read(one(&file)) != read(two(&file))
            })
            .collect();
        assert!(differ.is_empty(), "{profile}: other bytes in another folder: {differ:?}, {}", one("twin").display());
        assert!(read(one("twin.pack")) == read(two("twin.pack")), "{profile}: other packs of the same images");
        // With debug information in one profile, and none in the other.
        for file in ["gfx90a.hsaco", "sm_80.cubin", "cpu.so"] {
            let sections = stdout(&succeed(llvm("llvm-readelf").arg("-SW").arg(one(&format!("twin/{file}")))));
            assert_eq!(sections.contains(".debug_info"), profile == "debug", "{file}, {profile}:\n{sections}");
        }
        let ptx = String::from_utf8(read(one("twin/compute_80.ptx"))).expect("PTX is text");
        assert_eq!(ptx.contains(".debug_info"), profile == "debug", "{profile}:\n{ptx}");
    }
}

/// The folder that Cargo builds into may lie in the package, as it does by default, or elsewhere.
fn target_folders() {
    const MAIN: &str = r#"let out = std::env::var("OUT_DIR").unwrap();
    std::fs::write(format!("{out}/value.h"), "static __device__ inline float value(float x) { return x * 3.0f; }\n").unwrap();
    Build::new().file("kernels/add.cu").include(out).archs(["gfx90a", "compute_80", "cpu"]).compile("add");"#;
    let mut package = package("build_target_folder", MAIN);
    package.write("kernels/add.cu", format!("#include \"value.h\"\n{}", kernel("add", "value(y[i])")));
    let mut build = |folder: PathBuf| {
        package.target = folder;
        succeed(&mut cargo_build(&package, "debug"));
        ["gfx90a.hsaco", "compute_80.ptx", "cpu.so"]
            .map(|file| read(package.own_output("debug", &format!("add/{file}"))))
    };
    let elsewhere = build(scratch::folder("build_target_elsewhere"));
    let inside = build(scratch::target_dir().join("offload-tests/build_target_folder/target"));
    // As debug information has it.
    assert!(String::from_utf8_lossy(&inside[1]).contains("OUT_DIR/"), "the PTX names a header in another way");
    for (index, (inside, elsewhere)) in inside.iter().zip(&elsewhere).enumerate() {
        assert!(inside == elsewhere, "image {index} differs with the folder that Cargo builds into");
    }
}

/// PTX of every length modulo 8, the pack's alignment.
fn ptx_ends() {
    let package = package(
        "build_ptx_ends",
        r#"for length in 0..8 {
        Build::new()
            .file("kernels/pad.cu")
            .define("PAD", format!("\"{}\"", "x".repeat(length)).as_str())
            .archs(["compute_80", "compute_90"])
            .compile(&format!("pad{length}"));
    }"#,
    );
    package.write(
        "kernels/pad.cu",
        "extern \"C\" __global__ void pad(int *out) {\n  asm volatile(\"// comment\" PAD);\n  *out = 1;\n}\n",
    );
    succeed(&mut cargo_build(&package, "release"));
    let mut texts = Vec::new();
    for length in 0..8 {
        let name = format!("pad{length}");
        let pack = read(package.own_output("release", &format!("{name}.pack")));
        let index = package.index("release", &name);
        assert_eq!(index.images().count(), 2);
        for image in index.images() {
            let (start, end) = (image.offset as usize, (image.offset + image.size) as usize);
            let text = &pack[start..end];
            assert!(text.starts_with(b"//\n// Generated by LLVM") && text.ends_with(b"\n"), "{name} is cut");
            assert!(!text.contains(&0), "{name}: a NUL inside the text for {}", image.target);
            assert_eq!(pack.get(end), Some(&0), "{name}: no NUL behind the {} bytes for {}", image.size, image.target);
            if image.target == "compute_80" {
                texts.push(String::from_utf8(text.to_vec()).expect("PTX is text"));
            }
        }
    }
    // The paddings did what they are for: compilers' texts with all eight residues went in.
    let mut residues: Vec<usize> = texts.iter().map(|text| text.trim_end().len() % 8).collect();
    residues.sort_unstable();
    assert_eq!(residues, [0, 1, 2, 3, 4, 5, 6, 7]);
}

fn options() {
    let package = package(
        "build_options",
        r#"Build::new()
        .file("kernels/options.cu")
        .include("include")
        .include("more include")
        .define("KERNEL_NAME", "renamed")
        .define("PLAIN", None)
        .define("TEXT", "\"a b\"")
        .define("LAST", "1")
        .flag("-ULAST")
        .flag("-DLAST=2")
        .flag_for("amd", "-ffast-math")
        .archs(["gfx90a", "compute_80", "sm_80", "cpu"])
        .compile("options");"#,
    );
    package.write("include/one.h", "#define ONE 1\n").write("more include/two.h", "#define TWO 2\n").write(
        "kernels/options.cu",
        "#include \"one.h\"\n#include <two.h>\n\
             #if ONE != 1 || TWO != 2 || PLAIN != 1 || LAST != 2\n#error \"an option is missing\"\n#endif\n\
             static_assert(sizeof(TEXT) == 4, \"a blank in a definition\");\n"
            .to_owned()
            + &kernel("KERNEL_NAME", "1.0f"),
    );
    let output = succeed(&mut cargo_build(&package, "debug"));
    assert!(!stderr(&output).contains("warning"), "the header does not make compilers warn");
    let image = |file: &str| package.own_output("debug", &format!("options/{file}"));
    assert!(defines(&image("gfx90a.hsaco"), "renamed", 'T'));
    assert!(defines(&image("cpu.so"), "renamed", 'T'));
    assert!(String::from_utf8_lossy(&read(image("compute_80.ptx"))).contains(".visible .entry renamed("));
    assert!(symbols(&image("sm_80.cubin")).iter().any(|[_, _, _, name]| name == "renamed"));
}

/// An option of one module is none of another with the same targets.
fn refusal_of_one_module() {
    const MAIN: &str = r#"let plain = offload_build::Module::new("plain").file("kernels/add.cu").clone();
    let mut other = offload_build::Module::new("other").file("kernels/add.cu").clone();
    other.flag("--no-such-option");
    let modules = if std::env::var("FIRST").unwrap() == "plain" { [plain, other] } else { [other, plain] };
    println!("cargo::rerun-if-env-changed=FIRST");
    Build::new().module(&modules[0]).module(&modules[1]).archs(["gfx90a"]).compile("pack");"#;
    let package = package("build_refusals", MAIN);
    package.write("kernels/add.cu", kernel("add", "1.0f"));
    for first in ["plain", "other"] {
        let output = cargo_build(&package, "debug").env("FIRST", first).output().expect("cargo starts");
        let text = printed(&output);
        assert!(!output.status.success(), "{text}");
        assert_eq!(text.matches("unknown argument: '--no-such-option'").count(), 1, "{first}:\n{text}");
        assert!(text.contains("no image for gfx90a: ") && !text.contains("the command was"), "{first}:\n{text}");
    }
}

/// What a compiler warns of, it says for each target; the user reads it once, and whole.
fn warnings() {
    let package = package(
        "build_warnings",
        r#"Build::new().file("kernels/add.cu").archs(["gfx90a", "gfx1100", "compute_80", "cpu"]).compile("add");"#,
    );
    package.write("kernels/add.cu", kernel("add", "1.0f") + "#warning \"look here\"\n");
    let text = stderr(&succeed(&mut cargo_build(&package, "debug")));
    for line in [
        "kernels/add.cu:6:2: warning: \"look here\" [-W#warnings]",
        "kernels/add.cu:6:2: warning: #warning \"look here\"",
    ] {
        assert_eq!(text.matches(line).count(), 1, "{line} in\n{text}");
    }
    assert_eq!(text.matches("6 | #warning").count(), 2, "a quoted source line for each compiler:\n{text}");
    assert!(!text.contains(" generated"), "{text}");
}

/// A build script may go on after `try_compile` has failed. Cargo has to run it again all the same.
fn handled_failure() {
    let package = package(
        "build_handled",
        r#"if let Err(error) = Build::new().file("kernels/add.cu").include("include").archs(["gfx90a"]).try_compile("add") {
        println!("cargo::warning=no kernels: {:?}", error.kind());
    }"#,
    );
    package.write("kernels/add.cu", format!("#include \"value.h\"\n{}", kernel("add", "VALUE")));
    let build = || printed(&succeed(&mut cargo_build(&package, "debug")));

    package.write("include/value.h", "#define VALUE undeclared\n");
    assert!(build().contains("no kernels: ToolFailed"));
    package.write("include/value.h", "#define VALUE 1.0f\n");
    assert!(!build().contains("no kernels"));
    assert_eq!(targets(&package, "add"), ["gfx90a"]);
}

fn two_packs_of_one_name() {
    let package = package(
        "build_same_name",
        r#"let mut build = Build::new();
    build.file("kernels/add.cu").archs(["gfx90a"]);
    build.compile("add");
    build.define("MORE", None).compile("add");"#,
    );
    package.write("kernels/add.cu", kernel("add", "1.0f"));
    let output = cargo_build(&package, "debug").output().expect("cargo starts");
    let text = printed(&output);
    assert!(!output.status.success(), "{text}");
    assert!(text.contains("build.rs makes two packs of the name 'add': the second would replace the first"), "{text}");
}

/// The build script is told of hosts that this machine has no standard library for.
fn hosts() {
    let package = package(
        "build_hosts",
        r#"let hosts = [
        ("linux", "x86_64", "x86_64-unknown-linux-gnu"),
        ("linux", "aarch64", "aarch64-unknown-linux-gnu"),
        ("windows", "x86_64", "x86_64-pc-windows-msvc"),
        ("windows", "aarch64", "aarch64-pc-windows-msvc"),
        ("macos", "x86_64", "x86_64-apple-darwin"),
        ("macos", "aarch64", "aarch64-apple-darwin"),
        ("none", "x86_64", "x86_64-unknown-none"),
    ];
    for (os, arch, target) in hosts {
        for (name, value) in [("CARGO_CFG_TARGET_OS", os), ("CARGO_CFG_TARGET_ARCH", arch), ("TARGET", target)] {
            // SAFETY: no other thread is there yet, or any more.
            unsafe { std::env::set_var(name, value) };
        }
        if let Err(error) = Build::new().file("kernels/add.cu").archs(["gfx90a"]).try_compile(&format!("{os}_{arch}")) {
            println!("cargo::warning={error}");
        }
    }"#,
    );
    package.write("kernels/add.cu", kernel("add", "1.0f"));
    let text = printed(&succeed(&mut cargo_build(&package, "debug")));
    assert_eq!(text.matches("this host is").count(), 1, "{text}");
    assert!(text.contains("macOS (x86_64, aarch64); this host is x86_64-unknown-none"), "{text}");
    for (pack, format) in [
        ("linux_x86_64", "elf64-x86-64"),
        ("linux_aarch64", "elf64-littleaarch64"),
        ("windows_x86_64", "COFF-x86-64"),
        ("windows_aarch64", "COFF-ARM64"),
        ("macos_x86_64", "Mach-O 64-bit x86-64"),
        ("macos_aarch64", "Mach-O arm64"),
    ] {
        let index = package.index("debug", pack);
        let library = package.own_output("debug", &format!("lib{}.a", index.library));
        let header = stdout(&succeed(llvm("llvm-readobj").arg("--file-headers").arg(&library)));
        assert!(header.contains(&format!("Format: {format}\n")), "{pack}: {header}");
        let map = stdout(&succeed(llvm("llvm-nm").arg("--print-armap").arg(&library)));
        let underscore = if pack.starts_with("macos") { "_" } else { "" };
        assert!(map.contains(&format!("\n{underscore}{} in offload.o\n", index.symbol)), "{pack}: {map}");
        let (bytes, offset) = (read(&library), index.library_offset as usize);
        assert!(bytes[offset..].starts_with(b"__CLANG_OFFLOAD_BUNDLE__"), "{pack}");
    }
}

fn bare_names() {
    let package =
        package("build_bare", r#"Build::new().file("kernels/add.cu").archs(["gfx90a", "cpu"]).compile("add");"#);
    package.write("kernels/add.cu", kernel("add", "1.0f"));
    let path = std::env::var_os("PATH").expect("PATH is set");
    let folders = [llvm_bin()].into_iter().chain(std::env::split_paths(&path));
    let path = std::env::join_paths(folders).expect("folders of PATH make a PATH");
    let build = || {
        let mut command = cargo_build(&package, "debug");
        command.env("PATH", &path).env("OFFLOAD_CLANG", "clang").env("CXX", "g++").arg("-v");
        printed(&succeed(&mut command))
    };
    build();
    let text = build();
    assert!(text.contains("Fresh build_bare"), "{text}");
}

/// A compiler is known by its file, and not by its name; so are headers that the build script itself makes.
fn changed_compiler() {
    let package = package(
        "build_compiler",
        r##"let out = std::env::var("OUT_DIR").unwrap();
    std::fs::write(format!("{out}/value.h"), "#define VALUE 1.0f").unwrap();
    Build::new().file("kernels/add.cu").include(out).archs(["cpu"]).compile("add");"##,
    );
    package.write("kernels/add.cu", format!("#include \"value.h\"\n{}", kernel("add", "VALUE * FACTOR")));
    let compiler = package.folder.join("compiler");
    let build = |factor: &str| {
        if !factor.is_empty() {
            scratch::write(&compiler, format!("#!/bin/sh\nexec g++ -DFACTOR={factor} \"$@\"\n"));
            succeed(Command::new("chmod").arg("+x").arg(&compiler));
        }
        let text = printed(&succeed(cargo_build(&package, "debug").env("CXX", &compiler).arg("-v")));
        (read(package.own_output("debug", "add/cpu.so")), text)
    };
    let (first, _) = build("2");
    let (_, text) = build("");
    assert!(text.contains("Fresh build_compiler"), "the header in OUT_DIR makes each build run:\n{text}");
    let (second, _) = build("3");
    assert!(first != second, "the image is still the old compiler's");
}

/// A set names no folder of the machine that made it, and making one touches nothing but the set.
fn travelling_set() {
    const MAIN: &str = r#"Build::new()
        .file(concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/add.cu"))
        .include(concat!(env!("CARGO_MANIFEST_DIR"), "/include"))
        .archs(["gfx90a", "compute_80"])
        .prebuilt("kernels")
        .compile("add");"#;
    let [there, here] = ["build_set_made", "build_set_used"].map(|name| {
        let package = package(name, MAIN);
        package
            .write("kernels/add.cu", format!("#include \"value.h\"\n{}", kernel("add", "VALUE")))
            .write("include/value.h", "#define VALUE 1.0f\n")
            .write("kernels/add.notes.txt", "Not an image.\n");
        package
    });
    succeed(cargo_build(&there, "release").env("OFFLOAD_PREBUILT", "update"));
    // One target less: its image goes, and nothing else does.
    there.write("build.rs", build_script(&MAIN.replace(", \"compute_80\"", "")));
    succeed(cargo_build(&there, "release").env("OFFLOAD_PREBUILT", "update"));
    let mut files: Vec<String> = times(&there.folder.join("kernels"))
        .keys()
        .map(|path| path.file_name().expect("a file has a name").to_string_lossy().into_owned())
        .collect();
    files.sort_unstable();
    assert_eq!(files, ["add.cu", "add.gfx90a.hsaco", "add.manifest", "add.notes.txt"]);
    let manifest = String::from_utf8(read(there.folder.join("kernels/add.manifest"))).expect("a manifest is text");
    assert!(!manifest.contains(&*there.folder.to_string_lossy()), "{manifest}");

    for file in ["add.manifest", "add.gfx90a.hsaco"] {
        here.write(&format!("kernels/{file}"), read(there.folder.join("kernels").join(file)));
    }
    here.write("build.rs", build_script(&MAIN.replace(", \"compute_80\"", "")));
    let text = printed(&succeed(cargo_build(&here, "release").env("OFFLOAD_PREBUILT", "only")));
    assert!(text.contains("gfx90a from kernels/, because OFFLOAD_PREBUILT=only"), "{text}");
}

/// What build scripts write themselves is no reason to run them again.
fn set_of_a_generated_source() {
    const MAIN: &str = r#"let source = std::path::Path::new(&std::env::var("OUT_DIR").unwrap()).join("add.cu");
    std::fs::copy("kernels/add.cu", &source).unwrap();
    Build::new().file(source).archs(["gfx90a"]).compile("add");"#;
    let package = package("build_set_generated", MAIN);
    package.write("kernels/add.cu", kernel("add", "1.0f"));
    succeed(cargo_build(&package, "release").env("OFFLOAD_PREBUILT", "update"));
    let build = || printed(&succeed(cargo_build(&package, "release").env("OFFLOAD_PREBUILT", "only").arg("-v")));
    assert!(build().contains("gfx90a from prebuilt/, because OFFLOAD_PREBUILT=only"));
    let text = build();
    assert!(text.contains("Fresh build_set_generated"), "the source in OUT_DIR makes each build run:\n{text}");
}
