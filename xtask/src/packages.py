"""Fetches published packages, and compares what `cargo offload` reads in them with other readers.

    python3 xtask/src/packages.py [NAME...]

The other readers are cuobjdump (`cargo xtask setup` fetches it), and this script for fatbins that
cuobjdump omits, for bundles, code objects and tables of SYCL's images. `target/packages/NAME.txt`
lists the images with their SHA-256: `<` marks those of `cargo offload` alone, `>` those of the other
readers alone. A GPU counts if an image of the package serves it. OFFLOAD names a `cargo-offload` that
is used instead of this checkout's. The exit status is 1 if a reader differs."""
import collections
import hashlib
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

PACKAGES = {
    "aiter": "amd-aiter==0.1.7.post2.dev18",
    "comfy-kitchen": "comfy-kitchen==0.2.40",
    "librocsparse": "librocsparse0",
    "cufinufft": "cufinufft==2.5.1",
    "libraft": "libraft-cu12==26.10.0",
    "nvshmem": "nvidia-nvshmem-cu12==3.8.0",
    "dpnp": "dpnp==0.20.0",
    "dpctl": "dpctl==0.22.1",
    "libmathdx": "nvidia-libmathdx-cu13==0.4.2.37",
}
PLATFORMS = ["manylinux2014_x86_64"] + [f"manylinux_2_{n}_x86_64" for n in (17, 24, 26, 27, 28)]
ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "target/packages"
CUOBJDUMP = ROOT / ".tools/cuda13/nvidia/cu13/bin/cuobjdump"
SYCL = ROOT / "tests/tools/sycl/images.py"
GENERIC = {  # The processors of LLVM 22's AMDGPUUsage, "Generic processor code objects".
    "gfx9-generic": r"gfx90[024-69c]", "gfx9-4-generic": r"gfx9(4[0-2]|50)",
    "gfx10-1-generic": r"gfx101[0-3]", "gfx10-3-generic": r"gfx103[0-6]",
    "gfx11-generic": r"gfx11(0[0-3]|5[0-3])", "gfx12-generic": r"gfx120[01]",
}
MACHINES = {0x4C: "gfx942", 0x4F: "gfx950"}  # Those of AITER, from LLVM's AMDGPUUsage.
TEGRA = (53, 62, 72, 87, 101, 110)  # Machine code for other GPUs does not run there, nor theirs elsewhere.


def fetch(name):
    """Returns the package's file, downloaded at most once."""
    folder = FOLDER / name
    if not folder.is_dir():
        new = folder.with_suffix(".new")
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        what = PACKAGES[name]
        if "==" in what:
            platforms = [it for platform in PLATFORMS for it in ("--platform", platform)]
            subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:",
                            "--python-version", "312", *platforms, "-d", new, what], check=True)
        else:
            subprocess.run(["apt-get", "-q", "download", what], cwd=new, check=True)
        new.rename(folder)
    return next(folder.iterdir())


def digest(data):
    return hashlib.sha256(data).hexdigest()


def run(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, **options).stdout


def fatbins(data):
    """Yields the target and the stored bytes of each entry of the fatbins in a file."""
    at = 0
    while (at := data.find(b"\x50\xed\x55\xba\x01\0\x10\0", at)) >= 0:
        size, = struct.unpack_from("<Q", data, at + 8)
        end, at = at + 16 + size, at + 16
        while at < end:
            kind, _, header, padded, packed = struct.unpack_from("<HHIQI", data, at)
            arch, flags = struct.unpack_from("<I8xQ", data, at + 28)
            suffix = "a" if flags & 0x100000 else "f" if flags & 0x200000 else ""
            prefix = {1: "compute", 2: "sm", 8: "lto"}.get(kind, f"kind{kind}")
            yield f"{prefix}_{arch}{suffix}", data[at + header:at + header + (packed or padded)]
            at += header + padded


def nvidia(path, data):
    entries = list(fatbins(data))
    with tempfile.TemporaryDirectory() as folder:
        # cuobjdump does not extract LTO-IR, and does not look into `.data`.
        out = subprocess.run([CUOBJDUMP, "-all", "-xelf", "all", "-xptx", "all", path], cwd=folder, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout
        names = re.findall(r"\S+\.(?:cubin|ptx)\b", out)
        found = [(it.replace(".ptx", "").replace(".sm", ".compute") if it.endswith("ptx") else it,
                  (pathlib.Path(folder) / it).read_bytes()) for it in names]

    def key(it):
        kind, number = re.search(r"(\w+)_(\d+)\w?(\.cubin)?$", it[0]).groups()[:2]
        return kind, int(number)

    if len(found) != len(entries):
        print(f"  {path.name}: cuobjdump has {len(found)} images, the fatbins have {len(entries)}")
        return [(target, digest(stored)) for target, stored in entries]
    # The files' names lack the `f` of `sm_100f`.
    pairs = list(zip(sorted(entries, key=key), sorted(found, key=key)))
    assert all(key(a) == key(b) for a, b in pairs), path
    return [(entry[0], digest(data)) for entry, (_, data) in pairs]


def bundles(data):
    """Yields the target and the digest of each code object in the bundles of a file."""
    for found in re.finditer(rb"__CLANG_OFFLOAD_BUNDLE__(?=.{7}\0)|CCOB(?=[\2\3]\0[\0\1]\0)", data, re.DOTALL):
        start = found.start()
        if found[0] != b"CCOB":
            yield from bundle(data, start)
            continue
        version, method = struct.unpack_from("<HH", data, start + 4)
        size, = struct.unpack_from("<I" if version == 2 else "<Q", data, start + 8)
        packed = data[start + (24 if version == 2 else 32):start + size]
        yield from bundle(run("zstd", "-dcq", input=packed) if method else zlib.decompress(packed))


def bundle(data, start=0):
    at = start + 32
    for _ in range(struct.unpack_from("<Q", data, start + 24)[0]):
        offset, size, length = struct.unpack_from("<QQQ", data, at)
        name = data[at + 24:at + 24 + length].decode()
        at += 24 + length
        if size:
            yield name.split("--")[-1], digest(data[start + offset:start + offset + size])


def images(path):
    """Returns the target and the digest of each image in a file."""
    data = path.read_bytes()
    machine = data[18] if data[:4] == b"\x7fELF" else None
    if machine == 224:  # AMDGPU
        return [(MACHINES[data[48]], digest(data))]
    if data[:4] == b"\x03\x02\x23\x07" or data[:4] == b"BC\xc0\xde":
        return [("spirv" if data[0] == 3 else "bitcode", digest(data))]
    found = list(bundles(data))
    if b"\x50\xed\x55\xba\x01\0\x10\0" in data:
        found += nvidia(path, data)
    if machine and b"\0.tgtimg\0" in data:
        lines = run(sys.executable, SYCL, path).decode().splitlines()
        found += [("spir64", line.split()[3]) for line in lines]
    return found


def serves(target, device):
    (target, *modes), (device, *states) = target.split(":"), device.split(":")
    if target.startswith(("sm_", "compute_")) and device.startswith("sm_"):
        number, suffix = re.match(r"\w+_(\d+)(\w?)", target).groups()
        number, of = int(number), int(device[3:])
        if number == of or suffix == "a":
            return number == of
        if target[0] == "c" and not suffix:
            return number < of
        return number // 10 == of // 10 and number < of and not {number, of} & set(TEGRA)
    if modes and states and modes != states:
        return False
    is_spirv = target == "spir64" and device.startswith("spirv64")
    return is_spirv or target == device or bool(re.fullmatch(GENERIC.get(target, "-"), device))


def compare(name, offload):
    """Prints the differences; returns the row of the table."""
    package = fetch(name)
    listed = json.loads(run(offload, "ls", "--json", package))
    reached = json.loads(run(offload, "reach", "--json", package, stderr=subprocess.DEVNULL))
    tree = FOLDER / f"{name}.tree"
    if not tree.is_dir():
        unpack = ["dpkg-deb", "-x"] if package.suffix == ".deb" else [sys.executable, "-m", "zipfile", "-e"]
        subprocess.run([*unpack, package, tree], check=True)
    ours, theirs = collections.Counter(), collections.Counter()
    for file in listed["files"]:
        for it in file["images"]:
            if it["size"] and it["offload_kind"] != "host":
                target = it["target_id"] or it["triple"] or it["image_kind"]
                ours[file["file"].removeprefix("./"), target, it["sha256"]] += 1
    for path in sorted(tree.rglob("*")):
        if path.is_file() and not path.is_symlink():
            for it in images(path):
                theirs[str(path.relative_to(tree)), *it] += 1
    both = ours & theirs
    rows = [*((" ", it) for it in both.elements()), *(("<", it) for it in (ours - both).elements()),
            *((">", it) for it in (theirs - both).elements())]
    rows.sort(key=lambda row: row[1])
    (FOLDER / f"{name}.txt").write_text("".join(f"{mark} {' '.join(it)}\n" for mark, it in rows))
    different = [f"  {mark} {' '.join(it)}" for mark, it in rows if mark != " "]
    print("\n".join([*different[:20], f"  {len(different)} differences in the images"]))
    gets = [(it["device"], any(get["how"] != "nothing" for get in it["gets"]))
            for record in reached for it in record["devices"]]
    reach = {device for device, is_served in gets if is_served}
    targets = {target for _, target, _ in theirs}
    expected = {it for it, _ in gets if any(serves(target, it) for target in targets)}
    print("  reach:", *sorted(reach))
    for mark, alone in ("<", reach - expected), (">", expected - reach):
        print(*(f"  {mark} {device}\n" for device in sorted(alone)), sep="", end="")
    return (PACKAGES[name], sum(ours.values()), sum(theirs.values()), len(different),
            len(reach), len(expected), len(reach ^ expected))


def main():
    offload = os.environ.get("OFFLOAD")
    if not offload:
        build = ["cargo", "build", "-q", "--release", "-p", "offload-tools", "--bin", "cargo-offload"]
        subprocess.run(build, cwd=ROOT, check=True)
        offload = ROOT / "target/release/cargo-offload"
    table = []
    for name in sys.argv[1:] or PACKAGES:
        print(name, flush=True)
        table.append(compare(name, offload))
    print("| package | images | by others | different | GPUs of reach | by others | different |", "|---" * 7 + "|", sep="\n")
    for row in table:
        print("|", *(f"{it} |" for it in row))
    return any(row[3] or row[6] for row in table)


sys.exit(main())
