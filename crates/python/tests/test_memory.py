"""Who owns memory: owners that count, buffers that change size, threads. `cargo xtask sanitize --python`
runs this file under valgrind."""

import ctypes
import gc
import pickle
import sys
import threading

import numpy as np
import pytest

import minormajor as mm

LOOPS = 60


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("dtype", ctypes.c_uint8 * 4),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class DLManagedTensor(ctypes.Structure):
    pass


DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(DLManagedTensor))
DLManagedTensor._fields_ = [
    ("tensor", DLTensor),
    ("context", ctypes.c_void_p),
    ("deleter", DELETER),
]

ctypes.pythonapi.PyCapsule_New.restype = ctypes.py_object
ctypes.pythonapi.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
LIBC = ctypes.CDLL(None)
LIBC.malloc.restype = ctypes.c_void_p
LIBC.malloc.argtypes = [ctypes.c_size_t]
LIBC.free.argtypes = [ctypes.c_void_p]


class Exporter:
    """A library of its own: f32 in memory of malloc's, which DLPack's deleter frees."""

    alive = 0
    deleted = 0
    # What is alive, by address: ctypes' objects must be.
    held = {}

    def __init__(self, sizes, device=1):
        self.sizes, self.device = sizes, device

    def __dlpack_device__(self):
        return (self.device, 0)

    def __dlpack__(self, **options):
        count = int(np.prod(self.sizes))
        managed = DLManagedTensor()
        data = LIBC.malloc(4 * count)
        values = (ctypes.c_float * count).from_address(data)
        values[:] = range(count)
        shape = (ctypes.c_int64 * len(self.sizes))(*self.sizes)
        managed.tensor = DLTensor(data, (self.device, 0), len(self.sizes), (2, 32, 1, 0), shape, None, 0)
        managed.deleter = DELETER(Exporter.delete)
        address = ctypes.addressof(managed)
        Exporter.held[address] = (managed, shape)
        Exporter.alive += 1
        return ctypes.pythonapi.PyCapsule_New(address, b"dltensor", None)

    @staticmethod
    def delete(managed):
        Exporter.alive -= 1
        Exporter.deleted += 1
        LIBC.free(managed.contents.tensor.data)
        del Exporter.held[ctypes.addressof(managed.contents)]


def test_deleters_are_called_once():
    before = Exporter.deleted
    expected = np.arange(15, dtype=np.float32).reshape(3, 5)
    for _ in range(LOOPS):
        moved = mm.relayout(Exporter((3, 5)), "{0,1}")
        assert Exporter.alive == 0 and (moved == expected).all()
    assert Exporter.deleted - before == LOOPS
    for _ in range(LOOPS):
        view = mm.transpose(Exporter((3, 5)))
        again = mm.transpose(view)[1:]
        del view
        gc.collect()
        assert Exporter.alive == 1 and (again == expected[1:]).all()
        del again
        assert Exporter.alive == 0
    for call in (
        lambda: mm.relayout(Exporter((3, 5)), "{0}"),
        lambda: mm.relayout(Exporter((3, 5)), out=np.zeros((2, 2), np.float32)),
        lambda: mm.pack(Exporter((3, 5)), "f32[4,4]"),
    ):
        with pytest.raises(mm.Error):
            call()
    gc.collect()
    assert Exporter.alive == 0
    assert mm.layout_of(Exporter((3, 5))).sizes == (3, 5)
    assert mm.pack(Exporter((3, 5)), "{0,1}").nbytes == 60
    assert Exporter.alive == 0


class OnAGpu:
    """Both protocols say that the address is a GPU's; reading it would end the process."""

    __cuda_array_interface__ = {
        "shape": (2, 3),
        "typestr": "<f4",
        "data": (0xDEAD000, False),
        "version": 3,
    }
    __array_interface__ = __cuda_array_interface__


@pytest.mark.parametrize("given", [OnAGpu(), Exporter((2, 3), 2)])
def test_memory_of_a_gpu_is_never_read_by_the_host(given):
    for call in (
        lambda: mm.relayout(given, "{0,1}"),
        lambda: mm.ascontiguous(given, "F"),
        lambda: mm.pack(given, "{0,1}"),
        lambda: mm.unpack(given, "f32[2,3]"),
        lambda: mm.Tensor(given),
    ):
        # There is no card, or the address is none of its.
        with pytest.raises(mm.DeviceError, match="there is no device|not in the device's memory"):
            call()
    for call in (
        lambda: mm.relayout(np.zeros((2, 3), np.float32), out=given),
        lambda: mm.save("never-written.npy", given),
    ):
        with pytest.raises(TypeError, match="copy it to the CPU first"):
            call()
    with pytest.raises(TypeError, match="no method transpose"):
        mm.transpose(given)
    # What is said of it is enough for these.
    assert mm.relayout(given, "{1,0}") is given
    assert mm.plan(given, "{0,1}") == mm.plan("f32[2,3]", "{0,1}")
    assert mm.why_not_a_view(given, 6) is None
    assert mm.layout_of(given).shape == mm.Shape("f32[2,3]{1,0}")
    gc.collect()
    assert Exporter.alive == 0


def test_arrays_keep_the_memory_of_tensors():
    expected = np.arange(6.0)
    for _ in range(LOOPS):
        view = mm.Tensor(expected.reshape(2, 3))[1:].T.numpy()[::-1]
        gc.collect(0)
        assert view.tolist() == [[5], [4], [3]]
        again = np.from_dlpack(mm.Tensor(expected))
        gc.collect(0)
        assert again.tolist() == expected.tolist()
    columns = mm.Tensor(expected.reshape(2, 3), device="cpu:columns")
    tiled = columns.relayout("{1,0:T(2,2)}")
    made = mm.Tensor(expected)
    held = [made, expected, columns, tiled]

    def calls():
        for give in (made.numpy, lambda: np.from_dlpack(made), lambda: made[::2].T, lambda: list(made)):
            give()
        mm.Tensor(expected)
        pickle.loads(pickle.dumps(tiled))
        assert tiled.numpy().tolist() == columns.numpy(copy=True).tolist() == columns.tolist()
        (columns.T @ columns + 1).maximum(columns[0, 0]).sum(0, keepdims=True)
        for wrong in (lambda: made[9], lambda: made + "x", lambda: made @ mm.Tensor.zeros(5)):
            with pytest.raises((ValueError, IndexError, TypeError)):
                wrong()

    calls()
    before = [sys.getrefcount(value) for value in held]
    for _ in range(LOOPS):
        calls()
    gc.collect()
    assert [sys.getrefcount(value) for value in held] == before


def test_buffers_that_are_viewed_keep_their_size():
    for _ in range(LOOPS):
        buffer = bytearray(range(24))
        view = mm.transpose(memoryview(buffer).cast("B", (4, 6)))
        with pytest.raises(BufferError):
            buffer.extend(bytes(1000))
        assert np.asarray(view).tolist() == np.arange(24).reshape(4, 6).T.tolist()
        del view
        buffer.extend(bytes(1000))
        array = np.arange(24)
        moved = mm.transpose(array.reshape(4, 6))
        with pytest.raises(ValueError):
            array.resize(10_000)
        assert moved[1, 0] == 1


def test_references_of_indices():
    columns = (np.arange(20) % 3, (np.arange(20) % 5).astype(np.int32))
    stack = np.stack(columns)
    shape, out = mm.Shape("u8[3,5]"), np.zeros(20, np.int64)
    held = [*columns, stack, shape, out, out.dtype, stack.dtype]

    def calls():
        for sizes in (shape, "u8[3,5]", (3, 5)):
            for index in (columns, list(columns), stack, stack.T.copy().T):
                assert mm.ravel_index(index, sizes, out) is out
                rows, _ = mm.unravel_index(mm.ravel_index(index, sizes), sizes)
                assert (rows == columns[0]).all()
        mm.ravel_index((columns[0], 2), shape)
        mm.ravel_index((2, 2), shape)
        for wrong in (
            lambda: mm.ravel_index(columns, (2, 5), out),
            lambda: mm.ravel_index(columns, shape, out[::2]),
            lambda: mm.unravel_index(out, shape, [out, out]),
            lambda: mm.ravel_index((columns[0], columns[1][:7]), shape),
        ):
            with pytest.raises(ValueError):
                wrong()

    calls()
    before = [sys.getrefcount(value) for value in held]
    for _ in range(LOOPS):
        calls()
    assert [sys.getrefcount(value) for value in held] == before


def test_threads_on_the_same_indices():
    """Batches so large that Python's lock is given up."""
    rows, sizes = 20_000, (7, 11, 13)
    columns = tuple(np.arange(rows) % n for n in sizes)
    expected = np.ravel_multi_index(columns, sizes)
    out, wrong = np.zeros(rows, np.int64), []

    def work(number):
        for _ in range(12):
            if (mm.ravel_index(columns, sizes) != expected).any():
                wrong.append("ravel")
            if any((a != b).any() for a, b in zip(mm.unravel_index(expected, sizes), columns)):
                wrong.append("unravel")
            try:
                mm.ravel_index(columns, sizes, out)
            except mm.Error as error:
                if "another thread" not in str(error):
                    wrong.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and (out == expected).all()


def test_what_other_threads_write_is_refused_or_whole():
    """One writes what others read: a result is of before or after, never mixed."""
    memory = np.zeros((300, 500), np.int32)
    sources = [np.full((300, 500), n, np.int32, order="F") for n in range(3)]
    wrong, done = [], []

    def write(source):
        for _ in range(25):
            try:
                mm.relayout(source, out=memory)
            except mm.Error as error:
                if "another thread" not in str(error):
                    wrong.append(error)

    def read():
        for _ in range(25):
            try:
                made = mm.relayout(memory, "{0,1}")
            except mm.Error as error:
                if "another thread" not in str(error):
                    wrong.append(error)
            else:
                done.append(made[0, 0])
                if (made != made[0, 0]).any():
                    wrong.append("mixed")

    threads = [threading.Thread(target=write, args=(source,)) for source in sources]
    threads += [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
