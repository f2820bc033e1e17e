//! Links programs from objects with bundles, with lld and GNU ld, and checks the programs' output.

use super::{compile, our_bundle};
use offload_format::object_bundle;
use offload_tests::prelude::*;

#[test(CLANG.slow())]
fn linked_programs_run_and_lack_the_bundle() {
    let folder = scratch::folder("object-bundle-link");
    let main = r#"
        #include <stdio.h>
        int used(int); extern __thread int tls;
        int main(int argc, char **argv) { tls = 5; printf("%d\n", used(argc)); return 0; }
    "#;
    let part = r#"
        #include <stdexcept>
        #include <string>
        __thread int tls; static int counter;
        template <class T> struct Box { T v; virtual ~Box() {} virtual T get() const { return v; } };
        __attribute__((constructor)) static void init() { counter = 30; }
        extern "C" int used(int x) {
            Box<int> b; b.v = 200;
            try { throw std::runtime_error(std::string(x, 'x')); }
            catch (const std::exception &e) { return b.get() + counter + tls + std::string(e.what()).size(); }
        }
    "#;
    let gnu = |name: &str| Command::new(name);
    for (c, cxx, options) in [
        (llvm("clang"), llvm("clang++"), "-O2 -g"),
        (gnu("gcc"), gnu("g++"), ""),
        (gnu("gcc"), gnu("g++"), "-O2 -ffunction-sections"),
    ] {
        let sources = [(c, ("main.c", main)), (cxx, ("part.cpp", part))];
        for (number, (compiler, source)) in sources.into_iter().enumerate() {
            let fat = our_bundle(&read(compile(&folder, compiler, options, source)), 0);
            let stripped = object_bundle::strip(&fat).unwrap();
            scratch::write(folder.join(format!("stripped{number}.o")), stripped);
            scratch::write(folder.join(format!("fat{number}.o")), fat);
        }
        for objects in ["fat", "stripped"] {
            // clang finds the lld of its own installation, but gcc does not.
            for (driver, linker) in [(gnu("g++"), "bfd"), (llvm("clang++"), "lld")] {
                let options = format!("-fuse-ld={linker} -o program {objects}0.o {objects}1.o");
                run(driver, &folder, &options);
                let program = folder.join("program");
                assert_eq!(run(Command::new(&program), &folder, ""), "236\n", "{options}");
                let magic = b"__CLANG_OFFLOAD_BUNDLE__";
                assert!(!read(program).windows(24).any(|bytes| bytes == magic), "{options}");
            }
        }
    }
}
