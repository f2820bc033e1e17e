#!/bin/sh
# What Cargo calls as rustc for the crates of the workspace: it lets `linker.sh` link them, and does $MATRIX_LTO to what is linked.
# It leaves which it was in the file lto of the folder $LINKED.
set -e
case " $* " in
*' --crate-name build_script_build '*) exec "$@" ;;
*' --crate-type bin '* | *' --crate-type cdylib '* | *' --crate-type staticlib '*)
    set -- "$@" ${MATRIX_LTO:+-Clto="$MATRIX_LTO"}
    echo "$MATRIX_LTO" > "$LINKED/lto"
    ;;
esac
exec "$@" -Clinker="$(dirname "$0")/linker.sh"
