//! An sccache server with a separate cache, for one test.

use crate::scenario::Scenario;
use crate::tools::{sccache, succeed};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

/// A running sccache server with a cache for one test. The server stops at the end of the test,
/// even if the test fails.
#[derive(Debug)]
pub struct CacheServer {
    folder: PathBuf,
    socket: PathBuf,
}

impl CacheServer {
    /// Starts the server before any compiler runs. Otherwise, two compilers that start at the same
    /// time would start two servers. Only one of the servers would count hits, and the other would
    /// never be stopped.
    pub fn start(scenario: &Scenario) -> Self {
        // A socket's path may have at most 107 bytes, so the socket is in the temporary folder.
        let socket = env::temp_dir().join(format!("{}-{}", scenario.name(), std::process::id()));
        let server = Self { folder: scenario.folder.join("cache"), socket };
        server.ask(&["--start-server"]);
        server
    }

    /// Returns the variables by which sccache finds the server and the cache.
    pub fn variables(&self) -> [(&'static str, OsString); 3] {
        [
            ("SCCACHE_DIR", self.folder.clone().into()),
            ("SCCACHE_SERVER_UDS", self.socket.clone().into()),
            // An idle server ends after this number of seconds, for example if its test was killed.
            ("SCCACHE_IDLE_TIMEOUT", "300".into()),
        ]
    }

    /// Runs sccache with these arguments, and panics if sccache fails.
    pub fn ask(&self, args: &[&str]) -> Output {
        succeed(Command::new(sccache()).envs(self.variables()).args(args))
    }

    /// Returns the processes whose environment contains this server's socket.
    fn processes(&self) -> Vec<String> {
        let variable = format!("SCCACHE_SERVER_UDS={}\0", self.socket.display());
        let has_it = |process: &PathBuf| {
            fs::read(process.join("environ"))
                .is_ok_and(|text| String::from_utf8_lossy(&text).contains(&variable))
        };
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let found = processes.map(|process| process.path()).filter(has_it);
        found.map(|process| process.display().to_string()).collect()
    }
}

impl Drop for CacheServer {
    fn drop(&mut self) {
        let _ = Command::new(sccache()).envs(self.variables()).arg("--stop-server").output();
        let _ = fs::remove_file(&self.socket);
        // The server may reply to the request to stop before it ends.
        let started = Instant::now();
        while !self.processes().is_empty() && started.elapsed() < Duration::from_secs(20) {
            thread::sleep(Duration::from_millis(50));
        }
        let left = self.processes();
        assert!(left.is_empty() || thread::panicking(), "servers of sccache are left: {left:?}");
    }
}
