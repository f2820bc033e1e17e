//! Random edits of a package's files, options, variables and compiler.

use offload_tests::prelude::*;
use std::fs::File;
use std::time::{Duration, SystemTime};

/// The package's folders with headers. Compilers find these folders next to the source, through
/// `.include(...)`, through a flag, or through a variable.
const FOLDERS: [&str; 6] = ["kernels", "inc1", "inc2", "flagged", "cpath", "system"];
const NAMES: [&str; 5] = ["a.h", "b.h", "c.h", "sub/d.h", "opt.h"];

/// The flags that an edit may add or remove.
const FLAGS: [&str; 5] = ["-DM=1", "-DM=2", "@options.txt", "-Iflagged", "-include b.h"];

const WRITABLE: &str = "the target folder can be written";

/// The state of a package.
#[derive(Debug)]
pub struct World {
    pub folder: PathBuf,
    /// The stand-in for clang, or `None` if the test uses a real compiler.
    pub compiler: Option<StandIn>,
    flags: BTreeSet<&'static str>,
    pub variables: BTreeMap<&'static str, PathBuf>,
    /// The lines of `request` that never change.
    lines: &'static str,
    number: u32,
    pub history: Vec<String>,
}

/// The stand-in for clang, and the folder with two copies of it.
#[derive(Debug)]
pub struct StandIn {
    pub program: PathBuf,
    pub folder: PathBuf,
    /// Whether builds start a script that starts one of the two copies.
    pub is_wrapped: bool,
}

impl StandIn {
    fn write(&self, which: &str, tag: u32) {
        let mut bytes = fs::read(&self.program).expect("the stand-in is there");
        bytes.extend(format!("{tag:08}").bytes());
        let path = self.folder.join(which).join("clang");
        // The file of a running program cannot be written, so remove the file first.
        let _ = fs::remove_file(&path);
        scratch::write(&path, bytes);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&path, mode).expect(WRITABLE);
    }

    fn start(&self, which: &str) {
        let program = self.folder.join(which).join("clang");
        scratch::write(self.folder.join("which"), program.display().to_string());
    }

    /// Returns the program that builds start: the script, or the first copy.
    pub fn start_with(&self) -> PathBuf {
        if self.is_wrapped { self.folder.join("clang") } else { self.folder.join("one/clang") }
    }
}

/// When Cargo notices an edit, as `docs/guide/src/reference/rebuilds.md` documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noticed {
    Yes,
    /// Cargo does not notice the edit until something else in the package changes, too.
    Later,
}

impl World {
    /// Makes a package without headers.
    pub fn new(folder: &Path, compiler: Option<StandIn>, lines: &'static str) -> Self {
        for name in FOLDERS.iter().chain(&["kernels/sub"]) {
            let _ = fs::remove_dir_all(folder.join(name));
            fs::create_dir_all(folder.join(name)).expect(WRITABLE);
        }
        if let Some(compiler) = &compiler {
            compiler.write("one", 0);
            compiler.write("two", 1);
            compiler.start("one");
            let which = compiler.folder.join("which").display().to_string();
            let start = format!("exec \"$(cat '{which}')\" \"$@\"");
            scratch::write_script(compiler.folder.join("clang"), &start);
        }
        let world = Self {
            folder: folder.to_owned(),
            compiler,
            flags: BTreeSet::new(),
            variables: BTreeMap::new(),
            lines,
            number: 2,
            history: Vec::new(),
        };
        scratch::write(folder.join("options.txt"), "-DN=0");
        world.write_request();
        let main = "#if __has_include(\"a.h\")\n#include \"a.h\"\n#endif\n#if __has_include(<b.h>)\n#include <b.h>\n#endif\n\
                    extern \"C\" __global__ void kern(int *p) { *p = 1; }\n";
        scratch::write(folder.join("kernels/main.cu"), main);
        world
    }

    fn write_request(&self) {
        let mut text = self.lines.to_owned();
        for flag in &self.flags {
            text += &flag.split(' ').map(|word| format!("flag {word}\n")).collect::<String>();
        }
        scratch::write(self.folder.join("request"), text);
    }

    fn files(&self) -> Vec<PathBuf> {
        let all = FOLDERS
            .iter()
            .flat_map(|folder| NAMES.iter().map(move |name| self.folder.join(folder).join(name)));
        all.filter(|path| path.is_file()).collect()
    }

    /// Returns the text of a header that defines a new symbol and may include another header.
    fn text(&mut self, random: &mut Random) -> String {
        self.number += 1;
        let number = self.number;
        let mut text =
            format!("#pragma once\nextern \"C\" __device__ int v_{number} = {number};\n");
        let name = random.pick(&NAMES);
        match random.below(4) {
            0 => text += &format!("#if __has_include(\"{name}\")\n#include \"{name}\"\n#endif\n"),
            1 => text += &format!("#if __has_include(<{name}>)\n#include <{name}>\n#endif\n"),
            2 if random.below(3) == 0 => text += &format!("#include \"{name}\"\n"),
            _ => {}
        }
        text
    }

    /// Makes a random edit. Returns whether Cargo notices the edit immediately or only later.
    pub fn edit(&mut self, random: &mut Random) -> Noticed {
        let nothing = || ("nothing".into(), Noticed::Yes);
        let (edit, noticed) = self.try_edit(random).unwrap_or_else(nothing);
        self.history.push(edit);
        noticed
    }

    /// Tries a random kind of edit. Returns the edit, or `None` if the package has nothing to edit
    /// in this way.
    fn try_edit(&mut self, random: &mut Random) -> Option<(String, Noticed)> {
        let any =
            |random: &mut Random| random.pick(&FOLDERS).to_owned() + "/" + random.pick(&NAMES);
        let files = self.files();
        let pick = |random: &mut Random| files.get(random.below(files.len().max(1))).cloned();
        let short =
            |path: &Path| path.strip_prefix(&self.folder).unwrap_or(path).display().to_string();
        Some(match random.below(13) {
            0..4 => {
                let path = any(random);
                let text = self.text(random);
                let is_new = !self.folder.join(&path).is_file();
                scratch::write(self.folder.join(&path), text);
                // The build reports only the folders of `.include(...)` to Cargo, so Cargo notices
                // a new header in a different folder only later.
                let is_later = is_new && !path.starts_with("inc");
                let noticed = if is_later { Noticed::Later } else { Noticed::Yes };
                (format!("write {path}"), noticed)
            }
            4 => {
                let path = pick(random)?;
                fs::remove_file(&path).expect("it is there");
                (format!("remove {}", short(&path)), Noticed::Later)
            }
            5 => {
                let from = pick(random)?;
                let to = self.folder.join(any(random));
                fs::create_dir_all(to.parent().expect("it has a folder")).expect(WRITABLE);
                fs::rename(&from, &to).expect("it is there");
                (format!("rename {} to {}", short(&from), short(&to)), Noticed::Later)
            }
            6 => {
                let (one, other) = (pick(random), pick(random));
                let (one, other) = (one?, other?);
                if one == other {
                    return None;
                }
                self.swap(&one, &other);
                (format!("swap {} and {}", short(&one), short(&other)), Noticed::Later)
            }
            7 => {
                let path = pick(random)?;
                let edit = format!("write {} with an old time", short(&path));
                let text = self.text(random);
                scratch::write(&path, text);
                let file = File::options().write(true).open(&path).expect("it is there");
                let old =
                    SystemTime::now() - Duration::from_secs(100_000 + random.below(1000) as u64);
                file.set_modified(old).expect("the time of a file can be set");
                (edit, Noticed::Later)
            }
            8 => {
                let flag = random.pick(&FLAGS);
                if !self.flags.remove(flag) {
                    self.flags.insert(flag);
                }
                self.write_request();
                (format!("flags {:?}", self.flags), Noticed::Yes)
            }
            9 => {
                self.number += 1;
                scratch::write(self.folder.join("options.txt"), format!("-DN={}", self.number));
                ("write options.txt".into(), Noticed::Yes)
            }
            10 => {
                let (name, folder) =
                    random.pick(&[("CPATH", "cpath"), ("CPLUS_INCLUDE_PATH", "system")]);
                if self.variables.remove(name).is_none() {
                    self.variables.insert(name, self.folder.join(folder));
                }
                (format!("variables {:?}", self.variables.keys()), Noticed::Yes)
            }
            11 => {
                self.swap(&self.folder.join("inc1"), &self.folder.join("inc2"));
                ("swap inc1 and inc2".into(), Noticed::Later)
            }
            _ => {
                let compiler = self.compiler.as_ref()?;
                let which = random.pick(&["one", "two"]);
                if random.below(2) == 0 {
                    compiler.start(which);
                    return Some((format!("start compiler {which}"), Noticed::Later));
                }
                self.number += 1;
                compiler.write(which, self.number);
                (format!("replace compiler {which}"), Noticed::Later)
            }
        })
    }

    /// Exchanges two files or folders.
    fn swap(&self, one: &Path, other: &Path) {
        let between = self.folder.join("between");
        for (from, to) in [(one, &*between), (other, one), (&*between, other)] {
            fs::rename(from, to).expect("it is there");
        }
    }
}
