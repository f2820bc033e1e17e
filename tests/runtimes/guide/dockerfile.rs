//! Follows the Dockerfile in the page about shipping, without Docker. The package is built on this
//! machine. The program runs in a root folder that contains only the files of the final image.

use super::page::{Step, steps, text_of};
use super::reader::Reader;
use super::{COMPILERS_AND_MOUNTS, NAME, Page};
use offload_tests::prelude::*;

/// The libraries that a program may need. They are in the packages libc6, libgcc-s1 and libstdc++6,
/// which every Debian 12 has.
const LIBRARIES: &str = "ld-linux-x86-64.so.2 libc.so.6 libgcc_s.so.1 libm.so.6 libpthread.so.0 \
                         libstdc++.so.6";

#[test(COMPILERS_AND_MOUNTS.slow())]
fn the_dockerfile_is_followed() {
    let pages = scratch::workspace().join("docs/guide/src");
    let ship = text_of(&pages.join("ship.md"));
    let (_, file) = ship.split_once("```dockerfile\n").expect("the page has a Dockerfile");
    let (file, _) = file.split_once("```").expect("it ends");
    let first = Page::new("docs/guide/src/first-result.md", COMPILERS_AND_MOUNTS);
    let mut reader = Reader::named("dockerfile", &first);
    let mut shown = None;
    for step in steps(&scratch::workspace().join(first.path)) {
        match step {
            Step::File { path, text } => reader.write(&path, &text),
            Step::Run { shown: text, .. } => {
                shown = Some(text);
                break;
            }
            _ => {}
        }
    }
    let build = text_of(&pages.join("build.md"));
    let debian = build.lines().find(|line| line.starts_with("| Debian 12 |")).expect("a row");
    let known: BTreeSet<&str> = debian.split([' ', '`']).collect();
    let root = scratch::folder("dockerfile-root");
    let (mut image, mut ran) = ("", false);
    for line in file.lines().filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split(' ').collect();
        match (image, &words[..]) {
            ("", ["FROM", "rust:1-slim-bookworm", "AS", "build"]) => image = "build",
            ("build", ["FROM", "debian:bookworm-slim"]) => image = "program",
            ("build", ["WORKDIR", "/saxpy"] | ["COPY", ".", "."]) => {}
            (
                "build",
                ["RUN", "apt-get", "update", "&&", "apt-get", "install", "-y", packages @ ..],
            ) => {
                // The page about builds must list the same packages. A different test installs the
                // packages on that page.
                let unknown: Vec<_> = packages.iter().filter(|it| !known.contains(**it)).collect();
                assert!(unknown.is_empty(), "build.md has no {unknown:?} for Debian 12");
            }
            ("build", ["RUN", "cargo", ..]) => {
                // A program from an earlier run would hide a failed build.
                let name = reader.scenario.name();
                let _ = fs::remove_file(reader.scenario.program("release", name));
                reader.run(&words[1..].join(" "));
            }
            ("program", ["COPY", "--from=build", from, to]) => {
                let built = from.strip_prefix("/saxpy/target/").expect("Cargo builds there");
                let built =
                    reader.scenario.target.join(built.replace(NAME, reader.scenario.name()));
                put(&built, &root.join(&to[1..]));
            }
            ("program", ["CMD", command]) => {
                let program = command.trim_matches(['[', ']', '"']);
                let images = reader.scenario.output("release", "saxpy/cpu.so");
                let program_file = root.join("usr/local/bin").join(program);
                for library in libraries(&[&program_file, &images]) {
                    put(&library, &root.join(library.strip_prefix("/").expect("a whole path")));
                }
                let printed = run(&root, program);
                assert_eq!(Some(printed), shown.clone(), "{line}");
                ran = true;
            }
            _ => panic!("a line that is not followed, of the image {image:?}: {line}"),
        }
    }
    assert!(ran, "the Dockerfile has no CMD");
}

fn put(from: &Path, to: &Path) {
    fs::create_dir_all(to.parent().expect("it is in a folder")).expect("it can be made");
    fs::copy(from, to).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
}

/// Returns the libraries that these files need. All of them must be in [`LIBRARIES`].
fn libraries(files: &[&Path]) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for file in files {
        for line in stdout(&succeed(Command::new("ldd").arg(file))).lines() {
            let Some(path) = line.split_whitespace().find(|word| word.starts_with('/')) else {
                continue;
            };
            let name = Path::new(path).file_name().expect("a library has a name");
            let is_known = LIBRARIES.split(' ').any(|it| *it == *name);
            assert!(is_known, "{}: {path}", file.display());
            found.insert(PathBuf::from(path));
        }
    }
    assert!(!found.is_empty());
    found
}

/// Runs a program with this folder as its root, adding only `/proc` and `/tmp`.
fn run(root: &Path, program: &str) -> String {
    for folder in ["proc", "tmp"] {
        fs::create_dir_all(root.join(folder)).expect("it can be made");
    }
    const ENTER: &str =
        "mount --rbind /proc \"$0/proc\" && exec chroot \"$0\" \"/usr/local/bin/$1\"";
    let mut enter = Command::new("unshare");
    enter.args(["-rm", "sh", "-c", ENTER]).arg(root).arg(program);
    stdout(&succeed(&mut enter))
}
