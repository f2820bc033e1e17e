"""The library, from Python:  python3 vectors.py target/release/libmodule_library.so"""

import ctypes
import sys

library = ctypes.CDLL(sys.argv[1])


def call(name, numbers, operand):
    function = getattr(library, name)
    function.argtypes = [ctypes.POINTER(ctypes.c_float), ctypes.c_size_t, ctypes.c_float]
    array = (ctypes.c_float * len(numbers))(*numbers)
    if function(array, len(numbers), operand):
        sys.exit(1)
    return list(array)


numbers = call("vectors_shift", [1, 2, 3, 4], 0.5)
print("shift by 0.5:", numbers)
print("limit to 3.0:", call("vectors_limit", numbers, 3.0))
