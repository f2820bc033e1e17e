#!/bin/sh
# What Cargo calls as rustc for the crates of the workspace: it lets `linker.sh` link them, and does $MATRIX_LTO in place of thin
# LTO. It leaves which it was in the file lto of the folder $LINKED.
set -e
case " $* " in *' --crate-name build_script_build '*) exec "$@" ;; esac
for argument; do
    shift
    if [ "$argument" = lto=thin ]; then
        argument=lto=$MATRIX_LTO
        echo "$MATRIX_LTO" > "$LINKED/lto"
    fi
    set -- "$@" "$argument"
done
exec "$@" -Clinker="$(dirname "$0")/linker.sh"
