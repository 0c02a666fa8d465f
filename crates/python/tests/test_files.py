"""`load` and `save`, beside NumPy and safetensors."""

import ml_dtypes
import numpy as np
import pytest

import minormajor as mm

TYPES = ["?", "i1", "<u2", ">i4", "<f2", ">f8", "<c8", "<M8[s]", "S3", "V12", ml_dtypes.bfloat16]


def filled(dtype, sizes):
    dtype = np.dtype(dtype)
    count = int(np.prod(sizes)) * dtype.itemsize
    raw = (np.arange(count) * 167 + 13).astype(np.uint8)
    raw = raw & 1 if dtype.kind == "b" else raw
    return raw.view(dtype).reshape(sizes)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("sizes", [(), (5,), (0, 3), (2, 3, 4)], ids=str)
def test_npy(tmp_path, dtype, sizes):
    array = filled(dtype, sizes)
    theirs, ours = tmp_path / "theirs.npy", tmp_path / "ours.npy"
    np.save(theirs, array)
    is_named = array.dtype.num >= 256
    read = mm.load(theirs)
    # NumPy's file doesn't say which of ml_dtypes' types it is.
    assert read.tobytes() == array.tobytes() and read.shape == array.shape
    assert read.dtype == array.dtype or is_named
    for order in ("C", "F"):
        layout = tuple(range(array.ndim)) if order == "F" else None
        mm.save(ours, array, layout)
        # What is big-endian is written little-endian.
        for read in (np.load(ours), mm.load(ours), mm.load(ours, mmap=False)):
            there = read.view(array.dtype) if is_named else read.astype(array.dtype)
            assert there.tobytes() == array.tobytes()
            assert read.flags[f"{order}_CONTIGUOUS"] and not read.dtype.str.startswith(">")
        assert not mm.load(ours).flags.writeable or read.size == 0


def test_archives(tmp_path):
    arrays = {"a": filled("f4", (3, 4)), "b.c": filled("<u2", (2,))}
    for name, write in (("x.npz", np.savez), ("y.npz", np.savez_compressed)):
        write(tmp_path / name, **arrays)
        read = mm.load(tmp_path / name)
        assert list(read) == list(arrays)
        assert all(read[k].tobytes() == v.tobytes() and read[k].dtype == v.dtype for k, v in arrays.items())
        assert (mm.load(tmp_path / name, "b.c") == arrays["b.c"]).all()
    with pytest.raises(mm.FileError, match="no array 'z'; it holds a, b.c"):
        mm.load(tmp_path / "x.npz", "z")


def test_safetensors(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    array = filled(ml_dtypes.bfloat16, (3, 5))
    mm.save(tmp_path / "x.safetensors", array, name="weight")
    read = mm.load(tmp_path / "x.safetensors")
    assert list(read) == ["weight"] and read["weight"].dtype == array.dtype
    assert read["weight"].tobytes() == array.tobytes()
    arrays = {"w": filled("f4", (3, 4)), "v": filled("i8", ())}
    safetensors.save_file(arrays, tmp_path / "y.safetensors")
    read = mm.load(tmp_path / "y.safetensors")
    assert {k: v.tobytes() for k, v in read.items()} == {k: v.tobytes() for k, v in arrays.items()}


@pytest.mark.parametrize("layout", ["{1,0:T(8,128)}", "{0,1}", "{0,1:PAD(8,6)}", "{1,0}"])
def test_raw_files_hold_any_layout(tmp_path, layout):
    array = filled("f4", (7, 5))
    mm.save(tmp_path / "x.bin", array, layout)
    assert (tmp_path / "x.bin").read_bytes() == mm.pack(array, layout).tobytes()
    read = mm.load(tmp_path / "x.bin")
    assert read.dtype == array.dtype and read.tobytes() == array.tobytes()
    shapes = mm.relayout_file(tmp_path / "x.bin", tmp_path / "x.npy")
    assert list(shapes.values()) == [mm.Shape("f32[7,5]")]
    assert (np.load(tmp_path / "x.npy") == array).all()


@pytest.mark.parametrize("ending", ["npy", "npz", "safetensors", "tsr", "bin", "zarr"])
@pytest.mark.parametrize("layout", [None, "{0,1}", "{1,0}"])
@pytest.mark.parametrize("dtype", ["<f4", ">i2", ml_dtypes.bfloat16], ids=str)
def test_memory_is_written_as_files_are(tmp_path, ending, layout, dtype):
    """What is saved from memory, whatever its strides, is what a file becomes that has the same array."""
    memory = filled(dtype, (14, 10))
    native = np.dtype(dtype).newbyteorder("=")
    np.save(tmp_path / "x.npy", memory[:, ::-2].astype(native))
    named = dtype if native.num >= 256 else None
    (tmp_path / "theirs").mkdir()
    (tmp_path / "ours").mkdir()
    ours, theirs = tmp_path / f"ours/x.{ending}", tmp_path / f"theirs/x.{ending}"
    try:
        mm.relayout_file(tmp_path / "x.npy", theirs, layout, input_type=named)
    except mm.FileError as refused:
        with pytest.raises(mm.FileError) as caught:
            mm.save(ours, memory[:, ::-2], layout)
        text = str(caught.value).partition(": ")[2]
        assert text.split(";")[0] in str(refused)
        return
    for array in (memory[:, ::-2], np.asfortranarray(memory[:, ::-2]), memory[:, ::-2].copy()):
        mm.save(ours, array, layout, threads=1)
        files = sorted(p.relative_to(theirs.parent) for p in theirs.parent.rglob("*") if p.is_file())
        assert files == sorted(p.relative_to(ours.parent) for p in ours.parent.rglob("*") if p.is_file())
        for file in files:
            assert (ours.parent / file).read_bytes() == (theirs.parent / file).read_bytes(), file


@pytest.mark.parametrize("ending", ["npz", "safetensors", "zarr"])
def test_dictionaries(tmp_path, ending):
    arrays = {"a": filled("f4", (3, 4)), "b.c": filled("<u2", (2, 0)), "d": filled("i8", ()).T}
    path = tmp_path / f"x.{ending}"
    mm.save(path, arrays)
    read = mm.load(path)
    assert {k: (v.dtype, v.shape, v.tobytes()) for k, v in read.items()} == {
        k: (v.dtype, v.shape, v.tobytes()) for k, v in arrays.items()
    }
    assert (mm.load(path, "a", mmap=False) == arrays["a"]).all()
    # Over itself: what is mapped stays what it was.
    mm.save(path, {k: mm.ascontiguous(v, copy=True) * 2 for k, v in read.items()})
    assert (mm.load(path)["a"] == arrays["a"] * 2).all() and (read["a"] == arrays["a"]).all()


ZARR = {
    "layout": ("{0,1:T(3,2)}", {}),
    "chunks": (None, {"chunks": (2, 3)}),
    "shards": (None, {"chunks": (2, 3), "shards": (4, 6), "compressor": "blosc:5"}),
    "gzip": (None, {"chunks": (7, 5), "compressor": "gzip:1"}),
    "plain": (None, {"compressor": "none"}),
}


@pytest.mark.parametrize("case", ZARR)
@pytest.mark.parametrize("dtype", ["?", "<f4", "<i8", "<c8"])
def test_zarr(tmp_path, case, dtype):
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    layout, options = ZARR[case]
    array, path = filled(dtype, (7, 5)), tmp_path / "x.zarr"
    mm.save(path, array, layout, **options)
    for read in (mm.load(path), mm.load(path, "x"), zarr.open_array(path, mode="r")[...]):
        assert read.dtype == array.dtype and read.tobytes() == array.tobytes()
    if "chunks" in options:
        assert zarr.open_array(path, mode="r").chunks == options["chunks"]
    theirs = tmp_path / "y.zarr"
    zarr.create_array(theirs, data=array, chunks=(4, 2))
    assert mm.load(theirs).tobytes() == array.tobytes()


def test_zarr_groups(tmp_path):
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    group = zarr.open_group(tmp_path / "x.zarr", mode="w")
    arrays = {"a": filled("f4", (3, 4)), "deep/b": filled("<u2", (5,))}
    for name, array in arrays.items():
        group.create_array(name, data=array)
    read = mm.load(tmp_path / "x.zarr")
    assert {k: v.tobytes() for k, v in read.items()} == {k: v.tobytes() for k, v in arrays.items()}
    assert mm.load(tmp_path / "x.zarr", "deep/b").tolist() == arrays["deep/b"].tolist()


def test_saving_takes_what_moves(tmp_path):
    tensor = mm.Tensor(filled("f4", (7, 5)), layout="{0,1}")
    mm.save(tmp_path / "x.npy", tensor)
    assert (mm.load(tmp_path / "x.npy") == tensor.numpy()).all()
    large = np.arange(600 * 700, dtype=np.int32).reshape(600, 700)
    for layout, other in ((None, large.T), ("{0,1}", large), ("{0,1}", large[::-1, ::3])):
        mm.save(tmp_path / "x.npy", other, layout)
        assert (np.load(tmp_path / "x.npy") == other).all()


def test_rules_say_what_becomes_of_arrays(tmp_path):
    arrays = {name: filled("f4", (7, 5)) for name in ["conv.weight", "dense.weight", "dense.bias"]}
    np.savez(tmp_path / "x.npz", **arrays)
    shapes = mm.relayout_file(
        tmp_path / "x.npz", tmp_path / "y.npz", rules=["dense.weight: OI -> IO", "conv.*: {0,1}"]
    )
    assert shapes["dense.weight"] == mm.Shape("f32[5,7]")
    assert shapes["conv.weight"] == mm.Shape("f32[7,5]{0,1}")
    written = np.load(tmp_path / "y.npz")
    assert (written["dense.weight"] == arrays["dense.weight"].T).all()
    assert written["conv.weight"].flags.f_contiguous
    assert (written["dense.bias"] == arrays["dense.bias"]).all()
    with pytest.raises(mm.ParseError, match="->") as caught:
        mm.relayout_file(tmp_path / "x.npz", tmp_path / "z.npz", rules=["dense.weight: OI -> IJ"])
    assert caught.value.column > 0 and not (tmp_path / "z.npz").exists()


def test_packed_elements_and_conversions(tmp_path):
    array = np.arange(-8, 7).astype(ml_dtypes.int4).reshape(3, 5)
    mm.save(tmp_path / "x.bin", array, "{1,0:E(4)}")
    assert (tmp_path / "x.bin").stat().st_size == 8
    assert mm.load(tmp_path / "x.bin").tobytes() == array.tobytes()
    mm.save(tmp_path / "y.npy", np.float32([1, 2.5]), dtype="bf16")
    assert np.load(tmp_path / "y.npy").view(ml_dtypes.bfloat16).tolist() == [1, 2.5]


def test_errors(tmp_path):
    with pytest.raises(mm.FileError, match="no-such"):
        mm.load(tmp_path / "no-such.npy")
    with pytest.raises(mm.FileError):
        mm.load(tmp_path)
    with pytest.raises(mm.FileError, match="x.zarr"):
        mm.load(tmp_path / "x.zarr")
    with pytest.raises(mm.FileError, match="chunks"):
        mm.save(tmp_path / "y.npy", np.zeros((4, 4)), chunks=(2, 2))
    with pytest.raises(mm.Error, match="expected none, zstd, gzip or blosc"):
        mm.save(tmp_path / "y.zarr", np.zeros((4, 4)), compressor="rar")
    with pytest.raises(mm.Error, match="expected one or the other"):
        mm.save(tmp_path / "y.npz", {"a": np.zeros(3)}, name="b")
    with pytest.raises(mm.FileError, match="y.npy"):
        mm.save(tmp_path / "y.npy", {"a": np.zeros(3), "b": np.zeros(3)})
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY")
    with pytest.raises(mm.FileError, match="x.npy"):
        mm.load(tmp_path / "x.npy")
    with pytest.raises(mm.FileError, match="C or Fortran order"):
        mm.save(tmp_path / "y.npy", np.zeros((4, 4)), "{1,0:T(2,2)}")
    with pytest.raises(ValueError, match="dimension"):
        mm.save(tmp_path / "y.npy", np.zeros((4, 4)), "{0}")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.npy"]
