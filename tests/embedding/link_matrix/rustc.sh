#!/bin/sh
# What Cargo calls as rustc for the crates of the workspace: it lets `linker.sh` link them, and does $MATRIX_LTO to what is linked.
set -e
case " $* " in
*' --crate-name build_script_build '*) exec "$@" ;;
*' --crate-type bin '* | *' --crate-type cdylib '* | *' --crate-type staticlib '*) set -- "$@" ${MATRIX_LTO:+-Clto="$MATRIX_LTO"} ;;
esac
exec "$@" -Clinker="$(dirname "$0")/linker.sh"
