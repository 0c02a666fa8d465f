"""Array shapes and memory layouts, exactly; and any layout to any other at the speed of memory.

>>> import minormajor as mm
>>> import numpy as np
>>> shape = mm.Shape("f32[2,3]{0,1:T(8,128)}")
>>> shape.position((1, 2))
17
>>> columns = mm.relayout(np.arange(6).reshape(2, 3), "{0,1}")
>>> columns.flags["F_CONTIGUOUS"]
True
"""

from ._core import (
    Bitcast,
    Device,
    DeviceError,
    Devices,
    Error,
    FileError,
    Layout,
    ParseError,
    Plan,
    PlanError,
    Shape,
    Shard,
    Sharding,
    Tensor,
    __version__,
    ascontiguous,
    bitcast,
    devices,
    pack,
    plan,
    ravel_index,
    relayout,
    relayout_file,
    transpose,
    unpack,
    unravel_index,
    why_not_a_view,
)
from ._files import load, save
from ._living import ArrayLayout, layout_of

__all__ = [
    "ArrayLayout",
    "Bitcast",
    "Device",
    "DeviceError",
    "Devices",
    "Error",
    "FileError",
    "Layout",
    "ParseError",
    "Plan",
    "PlanError",
    "Shape",
    "Shard",
    "Sharding",
    "Tensor",
    "__version__",
    "ascontiguous",
    "bitcast",
    "devices",
    "layout_of",
    "load",
    "pack",
    "plan",
    "ravel_index",
    "relayout",
    "relayout_file",
    "save",
    "transpose",
    "unpack",
    "unravel_index",
    "why_not_a_view",
]
