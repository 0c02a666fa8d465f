"""The peers that have a Python interface, or a C interface that ctypes reaches.

Reads a JSON object a line, answers with one a line. Started with the number of threads. Its buffers
are its own, on huge pages and touched before; the source holds what minormajor's does.
"""

import ctypes
import glob
import json
import mmap
import os
import sys
import time

threads = int(sys.argv[1])
# Before any library counts the CPUs.
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])

import numpy as np

READING = 50e-6  # seconds that a reading of the clock spans at least
BRIEF, WARM = 2e-3, 4  # what takes less is done so often before the clock starts, as by minormajor::measure
DTYPES = {1: np.uint8, 2: np.uint16, 4: np.float32, 8: np.float64, 16: np.complex128}


class Absent(Exception):
    """Why a peer can't do a case."""


def library(name):
    """A shared library of this environment, whatever its last version numbers."""
    found = sorted(glob.glob(os.path.join(sys.prefix, "lib", name + "*")))
    if not found:
        raise Absent(f"there is no {name} in the environment")
    return ctypes.CDLL(found[-1], mode=ctypes.RTLD_GLOBAL)


def buffer(size):
    """Touched memory on huge pages, as bytes."""
    memory = mmap.mmap(-1, max(size, 1))
    memory.madvise(mmap.MADV_HUGEPAGE)
    array = np.frombuffer(memory, np.uint8)
    array[:] = 1
    return array[:size]


def words(start, stop):
    return np.arange(start, stop, dtype=np.uint64)


def fill(array):
    """The words of `measure::fill` in minormajor."""
    padded = np.empty(-(-array.size // 8), np.uint64)
    step = 1 << 20
    for start in range(0, padded.size, step):
        stop = min(start + step, padded.size)
        word = (words(start, stop) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        padded[start:stop] = word ^ (word >> np.uint64(29))
    array[:] = padded.view(np.uint8)[: array.size]


def checksum(array):
    """The sum over words of the word times its odd place."""
    total = 0
    step = 1 << 23
    for start in range(0, array.size, step):
        part = array[start : start + step]
        short = -part.size % 8
        if short:
            part = np.concatenate([part, np.zeros(short, np.uint8)])
        word = part.view(np.uint64)
        place = words(start // 8, start // 8 + word.size) * np.uint64(2) + np.uint64(1)
        total += int((word * place).sum(dtype=np.uint64))
    return total % (1 << 64)


class Job:
    """A relayout: the plan's boxes and fills, and the buffers."""

    def __init__(self, request):
        self.width = request["width"]
        self.boxes = request["boxes"]
        self.fills = request["fills"]
        self.permutation = request["permutation"]
        self.blocked = request["blocked"]
        self.source = buffer(request["source_bytes"])
        self.destination = buffer(request["destination_bytes"])
        fill(self.source)

    def dense(self):
        """Dimensions and order where the plan is a permutation."""
        if self.permutation is None:
            raise Absent("no plain permutation")
        return self.permutation["dimensions"], self.permutation["order"]


class NumPy:
    """Copies between strided views, box by box."""

    def __init__(self):
        self.version = np.__version__

    def prepare(self, job):
        width = job.width
        source, destination = (b.view(DTYPES[width]) for b in (job.source, job.destination))

        def view(array, offset, extents, strides):
            strides = [stride * width for stride in strides]
            return np.lib.stride_tricks.as_strided(array[offset:], extents, strides)

        pairs = []
        for box in job.boxes:
            extents, s, d = ([l[i] for l in box["loops"]] for i in range(3))
            to = view(destination, box["destination"], extents, d)
            pairs.append((to, view(source, box["source"], extents, s)))
        for box in job.fills:
            extents, d = ([l[i] for l in box["loops"]] for i in range(2))
            pattern = np.frombuffer(bytes(box["pattern"]), DTYPES[width])[0]
            pairs.append((view(destination, box["destination"], extents, d), pattern))
        return self.runner(pairs)

    def runner(self, pairs):
        def run():
            for to, what in pairs:
                np.copyto(to, what)

        return run


class Torch:
    """copy_ between strided views, box by box."""

    def __init__(self):
        import torch

        torch.set_num_threads(threads)
        self.torch = torch
        self.version = torch.__version__

    def prepare(self, job):
        torch = self.torch
        dtypes = {1: "uint8", 2: "bfloat16", 4: "float32", 8: "float64", 16: "complex128"}
        dtype = getattr(torch, dtypes[job.width])
        tensor = lambda array: torch.from_numpy(array).view(dtype)
        source, destination = tensor(job.source), tensor(job.destination)
        pairs = []
        for box in job.boxes:
            extents, s, d = ([l[i] for l in box["loops"]] for i in range(3))
            if min(s + d, default=0) < 0:
                raise Absent("no strides below zero")
            to = torch.as_strided(destination, extents, d, box["destination"])
            pairs.append((to, torch.as_strided(source, extents, s, box["source"])))
        for box in job.fills:
            extents, d = ([l[i] for l in box["loops"]] for i in range(2))
            to = torch.as_strided(destination, extents, d, box["destination"])
            pairs.append((to, torch.frombuffer(bytearray(box["pattern"]), dtype=dtype)[0]))

        def run():
            for to, what in pairs:
                to.copy_(what)

        return run


class Jax:
    """A jitted transpose. It allocates its result: the allocator keeps the pages of the last one."""

    def __init__(self):
        # Read when jax is imported.
        flags = "--xla_cpu_multi_thread_eigen=" + ("true" if threads > 1 else "false")
        os.environ["XLA_FLAGS"] = f"{flags} intra_op_parallelism_threads={threads}"
        os.environ["JAX_ENABLE_X64"] = "1"
        os.environ["JAX_PLATFORMS"] = "cpu"
        import jax

        self.jax = jax
        self.version = jax.__version__

    def prepare(self, job):
        dimensions, order = job.dense()
        jax = self.jax
        source = jax.numpy.asarray(job.source.view(DTYPES[job.width]).reshape(dimensions))
        transpose = jax.jit(lambda x: jax.numpy.transpose(x, order))
        transpose(source).block_until_ready()
        self.result = None

        def run():
            # Freed before the next is made, so that its pages serve again.
            self.result = None
            self.result = transpose(source).block_until_ready()

        return run

    def output(self, job):
        return np.asarray(self.result).reshape(-1).view(np.uint8)


class OneDnn:
    """A reorder between strided or blocked memories."""

    MAX = 12
    FROM, TO = 1, 17
    CPU = 1

    def __init__(self):
        self.lib = library("libdnnl.so.3")
        self.lib.dnnl_fmt_tag2str.restype = ctypes.c_char_p

        class Version(ctypes.Structure):
            _fields_ = [(name, ctypes.c_int) for name in ("major", "minor", "patch")]

        self.lib.dnnl_version.restype = ctypes.POINTER(Version)
        version = self.lib.dnnl_version().contents
        self.version = f"{version.major}.{version.minor}.{version.patch}"
        self.engine = self.make("dnnl_engine_create", ctypes.c_int(self.CPU), ctypes.c_size_t(0))
        self.stream = self.make("dnnl_stream_create", self.engine, ctypes.c_uint(1))
        self.tags = {}
        for tag in range(3000):
            name = self.lib.dnnl_fmt_tag2str(ctypes.c_int(tag)).decode()
            self.tags.setdefault(name, tag)

    def make(self, function, *arguments):
        handle = ctypes.c_void_p()
        status = getattr(self.lib, function)(ctypes.byref(handle), *arguments)
        if status != 0:
            raise Absent(f"{function} answers {status}")
        return handle

    def dims(self, numbers):
        return (ctypes.c_int64 * self.MAX)(*numbers)

    def strided(self, dimensions, strides, dtype):
        count = len(dimensions)
        function = "dnnl_memory_desc_create_with_strides"
        return self.make(function, count, self.dims(dimensions), dtype, self.dims(strides))

    def tagged(self, dimensions, name, dtype):
        function = "dnnl_memory_desc_create_with_tag"
        return self.make(function, len(dimensions), self.dims(dimensions), dtype, self.tags[name])

    def prepare(self, job):
        # u8, bf16, f32, f64 by width; nothing has 16 bytes.
        dtype = {1: 6, 2: 2, 4: 3, 8: 7}.get(job.width)
        if dtype is None:
            raise Absent(f"no type of {job.width} bytes")
        if job.blocked is not None:
            sizes, block = job.blocked["sizes"], job.blocked["block"]
            pair = [self.tagged(sizes, "abcd", dtype), self.tagged(sizes, f"aBcd{block}b", dtype)]
            pair = pair if job.blocked["to_blocks"] else pair[::-1]
        else:
            job.dense()
            loops = job.boxes[0]["loops"]
            if len(loops) > self.MAX:
                raise Absent(f"at most {self.MAX} dimensions")
            extents, s, d = ([l[i] for l in loops] for i in range(3))
            pair = [self.strided(extents, strides, dtype) for strides in (s, d)]
        reorder = self.make("dnnl_reorder_primitive_desc_create", pair[0], self.engine, pair[1], self.engine, None)
        primitive = self.make("dnnl_primitive_create", reorder)

        class Argument(ctypes.Structure):
            _fields_ = [("which", ctypes.c_int), ("memory", ctypes.c_void_p)]

        memories = [
            self.make("dnnl_memory_create", description, self.engine, ctypes.c_void_p(array.ctypes.data))
            for description, array in zip(pair, (job.source, job.destination))
        ]
        arguments = (Argument * 2)(
            Argument(self.FROM, memories[0].value), Argument(self.TO, memories[1].value)
        )
        execute, wait = self.lib.dnnl_primitive_execute, self.lib.dnnl_stream_wait
        stream = self.stream
        status = execute(primitive, stream, 2, arguments)
        if status != 0:
            raise Absent(f"dnnl_primitive_execute answers {status}")
        wait(stream)

        def run():
            execute(primitive, stream, 2, arguments)
            wait(stream)

        return run


class Mkl:
    """omatcopy: matrices, and batches of them."""

    def __init__(self):
        os.environ["MKL_THREADING_LAYER"] = "INTEL"
        self.lib = library("libmkl_rt.so")
        text = ctypes.create_string_buffer(200)
        self.lib.mkl_get_version_string(text, 200)
        words = text.value.decode().split("Version ")[-1].split()
        self.version = words[0]

    def prepare(self, job):
        dimensions, order = job.dense()
        if (len(dimensions), order) not in [(2, [1, 0]), (3, [0, 2, 1])]:
            raise Absent("matrices only")
        kinds = {4: ("S", ctypes.c_float), 8: ("D", ctypes.c_double)}
        if job.width == 16:

            class Complex(ctypes.Structure):
                _fields_ = [("real", ctypes.c_double), ("imaginary", ctypes.c_double)]

            letter, one = "Z", Complex(1.0, 0.0)
        elif job.width in kinds:
            letter, kind = kinds[job.width]
            one = kind(1.0)
        else:
            raise Absent(f"no type of {job.width} bytes")
        size = ctypes.c_size_t
        rows, columns = dimensions[-2:]
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (job.source, job.destination)]
        how = [ctypes.c_char(b"R"), ctypes.c_char(b"T"), size(rows), size(columns), one]
        if len(dimensions) == 2:
            function = getattr(self.lib, f"MKL_{letter}omatcopy")
            arguments = how + [pointers[0], size(columns), pointers[1], size(rows)]
        else:
            function = getattr(self.lib, f"MKL_{letter}omatcopy_batch_strided")
            stride = size(rows * columns)
            arguments = how + [pointers[0], size(columns), stride, pointers[1], size(rows), stride]
            arguments.append(size(dimensions[0]))
        function.restype = None

        def run():
            function(*arguments)

        return run


class Runner:
    """A peer made ready for a job."""

    def __init__(self, peer, job):
        self.peer, self.job = peer, job
        self.run = peer.prepare(job)
        self.count = 0
        self.last = BRIEF

    def read(self, count):
        run = self.run
        start = time.perf_counter()
        for _ in range(count):
            run()
        return time.perf_counter() - start

    def seconds(self):
        if self.last < BRIEF:
            for _ in range(WARM):
                self.run()
        elapsed = self.read(max(self.count, 1))
        if self.count == 0:
            self.count = 1
            while elapsed < READING:
                self.count *= 2
                elapsed = self.read(self.count)
        self.last = elapsed / self.count
        return self.last

    def checksum(self):
        self.job.destination[:] = 0xEE
        self.run()
        output = getattr(self.peer, "output", lambda job: job.destination)
        return checksum(output(self.job))


def main():
    # Nothing but answers may be written to the pipe.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(value):
        answers.write(json.dumps(value) + "\n")
        answers.flush()

    peers, missing = {}, {}
    # MKL before PyTorch, whose own copy of OpenMP would serve it otherwise.
    kinds = {"NumPy": NumPy, "MKL": Mkl, "oneDNN": OneDnn, "PyTorch": Torch, "JAX": Jax}
    for name, kind in kinds.items():
        try:
            peers[name] = kind()
        except Exception as error:
            missing[name] = f"{type(error).__name__}: {error}"
    answer({"versions": {name: peer.version for name, peer in peers.items()}, "missing": missing})
    runners = {}
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["do"] == "prepare":
                runners.clear()
                job = Job(request)
                for name, peer in peers.items():
                    try:
                        runners[name] = Runner(peer, job)
                    except Absent:
                        pass
                answer({"peers": list(runners)})
            elif request["do"] == "run":
                answer({"seconds": runners[request["peer"]].seconds()})
            else:
                answer({"checksum": runners[request["peer"]].checksum()})
        except Exception as error:
            answer({"error": f"{type(error).__name__}: {error}"})


main()
