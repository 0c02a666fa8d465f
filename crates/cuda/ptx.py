"""Compiles kernels.cu to PTX with NVRTC and prints where ptxas is: `ptx.py OUT`.

Started by `cargo xtask ptx`, with an interpreter that has the wheels of requirements.txt.
"""

import ctypes
import glob
import os
import sys

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernels")
# The oldest architecture that kernels are for; drivers compile PTX on for every newer one.
OPTIONS = ["--gpu-architecture=compute_80", "--std=c++17", "--device-as-default-execution-space",
           # Results are the same bits as on the host.
           "--fmad=false"]


def installed(*path):
    """A file of a wheel that is installed beside this interpreter's packages."""
    for folder in sys.path:
        found = glob.glob(os.path.join(folder, "nvidia", *path))
        if found:
            return found[0]
    sys.exit(f"{path[-1]} was not found: install the wheels of requirements.txt")


def library():
    # NVRTC looks for its builtins by name only.
    ctypes.CDLL(installed("cuda_nvrtc", "lib", "libnvrtc-builtins.so.*"))
    return ctypes.CDLL(installed("cuda_nvrtc", "lib", "libnvrtc.so.*"))


def compile_ptx():
    nvrtc = library()
    headers = sorted(glob.glob(os.path.join(FOLDER, "*.cuh")))
    texts = [open(path, "rb").read() for path in headers]
    names = [os.path.basename(path).encode() for path in headers]
    source = open(os.path.join(FOLDER, "kernels.cu"), "rb").read()
    strings = lambda list_: (ctypes.c_char_p * len(list_))(*list_)
    program = ctypes.c_void_p()

    def call(function, *arguments):
        status = getattr(nvrtc, function)(*arguments)
        if status != 0:
            nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
            sys.exit(f"{function}: {nvrtc.nvrtcGetErrorString(status).decode()}\n{log()}")

    def log():
        size = ctypes.c_size_t()
        if not program or nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size)) != 0:
            return ""
        text = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, text)
        return text.value.decode()

    call("nvrtcCreateProgram", ctypes.byref(program), source, b"kernels.cu", len(headers),
         strings(texts), strings(names))
    options = [option.encode() for option in OPTIONS]
    call("nvrtcCompileProgram", program, len(options), strings(options))
    if log().strip():
        print(log(), file=sys.stderr)
    size = ctypes.c_size_t()
    call("nvrtcGetPTXSize", program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    call("nvrtcGetPTX", program, ptx)
    # Comments name the compiler's build; the code is what counts.
    lines = (line for line in ptx.value.decode().splitlines() if not line.startswith("//"))
    return "\n".join(lines).strip() + "\n"


with open(sys.argv[1], "w", encoding="ascii") as out:
    out.write(compile_ptx())
print(installed("cuda_nvcc", "bin", "ptxas"))
