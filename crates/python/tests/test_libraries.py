"""Arrays of other libraries: in, out, shared where that is said, alive as long as they are used."""

import array
import gc
import sys
import threading
import weakref

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import minormajor as mm

FEW = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@st.composite
def numbers(draw):
    """Sizes, an order of memory, slices, and an order to move to."""
    rank = draw(st.integers(0, 5))
    sizes = draw(st.lists(st.integers(0, 5), min_size=rank, max_size=rank))
    stored = draw(st.permutations(range(rank)))
    steps = draw(st.lists(st.integers(1, 2), min_size=rank, max_size=rank))
    return sizes, tuple(stored), steps, tuple(draw(st.permutations(range(rank))))


class TestTorch:
    @pytest.fixture(autouse=True)
    def library(self):
        self.torch = pytest.importorskip(
            "torch", reason="PyTorch is not installed: its wheels take gigabytes"
        )

    def types(self):
        names = ["float32", "uint8", "int64", "bool", "bfloat16", "complex64", "float8_e4m3fn"]
        return [getattr(self.torch, name) for name in names]

    def test_every_stride_pattern(self):
        torch = self.torch

        @FEW
        @given(numbers(), st.sampled_from(self.types()))
        def check(case, dtype):
            sizes, stored, steps, order = case
            count = 1
            for n, k in zip(sizes, steps):
                count *= n * k
            width = torch.empty((), dtype=dtype).element_size()
            raw = (torch.arange(count * width) * 167 + 13).to(torch.uint8)
            raw = raw & 1 if dtype == torch.bool else raw
            whole = raw.view(dtype).reshape([sizes[d] * steps[d] for d in stored])
            tensor = whole.permute([stored.index(d) for d in range(len(sizes))])
            tensor = tensor[tuple(slice(None, None, k) for k in steps)]
            if tensor.ndim and count and dtype != torch.bool and steps[0] == 2:
                tensor = tensor.expand(2, *tensor.shape)
                order = (*order, len(sizes))
            made = mm.relayout(tensor, order)
            assert type(made) is torch.Tensor and made.dtype == dtype
            carrier = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[width]
            assert torch.equal(made.view(carrier), tensor.view(carrier))
            there = mm.layout_of(made)
            assert there.plan(order).copies is False
            if made.data_ptr() == tensor.data_ptr() and made.numel():
                assert made is tensor
            view = mm.transpose(tensor)
            assert view.data_ptr() == tensor.data_ptr() or not tensor.numel()
            out = torch.empty_like(tensor, memory_format=torch.contiguous_format)
            assert mm.relayout(tensor, out=out) is out
            assert torch.equal(out.view(carrier), tensor.view(carrier))

        check()

    def test_memory_formats_have_names(self):
        images = self.torch.zeros(2, 3, 5, 7)
        assert mm.layout_of(images).memory_format == "contiguous_format"
        last = mm.relayout(images, "{1,3,2,0}")
        assert last.is_contiguous(memory_format=self.torch.channels_last)
        there = mm.layout_of(last)
        assert there.memory_format == "channels_last"
        assert there.shape == mm.Shape("f32[2,3,5,7]{1,3,2,0}")
        assert (there.library, there.device, there.dtype) == ("torch", "cpu", "float32")
        volume = self.torch.zeros(1, 2, 3, 4, 5).to(memory_format=self.torch.channels_last_3d)
        assert mm.layout_of(volume).memory_format == "channels_last_3d"
        assert mm.layout_of(images[..., ::2]).memory_format is None
        assert mm.layout_of(images[..., ::2]).shape is None

    def test_memory_is_shared_both_ways(self):
        tensor = self.torch.arange(6.0).reshape(2, 3)
        made = mm.relayout(tensor, "{0,1}")
        as_numpy = made.numpy()
        as_numpy[0, 0] = 42
        assert made[0, 0] == 42
        del made
        gc.collect()
        assert as_numpy.tolist() == [[42, 1, 2], [3, 4, 5]]

    def test_what_is_refused(self):
        torch = self.torch
        with pytest.raises(TypeError, match="detach"):
            mm.relayout(torch.zeros(2, 2, requires_grad=True), "{0,1}")
        with pytest.raises(TypeError, match="strided"):
            mm.relayout(torch.zeros(2, 2).to_sparse(), "{0,1}")
        with pytest.raises(TypeError, match="CPU"):
            mm.relayout(torch.zeros(2, 2, device="meta"), "{0,1}")

    def test_packs(self):
        tensor = self.torch.arange(15, dtype=self.torch.bfloat16).reshape(3, 5)
        packed = mm.pack(tensor, "{1,0:T(2,2)}")
        back = mm.unpack(packed, "bf16[3,5]{1,0:T(2,2)}")
        assert back.dtype == ml_dtypes.bfloat16
        assert back.astype("f4").tolist() == tensor.float().tolist()


class TestJax:
    @pytest.fixture(autouse=True)
    def library(self, monkeypatch):
        monkeypatch.setenv("JAX_PLATFORMS", "cpu")
        self.jax = pytest.importorskip("jax", reason="JAX is not installed")

    def test_values_and_layouts(self):
        jnp = self.jax.numpy
        for dtype in (jnp.float32, jnp.bfloat16, jnp.int8, jnp.bool_, jnp.complex64):
            for sizes, order in (((), ()), ((3,), (0,)), ((2, 3), (0, 1)), ((2, 3, 5), (1, 2, 0))):
                array = jnp.asarray(np.arange(int(np.prod(sizes))).reshape(sizes)).astype(dtype)
                made = mm.relayout(array, order)
                assert isinstance(made, self.jax.Array) and made.dtype == array.dtype
                assert bool((made == array).all())
                there = mm.layout_of(made)
                assert there.shape.layout.minor_to_major == order
                assert (there.library, there.memory_kind) == ("jax", array.sharding.memory_kind)
                assert mm.relayout(made, order) is made

    def test_memory_is_read_in_place_and_not_written(self):
        array = self.jax.numpy.arange(6.0).reshape(2, 3)
        assert mm.pack(array, "{0,1}").view("f4").tolist() == [0, 3, 1, 4, 2, 5]
        with pytest.raises(mm.Error, match="read-only"):
            mm.relayout(np.zeros((2, 3), np.float32), out=array)
        view = mm.transpose(array)
        assert isinstance(view, self.jax.Array) and view.shape == (3, 2)
        back = mm.unpack(mm.pack(array, "{1,0:T(2,2)}"), "f32[2,3]{1,0:T(2,2)}")
        assert (back == np.asarray(array)).all()


class TestArrow:
    @pytest.fixture(autouse=True)
    def library(self):
        self.arrow = pytest.importorskip(
            "pyarrow", reason="PyArrow is not installed: it takes 170 MB"
        )

    @FEW
    @given(numbers(), st.sampled_from(["u1", "i2", "f2", "f4", "i8"]))
    def test_tensors(self, case, dtype):
        sizes, stored, steps, order = case
        count = int(np.prod(sizes, dtype=int))
        dense = (np.arange(count) * 167 + 13).astype(dtype).reshape([sizes[d] for d in stored])
        array = dense.transpose(np.argsort(stored)) if sizes else dense
        names = [f"d{d}" for d in range(array.ndim)]
        tensor = self.arrow.Tensor.from_numpy(array, dim_names=names)
        made = mm.relayout(tensor, order)
        assert isinstance(made, self.arrow.Tensor) and made.to_numpy().tolist() == array.tolist()
        assert made.dim_names == names
        assert mm.layout_of(made).plan(order).copies is False
        assert mm.layout_of(tensor).sizes == array.shape
        turned = mm.transpose(tensor, order)
        assert turned.to_numpy().tolist() == array.transpose(order).tolist()
        assert turned.dim_names == [names[d] for d in order]
        if count:
            assert np.shares_memory(turned.to_numpy(), array)
        assert mm.Tensor(tensor).tolist() == array.tolist()

    def test_arrays_of_tensors(self):
        values = np.arange(24, dtype=np.float32).reshape(4, 2, 3)
        array = self.arrow.FixedShapeTensorArray.from_numpy_ndarray(values)
        assert (mm.relayout(array, "{0,1,2}") == values).all()
        there = mm.layout_of(array)
        assert there.library == "pyarrow" and there.shape == mm.Shape("f32[4,2,3]")
        assert np.shares_memory(mm.transpose(array), array.to_numpy_ndarray())
        assert mm.pack(array, "{0,1,2}").nbytes == 96
        flat = self.arrow.array([1.0, 2.0, 3.0])
        assert mm.Tensor(flat).tolist() == [1, 2, 3]
        # PyArrow's word for lists, which say no more than how long they are.
        lists = self.arrow.FixedSizeListArray.from_arrays(flat, 3)
        with pytest.raises(TypeError, match="DLPack"):
            mm.relayout(lists, "{0,1}")


class TestTensorFlow:
    @pytest.fixture(autouse=True)
    def library(self):
        self.tf = pytest.importorskip(
            "tensorflow", reason="TensorFlow is not installed: its wheel takes a gigabyte"
        )

    def test_tensors(self):
        array = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
        for dtype in (np.float32, np.int8, np.int64, np.bool_, np.complex64, ml_dtypes.bfloat16):
            tensor = self.tf.constant(array.astype(dtype))
            made = mm.relayout(tensor, "{0,1,2}")
            assert made.dtype == dtype and (made == array.astype(dtype)).all()
            assert mm.layout_of(tensor).shape.sizes == (2, 3, 4)
            assert mm.Tensor(tensor).tolist() == array.astype(dtype).tolist()
            with pytest.raises(mm.Error, match="read-only"):
                mm.relayout(np.zeros_like(array, dtype), out=tensor)
        tensor = self.tf.constant(array)
        assert np.shares_memory(mm.transpose(tensor), np.asarray(memoryview(tensor)))

    def test_views_keep_their_owner_alive(self):
        view = mm.transpose(self.tf.constant(np.arange(6.0).reshape(2, 3)))
        gc.collect()
        assert view.tolist() == [[0, 3], [1, 4], [2, 5]]


class TestCuPy:
    def test_memory_of_the_card(self):
        cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
        if not cupy.cuda.is_available():
            pytest.skip("CuPy finds no GPU")
        array = cupy.arange(6.0).reshape(2, 3)
        columns = mm.relayout(array, "{0,1}")
        assert type(columns) is type(array) and columns.strides == (8, 16)
        assert (columns == array).all() and mm.relayout(columns, "{0,1}") is columns
        out = cupy.zeros((4, 6))[::2, ::-2]
        assert mm.relayout(array, out=out) is out and (out == array).all()
        tensor = mm.Tensor(array[::-1])
        assert tensor.device.name == "cuda:0" and tensor.tolist() == [[3, 4, 5], [0, 1, 2]]
        assert (cupy.from_dlpack(tensor) == array[::-1]).all()


class Interface:
    """Memory of an owner that is known to be gone."""

    def __init__(self, array):
        self.array = array
        self.__array_interface__ = array.__array_interface__


class Capsule:
    """DLPack's protocol and no other."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def kinds():
    source = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    return [
        memoryview(source),
        memoryview(source.tobytes()).cast("i", (2, 3, 4)),
        Interface(source),
        Capsule(source),
        source.view(np.recarray),
    ]


@pytest.mark.parametrize("given_array", kinds(), ids=lambda k: type(k).__name__)
def test_protocols(given_array):
    source = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    made = mm.relayout(given_array, "{0,1,2}")
    assert type(made) in (memoryview, np.ndarray)
    assert isinstance(made, memoryview) == isinstance(given_array, memoryview)
    assert (np.asarray(made) == source).all()
    assert np.asarray(made).flags.f_contiguous
    assert mm.relayout(given_array, "{2,1,0}") is given_array
    assert (np.asarray(mm.transpose(given_array)) == source.T).all()
    assert mm.why_not_a_view(given_array, (6, 4)) is None


def test_buffers_of_python():
    for given_array in (b"abcdef", bytearray(b"abcdef"), array.array("B", b"abcdef")):
        assert mm.unpack(given_array, "u8[2,3]{0,1}").tobytes() == b"acebdf"
    buffer = bytearray(6)
    mm.pack(np.frombuffer(b"abcdef", np.uint8), "{0}", buffer)
    assert buffer == b"abcdef"
    buffer.append(1)  # nobody holds it any longer


@pytest.mark.parametrize(
    "value", [None, 3, "text", [1, 2], {"a": 1}, object(), np.ma.masked_array([1])], ids=repr
)
def test_what_is_no_array_is_refused(value):
    with pytest.raises(TypeError):
        mm.relayout(value, "{0}")


@pytest.mark.parametrize(
    "call,text",
    [
        (lambda a: mm.relayout(a, "{0}"), "has 1 dimensions, the array 2"),
        (lambda a: mm.relayout(a, "{1,0:T(8,128)}"), "`pack`"),
        (lambda a: mm.relayout(a, "{1,0"), "column 5"),
        (lambda a: mm.relayout(a), "expected a layout"),
        (lambda a: mm.relayout(a, out=np.zeros((3, 2), a.dtype)), "the shape [3, 2]"),
        (lambda a: mm.relayout(a, out=np.zeros((2, 3), "i1")), "int8"),
        (lambda a: mm.relayout(a, "{0,1}", np.zeros((2, 3), a.dtype)), "strides"),
        (lambda a: mm.relayout(a, "{1,0}", np.zeros((2, 3), a.dtype), copy=False), "copy=False"),
        (lambda a: mm.relayout(a, out=np.broadcast_to(a[0], (2, 3))), "overlap"),
        (lambda a: mm.transpose(a, (0, 0)), "0"),
        (lambda a: mm.transpose(a, (0,)), "1 axes"),
        (lambda a: mm.transpose(a, (0, 2)), "2"),
        (lambda a: mm.ascontiguous(a, "K"), '"K"'),
        (lambda a: mm.relayout(a.astype(object), "{0,1}"), "references"),
        (lambda a: mm.pack(a.astype("M8[s]"), "{0,1}"), "datetime64"),
        (lambda a: mm.pack(a, "f32[2,3]"), "s64"),
        (lambda a: mm.pack(a, "{1,0}", np.zeros(47, "u1")), "47 bytes; expected 48"),
        (lambda a: mm.pack(a, "{1,0}", np.zeros(96, "u1")[::2]), "gaps"),
        (lambda a: mm.unpack(b"abc", "u8[4]"), "3 bytes; expected 4"),
        (lambda a: mm.unpack(b"abcd", "u8[4]", out=np.zeros(3, "u1")), "expected uint8"),
        (lambda a: mm.unpack(b"abcd", "u8[2,2]", "{0,1}", np.zeros((2, 2), "u1")), "strides"),
        (lambda a: mm.why_not_a_view(a, 5), "6 elements"),
        (lambda a: mm.why_not_a_view(a, (-1, -1)), "-1"),
        (lambda a: mm.ravel_index(([0], [3]), (2, 3)), "number 0 of the batch"),
        (lambda a: mm.ravel_index(([0],), (2, 3)), "1 columns"),
        (lambda a: mm.unravel_index([6], (2, 3)), "position 6"),
        (lambda a: mm.unravel_index([0], (2, 3), [np.zeros(1, "i8")]), "1 outputs"),
        (lambda a: mm.unravel_index([0], (2, 3), [np.zeros(2, "i8")] * 2), "the shape [2]"),
        (lambda a: mm.ravel_index((a[0], a[0]), (9, 9), np.zeros(3, "i4")), "output of int64"),
        (lambda a: mm.ravel_index((a[0], a[0]), (9, 9), np.zeros(6, "i8")[::2]), "without gaps"),
        (lambda a: mm.ravel_index((a[0], a[0]), (9, 9), a[0]), "in common"),
        (lambda a: mm.ravel_index((a[0], a[1]), (9, 9), a[0].view()), "in common"),
        (lambda a: mm.unravel_index(a[0], (9, 9), [a[1], a[1]]), "in common"),
        (lambda a: mm.unravel_index(a[0], (9, 9), [a[0], a[1]]), "in common"),
        (lambda a: mm.ravel_index(([0], [0]), (2, 3), np.broadcast_to(a[0, 0], 1)), "read-only"),
        (lambda a: mm.ravel_index((a[0],), "f32[2"), "column"),
    ],
)
def test_errors(call, text):
    with pytest.raises(mm.Error) as caught:
        call(np.arange(6).reshape(2, 3))
    assert text in str(caught.value)


def test_fractions_are_no_indices():
    with pytest.raises(TypeError):
        mm.ravel_index(([0.5], [1]), (2, 3))
    with pytest.raises(TypeError, match="a Shape, its text, or sizes, found float"):
        mm.ravel_index(([0], [1]), 0.5)


def test_overlapping_output():
    for shift in (0, 1, 3):
        memory = np.arange(40)
        source, out = memory[shift : shift + 36].reshape(6, 6), memory[:36].reshape(6, 6).T
        expected = source.copy()
        mm.relayout(source, out=out)
        assert (out == expected).all()
    memory = np.arange(12)
    mm.relayout(memory[::2], out=memory[1::2])
    assert memory.tolist() == [0, 0, 2, 2, 4, 4, 6, 6, 8, 8, 10, 10]


def test_references_are_given_back():
    """Counts of everything that a call touches are the same after many calls."""
    source = np.arange(24, dtype=np.int16).reshape(2, 3, 4)[:, ::-1]
    out, shape = np.empty((2, 3, 4), np.int16), mm.Shape("s16[2,3,4]{2,1,0:T(2,2)}")
    capsule, buffer = Capsule(np.zeros((3, 4))), memoryview(np.zeros((3, 4)))
    layout, columns = mm.Layout("{0,1,2}"), (np.array([0, 1]), np.array([0, 2]), np.array([3, 3]))

    def calls():
        mm.relayout(source, layout)
        mm.relayout(source, "{2,1,0}", out)
        mm.transpose(source, (1, 0, 2), layout)
        mm.unpack(mm.pack(source, shape), shape)
        mm.relayout(capsule, "{0,1}")
        mm.relayout(buffer, "{0,1}")
        mm.plan(source, layout)
        mm.layout_of(source)
        mm.unravel_index(mm.ravel_index(columns, shape), shape)
        for wrong in (lambda: mm.relayout(source, "{0}"), lambda: mm.pack(source, shape, out)):
            with pytest.raises(mm.Error):
                wrong()

    held = [source, source.dtype, out, shape, capsule, capsule.array, buffer, layout, *columns]
    calls()
    before = [sys.getrefcount(value) for value in held]
    for _ in range(300):
        calls()
    assert [sys.getrefcount(value) for value in held] == before


def test_views_keep_their_owner_alive():
    class Owner(np.ndarray):
        pass

    def owned():
        made = Owner((2, 3))
        made[:] = [[0, 1, 2], [3, 4, 5]]
        return made

    owner = owned()
    gone = weakref.ref(owner)
    view = mm.transpose(owner)
    del owner
    gc.collect()
    assert gone() is not None and view.tolist() == [[0, 3], [1, 4], [2, 5]]
    del view
    gc.collect()
    assert gone() is None
    owner = owned()
    gone = weakref.ref(owner)
    moved = mm.relayout(owner, "{0,1}")
    del owner
    gc.collect()
    assert gone() is None and moved.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_memory_is_given_back():
    """Results of 64 MiB one after another take no more than a few of them."""
    source = np.ones((4096, 4096), np.float32)
    import resource

    mm.relayout(source, "{0,1}")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(20):
        mm.relayout(source, "{0,1}")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4 * 64 * 1024


def test_threads_on_the_same_array():
    source = np.arange(300 * 400, dtype=np.int32).reshape(300, 400)
    small = source[:8, :8]
    wrong = []

    def work(number):
        order = "{0,1}" if number % 2 else (1, 0)
        for _ in range(40):
            made = mm.relayout(source, order, copy=True, threads=1 + number % 3)
            tile = mm.unpack(mm.pack(source, "{1,0:T(8,128)}"), "s32[300,400]{1,0:T(8,128)}")
            few = mm.relayout(small, "{0,1}")
            if not ((made == source).all() and (tile == source).all() and (few == small).all()):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_threads_on_the_same_output():
    """All may write what others write; then it is refused, never mixed."""
    sources = [np.full((400, 500), n, np.int32) for n in range(6)]
    out = np.zeros((400, 500), np.int32, order="F")
    done, refused, other = [], [], []

    def work(source):
        for _ in range(30):
            try:
                mm.relayout(source, out=out)
                done.append(1)
            except mm.Error as error:
                (refused if "another thread" in str(error) else other).append(error)

    threads = [threading.Thread(target=work, args=(source,)) for source in sources]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not other and done
    assert len(np.unique(out)) == 1
    mm.relayout(sources[3], out=out)
    assert (out == 3).all()
