#!/bin/sh
# Runs every check on every device of this machine, in at most 7 minutes. It needs a driver and the
# C library, nothing else. The results go to result.json: in $OUT, else beside this script, else in
# the folder for temporary files.
#
# Exit status: 0 a GPU ran every check, 1 something is not as it should be, 3 no GPU ran.
#
#   sh run.sh [--seconds N] [--device cuda:0]
here=$(cd "$(dirname "$0")" && pwd) || exit 2
for folder in "$OUT" "$here" "${TMPDIR:-/tmp}"; do
  if [ -n "$folder" ] && [ -w "$folder" ]; then break; fi
done
"$here/bin/gpu-checks" all --json "$folder/result.json" "$@"
status=$?
echo "the results are in $folder/result.json"
exit $status
