//! Checks links of HTML pages: each must lead to an existing file, and to an existing place in it.

use crate::run::{Failure, Result};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The state of a check: the numbers of pages and links, the dead links, and the places in visited
/// pages.
#[derive(Debug, Default)]
struct Walk {
    pages: usize,
    links: usize,
    dead: Vec<String>,
    /// The places in each page that links can name.
    places: HashMap<PathBuf, HashSet<String>>,
}

/// Follows every link from the pages in a folder to other files of that folder. Links to other
/// hosts are not followed.
///
/// Returns an error that lists the dead links.
pub fn check(folder: &Path) -> Result {
    let mut walk = Walk::default();
    for page in pages(folder)? {
        walk.page(folder, &page)?;
    }
    if walk.pages == 0 {
        return Err(Failure::Failed(format!("there are no pages in `{}`", folder.display())));
    }
    if walk.dead.is_empty() {
        eprintln!("xtask: {} links of {} pages lead somewhere", walk.links, walk.pages);
        return Ok(());
    }
    Err(Failure::Failed(format!(
        "{} dead links in `{}`:\n{}",
        walk.dead.len(),
        folder.display(),
        walk.dead.join("\n")
    )))
}

impl Walk {
    fn page(&mut self, folder: &Path, page: &Path) -> Result {
        let html = read(page)?;
        self.pages += 1;
        for link in attributes(&html, "href").chain(attributes(&html, "src")) {
            if link.contains("://") || link.starts_with("mailto:") || link.starts_with("data:") {
                continue;
            }
            // A path of Rust comes from a comment of another crate (bytemuck), whose pages are not
            // made here. rustdoc refuses such a link in comments of ours.
            if link.contains("::") {
                continue;
            }
            self.links += 1;
            if let Some(why) = self.dead(folder, page, &link)? {
                let page = page.strip_prefix(folder).unwrap_or(page);
                self.dead.push(format!("  {}: {link}: {why}", page.display()));
            }
        }
        Ok(())
    }

    /// Returns the reason why a link of a page is dead.
    fn dead(&mut self, folder: &Path, page: &Path, link: &str) -> Result<Option<&'static str>> {
        let (path, place) = link.split_once('#').unwrap_or((link, ""));
        let path = path.split_once('?').map_or(path, |(path, _)| path);
        let Some(mut file) = resolved(page, path) else {
            return Ok(Some("it leads out of the pages"));
        };
        if file.is_dir() {
            file.push("index.html");
        }
        if !file.starts_with(folder) {
            return Ok(Some("it leads out of the pages"));
        }
        if !file.is_file() {
            return Ok(Some("there is no such file"));
        }
        // Places in pages of source code are not checked: a script on the page finds the lines, and
        // also accepts ranges of lines.
        let is_source = file.strip_prefix(folder).is_ok_and(|file| file.starts_with("src"));
        if place.is_empty()
            || is_source
            || file.extension().is_none_or(|extension| extension != "html")
        {
            return Ok(None);
        }
        if !self.places.contains_key(&file) {
            let places = attributes(&read(&file)?, "id").collect();
            self.places.insert(file.clone(), places);
        }
        Ok(if self.places[&file].contains(place) {
            None
        } else {
            Some("the page has no such place")
        })
    }
}

/// Returns the path that a link means, with `..` resolved; `None` if there are too many `..`.
fn resolved(page: &Path, link: &str) -> Option<PathBuf> {
    if link.is_empty() {
        return Some(page.to_owned());
    }
    let mut path = page.parent()?.to_owned();
    for part in Path::new(&decoded(link)).components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::CurDir => {}
            Component::ParentDir if path.pop() => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(path)
}

/// Returns the values of an attribute, in quotes, as rustdoc writes them.
fn attributes<'h>(html: &'h str, name: &str) -> impl Iterator<Item = String> + use<'h> {
    let start = format!(" {name}=\"");
    let mut rest = html;
    std::iter::from_fn(move || {
        rest = &rest[rest.find(&start)? + start.len()..];
        let (value, after) = rest.split_once('"')?;
        rest = after;
        Some(decoded(
            &value
                .replace("&lt;", "<")
                .replace("&gt;", ">")
                .replace("&quot;", "\"")
                .replace("&amp;", "&"),
        ))
    })
}

/// Returns text in which `%20` and similar codes are replaced by their characters.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let digits = after.get(..2).and_then(|digits| str::from_utf8(digits).ok());
        match digits
            .and_then(|digits| u8::from_str_radix(digits, 16).ok())
            .filter(|_| *first == b'%')
        {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns all pages of a folder and of its subfolders.
fn pages(folder: &Path) -> Result<Vec<PathBuf>> {
    // These pages of rustdoc link to a list of crates that rustdoc does not write.
    const OWN: [&str; 2] = ["help.html", "settings.html"];
    let failed = |error| Failure::Failed(format!("cannot list `{}`: {error}", folder.display()));
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        // Pages of sources are left out, because they show text that looks like links.
        if path.is_dir() && !path.ends_with("doc/src") {
            found.append(&mut pages(&path)?);
        } else if path.is_file()
            && path.extension().is_some_and(|extension| extension == "html")
            && !OWN.iter().any(|own| path.ends_with(own))
        {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn read(page: &Path) -> Result<String> {
    let bytes = fs::read(page)
        .map_err(|error| Failure::Failed(format!("cannot read `{}`: {error}", page.display())))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_links_are_found() {
        let folder = std::env::temp_dir().join(format!("xtask-links-{}", std::process::id()));
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(
            "a/index.html",
            r##"<a href="../b.html#here"> <a href="../b.html?x#h%65re"> <a id="own" href="#own">"##,
        );
        write(
            "b.html",
            r#"<p id="here"><a href="a"><a href="https://example.org/none"><a href="a/#own">"#,
        );
        let good = check(&folder);
        write(
            "c.html",
            r##"<a href="none.html"> <a href="b.html#none"> <a href="#none"> <a href="../../x">"##,
        );
        let Err(Failure::Failed(dead)) = check(&folder) else { panic!("dead links are found") };
        fs::remove_dir_all(&folder).unwrap();
        assert!(good.is_ok(), "{good:?}");
        assert!(dead.starts_with("4 dead links"), "{dead}");
        for line in [
            "c.html: none.html: there is no such file",
            "c.html: b.html#none: the page has no such place",
        ] {
            assert!(dead.contains(line), "{dead}");
        }
    }
}
