#!/bin/sh
# Makes a shared object from a source's kernels, which stand-ins for drivers run: `runs.sh SOURCE.cu OBJECT.so`. CXX is the C++
# compiler, and CXXFLAGS contains more options. The script finds kernels by the form of declarations in this repository.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$(realpath "$1")
cxx() {
  # shellcheck disable=SC2086
  ${CXX:-g++} -std=gnu++17 -O1 -w -Wno-psabi -fPIC -fvisibility=hidden -fno-gnu-unique ${CXXFLAGS:-} "$@"
}

{
  printf '#include "%s"\n#include "%s/runs.h"\n' "$source" "$here"
  # Sources that this source includes may declare kernels, too.
  for file in "$source" $(sed -n 's/^#include "\(.*\.cu\)"$/\1/p' "$source" | sed "s|^|$(dirname "$source")/|"); do
    sed -nE -e 's/^extern "C" __global__ void (__launch_bounds__\([0-9, ]*\) )?([A-Za-z_0-9]+)\(.*/\2/p' \
      -e 's/^(KERNEL|PROBE)\(([A-Za-z_0-9]+)\).*/\2/p' "$file"
  done | while read -r name; do echo "STAND_IN($name)"; done
} >"$2.cc"
cxx -DSTAND_IN -I "$(dirname "$source")" -I "$here/../../../offload-build/include" -include offload/kernel.h -c "$2.cc" -o "$2.o"

# Define the variables of `extern __shared__` as offload-build does. compile/extern_shared.rs explains why.
shared=$(readelf -sW "$2.o" | awk '$4 == "TLS" && $7 == "UND" { print $8 }')
if [ -n "$shared" ]; then
  {
    echo '.section .tbss,"awT",%nobits'
    echo '.balign 128'
    for name in memory_of_block $shared; do
      printf '.globl %s\n.hidden %s\n.type %s, %%object\n%s:\n' "$name" "$name" "$name" "$name"
    done
    echo '.zero 262144'
    # Define the functions that initialize the variables.
    echo '.text'
    for name in $shared; do
      case $name in _Z*) function=_ZTH${name#_Z} ;; *) function=_ZTH${#name}$name ;; esac
      printf '.globl %s\n.hidden %s\n%s:\n' "$function" "$function" "$function"
    done
    echo 'ret'
    echo '.section .note.GNU-stack,"",%progbits'
  } >"$2.shared.s"
  cat >"$2.shared.cc" <<END
extern "C" __attribute__((visibility("hidden"))) __thread char memory_of_block[];
extern "C" __attribute__((visibility("hidden"))) char *offload_cpu_extern_shared(__SIZE_TYPE__ *size) {
  *size = 262144;
  return memory_of_block;
}
END
  cxx -shared "$2.o" "$2.shared.s" "$2.shared.cc" -o "$2"
else
  cxx -shared "$2.o" -o "$2"
fi
