"""Arrays in a card's memory: what comes by DLPack and __cuda_array_interface__, and what goes back.

`cargo xtask test` runs them a second time on a card that the host emulates, whose memory and kernels check
every access; so arrays are small here.
"""

import sys
import types

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import minormajor as mm
from minormajor import Tensor, _core

CARD = "cuda:0"

pytestmark = pytest.mark.skipif(
    CARD not in mm.devices(), reason=f"no card: {mm.devices().missing.get('cuda')}"
)

MANY = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)

TYPES = [np.uint8, np.int16, np.float32, np.float64, np.complex128]
LENGTH = 4096


class Interfaced:
    """An array of a library that speaks __cuda_array_interface__ alone: elements of a memory at strides."""

    def __init__(self, memory, sizes, strides, offset, is_read_only=False, dtype=None):
        self.memory = memory
        self.sizes, self.strides, self.offset = tuple(sizes), tuple(strides), offset
        self.dtype = np.dtype(dtype or memory.dtype)
        self.__cuda_array_interface__ = {
            "shape": self.sizes,
            "strides": self.strides,
            "typestr": self.dtype.str,
            "data": (memory.__cuda_array_interface__["data"][0] + offset, is_read_only),
            "version": 3,
        }

    def numpy(self):
        """What is there now, copied."""
        raw = self.memory.numpy(copy=True).view(np.uint8)
        return np.ndarray(self.sizes, self.dtype, raw, self.offset, self.strides).copy()


def memory_of(dtype, seed=1, length=LENGTH):
    """Numbers of which each differs from its neighbours."""
    numbers = np.random.default_rng(seed).permutation(length) * 7 + seed
    return Tensor(numbers.astype(dtype), device=CARD)


@st.composite
def views(draw, types=TYPES):
    """Arrays at any strides of a memory: gaps, repeated elements, backwards."""
    memory = memory_of(draw(st.sampled_from(types)), draw(st.integers(1, 99)))
    sizes = draw(st.lists(st.sampled_from([0, 1, 2, 3, 5, 7]), max_size=4))
    width = memory.dtype.itemsize
    steps = [draw(st.integers(-9, 9)) for _ in sizes]
    reach = [(n - 1) * step for n, step in zip(sizes, steps) if n]
    lowest = -sum(r for r in reach if r < 0)
    first = lowest + draw(st.integers(0, 40))
    return Interfaced(memory, sizes, [step * width for step in steps], first * width)


@st.composite
def orders(draw, rank):
    return f"{{{','.join(map(str, draw(st.permutations(range(rank)))))}}}"


@MANY
@given(st.data(), views())
def test_relayout_of_any_strides(data, array):
    layout = data.draw(orders(len(array.sizes)))
    expected = array.numpy()
    made = mm.relayout(array, layout, copy=True)
    assert isinstance(made, Tensor) and made.device.name == CARD
    assert np.array_equal(made.numpy(), expected) and made.shape == expected.shape
    if expected.size:
        assert made.layout == mm.Layout(layout)
    assert np.array_equal(mm.ascontiguous(array, "F", copy=True).numpy(), expected)
    assert np.array_equal(Tensor(array).numpy(), expected)
    there = mm.layout_of(array)
    host = np.ndarray(array.sizes, array.dtype, bytes(8 * 16 * LENGTH), 16 * LENGTH, array.strides)
    assert there.shape == mm.layout_of(host).shape
    assert (there.strides, there.nbytes, there.device) == (array.strides, host.nbytes, "cuda")
    assert mm.plan(array, layout) == mm.plan(host, layout)
    assert mm.why_not_a_view(array, -1) == mm.why_not_a_view(host, -1) if host.size else True


@MANY
@given(views(), st.data())
def test_outputs_and_what_lies_between(array, data):
    if 0 in array.sizes:
        return
    width = array.dtype.itemsize
    gap = data.draw(st.integers(1, 3))
    order = data.draw(st.permutations(range(len(array.sizes))))
    strides, step = [0] * len(order), gap * width
    for dimension in order:
        strides[dimension] = step
        step *= array.sizes[dimension]
    to = Interfaced(memory_of(array.dtype, 5, step // width + 3), array.sizes, strides, 2 * width)
    before, expected = to.memory.numpy(copy=True), array.numpy()
    assert mm.relayout(array, out=to) is to
    assert np.array_equal(to.numpy(), expected)
    after = to.memory.numpy(copy=True)
    raw = before.view(np.uint8)
    np.ndarray(array.sizes, array.dtype, raw, 2 * width, strides)[...] = expected
    assert after.tobytes() == raw.tobytes()  # and nothing beside the elements


def test_an_output_in_the_same_memory():
    memory = memory_of(np.int32)
    array = Interfaced(memory, (20, 30), (4, 80), 0)
    out = Interfaced(memory, (20, 30), (120, 4), 40)
    expected = array.numpy()
    mm.relayout(array, "{1,0}", out)
    assert np.array_equal(out.numpy(), expected)


def test_what_is_there_already_is_returned():
    array = Interfaced(memory_of(np.float32), (5, 7), (28, 4), 8)
    assert mm.relayout(array, "{1,0}") is array
    assert mm.ascontiguous(array) is array
    with pytest.raises(mm.Error, match="a copy is needed"):
        mm.relayout(array, "{0,1}", copy=False)


@pytest.mark.parametrize("layout", ["{1,0:T(2,3)}", "{0,1:PAD(7,11)}", "{1,0:T(4,8)(2,1)}"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32])
def test_pack_and_unpack(layout, dtype):
    array = Interfaced(memory_of(dtype), (5, 7), (-16 * array_width(dtype), array_width(dtype)), 1024)
    expected = mm.pack(array.numpy(), layout)
    packed = mm.pack(array, layout)
    assert packed.device.name == CARD and packed.numpy().tobytes() == expected.tobytes()
    shape = mm.Shape.array(np.dtype(dtype), (5, 7), layout)
    back = mm.unpack(packed, shape, "{0,1}")
    assert isinstance(back, Tensor) and back.layout == mm.Layout("{0,1}")
    assert np.array_equal(back.numpy(), array.numpy())
    buffer = Interfaced(memory_of(np.uint8), (len(expected),), (1,), 16)
    assert mm.pack(array, layout, buffer) is buffer
    assert np.array_equal(buffer.numpy(), expected)
    out = Interfaced(memory_of(dtype, 3), (5, 7), (array_width(dtype), 5 * array_width(dtype)), 0)
    assert mm.unpack(packed, shape, out=out) is out
    assert np.array_equal(out.numpy(), array.numpy())
    with pytest.raises(mm.Error, match="bytes; expected"):
        mm.unpack(packed[1:], shape)


def array_width(dtype):
    return np.dtype(dtype).itemsize


def test_tensors_are_arrays_too():
    values = np.arange(30, dtype=np.float32).reshape(5, 6)
    tensor = Tensor(values, device=CARD, layout="{1,0}")
    assert tensor.__dlpack_device__() == (2, 0)
    columns = mm.relayout(tensor, "{0,1}")
    assert isinstance(columns, Tensor) and columns.layout == mm.Layout("{0,1}")
    assert mm.relayout(tensor, "{1,0}") is tensor
    part = tensor[1:4:2, ::-1]
    interface = part.__cuda_array_interface__
    assert interface["strides"] == (48, -4) and interface["data"][1]
    assert np.array_equal(Tensor(part).numpy(), values[1:4:2, ::-1])
    assert np.array_equal(mm.transpose(tensor).numpy(), values.T)
    assert np.array_equal(mm.transpose(tensor, None, "{1,0}").numpy(), values.T)
    assert Tensor(part, device="cpu").device.name == "cpu"
    assert mm.layout_of(tensor).device == CARD
    on_host = Tensor(values)
    assert on_host.__dlpack_device__() == (1, 0)
    assert not hasattr(on_host, "__cuda_array_interface__")


@pytest.mark.parametrize("dtype", ["bf16", "f8e4m3fn", "pred", "c64", "u64"])
def test_types_by_dlpack(dtype):
    tensor = Tensor(np.arange(12).reshape(3, 4) % 2, "s64").numpy()
    tensor = Tensor(tensor.astype(Tensor.zeros(1, dtype).dtype), device=CARD)
    again = Tensor(Lent(tensor))
    assert again.element_type == dtype and not again.shares_memory_with(tensor)
    assert np.array_equal(again.numpy(), tensor.numpy())
    if dtype in ("bf16", "f8e4m3fn"):
        with pytest.raises(AttributeError, match="has no name"):
            tensor.__cuda_array_interface__


class Lent:
    """An array of a library that speaks DLPack as it was before 1.0, or as it is now."""

    def __init__(self, made, is_old=False):
        self.made, self.is_old, self.streams = made, is_old, []

    def __dlpack_device__(self):
        return self.made.__dlpack_device__()

    def __dlpack__(self, *, stream=None, **options):
        self.streams.append(stream)
        if self.is_old and options:
            raise TypeError("unexpected keyword argument")
        return self.made.__dlpack__(stream=stream, **options)

    def transpose(self, axes):
        return Lent(self.made.transpose(axes), self.is_old)


@pytest.fixture
def library(monkeypatch):
    """Lent is of a library with a from_dlpack of its own."""
    module = types.ModuleType("cardlibrary")
    module.from_dlpack = Lent
    monkeypatch.setitem(sys.modules, "cardlibrary", module)
    monkeypatch.setattr(Lent, "__module__", "cardlibrary")


@pytest.mark.parametrize("is_old", [False, True])
def test_results_are_of_the_librarys_kind(library, is_old):
    values = np.arange(35, dtype=np.int16).reshape(5, 7)
    array = Lent(Tensor(values, device=CARD, layout="{1,0}"), is_old)
    made = mm.relayout(array, "{0,1}")
    assert type(made) is Lent and type(made.made) is _core.OnCard
    assert 1 in array.streams
    assert not made.made.__cuda_array_interface__["data"][1]  # it may be written
    dtype, sizes, strides, is_writable, ordinal = _core.on_card(made)
    assert (dtype, sizes, strides, is_writable, ordinal) == (np.int16, [5, 7], [2, 10], True, 0)
    assert np.array_equal(Tensor(made).numpy(), values)
    turned = mm.transpose(array, (1, 0), "{1,0}")
    assert np.array_equal(Tensor(turned).numpy(), values.T)
    # What can't be told that it is read-only gets a copy, and what can gets none.
    address = array.made.__cuda_array_interface__["data"][0]
    assert _core.on_card(array)[3] is is_old
    assert array.made.__cuda_array_interface__["data"][0] == address


def test_what_is_refused():
    memory = memory_of(np.float32)
    array = Interfaced(memory, (5, 7), (28, 4), 0)
    host = np.zeros((5, 7), np.float32)
    with pytest.raises(TypeError, match="expected both in one"):
        mm.relayout(array, "{0,1}", host)
    with pytest.raises(TypeError, match="copy it to the CPU first"):
        mm.relayout(host, "{0,1}", array)
    with pytest.raises(mm.Error, match="read-only"):
        mm.relayout(array, out=Interfaced(memory, (5, 7), (28, 4), 512, True))
    with pytest.raises(mm.Error, match=r"expected float32 and \[5, 7\]"):
        mm.relayout(array, out=Interfaced(memory, (7, 5), (20, 4), 512))
    with pytest.raises(mm.Error, match="not those of the order"):
        mm.relayout(array, "{1,0}", Interfaced(memory, (5, 7), (4, 20), 512))
    with pytest.raises(mm.Error, match="says more than an order"):
        mm.relayout(array, "{1,0:T(2,2)}")
    with pytest.raises(mm.Error, match="keeps elements' types"):
        Tensor(array, "f64")
    masked = Interfaced(memory, (5, 7), (28, 4), 0)
    masked.__cuda_array_interface__["mask"] = array
    with pytest.raises(TypeError, match="mask"):
        mm.relayout(masked, "{0,1}")
    del masked.__cuda_array_interface__["typestr"]
    del masked.__cuda_array_interface__["mask"]
    with pytest.raises(mm.Error, match="typestr"):
        mm.relayout(masked, "{0,1}")
    with pytest.raises(TypeError, match="copy it to the CPU first"):
        mm.save("no.npy", array)


def test_addresses_that_are_no_cards():
    array = Interfaced(memory_of(np.float32), (5, 7), (28, 4), 0)
    beyond = Interfaced(array.memory, (5, 7), (1 << 40, 4), 0)
    with pytest.raises(mm.DeviceError, match="not in the device's memory"):
        mm.relayout(beyond, "{0,1}", copy=True)
    array.__cuda_array_interface__["data"] = (np.zeros(99).ctypes.data, False)
    with pytest.raises(mm.DeviceError):
        mm.relayout(array, "{0,1}", copy=True)


def test_memory_goes_back():
    # Together this is many times the memory of the emulated card.
    source = memory_of(np.float32, length=1 << 16)
    for turn in range(600):
        array = Interfaced(source, (256, 256), (1024, 4), 0)
        made = mm.relayout(array, "{0,1}")
        lent = made.__dlpack__(max_version=(1, 0))
        again = Tensor(Lent(made))
        del made, lent
    assert np.array_equal(again.numpy(), array.numpy()) and turn == 599


def test_owners_are_kept_as_long_as_they_are_read_and_no_longer():
    class Owned(Interfaced):
        pass

    array = Owned(memory_of(np.float32), (50, 7), (4, 200), 0)
    before = sys.getrefcount(array)
    expected = array.numpy()
    for _ in range(100):
        made = mm.relayout(array, "{1,0}")
        tensor = Tensor(array)
    assert sys.getrefcount(array) == before
    del array
    assert np.array_equal(made.numpy(), expected) and np.array_equal(tensor.numpy(), expected)


def test_bfloat16_moves():
    values = np.arange(20).reshape(4, 5).astype(ml_dtypes.bfloat16)
    made = mm.relayout(Tensor(values, device=CARD, layout="{1,0}"), "{0,1}")
    assert np.array_equal(made.numpy(), values) and made.element_type == "bf16"
