#!/bin/sh
# rustc calls this script as its linker. It links with rust-lld, GNU ld and mold, and leaves each result in the folder $LINKED
# as <name>.<linker>. rustc gets the result of rust-lld. Users choose linkers with the same options.
set -e
output='' before=''
for argument; do
    [ "$before" = -o ] && output=$argument
    before=$argument
done
# <name>-<hash>, or lib<name>.so
name=$(basename "$output" | sed 's/-[0-9a-f]*$//; s/^lib\(.*\)\.so$/\1/')
cc "$@" -B"$RUST_LLD" -fuse-ld=lld -o "$LINKED/$name.lld"
cc "$@" -fuse-ld=bfd -o "$LINKED/$name.bfd"
cc "$@" -fuse-ld=mold -o "$LINKED/$name.mold"
cp "$LINKED/$name.lld" "$output"
