"""Tensors beside NumPy: every way to make them, look at them and compute, on both devices of the host."""

import copy
import operator
import pickle
import sys
import threading

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import minormajor as mm
from minormajor import Tensor

MANY = settings(
    max_examples=250,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)

FLOATS = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16]
INTEGERS = [np.dtype(f"{kind}{width}").type for kind in "iu" for width in (1, 2, 4, 8)]
OTHERS = [np.bool_, np.complex64, ml_dtypes.float8_e4m3fn, ml_dtypes.int4]
DEVICES = ["cpu", "cpu:columns"]


def values(dtype, sizes, seed):
    """Whole numbers, so small that sums of them are exact in every type of 8 bits or more."""
    dtype = np.dtype(dtype)
    low, high = (0, 2) if dtype.kind == "b" else (0, 7) if dtype.kind == "u" else (-7, 8)
    return np.random.default_rng(seed).integers(low, high, sizes).astype(dtype)


@st.composite
def layouts(draw, rank):
    order = ",".join(map(str, draw(st.permutations(range(rank)))))
    tiles = draw(st.sampled_from(["", "", ":T(2)", ":T(2,3)(2,1)"] if rank > 1 else [""]))
    return f"{{{order}{tiles}}}"


@st.composite
def arrays(draw, types, sizes=None):
    """NumPy's array with any order, gaps and steps back."""
    if sizes is None:
        sizes = draw(st.lists(st.sampled_from([0, 1, 2, 3, 4, 5]), max_size=4))
    room = [2 * n + 1 for n in sizes]
    order = draw(st.permutations(range(len(sizes))))
    stored = values(draw(st.sampled_from(types)), [room[d] for d in order], draw(st.integers(0, 999)))
    cuts = (slice(0, n) if draw(st.booleans()) else slice(2 * n, 0, -2) for n in sizes)
    array = stored.transpose(np.argsort(order))[(*cuts, ...)] if sizes else stored
    assert array.shape == tuple(sizes)
    return array


@st.composite
def pairs(draw, types=FLOATS + INTEGERS, sizes=None, device=None):
    """An array, and the tensor of its values: in any layout, or a view of a larger one."""
    array = draw(arrays(types, sizes))
    device = device or draw(st.sampled_from(DEVICES))
    layout = draw(st.none() | layouts(array.ndim))
    if draw(st.booleans()) or not array.ndim:
        return array, Tensor(array, device=device, layout=layout)
    # Rows between others, backwards.
    room = np.concatenate([array, array + array.dtype.type(1)])[::-1]
    made = Tensor(room, device=device, layout=layout if layout and "T" not in layout else None)
    return array, made[::-1][: len(array)]


def same(tensor, array):
    """The same type, sizes and values, whichever way they are read."""
    array = np.asarray(array)
    assert (tensor.shape, tensor.dtype) == (array.shape, array.dtype)
    assert (tensor.ndim, tensor.size, tensor.nbytes) == (array.ndim, array.size, array.nbytes)
    assert np.ascontiguousarray(tensor.numpy()).tobytes() == np.ascontiguousarray(array).tobytes()


@MANY
@given(st.data())
def test_values_survive_every_layout_and_device(data):
    types = FLOATS + INTEGERS + OTHERS + [">f4", ">i8"]
    array = data.draw(arrays(types))
    native = array.astype(array.dtype.newbyteorder("="))
    layout = data.draw(st.none() | layouts(array.ndim))
    made = Tensor(array, device=data.draw(st.sampled_from(DEVICES)), layout=layout)
    same(made, native)
    assert layout is None or made.layout == mm.Layout(layout)
    before = array.copy()
    if array.size:
        array[...] = 1  # the tensor has its own copy
    array = before.astype(native.dtype)
    other = data.draw(layouts(array.ndim))
    for again in (
        made.relayout(other),
        made.to("cpu"),
        made.to("cpu:columns", other),
        made.contiguous(data.draw(st.sampled_from(["C", "F", "matrices", "channels_last"]))),
        pickle.loads(pickle.dumps(made)),
        Tensor(made, device="cpu", layout=other),
        copy.deepcopy(made),
    ):
        same(again, array)
        assert again == made and not again != made and again.equals(made)
    assert pickle.loads(pickle.dumps(made)).mm_shape == made.mm_shape
    assert pickle.loads(pickle.dumps(made)).device == made.device
    assert made.tolist() == array.tolist() or array.dtype.name == "int4"
    same(Tensor(made.numpy(copy=True)), array)


@st.composite
def keys(draw, sizes):
    """What NumPy and tensors take in brackets: for some of the first dimensions, and of the last."""
    named = draw(st.integers(0, len(sizes)))
    ahead = draw(st.integers(0, named))
    is_split = draw(st.booleans())
    chosen = [*sizes[:ahead], *sizes[len(sizes) - named + ahead :]] if is_split else sizes[:named]
    parts = []
    for n in chosen:
        whole = st.none() | st.integers(-n - 2, n + 2)
        cut = st.builds(slice, whole, whole, st.none() | st.sampled_from([-3, -2, -1, 1, 2, 3]))
        parts.append(draw(cut | st.integers(-n, n - 1) if n else cut))
    if is_split:
        parts.insert(ahead, ...)
    for _ in range(draw(st.integers(0, 2))):
        parts.insert(draw(st.integers(0, len(parts))), None)
    return parts[0] if len(parts) == 1 and draw(st.booleans()) else tuple(parts)


@MANY
@given(st.data())
def test_views(data):
    array = data.draw(arrays(FLOATS + INTEGERS + OTHERS))
    rank = array.ndim
    order = data.draw(st.permutations(range(rank)))
    layout = None if not rank else order
    made = Tensor(array, device=data.draw(st.sampled_from(DEVICES)), layout=layout)
    key = data.draw(keys(array.shape))
    picked, wanted = made[key], array[key]
    same(picked, wanted)
    axes = data.draw(st.permutations(range(rank)))
    views = [(picked, wanted), (made.T, array.T), (made.transpose(axes), array.transpose(axes))]
    views += [(made.transpose(*axes), array.transpose(axes)), (made.squeeze(), array.squeeze())]
    if rank:
        axis = data.draw(st.integers(-rank, rank - 1))
        views.append((made.flip(axis), np.flip(array, axis)))
        views.append((made.swapaxes(axis, 0), array.swapaxes(axis, 0)))
        views.append((made.unsqueeze(axis), np.expand_dims(array, axis)))
    wide = (data.draw(st.integers(0, 3)), *(3 if n == 1 else n for n in array.shape))
    views.append((made.broadcast_to(wide), np.broadcast_to(array, wide)))
    for view, expected in views:
        same(view, expected)
        assert view.shares_memory_with(made)
    if wanted.ndim:
        rows = list(picked)
        assert len(rows) == len(picked) == len(wanted)
        for row, expected in zip(rows, wanted, strict=True):
            same(row, expected)


@MANY
@given(st.data())
def test_reshape_is_a_view_where_numpy_has_one(data):
    array = data.draw(arrays([np.int16]))
    made = Tensor(array, layout=data.draw(st.permutations(range(array.ndim))))[
        data.draw(keys(array.shape))
    ]
    array = made.numpy()
    factors = [2] * (array.size.bit_length() - 1) if array.size else []
    shape = data.draw(st.sampled_from([(-1,), (array.size,), (1, -1), (-1, 2), tuple(factors), (2, 3, -1)]))
    try:
        expected = array.reshape(shape)
    except ValueError:
        with pytest.raises(mm.Error):
            made.reshape(shape)
        return
    if array.size == 0 or np.shares_memory(expected, array):
        same(made.reshape(shape), expected)
        same(made.reshape(*shape), expected)
    else:
        with pytest.raises(mm.Error, match="is no view"):
            made.reshape(shape)
        same(made.contiguous().reshape(shape), expected)


@st.composite
def stretched(draw, types=FLOATS + INTEGERS):
    """Two of one type and device, whose sizes broadcast."""
    dtype, device = draw(st.sampled_from(types)), draw(st.sampled_from(DEVICES))
    sizes = draw(st.lists(st.sampled_from([0, 1, 2, 3, 4]), max_size=4))
    both = []
    for _ in range(2):
        own = [1 if draw(st.integers(0, 3)) == 0 else n for n in sizes][draw(st.integers(0, len(sizes))) :]
        both.append(draw(pairs([dtype], own, device)))
    return both


OPERATIONS = [
    (operator.add, np.add),
    (operator.sub, np.subtract),
    (operator.mul, np.multiply),
    (operator.truediv, np.divide),
    (Tensor.minimum, np.minimum),
    (Tensor.maximum, np.maximum),
]


@MANY
@given(stretched(), st.sampled_from(OPERATIONS), st.sampled_from([0, 1, 2, 3]))
def test_arithmetic(both, operation, number):
    (a, ours), (b, other) = both
    of_tensors, of_arrays = operation
    if of_tensors is operator.truediv and a.dtype.kind in "iu":
        with pytest.raises(mm.Error, match="expected floats: `divide` drops the fraction"):
            ours / other
        return
    scalar = a.dtype.type(number)
    with np.errstate(all="ignore"):
        cases = [(of_tensors(ours, other), of_arrays(a, b))]
        for given in (number, scalar):
            cases.append((of_tensors(ours, given), of_arrays(a, scalar)))
            if of_tensors not in (Tensor.minimum, Tensor.maximum):
                cases.append((of_tensors(given, ours), of_arrays(scalar, a)))
        cases.append((-ours, -a))
    for made, expected in cases:
        # A NaN is any NaN.
        is_nan = expected != expected
        assert (made.numpy()[is_nan] != made.numpy()[is_nan]).all()
        clean = np.where(is_nan, a.dtype.type(0), expected).astype(a.dtype)
        same(Tensor(np.where(is_nan, a.dtype.type(0), made.numpy()).astype(a.dtype)), clean)
        assert made.device == ours.device


@MANY
@given(st.data(), st.sampled_from(FLOATS + [np.int8]))
def test_products(data, dtype):
    n, m, k = (data.draw(st.integers(0, 5)) for _ in range(3))
    batch = data.draw(st.lists(st.sampled_from([1, 2, 3]), max_size=2))
    device = data.draw(st.sampled_from(DEVICES))
    left = [1 if data.draw(st.booleans()) else size for size in batch] + [m, k]
    right = batch[data.draw(st.integers(0, len(batch))) :] + [k, n]
    if data.draw(st.integers(0, 4)) == 0:
        left = [k]
    if data.draw(st.integers(0, 4)) == 0:
        right = [k]
    a, ours = data.draw(pairs([dtype], left, device))
    b, other = data.draw(pairs([dtype], right, device))
    wide, narrow = (np.int32, np.int32) if dtype == np.int8 else (np.float64, dtype)
    expected = (a.astype(wide) @ b.astype(wide)).astype(narrow)
    same((ours @ other).to("cpu"), np.asarray(expected))
    assert ours.mm(other) == ours @ other


@MANY
@given(st.data())
def test_reductions(data):
    array, made = data.draw(pairs())
    rank, dtype = array.ndim, array.dtype
    axes = data.draw(st.lists(st.integers(0, max(rank - 1, 0)), unique=True, max_size=rank))
    if data.draw(st.booleans()):
        axes = [axis - rank for axis in axes]
    axis = data.draw(st.sampled_from([None, tuple(axes), axes[0] if axes else None]))
    keep = data.draw(st.booleans())
    options = {"axis": axis, "keepdims": keep}
    is_float = dtype not in [np.dtype(t) for t in INTEGERS]
    if is_float:
        total = array.astype(np.float64).sum(**options)
        same(made.sum(**options), np.asarray(total).astype(dtype))
        with np.errstate(all="ignore"):
            mean = total / max(array.size / max(total.size, 1), 1)
        if array.size:
            allowed = {2: 1e-2, 4: 1e-6, 8: 1e-14}[dtype.itemsize]
            found = np.asarray(made.mean(**options).numpy(), np.float64)
            assert np.allclose(found, mean, rtol=allowed, atol=allowed)
    else:
        wide = np.int64 if dtype.kind == "i" else np.uint64
        same(made.sum(**options), np.asarray(array.sum(dtype=wide, **options)))
        with pytest.raises(mm.Error, match="mean is not for"):
            made.mean(**options)
    if array.size or not made.sum(**options).size:
        # NumPy refuses an empty result of no elements, which asks for none.
        greatest = array.max(**options) if array.size else np.empty(made.sum(**options).shape, dtype)
        same(made.max(**options), np.asarray(greatest))
    else:
        with pytest.raises(mm.Error, match="of no elements none is the greatest"):
            made.max(**options)


def test_creation():
    for device in DEVICES:
        for layout in (None, "{0,1}", "{1,0:T(2,2)}"):
            where = {"device": device, "layout": layout}
            same(Tensor.zeros((2, 3), **where), np.zeros((2, 3), np.float32))
            same(Tensor.ones((2, 3), "s16", **where), np.ones((2, 3), np.int16))
            same(Tensor.empty((2, 3), np.uint8, **where), np.zeros((2, 3), np.uint8))
            same(Tensor.full((2, 3), 2.5, "bf16", **where), np.full((2, 3), 2.5, ml_dtypes.bfloat16))
            same(Tensor.full((2, 3), 2**63, "u64", **where), np.full((2, 3), 2**63, np.uint64))
            same(Tensor.full((1, 2), 1 + 2j, "c64", **where), np.full((1, 2), 1 + 2j, np.complex64))
            for made in (
                lambda **w: Tensor.randn((4, 5), "f64", seed=2**63, **w),
                lambda **w: Tensor.uniform((4, 5), -2, 3, "f16", seed=1, **w),
                lambda **w: Tensor.randint((4, 5), -3, 3, "s8", seed=1, **w),
            ):
                assert made(**where) == made()
    same(Tensor.zeros(3), np.zeros(3, np.float32))
    same(Tensor.zeros(()), np.zeros((), np.float32))
    many = Tensor.uniform(10_000, -2, 3, seed=1).numpy()
    assert -2 <= many.min() < -1.9 and 2.9 < many.max() < 3
    assert set(Tensor.randint(1000, -3, 3, seed=1).tolist()) == set(range(-3, 3))
    assert Tensor.randint(1, 0, 9, seed=1).dtype == np.int64
    many = Tensor.randn(100_000, seed=3).numpy()
    assert abs(many.mean()) < 0.02 and abs(many.std() - 1) < 0.02
    same(Tensor([[1, 2], [3, 4]]), np.array([[1, 2], [3, 4]]))
    same(Tensor(((1.5, 2),)), np.array([[1.5, 2]]))
    same(Tensor(7), np.array(7))
    same(Tensor(True), np.array(True))
    same(Tensor(np.float32(7)), np.float32(7))
    same(Tensor([1, 2], "bf16"), np.array([1, 2], ml_dtypes.bfloat16))
    same(Tensor(np.array([1, 2]), "f4"), np.array([1, 2], np.float32))
    same(Tensor(Tensor([1, 2]), "f4"), np.array([1, 2], np.float32))
    same(Tensor(memoryview(b"abc")), np.frombuffer(b"abc", np.uint8))
    packed = Tensor.from_bytes("s4[3]{0:E(4)}", b"\x21\x0f")
    assert packed.numpy().tolist() == [1, 2, -1] and packed.item(2) == -1


def test_numbers_out():
    made = Tensor([[1, 2, 3], [4, 5, 6]], layout="{1,0:T(2,2)}")
    assert made.item(1, 2) == made.item((1, -1)) == 6
    assert int(Tensor(5)) == 5 and float(Tensor([2.5])) == 2.5 and int(Tensor(-2.5)) == -2
    assert Tensor(True).item() is True and Tensor(1 + 2j).item() == 1 + 2j
    assert bool(Tensor(0.5)) and not Tensor([[0]])
    for wrong in (made.item, lambda: bool(made), lambda: float(made), lambda: made.item(2, 0)):
        with pytest.raises(mm.Error):
            wrong()
    with pytest.raises(TypeError):
        hash(made)
    assert made != 5 and not made == "text"


def test_how_it_is_shown():
    made = Tensor(np.arange(12, dtype="f4").reshape(2, 2, 3), layout="{2,1,0}")
    assert repr(made) == (
        "Tensor([[[ 0,  1,  2],\n"
        "         [ 3,  4,  5]],\n"
        "\n"
        "        [[ 6,  7,  8],\n"
        "         [ 9, 10, 11]]], f32[2,2,3]{2,1,0} on cpu)"
    )
    assert str(made).endswith("\nf32[2,2,3]{2,1,0} on cpu")
    assert len(repr(Tensor.zeros((1000, 1000)))) < 1000
    lines = repr(mm.devices()).splitlines()
    assert lines[0].startswith("cpu: the host's processor, ")
    for kind, reason in mm.devices().missing.items():
        assert f"{kind}: missing, {reason}" in lines


def test_devices():
    found = mm.devices()
    assert {"cpu", "cpu:columns"} <= set(found) and len(found) == len(list(found))
    for name in found:
        assert found[name] == mm.Device(name) and found[name].name == str(found[name]) == name
        assert pickle.loads(pickle.dumps(found[name])) == found[name]
        assert eval(repr(found[name]), {"Device": mm.Device}) in {found[name]}
        same(Tensor([1.0, 2.0], device=name) + 1, [2.0, 3.0])
    assert "cuda" in found.missing  # which says how many there are, where there are some
    if "cuda:0" not in found:
        with pytest.raises(mm.DeviceError, match="there is no device cuda:0: the driver"):
            Tensor.zeros(3, device="cuda:0")
        with pytest.raises(KeyError, match="there is no device cuda:0"):
            found["cuda:0"]
    with pytest.raises(TypeError, match="expected a device or its name, such as 'cpu', found int"):
        Tensor.zeros(3, device=0)


def test_errors_are_those_of_rust():
    a, b = Tensor.zeros((2, 3)), Tensor.zeros((4,))
    for call, text in [
        (lambda: a + b, "add: "),
        (lambda: a @ a, "mm: "),
        (lambda: a + Tensor.zeros((2, 3), "f64"),
         "add: the left operand (2,3) holds f32, the right one (2,3) f64; expected one element type"),
        (lambda: a + a.to("cpu:columns"),
         "add: the left operand is on cpu, the right one on cpu:columns; move one with `to`"),
        (lambda: Tensor.zeros(3, "s8") + 300, "s8 can't hold 300; expected an integer from -128 to 127"),
        (lambda: Tensor.zeros(3, "s8") + 0.5, "s8 can't hold 0.5; "),
        (lambda: Tensor.zeros(3, "s8") + 2**200, "expected a number of at most 128 bits"),
        (lambda: a.sum(2), "2"),
        (lambda: a.sum((0, 0)), "dimension 0"),
        (lambda: a.transpose(0), ""),
        (lambda: a.reshape(7), "7"),
        (lambda: a.broadcast_to(2, 4), "broadcast_to: "),
        (lambda: a.squeeze(0), "squeeze of f32[2,3]{1,0} is no view: dimension 0 has size 2, expected 1"),
        (lambda: a.relayout("{0}"), ""),
        (lambda: a.relayout("{1,0"), "{1,0: column "),
        (lambda: a.is_close(b), "is_close: the shapes are (2,3) and (4); expected equal ones"),
        (lambda: a.is_close(a, atol=-1), "is_close: the tolerance -1 is none; expected 0 or more"),
        (lambda: a.contiguous("K"), "expected the order 'C', 'F', 'matrices' or 'channels_last', found \"K\""),
        (lambda: a.relayout("{1,0:T(2,2)}")[0], "slice of f32[2,3]{1,0:T(2,2)} is no view: "),
        (lambda: Tensor.zeros((2, -3)), "-3"),
        (lambda: Tensor.zeros((2**40, 2**40)), ""),
        (lambda: Tensor.randn(3, "s8", seed=0), "randn is not for s8; expected f32, f64, f16 or bf16"),
        (lambda: Tensor.randint(3, 5, 5, seed=0), "randint: there are no s64 numbers from 5 to below 5"),
        (lambda: Tensor.uniform(3, 2, 1, seed=0), "uniform: there are no f32 numbers from 2 to below 1"),
        (lambda: Tensor.randint(3, 0, 1.5, seed=0), "expected an integer, found 1.5"),
        (lambda: Tensor.from_bytes("u8[2]", b"abc"), "the buffer has 3 bytes; expected 2"),
        (lambda: Tensor(np.array(["a"])), "NumPy's <U1 has no element type of XLA's"),
    ]:
        with pytest.raises(mm.Error) as caught:
            call()
        assert isinstance(caught.value, ValueError) and text in str(caught.value), text
    for call in (
        lambda: a[2], lambda: a[0, -4], lambda: a[0, 0, 0], lambda: a[..., ...], lambda: Tensor(3)[0]
    ):
        with pytest.raises(IndexError):
            call()
    for call in (
        lambda: a[True], lambda: a[[0, 1]], lambda: a["x"], lambda: a[np.array([0])], lambda: a + "x",
        lambda: a @ 2, lambda: a + np.zeros((2, 3), np.float32), lambda: np.zeros((2, 3)) * a,
        lambda: len(Tensor(3)), lambda: iter(Tensor(3)), lambda: a < a, lambda: Tensor("text"),
        lambda: Tensor.zeros("x"), lambda: a.minimum("x"), lambda: Tensor.zeros(3, seed=1),
        lambda: np.exp(a),
    ):
        with pytest.raises(TypeError):
            call()


def test_arrays_share_and_keep_the_memory():
    made = Tensor(np.arange(6.0).reshape(2, 3), layout="{0,1}")
    array = made.numpy()
    assert array.strides == (8, 16) and not array.flags.writeable
    assert np.shares_memory(array, made.T[1:].numpy()) and np.shares_memory(array, np.asarray(made))
    with pytest.raises(ValueError):
        array.flags.writeable = True
    written = made.numpy(copy=True)
    written[...] = 0
    assert made.sum().item() == 15 and np.array(made).flags.writeable
    assert np.asarray(made, np.float32).dtype == np.float32
    for apart in (made.to("cpu:columns"), made.relayout("{1,0:T(2,2)}")):
        assert apart.numpy().flags.writeable
        with pytest.raises(mm.Error, match="a copy is needed"):
            apart.numpy(copy=False)
    with pytest.raises(ValueError):
        np.asarray(made, np.float32, copy=False)
    lent = np.from_dlpack(made[:, ::-2])
    assert lent.strides == (8, -32) and np.shares_memory(lent, array) and not lent.flags.writeable
    assert np.from_dlpack(made, copy=True).flags.writeable
    for sizes in [(), (0, 3), (2, 0)]:
        same(Tensor(np.from_dlpack(Tensor.zeros(sizes))), np.zeros(sizes, np.float32))


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_is_given_back():
    def round_trip():
        made = Tensor(np.ones(1 << 20))
        view = (made + 1).numpy()
        (made + 2).__dlpack__(max_version=(1, 0))  # which nobody takes
        assert np.from_dlpack(made + 3)[7] == 4
        return view[5]

    for _ in range(3):
        round_trip()
    before = resident()
    for _ in range(40):
        round_trip()
    assert resident() - before < 128 << 20  # 40 times one of them would be 320 MiB


def test_threads_on_the_same_tensor():
    """Large enough that Python's lock is given up."""
    made = Tensor.randn((300, 300), seed=1)
    sums, product = made.sum(0), made @ made
    wrong = []

    def work():
        for _ in range(8):
            if not (made.sum(0) == sums and made @ made == product and made.T.relayout("{0,1}") == made.T):
                wrong.append("differs")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_functions_over_arrays_take_tensors():
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    made = Tensor(array)
    columns = mm.relayout(made, "{0,1}")
    assert isinstance(columns, Tensor) and columns == made and columns.layout == mm.Layout("{0,1}")
    assert isinstance(mm.transpose(made), Tensor) and mm.transpose(made) == made.T
    assert mm.ascontiguous(made.T).strides == (8, 4)
    assert mm.pack(made, "{0,1}").tobytes() == array.T.tobytes()
    assert mm.plan(made, "{0,1}").copies
    assert mm.layout_of(made).shape == made.mm_shape
    tiled = mm.layout_of(made.relayout("{1,0:T(2,2)}"))
    assert tiled.strides is None and tiled.library == "minormajor" and not tiled.is_writable
    assert tiled.bytes_copied_by("numpy") == 24 and mm.layout_of(made).bytes_copied_by("torch") == 0


def test_pytorch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    theirs = torch.arange(12, dtype=torch.float32).reshape(3, 4).T
    made = Tensor(theirs)
    assert made.numpy().tolist() == theirs.tolist()
    theirs.zero_()
    assert made.sum().item() == 66
    back = torch.from_dlpack(made.T[::2])
    assert back.tolist() == made.T[::2].tolist()
    assert back.data_ptr() == made.numpy().ctypes.data
    for dtype in FLOATS + INTEGERS + [np.bool_, np.complex64, ml_dtypes.float8_e4m3fn]:
        array = values(dtype, (3, 4), 1)
        lent = torch.from_dlpack(Tensor(array, layout="{0,1}"))
        assert Tensor(lent) == Tensor(array) and lent.stride() == (1, 3)
    assert Tensor(torch.ones(3, dtype=torch.bfloat16)).element_type == "bf16"
    (moved,) = [mm.relayout(theirs, "{1,0}")]
    assert Tensor(moved).device.name == "cpu"


def test_jax(monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    theirs = jax.numpy.arange(12, dtype="bfloat16").reshape(3, 4)
    made = Tensor(theirs)
    assert made.element_type == "bf16" and made.tolist() == theirs.tolist()
    assert jax.numpy.asarray(made).tolist() == made.tolist()
    floats = Tensor([[1, 2, 3], [4, 5, 6]], "f32", layout="{0,1}")
    assert jax.numpy.asarray(floats).tolist() == floats.tolist()
    assert jax.numpy.from_dlpack(Tensor([1, 2, 3], "f32")).tolist() == [1, 2, 3]
