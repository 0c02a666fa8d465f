"""Array files: `load` and `save`."""

from __future__ import annotations

import ast
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core, _foreign
from ._core import FileError, Layout, Shape, unpack

Array = npt.NDArray[Any]
PathLike = str | os.PathLike[str]


def load(path: PathLike, name: str | None = None, *, mmap: bool = True) -> Array | dict[str, Array]:
    """The array in a file (.npy, .npz, .safetensors, .tsr, .bin); of several, a dictionary, or the
    one of that name.

    Arrays are mapped, read-only, as they lie in the file; with mmap=False they are read. What can't
    be mapped is read: what is deflated, and what is tiled, padded or packed, which becomes row-major.

    >>> import numpy as np
    >>> path = Path(tempfile.mkdtemp()) / "columns.npy"
    >>> save(path, np.arange(6).reshape(2, 3), "{0,1}")
    >>> load(path).strides
    (8, 16)
    """
    path = Path(path)
    _refuse_zarr(path)
    info = _core.inspect(path)
    arrays = {array["name"]: array for array in info["arrays"]}
    if name is not None:
        if name not in arrays:
            known = ", ".join(arrays) or "none"
            raise FileError(f"{path}: no array {name!r}; it holds {known}")
        return _read(path, arrays[name], mmap)
    if info["format"] in ("npz", "safetensors"):
        return {key: _read(path, array, mmap) for key, array in arrays.items()}
    (only,) = arrays.values()
    return _read(path, only, mmap)


def save(
    path: PathLike,
    array: Any,
    layout: Layout | str | tuple[int, ...] | None = None,
    *,
    dtype: Any = None,
    name: str | None = None,
) -> None:
    """Writes an array to a new file; the name's ending says the format.

    Without a layout the array is row-major. What is big-endian is written little-endian. Raw files (.bin) can have any, tiled and padded too.
    With a dtype, f32, f16 and bf16 are converted. name is the array's, where the format has names;
    else it is that of the file.
    """
    path = Path(path)
    _refuse_zarr(path)
    values = _foreign.to_numpy(array)
    named = None
    if values.dtype.kind == "V" and values.dtype.num >= 256:
        # A .npy file doesn't say which of ml_dtypes' types it is.
        named = values.dtype
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".minormajor-") as folder:
        first = Path(folder) / f"{name or path.stem}.npy"
        np.save(first, values, allow_pickle=False)
        _core.relayout_file(first, path, layout, dtype=dtype, input_type=named)


def _refuse_zarr(path: Path) -> None:
    """The wheel leaves zarrs out: about eighty crates and two C libraries."""
    if path.suffix == ".zarr" or (path / "zarr.json").exists():
        raise FileError(
            f"{path}: .zarr folders are not read or written here; the command line does: "
            f"`minormajor relayout x.zarr x.npy`, and the other way round"
        )


def _read(path: Path, info: _core.ArrayInfo, mmap: bool) -> Array:
    shape = info["shape"]
    sizes = shape.sizes
    if info["opaque"] is not None:
        dtype = np.dtype(ast.literal_eval(info["opaque"]))
        sizes = sizes[:-1]
    else:
        dtype = shape.dtype
        if info["is_big_endian"]:
            dtype = dtype.newbyteorder(">")
    if info["is_chunked"]:
        raise FileError(f"{path}: {info['name']} is in chunks: `relayout_file` makes a .npy file of it")
    if info["is_compressed"]:
        with np.load(path, allow_pickle=False) as archive:
            inflated: Array = archive[info["name"]]
        return inflated
    file = info["file"] or path
    layout = shape.layout
    assert layout is not None
    order = [d for d in reversed(layout.minor_to_major) if d < len(sizes)]
    if layout != Layout(layout.minor_to_major):
        buffer = _bytes(file, info["offset"], shape.allocated_bytes or 0)
        # Buffers are little-endian; a raw file that isn't has no shape that says so.
        return unpack(buffer, shape)
    stored = tuple(sizes[d] for d in order)
    count = 1
    for size in stored:
        count *= size
    if count * dtype.itemsize == 0:
        return np.empty(sizes, dtype)
    values = _bytes(file, info["offset"], count * dtype.itemsize)
    if not mmap:
        values = np.array(values)
    typed: Array = values.view(dtype)
    return typed.reshape(stored).transpose(np.argsort(order))


def _bytes(file: Path | str, offset: int, size: int) -> Array:
    if size == 0:
        return np.empty(0, np.uint8)
    mapped = np.memmap(file, np.uint8, mode="r", offset=offset, shape=(size,))
    return mapped.view(np.ndarray)
