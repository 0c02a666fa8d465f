"""The classes under Python's manners: repr, equality, hash, pickle, errors, pictures."""

import copy
import pickle

import numpy as np
import pytest

import minormajor as mm

VALUES = [
    mm.Shape("f32[2,3]{0,1:T(8,128)}"),
    mm.Shape("f32[2,3]", default_layout=False),
    mm.Shape("f32[]"),
    mm.Shape("(f32[2]{0}, (s4[7]{0:E(4)}, token[]))"),
    mm.Shape("f32[<=5,?]"),
    mm.Shape("u8[2,3]{0,1:PAD(3,5)}"),
    mm.Layout("{1,0:T(8,128)(2,1)S(5)}"),
    mm.Layout("{}"),
    mm.Sharding("{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}"),
    mm.Sharding("{replicated}"),
    mm.Sharding("{devices=[2,1]<=[2]}").shards("f32[5,4]")[1],
    mm.plan("f32[2,3]", "{0,1}"),
    mm.plan(np.zeros((4, 6))[::-1, ::2], "{0,1}"),
    mm.plan(np.zeros(3, np.int8), "{0}"),
    mm.bitcast("f32[4,6]{1,0}", "f32[24]{0}"),
    mm.bitcast("f32[4,6]{1,0}", "f32[6,4]{0,1}", transpose=(1, 0)),
    mm.bitcast("f32[4]", "f32[4,2]", broadcast=[0]),
    mm.bitcast("f32[4]", "u8[4,4]", convert=True),
    mm.bitcast("f32[8]", "f32[3]", slice=[slice(1, 7, 2)]),
    mm.bitcast("f32[8]", "f32[8]"),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_repr_and_pickle_rebuild(value):
    names = {name: getattr(mm, name) for name in mm.__all__}
    for other in (eval(repr(value), names), pickle.loads(pickle.dumps(value)), copy.deepcopy(value)):
        assert other == value
        assert type(other) is type(value)
        if not isinstance(value, mm.Plan | mm.Bitcast):
            assert hash(other) == hash(value)
    assert value != object() and (value == 3) is False


def test_values_differ():
    for i, a in enumerate(VALUES):
        for j, b in enumerate(VALUES):
            assert (a == b) == (i == j), (a, b)


def test_shape_questions():
    shape = mm.Shape("bf16[3,5]{0,1:T(2,2)}")
    assert (shape.kind, shape.element_type, shape.sizes, shape.rank) == ("array", "bf16", (3, 5), 2)
    assert (shape.size, shape.dense_bytes, shape.allocated_bytes) == (15, 30, 48)
    assert shape.byte_strides is None and mm.Shape("s16[2,3]").byte_strides == (6, 2)
    assert shape.layout.tiles == ((2, 2),) and shape.layout.minor_to_major == (0, 1)
    for position in range(shape.allocated_elements):
        index = shape.index(position)
        assert index is None or shape.position(index) == position
    assert shape.with_layout([1, 0]) == mm.Shape("bf16[3,5]")
    assert shape.without_layout().layout is None
    assert mm.Shape("f32[2,3,4]").transpose((0, -1, 1)) == mm.Shape("f32[2,4,3]{1,2,0}")
    assert mm.Shape("f32[<=5]").dynamic_dimensions == (True,)
    assert len(mm.Shape("(f32[2], s8[])")) == 2 == len(mm.Shape("(f32[2], s8[])").elements)
    assert mm.Shape.array(np.float64, (2, 3), (0, 1)) == mm.Shape("f64[2,3]{0,1}")
    assert mm.Shape.from_proto(shape.to_proto()) == shape
    assert mm.Shape("f32[2,3]").dtype == np.float32 and mm.Shape("pred[]").dtype == np.bool_


def test_pictures():
    shape = mm.Shape("f32[2,3]{0,1:PAD(3,5)}")
    assert "a d 0 b e 0 c f 0" in shape.draw()
    assert shape._repr_svg_().startswith("<svg")
    assert mm.Shape("token[]")._repr_svg_() is None
    with pytest.raises(mm.Error, match="token"):
        mm.Shape("token[]").svg()


@pytest.mark.parametrize(
    "make,kind,column,text",
    [
        (lambda: mm.Shape("f32[2,3"), mm.ParseError, 8, "f32[2,3: column 8: expected"),
        (lambda: mm.Shape("f32[2]{1}"), mm.ParseError, 8, "column"),
        (lambda: mm.Shape(""), mm.ParseError, 1, "empty text: column 1: expected"),
        (lambda: mm.Shape("f32[" + "1," * 99 + "x"), mm.ParseError, 203, "1,...: column 203"),
        (lambda: mm.Layout("{0,0}"), mm.ParseError, None, "column"),
        (lambda: mm.Sharding("{devices}"), mm.ParseError, None, "column"),
        (lambda: mm.Layout([0, 0]), mm.Error, None, "0"),
        (lambda: mm.Shape("f32[2]").position((2,)), mm.Error, None, "index 2 is outside dimension 0"),
        (lambda: mm.Shape("f32[2]").index(2), mm.Error, None, "position 2 is outside"),
        (lambda: mm.Shape("f32[2]").transpose((1,)), mm.Error, None, "dimension"),
        (lambda: mm.Shape("(f32[2])").sizes, mm.Error, None, "tuple"),
        (lambda: mm.Shape.array("f33", (2,)), mm.Error, None, "f33"),
        (lambda: mm.Shape.array(object, (2,)), mm.Error, None, "object"),
        (lambda: mm.Shape.array("f32", (-2,)), mm.Error, None, "-2"),
        (lambda: mm.Shape.of_strides("f32", (2,), ()), mm.Error, None, "1 sizes and 0 strides"),
        (lambda: mm.Shape.from_proto(b"\xff"), mm.Error, None, ""),
        (lambda: mm.plan("f32[2]", "f32[3]"), mm.PlanError, None, "3"),
        (lambda: mm.plan("f32[2,3]", "{0}"), mm.Error, None, "dimension"),
        (lambda: mm.bitcast("f32[2]", "f32[3]"), mm.Error, None, ""),
        (lambda: mm.bitcast("f32[2]", "f32[2]", reshape=True, convert=True), mm.Error, None, "one operation"),
        (lambda: mm.Plan.of_strides("f32", (2,), (1 << 62,), "{0}"), mm.Error, None, ""),
    ],
)
def test_errors(make, kind, column, text):
    with pytest.raises(kind) as caught:
        make()
    assert isinstance(caught.value, ValueError) and text in str(caught.value)
    if kind is mm.ParseError:
        assert caught.value.column >= 1
    if column is not None:
        assert caught.value.column == column
    assert pickle.loads(pickle.dumps(caught.value)).column == caught.value.column


@pytest.mark.parametrize("value", [3, None, b"f32[2]", 2.5])
def test_wrong_types_are_type_errors(value):
    with pytest.raises(TypeError):
        mm.Shape(value)
    with pytest.raises(TypeError):
        mm.Layout(value)


def test_shardings():
    sharding = mm.Sharding("{devices=[2,2]<=[4]}")
    array = np.arange(35).reshape(5, 7)
    seen = np.zeros_like(array)
    for shard in sharding.shards("s64[5,7]"):
        seen[shard.slices] += 1
        for index in np.ndindex(*(b - a for a, b in zip(shard.offset, shard.limit))):
            element = tuple(int(i) + o for i, o in zip(index, shard.offset))
            assert sharding.devices_of("s64[5,7]", element) == [shard.device]
    assert (seen == 1).all() and sharding.device_count == 4 and sharding.kind == "tiled"
    assert mm.Sharding("{replicated}").devices_of("f32[2]", (1,)) is None
    with pytest.raises(mm.Error, match="at most"):
        mm.Sharding("{devices=[2097152]<=[2097152]}").shards("f32[2097152]")


def test_bitcasts():
    answer = mm.bitcast("f32[3,5]{1,0:T(2,2)}", "f32[15]{0}")
    assert not answer and not answer.is_free and answer.byte_offset is None
    assert "goes from [0" in answer.why_not and answer.smallest_copy == mm.Shape("f32[3,5]{1,0}")
    answer = mm.bitcast("f32[8,4]", "f32[3,4]", slice=[slice(2, 5), slice(None)])
    assert answer and answer.byte_offset == 32 and answer.why_not is None and "is free" in str(answer)


def test_plans_say_what_is_done():
    plan = mm.plan("f32[2,3]{1,0}", "{0,1:PAD(3,5)}")
    assert (plan.copies, plan.bytes_read, plan.bytes_written) == (True, 24, 60)
    assert plan.fills and plan.boxes == [(0, 0, [(2, 3, 1), (3, 1, 3)])]
    assert not mm.plan("f32[2,3]", "{1,0}").copies
    assert str(plan).startswith("f32[2,3]{1,0} to f32[2,3]{0,1:PAD(3,5)}: moves 24 bytes")
