//! A stand-in for clang, which the test compiles with rustc. The stand-in joins a source with its
//! includes, which it finds as compilers do, and writes the result as "PTX".

use std::collections::BTreeSet;
use std::error::Error;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::{env, fs, process};

fn main() {
    let exe = env::current_exe().expect("a program knows its path");
    // To give the compiler a different identity, the test appends a number to the file.
    let mut file = fs::File::open(&exe).expect("it can be read");
    let mut tag = String::new();
    file.seek(SeekFrom::End(-8))
        .and_then(|_| file.read_to_string(&mut tag))
        .expect("it ends with a number");
    let args: Vec<String> = env::args().skip(1).collect();
    if args.iter().any(|arg| arg == "--version") {
        let folder = exe.parent().expect("it has a folder").display();
        println!("clang version 22.0.0 ({tag})\nInstalledDir: {folder}");
    } else if args.iter().any(|arg| arg.starts_with("-print-prog-name")) {
        println!("ld.lld");
    } else if !args.iter().any(|arg| arg == "-###") {
        Call::default().run(&args, &tag).unwrap_or_else(|why| {
            eprintln!("error: {why}");
            process::exit(1);
        });
    }
}

#[derive(Default)]
struct Call {
    folders: Vec<PathBuf>,
    system: Vec<PathBuf>,
    first: Vec<String>,
    defines: Vec<String>,
    sources: Vec<String>,
    output: String,
    depfile: Option<String>,
    read: BTreeSet<PathBuf>,
    order: Vec<PathBuf>,
    text: String,
}

impl Call {
    fn run(mut self, args: &[String], tag: &str) -> Result<(), Box<dyn Error>> {
        let args: Vec<String> = args.iter().filter(|arg| *arg != "-Xclang").cloned().collect();
        self.take(&args)?;
        for (name, list) in [("CPATH", false), ("CPLUS_INCLUDE_PATH", true)] {
            let folders = env::var(name).unwrap_or_default();
            let to = if list { &mut self.system } else { &mut self.folders };
            to.extend(folders.split(':').filter(|it| !it.is_empty()).map(PathBuf::from));
        }
        let is_ptx = args.iter().any(|arg| arg == "-S");
        for name in self.first.clone() {
            let path = self.find(&name, Some(Path::new(""))).ok_or(format!("no {name}"))?;
            self.file(&path, name != "offload/kernel.h")?;
        }
        for source in self.sources.clone() {
            self.file(Path::new(&source), !is_ptx)?;
        }
        let mut out = String::new();
        if is_ptx {
            out += ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry kern(.param .u64 p) { ret; }\n";
            for source in &self.sources {
                out += &fs::read_to_string(source)?;
            }
        }
        out += &format!("// {tag} {}\n{}", self.defines.join(" "), self.text);
        fs::write(&self.output, out)?;
        let Some(depfile) = &self.depfile else { return Ok(()) };
        let list: Vec<String> = self.order.iter().map(|path| path.display().to_string()).collect();
        Ok(fs::write(depfile, format!("image: {}\n", list.join(" \\\n  ")))?)
    }

    fn take(&mut self, args: &[String]) -> Result<(), Box<dyn Error>> {
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut next = || args.next().cloned().ok_or(format!("{arg} needs a word"));
            match arg.as_str() {
                "-o" => self.output = next()?,
                "-I" => self.folders.push(next()?.into()),
                "-isystem" => self.system.push(next()?.into()),
                "-include" => self.first.push(next()?),
                "-dependency-file" => self.depfile = Some(next()?),
                "-x" | "-MT" | "-mlink-bitcode-file" => drop(next()?),
                _ if arg.starts_with("-D") => self.defines.push(arg.clone()),
                _ if arg.starts_with("-I") => self.folders.push(arg[2..].into()),
                _ if arg.starts_with('@') => {
                    let text = fs::read_to_string(&arg[1..])?;
                    self.take(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>())?;
                }
                _ if arg.ends_with(".cu") || arg.ends_with(".bc") => self.sources.push(arg.clone()),
                _ => {}
            }
        }
        Ok(())
    }

    /// Searches the folder `includer` and then the folders for headers. Returns the first file with
    /// this name.
    fn find(&self, name: &str, includer: Option<&Path>) -> Option<PathBuf> {
        let folders = self.folders.iter().chain(&self.system).map(PathBuf::as_path);
        let mut paths = includer.into_iter().chain(folders).map(|folder| folder.join(name));
        paths.find(|path| path.is_file())
    }

    fn file(&mut self, path: &Path, goes_in: bool) -> Result<(), Box<dyn Error>> {
        let key = path.canonicalize()?;
        if !self.read.insert(key) {
            return Ok(());
        }
        self.order.push(path.to_owned());
        if !goes_in {
            return Ok(());
        }
        let mut skips = false;
        for line in fs::read_to_string(path)?.lines() {
            let name =
                |open: char, close: char| Some(line.split_once(open)?.1.split_once(close)?.0);
            let quoted = name('"', '"');
            let named = quoted.or_else(|| name('<', '>'));
            let found = named.and_then(|name| self.find(name, quoted.and(path.parent())));
            match line {
                _ if line.starts_with("#if __has_include") => skips = found.is_none(),
                _ if line.starts_with("#endif") => skips = false,
                _ if skips => {}
                _ if line.starts_with("#include") => {
                    self.file(&found.ok_or(format!("{}: {line}", path.display()))?, true)?;
                }
                _ => self.text += &format!("// {line}\n"),
            }
        }
        Ok(())
    }
}
