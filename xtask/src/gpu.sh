#!/bin/sh
# Runs every check on every device of this machine, in at most 7 minutes. It needs a driver and the
# C library, nothing else. The results go to result.json: in $OUT, else beside this script, else in
# the folder for temporary files.
#
# Exit status: 0 a GPU ran every check, 1 something is not as it should be, 3 no GPU ran, 4 the time
# was over before the last check.
#
#   sh run.sh [--seconds N] [--device cuda:0]
here=$(cd "$(dirname "$0")" && pwd) || exit 2
for folder in "$OUT" "$here" "${TMPDIR:-/tmp}"; do
  if [ -n "$folder" ] && [ -w "$folder" ]; then break; fi
done
# A copy may have lost the permission to run, and a file system may not give it.
bin=$here/bin
[ -x "$bin/gpu-checks" ] || chmod +x "$bin"/* 2>/dev/null
if ! [ -x "$bin/gpu-checks" ]; then
  bin=$(mktemp -d) && cp "$here"/bin/* "$bin" && chmod +x "$bin"/* || exit 2
fi
# Kernels that fault end processes with large memory.
ulimit -c 0
exec "$bin/gpu-checks" all --json "$folder/result.json" "$@"
