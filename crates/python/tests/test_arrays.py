"""Every function on random arrays of every kind, beside NumPy.

The settings below make more than 5,000 arrays in all; `COUNT` says how many were made.
"""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import minormajor as mm

MANY = settings(
    max_examples=600,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)

PLAIN = ["?", "i1", "<u2", ">i4", "<f2", ">f8", "<c8", ">c16", "<i8"]
NAMED = PLAIN + [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.int4, ml_dtypes.uint2]
ALL = NAMED + ["<M8[s]", "S3", "S5", "<U2", "V12", "i4,f8", "S0"]


def filled(dtype, count):
    """Elements that differ in every byte as far as they can."""
    dtype = np.dtype(dtype)
    raw = (np.arange(count * dtype.itemsize, dtype=np.uint64) * 167 + 13).astype(np.uint8)
    if dtype.kind == "b":
        raw &= 1
    elif dtype.num >= 256 and dtype.name in ("int4", "uint2"):
        raw &= 3 if dtype.name == "uint2" else 7
    if dtype.itemsize == 0:
        return np.zeros(count, dtype)
    return raw.view(dtype)


@st.composite
def arrays(draw, types=ALL, most=8):
    """An array of any type: any strides, gaps, repeats, either order, also not aligned."""
    dtype = np.dtype(draw(st.sampled_from(types)))
    rank = draw(st.integers(0, most))
    sizes = draw(st.lists(st.sampled_from([0, 1, 1, 2, 2, 3, 5]) if rank > 4 else st.integers(0, 7),
                          min_size=rank, max_size=rank))
    width = dtype.itemsize
    kind = draw(st.sampled_from(["order", "slices", "strides", "unaligned"]))
    count = int(np.prod(sizes, dtype=int))
    if kind == "unaligned" and width > 0:
        memory = np.zeros(count * width + 1, np.uint8)
        memory[1:] = filled(dtype, count).view(np.uint8)
        array = np.ndarray(sizes, dtype, memory, 1)
    elif kind == "strides" and width > 0 and count:
        # Steps of any number of bytes, so that elements overlap, repeat and are not aligned.
        steps = [draw(st.integers(-2 * width - 1, 3 * width + 1)) for _ in sizes]
        low = sum((n - 1) * s for n, s in zip(sizes, steps) if s < 0)
        high = sum((n - 1) * s for n, s in zip(sizes, steps) if s > 0) + width
        memory = np.zeros(high - low, np.uint8)
        bytes_ = filled("u1", high - low)
        memory[:] = bytes_ & (1 if dtype.kind == "b" else 3 if dtype.num >= 256 else 255)
        array = np.ndarray(sizes, dtype, memory, -low, steps)
    else:
        order = draw(st.permutations(range(rank)))
        if kind == "slices":
            room = [n + draw(st.integers(0, 2)) for n in sizes]
        else:
            room = sizes
        stored = filled(dtype, int(np.prod(room, dtype=int))).reshape([room[d] for d in order])
        array = stored.transpose(np.argsort(order)) if rank else stored
        cuts = tuple(
            slice(None, None, -1) if draw(st.booleans()) and kind == "slices" else slice(None)
            for _ in sizes
        )
        array = array[(*cuts, ...)][(*(slice(0, n) for n in sizes), ...)]
        if kind == "slices" and rank and draw(st.booleans()):
            array = np.broadcast_to(array, (draw(st.integers(0, 3)), *sizes)) if rank < most else array
    return array


@st.composite
def with_order(draw, **kind):
    array = draw(arrays(**kind))
    return array, tuple(draw(st.permutations(range(array.ndim))))


def same(a, b):
    """The same type, shape and bytes of every element."""
    assert a.dtype == b.dtype and a.shape == b.shape, (a.dtype, b.dtype, a.shape, b.shape)
    assert np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()


def dense(array, order):
    """Whether memory is without gaps, the first dimension of the order the most minor."""
    expected = array.dtype.itemsize
    for d in order:
        if array.shape[d] != 1 and array.strides[d] != expected:
            return array.size == 0
        expected *= array.shape[d]
    return True


@MANY
@given(with_order())
def test_relayout(case):
    array, order = case
    before = array.tobytes()
    made = mm.relayout(array, order)
    same(made, array)
    assert dense(made, order)
    # The array itself where it has that order already, else new memory.
    assert (made is array) == dense(array, order)
    new = mm.relayout(array, order, copy=True)
    same(new, array)
    assert new is not array and not np.shares_memory(new, array)
    if dense(array, order):
        assert mm.relayout(array, order, copy=False) is array
    else:
        with pytest.raises(mm.Error):
            mm.relayout(array, order, copy=False)
    assert array.tobytes() == before


@MANY
@given(with_order(), st.booleans(), st.data())
def test_outputs(case, is_odd, data):
    array, order = case
    stored = np.zeros([array.shape[d] for d in reversed(order)], array.dtype)
    out = stored.transpose(np.argsort(order[::-1])) if array.ndim else stored
    assert mm.relayout(array, order, out) is out
    same(out, array)
    # Any strides will do without a layout; what lies between is left alone.
    room = np.zeros([2 * n + 1 for n in array.shape], array.dtype)
    window = tuple(slice(None, -1, 2) if is_odd else slice(-1, 0, -2) for _ in array.shape)
    target = room[(*window, ...)][(*(slice(0, n) for n in array.shape), ...)]
    assert target.shape == array.shape
    mm.relayout(array, out=target, threads=data.draw(st.integers(0, 3)))
    same(target, array)
    room[window] = np.zeros((), array.dtype)
    assert room.tobytes() == bytes(room.nbytes)


@MANY
@given(with_order(), st.booleans())
def test_transpose(case, is_negative):
    array, axes = case
    given_axes = tuple(d - array.ndim for d in axes) if is_negative else axes
    view = mm.transpose(array, given_axes)
    same(view, array.transpose(axes))
    assert view.strides == array.transpose(axes).strides
    moved = mm.transpose(array, given_axes, tuple(range(array.ndim)))
    same(moved, view)
    assert dense(moved, range(array.ndim))
    same(mm.transpose(array), array.transpose())


@MANY
@given(arrays(), st.sampled_from("CF"))
def test_ascontiguous(array, order):
    made = mm.ascontiguous(array, order)
    same(made, array)
    assert made.flags[f"{order}_CONTIGUOUS"]
    if array.flags[f"{order}_CONTIGUOUS"]:
        assert made is array


def tiled(array, tile):
    """The array in tiles of its last two dimensions, as NumPy pads and moves it."""
    rank = max(array.ndim, 2)
    array = array.reshape((1,) * (rank - array.ndim) + array.shape)
    pads = [(0, 0)] * (rank - 2) + [(0, -n % t) for n, t in zip(array.shape[-2:], tile)]
    padded = np.pad(array.view(f"u{array.dtype.itemsize}") if array.dtype.num >= 256 else array, pads)
    (*outer, rows, columns), (a, b) = padded.shape, tile
    cut = padded.reshape(*outer, rows // a, a, columns // b, b)
    return np.ascontiguousarray(np.moveaxis(cut, -3, -2)).tobytes()


@MANY
@given(arrays(types=NAMED, most=4), st.sampled_from([(2, 2), (8, 128), (3, 5)]))
def test_pack_and_unpack(array, tile):
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    text = "{" + ",".join(map(str, reversed(range(array.ndim)))) + "}"
    plain = mm.pack(array, text)
    assert plain.dtype == np.uint8 and plain.tobytes() == little.tobytes()
    shape = mm.Shape.array(array.dtype, array.shape)
    back = mm.unpack(plain, shape)
    same(back, little)
    if array.ndim >= 2:
        layout = mm.Layout(text[:-1] + f":T({tile[0]},{tile[1]})}}")
        packed = mm.pack(array, layout)
        assert packed.tobytes() == tiled(np.ascontiguousarray(little), tile)
        there = shape.with_layout(layout)
        assert packed.nbytes == there.allocated_bytes
        order = tuple(range(array.ndim))
        back = mm.unpack(packed, there, order)
        same(back, little)
        assert dense(back, order)
        out = np.full(packed.shape, 255, np.uint8)
        assert mm.pack(array, there, out) is out and out.tobytes() == packed.tobytes()


@MANY
@given(arrays(types=[ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.uint2], most=4), st.booleans())
def test_packed_elements(array, is_fortran):
    bits = 2 if array.dtype == ml_dtypes.uint2 else 4
    array = array.astype("i1").astype(array.dtype)
    order = range(array.ndim) if is_fortran else reversed(range(array.ndim))
    layout = "{" + ",".join(map(str, order)) + f":E({bits})}}"
    packed = mm.pack(array, layout)
    values = array.astype("i1").ravel("F" if is_fortran else "C").view("u1") & (2**bits - 1)
    per = 8 // bits
    values = np.pad(values, (0, -len(values) % per)).reshape(-1, per)
    expected = sum(values[:, i].astype("u1") << np.uint8(i * bits) for i in range(per))
    assert packed.tobytes() == np.asarray(expected, "u1").tobytes()
    back = mm.unpack(packed, mm.Shape.array(array.dtype, array.shape, layout))
    same(back.astype("i1"), array.astype("i1"))


@st.composite
def reshapes(draw):
    array = draw(arrays(most=6))
    left, sizes = array.size, []
    while left > 1:
        size = draw(st.sampled_from([d for d in range(1, left + 1) if left % d == 0]))
        sizes.append(size)
        left //= size
    if array.size == 0:
        sizes = draw(st.permutations([*array.shape, 3]))
    elif sizes and draw(st.booleans()):
        sizes[draw(st.integers(0, len(sizes) - 1))] = -1
    return array, list(sizes)


@MANY
@given(reshapes())
def test_why_not_a_view(case):
    array, sizes = case
    try:
        np.reshape(array, sizes, copy=False)
        is_view = True
    except ValueError:
        is_view = False
    # An element without bytes is anywhere.
    assert (mm.why_not_a_view(array, sizes) is None) == (is_view or array.dtype.itemsize == 0)


@MANY
@given(with_order(types=NAMED))
def test_plans_of_arrays(case):
    array, order = case
    plan = mm.plan(array, order)
    assert plan.copies == (not dense(array, order))
    assert plan.bytes_read == array.nbytes
    there = mm.layout_of(array)
    assert there.plan(order) == plan and there.strides == array.strides
    assert (there.shape is not None) == any(
        dense(array, o) for o in ([*range(array.ndim)], [*reversed(range(array.ndim))],
                                  sorted(reversed(range(array.ndim)), key=lambda d: array.strides[d]))
    )


@st.composite
def batches(draw):
    rank = draw(st.integers(1, 6))
    sizes = draw(st.lists(st.integers(1, 6), min_size=rank, max_size=rank))
    # Of any number of dimensions, or of more than is done at once.
    few, many = st.lists(st.integers(0, 5), max_size=3), st.lists(st.integers(6, 600), min_size=1, max_size=1)
    batch = tuple(draw(few | many))
    seed = draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    types = draw(st.sampled_from(["i8", "i4", "u1", ">i8", "u4", "i2"]))
    columns = [random.integers(0, n, batch).astype(types) for n in sizes]
    match draw(st.integers(0, 6)):
        case 0:
            columns = [np.asfortranarray(column) for column in columns]
        case 1 if batch:
            columns = [np.repeat(column, 2, axis=-1)[..., ::2] for column in columns]
        case 2 if batch:
            columns = [column[::-1].copy()[::-1] for column in columns]
        case 3:
            columns = [not_aligned(column) for column in columns]
        case 4:
            columns = np.stack(columns)
        case 5:
            # Each index one row of memory.
            columns = np.moveaxis(np.stack(columns, axis=-1), -1, 0)
    if draw(st.booleans()):
        for column in [columns] if isinstance(columns, np.ndarray) else columns:
            column.flags.writeable = False
    return sizes, columns


def not_aligned(array):
    memory = np.zeros(array.nbytes + 1, np.uint8)[1:]
    moved = memory.view(array.dtype).reshape(array.shape) if array.size else array
    moved[...] = array
    return moved


@MANY
@given(batches(), st.sampled_from(["", ":T(2,3)"]))
def test_indices_in_bulk(batch, tile):
    sizes, columns = batch
    expected = np.ravel_multi_index(tuple(columns), sizes)
    positions = mm.ravel_index(columns, sizes)
    np.testing.assert_array_equal(positions, expected)
    assert np.shape(positions) == np.shape(expected)
    out = np.full(np.shape(expected), -9)
    assert mm.ravel_index(columns, tuple(sizes), out) is out and (out == expected).all()
    for a, b in zip(mm.unravel_index(positions, sizes), np.unravel_index(expected, sizes)):
        np.testing.assert_array_equal(a, b)
    order = ",".join(map(str, range(len(sizes))))
    shape = mm.Shape.array("u8", sizes, f"{{{order}{tile}}}")
    positions = mm.ravel_index(columns, shape)
    for place in np.ndindex(np.shape(positions)):
        index = tuple(int(column[place]) for column in columns)
        assert np.asarray(positions)[place] == shape.position(index)
    every = np.arange(shape.allocated_elements)
    found = np.stack(mm.unravel_index(every, shape), axis=-1)
    for position, index in zip(every, found):
        assert shape.index(int(position)) in (tuple(index.tolist()), None)
        assert (index == -1).all() == (shape.index(int(position)) is None)


@MANY
@given(batches(), st.integers(0, 5), st.integers(0, 599), st.sampled_from([-1, 0, 100]))
def test_indices_out_of_bounds(batch, dimension, place, beyond):
    sizes, columns = batch
    columns = [np.array(column) for column in columns]
    dimension %= len(sizes)
    column = columns[dimension]
    if column.size == 0 or (beyond < 0 and column.dtype.kind == "u"):
        return
    place %= column.size
    index = beyond if beyond < 0 else sizes[dimension] + beyond
    column.flat[place] = index
    with pytest.raises(ValueError):
        np.ravel_multi_index(tuple(columns), sizes)
    for given in (columns, np.moveaxis(np.stack(columns, axis=-1), -1, 0)):
        with pytest.raises(mm.Error) as caught:
            mm.ravel_index(given, sizes)
        text = str(caught.value)
        assert text.startswith(f"number {place} of the batch") and f"{index}" in text
    positions = np.zeros(column.shape, np.int64)
    positions.flat[place] = beyond if beyond < 0 else np.prod(sizes) + beyond
    with pytest.raises(mm.Error, match=f"number {place} of the batch"):
        mm.unravel_index(positions, sizes)
