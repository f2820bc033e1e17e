//! The jobserver of these tests is a pipe.

use super::{elsewhere, linux};
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Long enough for what should come, short enough for what should not.
const SHORT: Duration = Duration::from_millis(100);
const LONG: Duration = Duration::from_secs(60);

/// A jobserver with these tokens, and a client that has asked for some.
fn client(
    tokens: &[u8],
    requests: usize,
) -> (linux::Requests, Receiver<io::Result<linux::Token>>, PipeReader, PipeWriter) {
    let (read, mut write) = io::pipe().unwrap();
    write.write_all(tokens).unwrap();
    let (answers, inbox) = channel();
    let auth = format!("{},{}", read.as_raw_fd(), write.as_raw_fd());
    let client = linux::Requests::start(&auth, move |answer| drop(answers.send(answer))).unwrap();
    (0..requests).for_each(|_| client.send());
    (client, inbox, read, write)
}

#[test]
fn there_are_as_many_as_there_are_tokens() {
    let (_client, inbox, _read, mut write) = client(b"ab", 4);
    let tokens = [(); 2].map(|()| inbox.recv_timeout(LONG).unwrap().unwrap());
    assert_eq!(inbox.recv_timeout(SHORT).err(), Some(RecvTimeoutError::Timeout));
    // One comes from another process, and one was given back.
    write.write_all(b"c").unwrap();
    let third = inbox.recv_timeout(LONG).unwrap().unwrap();
    drop(tokens);
    let fourth = inbox.recv_timeout(LONG).unwrap().unwrap();
    assert_eq!(inbox.recv_timeout(SHORT).err(), Some(RecvTimeoutError::Timeout));
    drop((third, fourth));
}

#[test]
fn a_pipe_with_a_name() {
    let path = std::env::temp_dir().join(format!("offload-build-jobserver-{}", std::process::id()));
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    // Whoever opens it for both does not wait for another.
    let mut server = File::options().read(true).write(true).open(&path).unwrap();
    server.write_all(b"a").unwrap();
    let (answers, inbox) = channel();
    let auth = format!("fifo:{}", path.display());
    let client = linux::Requests::start(&auth, move |answer| drop(answers.send(answer))).unwrap();
    std::fs::remove_file(&path).unwrap();
    client.send();
    client.send();
    drop(inbox.recv_timeout(LONG).unwrap().unwrap());
    drop(inbox.recv_timeout(LONG).unwrap().unwrap());
}

#[test]
fn all_tokens_are_back_in_the_end() {
    let (client, inbox, mut read, write) = client(b"abc", 5);
    let one = inbox.recv_timeout(LONG).unwrap().unwrap();
    // Two more may have been taken that nobody looks at, and two requests are open.
    drop(inbox);
    drop(client);
    drop(one);
    drop(write);
    let mut left = Vec::new();
    read.read_to_end(&mut left).unwrap();
    left.sort_unstable();
    assert_eq!(left, b"abc");
}

#[test]
fn who_else_has_the_pipe_still_waits_for_tokens() {
    let (client, _inbox, mut read, mut write) = client(b"", 1);
    drop(client);
    let waiting = std::thread::spawn(move || read.read(&mut [0]).map_err(|error| error.kind()));
    std::thread::sleep(SHORT);
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
        assert!(linux::Requests::start(&auth, |_| {}).is_none(), "{auth}");
    }
}

/// What other systems use can be called the same.
#[test]
fn elsewhere_is_the_same() {
    type Answer<T> = fn(io::Result<T>);
    let _: fn(&'static str, Answer<elsewhere::Token>) -> Option<elsewhere::Requests> = elsewhere::Requests::start;
    let _: fn(&'static str, Answer<linux::Token>) -> Option<linux::Requests> = linux::Requests::start;
    let _: [fn(&elsewhere::Requests); 1] = [elsewhere::Requests::send];
}
