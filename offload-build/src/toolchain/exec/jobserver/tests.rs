//! Tests the jobserver with a pipe instead of Cargo's jobserver.

use super::{linux, other_hosts};
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::time::Duration;

/// Returns a jobserver with these tokens, and both ends of its pipe.
fn jobserver(tokens: &[u8]) -> (linux::Jobserver, PipeReader, PipeWriter) {
    let (read, mut write) = io::pipe().unwrap();
    write.write_all(tokens).unwrap();
    let auth = format!("{},{}", read.as_raw_fd(), write.as_raw_fd());
    (linux::Jobserver::open(&auth).unwrap(), read, write)
}

#[test]
fn there_are_as_many_as_there_are_tokens() {
    let (jobserver, _read, mut write) = jobserver(b"ab");
    let tokens = [(); 2].map(|()| jobserver.take().unwrap().unwrap());
    assert!(jobserver.take().unwrap().is_none());
    // A different process returns one token, and this process returns two.
    write.write_all(b"c").unwrap();
    let third = jobserver.take().unwrap().unwrap();
    drop(tokens);
    let more = [(); 2].map(|()| jobserver.take().unwrap().unwrap());
    assert!(jobserver.take().unwrap().is_none());
    drop((third, more));
}

#[test]
fn a_pipe_with_a_name() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("file");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    // Opening the file for both reading and writing does not wait for another process.
    let mut server = File::options().read(true).write(true).open(&path).unwrap();
    server.write_all(b"a").unwrap();
    let jobserver = linux::Jobserver::open(&format!("fifo:{}", path.display())).unwrap();
    drop(jobserver.take().unwrap().unwrap());
    assert!(jobserver.take().unwrap().is_some());
}

#[test]
fn all_tokens_are_back_in_the_end() {
    let (jobserver, mut read, write) = jobserver(b"abc");
    let tokens = [(); 2].map(|()| jobserver.take().unwrap().unwrap());
    drop(jobserver);
    drop(tokens);
    drop(write);
    let mut left = Vec::new();
    read.read_to_end(&mut left).unwrap();
    left.sort_unstable();
    assert_eq!(left, b"abc");
}

#[test]
fn who_else_has_the_pipe_still_waits_for_tokens() {
    let (jobserver, mut read, mut write) = jobserver(b"");
    assert!(jobserver.take().unwrap().is_none());
    let waiting = std::thread::spawn(move || read.read(&mut [0]).map_err(|error| error.kind()));
    std::thread::sleep(Duration::from_millis(100));
    write.write_all(b"a").unwrap();
    assert_eq!(waiting.join().unwrap(), Ok(1));
}

#[test]
fn what_is_no_jobserver() {
    let file = File::open("/dev/null").unwrap();
    let number = file.as_raw_fd();
    let not_inherited = i32::MAX;
    for auth in [
        format!("{number},{number}"),
        format!("{not_inherited},{not_inherited}"),
        "-2,-2".to_owned(),
        "fifo:/nonexistent".to_owned(),
        "fifo:/dev/null".to_owned(),
        "gmake_semaphore".to_owned(),
        String::new(),
    ] {
        assert!(linux::Jobserver::open(&auth).is_none(), "{auth}");
    }
}

/// Checks that the jobservers for Linux and for other systems have functions of the same types.
#[test]
fn other_hosts_are_the_same() {
    let _: fn(&'static str) -> Option<other_hosts::Jobserver> = other_hosts::Jobserver::open;
    let _: fn(&'static str) -> Option<linux::Jobserver> = linux::Jobserver::open;
    let _: fn(&other_hosts::Jobserver) -> io::Result<Option<other_hosts::Token>> =
        other_hosts::Jobserver::take;
    let _: fn(&linux::Jobserver) -> io::Result<Option<linux::Token>> = linux::Jobserver::take;
}
