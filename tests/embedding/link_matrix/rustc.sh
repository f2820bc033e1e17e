#!/bin/sh
# Cargo calls this script as rustc for the workspace's crates. Their linker is `linker.sh`, and linked crates get the
# link-time optimization $MATRIX_LTO, which the script also writes into the file $LINKED/lto.
set -e
case " $* " in
*' --crate-name build_script_build '*) exec "$@" ;;
*' --crate-type bin '* | *' --crate-type cdylib '* | *' --crate-type staticlib '*)
    set -- "$@" ${MATRIX_LTO:+-Clto="$MATRIX_LTO"}
    echo "$MATRIX_LTO" > "$LINKED/lto"
    ;;
esac
exec "$@" -Clinker="$(dirname "$0")/linker.sh"
