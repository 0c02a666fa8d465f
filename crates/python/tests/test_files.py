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
    with pytest.raises(mm.FileError, match=r"minormajor relayout x.zarr x.npy"):
        mm.load(tmp_path / "x.zarr")
    with pytest.raises(mm.FileError, match=r"\.zarr folders are not read or written here"):
        mm.save(tmp_path / "x.zarr", np.zeros(3))
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY")
    with pytest.raises(mm.FileError, match="x.npy"):
        mm.load(tmp_path / "x.npy")
    with pytest.raises(mm.FileError, match="C or Fortran order"):
        mm.save(tmp_path / "y.npy", np.zeros((4, 4)), "{1,0:T(2,2)}")
    with pytest.raises(ValueError, match="dimension"):
        mm.save(tmp_path / "y.npy", np.zeros((4, 4)), "{0}")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.npy"]
