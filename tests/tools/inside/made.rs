//! Creates archives for tests.

use crate::containers::archive;
use offload_tests::prelude::*;

/// A script that packs files with Python's modules, whose writers are independent of our code. The
/// archive's name determines the format.
const PACK: &str = "
import gzip, shutil, sys, tarfile, zipfile
archive, *files = sys.argv[1:]
if archive.endswith(('.zip', '.whl')):
    method = zipfile.ZIP_STORED if 'stored' in archive else zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(archive, 'w', method, compresslevel=1) as out:
        for file in files:
            out.write(file)
elif archive.endswith('.fatbin.gz'):
    with open(files[0], 'rb') as content, gzip.open(archive, 'wb') as out:
        shutil.copyfileobj(content, out)
else:
    mode = 'w:xz' if archive.endswith('.xz') else 'w' if archive.endswith('.tar') else 'w:gz'
    form = tarfile.PAX_FORMAT if 'pax' in archive else tarfile.GNU_FORMAT
    with tarfile.open(archive, mode, format=form) as out:
        for file in files:
            out.add(file)
        # Links are no files of their own, and names of any length are one name.
        link = tarfile.TarInfo('link')
        link.type, link.linkname = tarfile.SYMTYPE, files[0]
        out.addfile(link)
        out.addfile(tarfile.TarInfo('long/' * 60 + '\\u00e4'))
";

/// Packs a folder's files into `archive` with Python. The archive's name determines the format.
#[track_caller]
pub fn python(folder: &Path, archive: &str, files: &[&str]) {
    succeed(Command::new("python3").args(["-c", PACK, archive]).args(files).current_dir(folder));
}

/// Returns a Debian package as written by `dpkg-deb`. Its member `name` contains `data`, the
/// archive of the package's files.
pub fn deb(name: &str, data: &[u8]) -> Vec<u8> {
    archive(&[("debian-binary", b"2.0\n"), ("control.tar.xz", b"not read"), (name, data)])
}

/// A member of a zip archive, with the fields of its headers.
#[derive(Debug, Clone)]
pub struct Entry {
    pub name: Vec<u8>,
    /// The name in the member's own header, if this name differs from the one in the directory.
    pub local_name: Option<Vec<u8>>,
    /// The member's bytes as stored, compressed or not.
    pub stored: Vec<u8>,
    pub size: u32,
    pub checksum: u32,
    pub method: u16,
    pub flags: u16,
    /// The member's offset in the directory, if this offset differs from the real one.
    pub offset: Option<u32>,
}

impl Entry {
    pub fn new(name: &[u8], content: &[u8]) -> Self {
        Self {
            name: name.to_vec(),
            local_name: None,
            stored: content.to_vec(),
            size: content.len() as u32,
            checksum: checksum(content),
            method: 0,
            flags: 0,
            offset: None,
        }
    }

    pub fn deflated(name: &[u8], content: &[u8]) -> Self {
        use std::io::Write;
        let mut encoder =
            flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(content).expect("memory is there");
        Self {
            stored: encoder.finish().expect("memory is there"),
            method: 8,
            ..Self::new(name, content)
        }
    }
}

/// Returns the CRC of these bytes. Zip archives store a CRC for each member.
fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

pub fn zip(entries: &[Entry]) -> Vec<u8> {
    let (mut file, mut list) = (Vec::new(), Vec::new());
    for entry in entries {
        let offset = entry.offset.unwrap_or(file.len() as u32);
        let fields = |name: &[u8]| {
            let [flags, method] = [entry.flags, entry.method].map(u16::to_le_bytes);
            let length = (name.len() as u16).to_le_bytes();
            let sizes = [entry.checksum, entry.stored.len() as u32, entry.size];
            let sizes = sizes.map(u32::to_le_bytes).concat();
            [&[20, 0], &flags[..], &method, &[0; 4], &sizes, &length, &[0; 2]].concat()
        };
        let local = entry.local_name.as_deref().unwrap_or(&entry.name);
        file.extend([&b"PK\x03\x04"[..], &fields(local), local, &entry.stored].concat());
        let in_list = fields(&entry.name);
        let offset = offset.to_le_bytes();
        list.extend([b"PK\x01\x02\x14\0", &in_list[..], &[0; 10], &offset, &entry.name].concat());
    }
    let count = (entries.len() as u16).to_le_bytes();
    let [at, size] = [&file, &list].map(|part| (part.len() as u32).to_le_bytes());
    let end = [&b"PK\x05\x06\0\0\0\0"[..], &count, &count, &size, &at, &[0; 2]].concat();
    [file, list, end].concat()
}
