#!/bin/sh
# Runs every check on every device of this machine, in at most 7 minutes. It needs only a driver and
# the C library. The results go to result.json: in $OUT, or else in the folder of this script, or
# else in the folder for temporary files.
#
# Exit status: 0 a GPU ran every check, 1 a check has a finding, 3 no GPU ran, 4 the time was over
# before the last check.
#
#   sh run.sh [--seconds N] [--device cuda:0]
here=$(cd "$(dirname "$0")" && pwd) || exit 2
for folder in "$OUT" "$here" "${TMPDIR:-/tmp}"; do
  if [ -n "$folder" ] && [ -w "$folder" ]; then break; fi
done
# A copy of the folder may have lost the permission to run, and a file system may not allow running.
bin=$here/bin
[ -x "$bin/gpu-checks" ] || chmod +x "$bin"/* 2>/dev/null
if ! [ -x "$bin/gpu-checks" ]; then
  bin=$(mktemp -d) && cp "$here"/bin/* "$bin" && chmod +x "$bin"/* || exit 2
fi
# Write no core files: kernels that fault end processes that use much memory.
ulimit -c 0
exec "$bin/gpu-checks" all --json "$folder/result.json" "$@"
