"""Prints the images in `.tgtimg` of a 64-bit program or object, one per line, in the order of the file:
offset, size, section, and the SHA-256 of the bytes, or `zstd` for a zstd frame."""
import hashlib
import struct
import sys


def elf(data):
    """Returns the sections (name, address, offset, size), and the targets of relocations."""
    table, = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    rows = [struct.unpack_from("<IIQQQQIIQQ", data, table + i * size) for i in range(count)]

    def name(row):
        at = rows[names][4] + row[0]
        return data[at:data.index(b"\0", at)].decode()

    is_object = data[16] == 1
    # Sections of objects have no addresses, so give each a different one.
    address = [i << 32 if is_object else row[3] for i, row in enumerate(rows)]
    sections = [(name(row), address[i], row[4], 0 if row[1] == 8 else row[5])
                for i, row in enumerate(rows) if row[2] & 2]
    targets = {}
    for row in rows:
        for at in range(row[4], row[4] + row[5], 24) if row[1] == 4 else []:
            where, info, addend = struct.unpack_from("<QQq", data, at)
            if is_object:
                entry = rows[row[6]][4] + (info >> 32) * 24
                index, value = struct.unpack_from("<HQ", data, entry + 6)
                targets[address[row[7]] + where] = address[index] + value + addend
            elif info >> 32 == 0:
                targets[where] = addend
    return sections, targets


def pe(data):
    at, = struct.unpack_from("<I", data, 0x3C)
    count, optional = struct.unpack_from("<H12xH", data, at + 6)
    base, = struct.unpack_from("<Q", data, at + 48)
    sections = []
    for i in range(count):
        row = struct.unpack_from("<8sIIII", data, at + 24 + optional + i * 40)
        name, memory, address, stored, offset = row
        name = name.rstrip(b"\0").decode()
        sections.append((name, base + address, offset, min(memory, stored)))
    return sections, {}


data = open(sys.argv[1], "rb").read()
sections, targets = elf(data) if data.startswith(b"\x7fELF") else pe(data)
_, table, table_offset, table_size = next(it for it in sections if it[0] == ".tgtimg")
lines = []
for at in range(0, table_size - 15, 16):
    start, size = struct.unpack_from("<QQ", data, table_offset + at)
    start = start or targets.get(table + at, 0)
    if start == 0:
        continue
    name, address, offset, _ = next(it for it in sections if it[1] and it[1] <= start < it[1] + it[3])
    offset += start - address
    image = data[offset:offset + size]
    is_frame = image.startswith(b"\x28\xb5\x2f\xfd")
    lines.append((offset, size, name, "zstd" if is_frame else hashlib.sha256(image).hexdigest()))
for line in sorted(lines):
    print(*line)
