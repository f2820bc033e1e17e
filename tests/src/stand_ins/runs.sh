#!/bin/sh
# Makes a shared object of the kernels of a source, which stand-ins for drivers run: `runs.sh SOURCE.cu OBJECT.so`.
# CXX is the C++ compiler, CXXFLAGS has more options. Kernels are found by how sources of this repository declare them.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$(realpath "$1")
{
  printf '#include "%s"\n#include "%s/runs.h"\n' "$source" "$here"
  # Sources that others include declare kernels, too.
  for file in "$source" $(sed -n 's/^#include "\(.*\.cu\)"$/\1/p' "$source" | sed "s|^|$(dirname "$source")/|"); do
    sed -nE -e 's/^extern "C" __global__ void (__launch_bounds__\([0-9, ]*\) )?([A-Za-z_0-9]+)\(.*/\2/p' \
      -e 's/^(KERNEL|PROBE)\(([A-Za-z_0-9]+)\).*/\2/p' "$file"
  done | while read -r name; do
    if grep -q "KERNEL_FROM($name)" "$source"; then echo "STAND_IN_FROM($name)"; else echo "STAND_IN($name)"; fi
  done
} >"$2.cc"
# shellcheck disable=SC2086
${CXX:-g++} -std=gnu++17 -O1 -w -fPIC -shared -fvisibility=hidden -fno-gnu-unique -DSTAND_IN ${CXXFLAGS:-} -I "$(dirname "$source")" \
  -I "$here/../../../offload-build/include" -include offload/kernel.h "$2.cc" -o "$2"
