"""Array files: `load` and `save`."""

from __future__ import annotations

import ast
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core, _foreign
from ._core import Error, FileError, Layout, unpack

Array = npt.NDArray[Any]
PathLike = str | os.PathLike[str]


def load(path: PathLike, name: str | None = None, *, mmap: bool = True) -> Array | dict[str, Array]:
    """The array in a file (.npy, .npz, .safetensors, .tsr, .bin) or a .zarr folder; of several, a
    dictionary, or the one of that name.

    Arrays are mapped, read-only, as they lie in the file; with mmap=False they are read. What can't
    be mapped is read: what is deflated or in chunks, and what is tiled, padded or packed, which becomes
    row-major.

    >>> import numpy as np
    >>> path = Path(tempfile.mkdtemp()) / "columns.npy"
    >>> save(path, np.arange(6).reshape(2, 3), "{0,1}")
    >>> load(path).strides
    (8, 16)
    """
    path = Path(path)
    info = _core.inspect(path)
    arrays = {array["name"]: array for array in info["arrays"]}
    if name is not None:
        if name not in arrays:
            known = ", ".join(arrays) or "none"
            raise FileError(f"{path}: no array {name!r}; it holds {known}")
        return _read(path, arrays[name], mmap)
    # A folder of one array names it after itself; one of groups may hold as few.
    is_folder_of_one = info["format"] == "zarr" and list(arrays) == [path.stem]
    if info["format"] in ("npy", "tsr", "bin") or is_folder_of_one:
        (only,) = arrays.values()
        return _read(path, only, mmap)
    return {key: _read(path, array, mmap) for key, array in arrays.items()}


def save(
    path: PathLike,
    array: Any,
    layout: Layout | str | tuple[int, ...] | None = None,
    *,
    dtype: Any = None,
    name: str | None = None,
    chunks: tuple[int, ...] | None = None,
    shards: tuple[int, ...] | None = None,
    compressor: str | None = None,
    threads: int | None = None,
) -> None:
    """Writes an array, or a dictionary of them, to a new file; the name's ending says the format.

    The bytes are written straight from the array's memory, by threads where they change places. There is
    a whole new file then, or on an error the one that was there. Without a layout arrays are row-major.
    What is big-endian is written little-endian. Raw files (.bin) can have any layout, tiled and padded
    too, and the tiles of a .zarr folder are its chunks; chunks says their sizes alone, shards those of the
    files of many chunks, and compressor is 'none', 'zstd', 'gzip' or 'blosc', with a
    level if need be: 'zstd:3'. With a dtype, f32, f16 and bf16 are converted. name is the array's, where the
    format has names; else it is that of the file.

    >>> import numpy as np
    >>> path = Path(tempfile.mkdtemp()) / "two.npz"
    >>> save(path, {"a": np.zeros(3), "b": np.ones((2, 2))})
    >>> load(path)["b"].tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    path = Path(path)
    if isinstance(array, dict):
        if name is not None:
            raise Error(f"a name {name!r} beside the names of a dictionary; expected one or the other")
        arrays = array
    else:
        arrays = {name or path.stem: array}
    given = []
    for key, value in arrays.items():
        values = _foreign.to_numpy(value)
        given.append((str(key), values, repr(np.lib.format.dtype_to_descr(values.dtype))))
    _core.save_arrays(path, given, layout, dtype, chunks, shards, compressor, threads)


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
    layout = shape.layout
    assert layout is not None
    size = shape.allocated_bytes or 0
    in_place = not info["is_compressed"] and not info["is_chunked"]
    values: Array
    if size == 0:
        values = np.empty(0, np.uint8)
    elif in_place and mmap:
        values = _mapped(info["file"] or path, info["offset"], size)
    else:
        values = _core.read_array(path, info["name"])
    if layout != Layout(layout.minor_to_major):
        # Buffers are little-endian; a raw file that isn't has no shape that says so.
        return unpack(values, shape)
    order = [d for d in reversed(layout.minor_to_major) if d < len(sizes)]
    stored = tuple(sizes[d] for d in order)
    if size == 0:
        return np.empty(sizes, dtype)
    typed: Array = values.view(dtype)
    return typed.reshape(stored).transpose(np.argsort(order))


def _mapped(file: Path | str, offset: int, size: int) -> Array:
    mapped = np.memmap(file, np.uint8, mode="r", offset=offset, shape=(size,))
    return mapped.view(np.ndarray)
