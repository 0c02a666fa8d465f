"""Shape and layout of arrays that are there: NumPy's, PyTorch's, JAX's."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _foreign
from ._core import Error, Layout, Plan, Shape, Tensor, on_card, plan


@dataclass(frozen=True)
class ArrayLayout:
    """Where an array's elements are; `layout_of` makes one."""

    library: str
    """Whose array it is: 'numpy', 'torch', 'jax' or another name."""
    shape: Shape | None
    """Type, sizes and layout; None where strides leave gaps, repeat or go backwards, or where XLA has
    no name for the type."""
    sizes: tuple[int, ...]
    dtype: str
    """The element type, as the library calls it."""
    strides: tuple[int, ...] | None
    """Bytes from an element to the next one of each dimension; None where the array is tiled."""
    memory_format: str | None
    """PyTorch's name of the order: 'contiguous_format', 'channels_last' or 'channels_last_3d'."""
    device: str
    """Where the memory is, as the library says: 'cpu', 'cuda:0'."""
    memory_kind: str | None
    """JAX's name of the memory: 'device', 'pinned_host', 'unpinned_host'."""
    is_writable: bool
    nbytes: int
    """Bytes of all elements, padding left out."""

    def plan(self, layout: Layout | Shape | str | tuple[int, ...]) -> Plan:
        """What moving it to another layout would take.

        >>> import numpy as np
        >>> there = layout_of(np.zeros((2, 3), np.float32))
        >>> there.plan("{1,0}").copies, there.plan("{0,1}").bytes_read
        (False, 24)
        """
        if self.shape is not None:
            return plan(self.shape, layout)
        if self.strides is None:
            raise TypeError(f"{self.library}'s {self.dtype} has no element type of XLA's")
        return Plan.of_strides(self.dtype, self.sizes, self.strides, layout)

    def why_copied_by(self, library: str) -> str | None:
        """Why 'torch', 'jax' or 'numpy' would copy it, or refuse it; None where memory is shared.

        >>> import numpy as np
        >>> layout_of(np.zeros((2, 3))[::-1]).why_copied_by("torch")
        'dimension 0 has a negative stride, which PyTorch lacks'
        """
        if library not in ("numpy", "torch", "jax"):
            raise ValueError(f"expected 'numpy', 'torch' or 'jax', found {library!r}")
        if library == self.library:
            return None
        if self.device != "cpu" and not self.device.startswith("cpu:"):
            return f"its memory is on {self.device}"
        if self.strides is None:
            return "it is tiled, which strides can't express"
        negative = [d for d, s in enumerate(self.strides) if s < 0 and self.sizes[d] > 1]
        if library == "torch" and negative:
            return f"dimension {negative[0]} has a negative stride, which PyTorch lacks"
        if library == "torch" and self.dtype.startswith((">", "<M", "<m")):
            return f"PyTorch has no {self.dtype}"
        if library == "jax" and (self.shape is None or not _is_row_major(self.shape)):
            return "JAX takes over only arrays that are row-major without gaps"
        return None


    def bytes_copied_by(self, library: str) -> int:
        """Bytes that 'torch', 'jax' or 'numpy' would copy to have it; 0 where memory is shared.

        >>> import numpy as np
        >>> columns = layout_of(np.zeros((2, 3), order="F"))
        >>> columns.bytes_copied_by("torch"), columns.bytes_copied_by("jax")
        (0, 48)
        """
        return 0 if self.why_copied_by(library) is None else self.nbytes


def layout_of(array: Any) -> ArrayLayout:
    """The shape, layout and place of an array.

    >>> import numpy as np
    >>> there = layout_of(np.zeros((2, 3), np.float32, order="F"))
    >>> there.shape, there.strides
    (Shape('f32[2,3]{0,1}'), (4, 8))
    >>> layout_of(np.zeros((4, 6))[:, ::2]).shape is None  # gaps
    True
    """
    library = _foreign.library(array)
    if library == "torch" and hasattr(array, "data_ptr"):
        return _of_torch(array)
    if library == "jax" and hasattr(array, "addressable_data"):
        return _of_jax(array)
    if isinstance(array, Tensor):
        return _of_tensor(array)
    if (known := on_card(array)) is not None:
        return _of_card(array, *known)
    view = _foreign.to_numpy(array)
    return ArrayLayout(
        library="numpy" if isinstance(array, np.ndarray) else library,
        shape=_dense(view.dtype, view.shape, view.strides),
        sizes=view.shape,
        dtype=view.dtype.name if view.dtype.isnative else view.dtype.str,
        strides=view.strides,
        memory_format=None,
        device="cpu",
        memory_kind=None,
        is_writable=view.flags.writeable,
        nbytes=view.nbytes,
    )


def _of_torch(tensor: Any) -> ArrayLayout:
    import torch

    if tensor.layout != torch.strided:
        raise TypeError(f"expected a strided tensor, found {tensor.layout}")
    width = tensor.element_size()
    strides = tuple(width * stride for stride in tensor.stride())
    sizes = tuple(tensor.shape)
    dtype = str(tensor.dtype).removeprefix("torch.")
    formats = ["contiguous_format"]
    formats += {4: ["channels_last"], 5: ["channels_last_3d"]}.get(len(sizes), [])
    named = [f for f in formats if tensor.is_contiguous(memory_format=getattr(torch, f))]
    return ArrayLayout(
        library="torch",
        shape=_dense(dtype, sizes, strides),
        sizes=sizes,
        dtype=dtype,
        strides=strides,
        memory_format=named[0] if named else None,
        device=str(tensor.device),
        memory_kind=None,
        is_writable=True,
        nbytes=width * tensor.numel(),
    )


def _of_card(
    array: Any,
    dtype: np.dtype[Any],
    sizes: list[int],
    strides: list[int],
    is_writable: bool,
    ordinal: int | None,
) -> ArrayLayout:
    return ArrayLayout(
        library=_foreign.library(array),
        shape=_dense(dtype, tuple(sizes), tuple(strides)),
        sizes=tuple(sizes),
        dtype=dtype.name if dtype.isnative else dtype.str,
        strides=tuple(strides),
        memory_format=None,
        device="cuda" if ordinal is None else f"cuda:{ordinal}",
        memory_kind=None,
        is_writable=is_writable,
        nbytes=math.prod(sizes) * dtype.itemsize,
    )


def _of_tensor(tensor: Tensor) -> ArrayLayout:
    return ArrayLayout(
        library="minormajor",
        shape=None if tensor.layout is None else tensor.mm_shape,
        sizes=tensor.shape,
        dtype=tensor.element_type,
        strides=tensor.strides,
        memory_format=None,
        device=str(tensor.device),
        memory_kind=None,
        is_writable=False,
        nbytes=tensor.nbytes,
    )


def _of_jax(array: Any) -> ArrayLayout:
    dtype = array.dtype.name
    layout = getattr(getattr(array, "format", None), "layout", None)
    order = tuple(range(array.ndim)) if layout is None else layout.major_to_minor
    tiles = getattr(layout, "tiling", None) or ()
    bits = getattr(layout, "sub_byte_element_size_in_bits", 0)
    text = ",".join(str(d) for d in reversed(order))
    properties = "T" + "".join(f"({','.join(map(str, t))})" for t in tiles) if tiles else ""
    properties += f"E({bits})" if bits else ""
    shape = Shape.array(dtype, array.shape, f"{{{text}{':' if properties else ''}{properties}}}")
    devices = sorted(str(device.platform) + f":{device.id}" for device in array.devices())
    return ArrayLayout(
        library="jax",
        shape=shape,
        sizes=tuple(array.shape),
        dtype=dtype,
        strides=shape.byte_strides,
        memory_format=None,
        device=", ".join(devices),
        memory_kind=array.sharding.memory_kind,
        is_writable=False,
        nbytes=array.nbytes,
    )


def _dense(dtype: Any, sizes: tuple[int, ...], strides: tuple[int, ...]) -> Shape | None:
    try:
        return Shape.of_strides(dtype, sizes, strides)
    except Error:  # XLA has no name for the type
        return None


def _is_row_major(shape: Shape) -> bool:
    return shape == shape.with_layout(Layout.descending(shape.rank))
