//! Acts as a page's reader, who writes the package on the page and runs the page's commands.

use super::{KIT, NAME, Page};
use offload_tests::cache_server::CacheServer;
use offload_tests::intel;
use offload_tests::prelude::*;
use offload_tests::stand_ins::compile;
use offload_tests::tools::sccache;

/// A page's reader: the package that the page describes, and the GPU and the tool that its commands
/// find.
pub struct Reader {
    /// The package's folder, and the package's name in this test, which replaces [`NAME`].
    pub scenario: Scenario,
    /// The variables with which programs find a fake GPU.
    gpu: Option<[(&'static str, OsString); 3]>,
    /// A tool that only the commands of this page can find.
    own_tool: Option<Tool>,
    /// The cache server of a page about sccache.
    cache: Option<CacheServer>,
}

impl Reader {
    pub fn new(page: &Page) -> Self {
        let stem = Path::new(page.path).file_stem().expect("a page is a file").to_string_lossy();
        Self::named(&stem.to_lowercase(), page)
    }

    pub fn named(name: &str, page: &Page) -> Self {
        let scenario = Scenario::empty(&format!("guide-{name}"));
        // The pages' commands use programs in `target`, but tests build into another folder.
        let link = scenario.folder.join("target");
        scratch::symlink(&scenario.target, link).expect("the folder can be written");
        let has_cache = page.own_tool == Some(Tool::Sccache);
        let cache = has_cache.then(|| CacheServer::start(&scenario));
        Self { scenario, gpu: None, own_tool: page.own_tool, cache }
    }

    /// Writes a file of the package. The package's name replaces [`NAME`] in its manifest, and the
    /// library's name in paths.
    pub fn write(&mut self, path: &str, text: &str) {
        let name = self.scenario.name().to_owned();
        let text = if path.ends_with("Cargo.toml") {
            text.replacen(&format!("name = \"{NAME}\""), &format!("name = \"{name}\""), 1)
        } else {
            text.replace(&format!(" {NAME}::"), &format!(" {}::", name.replace('-', "_")))
        };
        self.scenario.write(path, &text);
        if path == "Cargo.toml" {
            self.scenario.patched();
            if text.contains("features = [\"zstd\"]") || text.contains("features = [\"files\"]") {
                self.scenario.has_features();
            }
        }
    }

    /// Runs a command. Returns its output in the form that the pages show.
    pub fn run(&self, line: &str) -> String {
        let name = self.scenario.name();
        let line = line
            .replace(&format!("target/debug/{NAME}"), &format!("target/debug/{name}"))
            .replace(&format!("target/release/{NAME}"), &format!("target/release/{name}"))
            .replace(&format!("-p {NAME}"), &format!("-p {name}"));
        let mut words: Vec<&str> = line.split(' ').collect();
        let mut variables = Vec::new();
        while let Some((name, value)) = words[0].split_once('=') {
            variables.push((name, value.trim_matches('"')));
            words.remove(0);
        }
        let run = self.on_the_machine(self.command(&words)).envs(variables);
        self.as_shown(&run.ends(), words[0] == "cargo")
    }

    fn command(&self, words: &[&str]) -> Run<'_> {
        match *words {
            ["cargo", "package", ref rest @ ..] => self.scenario.package().args(rest),
            ["cargo", ref rest @ ..] => self.scenario.cargo(rest),
            [program, ref rest @ ..] => self.scenario.tool(program).args(rest),
            [] => panic!("an empty command"),
        }
    }

    /// Adds the tools that the page may use, and hides all GPUs except fake ones.
    fn on_the_machine<'a>(&self, run: Run<'a>) -> Run<'a> {
        const CUDA: [&str; 4] = ["CUDA_PATH", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR", "CUDACXX"];
        const OTHERS: [&str; 5] = ["RUST_BACKTRACE", "NVCC", "HIPCC", "ROCM_PATH", "HIP_PATH"];
        let mut folders = vec![llvm_bin(), own::folder()];
        if self.cache.is_some() {
            folders.push(sccache().parent().expect("a program lies in a folder").to_owned());
        }
        let mut run = run.without(&CUDA).without(&OTHERS).path(folders);
        run = run.env("OFFLOAD_CLANG", llvm_bin().join("clang"));
        if env::var_os("CUDA_HOME").is_some() {
            run = run.env("OFFLOAD_PTXAS", cuda("ptxas").get_program());
        }
        if self.own_tool == Some(Tool::Rocm) {
            run = run.env("ROCM_PATH", rocm());
        }
        if self.own_tool == Some(Tool::IntelOpenCl) {
            run = run.envs(intel::variables());
        }
        if let Some(cache) = &self.cache {
            run = run.envs(cache.variables());
        }
        // Hide this machine's GPUs from the commands. `self.gpu` contains the variables for the
        // page's fake GPU, if any.
        run = run.env("HIP_VISIBLE_DEVICES", "-1");
        match &self.gpu {
            None => run.env("CUDA_VISIBLE_DEVICES", ""),
            Some(gpu) => run.without(&["CUDA_VISIBLE_DEVICES"]).envs(gpu.iter().cloned()),
        }
    }

    /// Returns a command's output with this test's names and folders replaced by those in the
    /// pages.
    fn as_shown(&self, printed: &Printed, is_cargo: bool) -> String {
        // Each of Cargo's progress lines starts with a word that ends in column 12.
        let is_status = |line: &&str| {
            let first =
                line.get(..13).and_then(|start| start.strip_prefix("  ")?.strip_suffix(' '));
            first.is_some_and(|word| word.trim_start().starts_with(char::is_uppercase))
        };
        let errors = printed.stderr.lines().filter(|line| !is_cargo || !is_status(line));
        let mut text = errors.map(|line| format!("{line}\n")).collect::<String>() + &printed.stdout;
        let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let cuda_home = env::var_os("CUDA_HOME").map_or_else(|| "/no/cuda".into(), PathBuf::from);
        for (path, shown) in [
            (self.scenario.target.as_path(), "/home/you/saxpy/target"),
            (&real(&self.scenario.target), "/home/you/saxpy/target"),
            (self.scenario.folder.as_path(), "/home/you/saxpy"),
            // Replace CUDA's folder before the checkout's, because set-up may have installed CUDA
            // inside the checkout.
            (&cuda_home, "/usr/local/cuda"),
            (scratch::workspace(), KIT),
            (&llvm_bin(), "/usr/lib/llvm-22/bin"),
        ] {
            text = text.replace(&path.to_string_lossy().into_owned(), shown);
        }
        let name = self.scenario.name();
        text = text.replace(name, NAME).replace(&name.replace('-', "_"), NAME);
        text = text.replace("Fake GPU 9.0", "NVIDIA H100 80GB HBM3");
        text = text.replace("Fake GPU gfx1100", "AMD Radeon RX 7900 XTX");
        let mut lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        // Cargo prints its own lines before the output of a failed build script. The pages show
        // `...` instead.
        if let Some(start) = lines.iter().position(|line| *line == "  --- stderr") {
            let is_first = |line: &&str| line.starts_with("error: failed to run custom build");
            let before = lines[..start].iter().position(is_first);
            lines.splice(before.unwrap_or(0)..=start + 1, ["..."]);
        }
        while lines.last().is_some_and(|line| line.is_empty()) {
            lines.pop();
        }
        lines.join("\n") + if lines.is_empty() { "" } else { "\n" }
    }

    /// Makes all later commands find a fake GPU with this compute capability or AMD target,
    /// simulated by a stand-in for the driver.
    pub fn pretend(&mut self, gpu: &str) {
        let folder = scratch::folder(&format!("{}-driver", self.scenario.name()));
        let (source, library) = if gpu.starts_with("gfx") {
            ("hip_runtime.c", "libamdhip64.so")
        } else {
            ("cuda_driver.c", "libcuda.so.1")
        };
        let name = format!("-Wl,-soname,{library}");
        compile(source, &["-shared", "-fPIC", &name], &folder.join(library));
        let log = folder.join("log").into();
        self.gpu =
            Some([("LD_LIBRARY_PATH", folder.into()), ("FAKE_GPU", gpu.into()), ("FAKE_LOG", log)]);
    }
}
