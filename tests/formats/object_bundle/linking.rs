//! Programs that lld and GNU ld link from objects with bundles; the test checks the programs'
//! output.

use super::{compile, our_bundle};
use offload_format::object_bundle;
use offload_tests::data::read;
use offload_tests::registry::CLANG;
use offload_tests::scratch;
use offload_tests::tools::{llvm, stdout, succeed};
use std::process::Command;

offload_tests::tests! {
    CLANG => [linked_programs_run_and_lack_the_bundle],
}

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
    for (c, cxx, options) in [
        ("clang", "clang++", "-O2 -g"),
        ("gcc", "g++", ""),
        ("gcc", "g++", "-O2 -ffunction-sections"),
    ] {
        let command =
            |name: &str| if name.starts_with("clang") { llvm(name) } else { Command::new(name) };
        for (number, (compiler, source, file)) in
            [(c, main, "main.c"), (cxx, part, "part.cpp")].into_iter().enumerate()
        {
            let host = compile(&folder, command(compiler), source, file, options, "host.o");
            let fat = our_bundle(&read(&host), 0);
            scratch::write(
                folder.join(format!("stripped{number}.o")),
                object_bundle::strip(&fat).unwrap(),
            );
            scratch::write(folder.join(format!("fat{number}.o")), fat);
        }
        for objects in ["fat", "stripped"] {
            for linker in ["-fuse-ld=bfd", "-fuse-ld=lld"] {
                let program = folder.join("program");
                // clang finds the lld of its own installation; gcc does not.
                let mut driver =
                    if linker.ends_with("lld") { llvm("clang++") } else { Command::new("g++") };
                driver.current_dir(&folder).args([linker, "-o", "program"]);
                succeed(driver.args([format!("{objects}0.o"), format!("{objects}1.o")]));
                assert_eq!(
                    stdout(&succeed(&mut Command::new(&program))),
                    "236\n",
                    "{objects} {linker}"
                );
                let program = read(program);
                assert!(
                    !program.windows(24).any(|bytes| bytes == b"__CLANG_OFFLOAD_BUNDLE__"),
                    "{objects} {linker}"
                );
            }
        }
    }
}
