"""Arrays of other libraries: as NumPy's without a copy, and results as theirs again.

A library is found by the module of an object's type, so none is imported that isn't in use.
"""

from __future__ import annotations

import sys
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ._core import OnCard, Tensor

Array = npt.NDArray[Any]


def library(given: object) -> str:
    """The library that a kind of array belongs to: 'numpy', 'torch', 'jax', or another name."""
    name = type(given).__module__.partition(".")[0]
    if name in ("jaxlib", "jax"):
        return "jax"
    return name if name != "builtins" else type(given).__name__


def to_numpy(given: Any) -> Array:
    """The same memory as an array of NumPy's. Nothing is copied."""
    if isinstance(given, np.ndarray):
        if isinstance(given, np.ma.MaskedArray):
            raise TypeError("an array with a mask: move its data and its mask")
        return given.view(np.ndarray)
    if isinstance(given, Tensor):
        return given.numpy(copy=False)
    name = library(given)
    if name == "torch" and hasattr(given, "data_ptr"):
        return _of_torch(given)
    if name == "jax" and hasattr(given, "addressable_data"):
        return _of_jax(given)
    if name == "tensorflow" and hasattr(given, "__dlpack__"):
        return _of_tensorflow(given)
    if hasattr(given, "__cuda_array_interface__"):
        # First: whatever else it speaks, its memory is not the CPU's.
        raise _on_a_device(given, "a GPU, its __cuda_array_interface__ says")
    if hasattr(given, "__array_interface__"):
        return np.asarray(given)
    try:
        buffer = memoryview(given)
    except TypeError:
        pass
    else:
        return np.asarray(buffer)
    if hasattr(given, "__dlpack__"):
        device = int(given.__dlpack_device__()[0])
        if device not in _DLPACK_HOSTS:
            raise _on_a_device(given, f"a device of DLPack's type {device}")
        return np.from_dlpack(given)
    raise TypeError(
        "expected an array (NumPy's, or one that speaks the buffer protocol, "
        f"__array_interface__ or DLPack), found {type(given).__name__}"
    )


def _on_a_device(given: object, where: str) -> TypeError:
    return TypeError(
        f"{type(given).__name__} has its memory on {where}: arrays are taken from the CPU's, "
        "so copy it to the CPU first (cupy.asnumpy(array), tensor.cpu())"
    )


_DLPACK_HOSTS = (1, 3, 11)
"""Where DLPack has memory that the CPU reads: its own, and what CUDA and ROCm pinned of it."""


def from_numpy(given: Any, result: Array) -> Any:
    """A new array of the kind of `given`, with the memory of `result` where that can be.

    TensorFlow's are row-major, always: of these, and of what is not known here, it is NumPy's.
    """
    if isinstance(given, np.ndarray | np.generic):
        return result
    if isinstance(given, Tensor):
        return Tensor(result)
    name = library(given)
    if name == "torch":
        return _to_torch(result)
    if name == "jax":
        import jax

        return jax.device_put(result, given.sharding)
    if isinstance(given, memoryview):
        return memoryview(cast(Any, result))
    if name == "pyarrow" and hasattr(given, "dim_names"):
        return type(given).from_numpy(result, dim_names=given.dim_names or None)
    if hasattr(given, "__array_namespace__"):
        return given.__array_namespace__().from_dlpack(result)
    return result


def from_card(given: Any, made: OnCard) -> Any:
    """A new array of the kind of `given`, with the memory of `made`, which nobody else has.

    Of what is not known here it is a tensor of this package's, on the same card.
    """
    if isinstance(given, Tensor):
        return made.tensor()
    name = library(given)
    if name == "jax":
        import jax

        return jax.dlpack.from_dlpack(made)
    if name == "numba":
        from numba import cuda

        return cuda.as_cuda_array(made)
    # PyTorch's and CuPy's are functions of the library itself.
    from_dlpack = getattr(sys.modules.get(name), "from_dlpack", None)
    if from_dlpack is None and hasattr(given, "__array_namespace__"):
        from_dlpack = given.__array_namespace__().from_dlpack
    return made.tensor() if from_dlpack is None else from_dlpack(made)


def transpose(given: Any, array: Array | None, axes: tuple[int, ...]) -> Any:
    """`given` with its dimensions in another order.

    `array` is the same memory; None for one on a card, which is left to its library.
    """
    name = library(given)
    if name == "torch":
        return given.permute(axes)
    if name == "jax" or isinstance(given, Tensor):
        return given.transpose(axes)
    if name == "pyarrow" and array is not None and getattr(given, "dim_names", None):
        names = [given.dim_names[axis] for axis in axes]
        return type(given).from_numpy(array.transpose(axes), dim_names=names)
    if array is not None:
        return from_numpy(given, array.transpose(axes))
    if not hasattr(given, "transpose"):
        raise TypeError(f"{type(given).__name__} has no method transpose, which makes views on a card")
    return given.transpose(axes)


def relayout_by_owner(given: Any, minor_to_major: list[int]) -> Any | None:
    """JAX's arrays have a layout that only JAX can give, tensors one of their own; of all others, None."""
    if isinstance(given, Tensor):
        return given.relayout(minor_to_major)
    if library(given) != "jax":
        return None
    import jax
    from jax.experimental.layout import Format, Layout

    layout = Layout(major_to_minor=tuple(reversed(minor_to_major)))
    return jax.device_put(given, Format(layout, given.sharding), may_alias=False)


def _of_torch(given: Any) -> Array:
    import torch

    if given.device.type != "cpu":
        raise _on_a_device(given, str(given.device))
    if given.layout != torch.strided:
        raise TypeError(f"expected a strided tensor, found {given.layout}")
    if given.requires_grad:
        raise TypeError("a tensor that needs gradients: expected tensor.detach()")
    other = _TORCH_TYPES.get(str(given.dtype))
    if other is None:
        array: Array = given.numpy()
        return array
    carrier = torch.int16 if given.element_size() == 2 else torch.uint8
    array = given.view(carrier).numpy()
    try:
        import ml_dtypes
    except ImportError:
        return array
    return array.view(getattr(ml_dtypes, other))


def _to_torch(result: Array) -> Any:
    import torch

    for name, other in _TORCH_TYPES.items():
        if result.dtype.name == other:
            carrier = np.int16 if result.dtype.itemsize == 2 else np.uint8
            own = getattr(torch, name.removeprefix("torch."))
            return torch.from_numpy(result.view(carrier)).view(own)
    return torch.from_numpy(result)


_TORCH_TYPES = {
    "torch.bfloat16": "bfloat16",
    "torch.float8_e4m3fn": "float8_e4m3fn",
    "torch.float8_e4m3fnuz": "float8_e4m3fnuz",
    "torch.float8_e5m2": "float8_e5m2",
    "torch.float8_e5m2fnuz": "float8_e5m2fnuz",
    "torch.float8_e8m0fnu": "float8_e8m0fnu",
}
"""PyTorch's types that NumPy lacks, and their names in ml_dtypes."""


def _of_jax(given: Any) -> Array:
    platforms = {device.platform for device in given.devices()}
    if platforms != {"cpu"}:
        raise _on_a_device(given, ", ".join(platforms))
    if len(given.devices()) > 1 and not given.is_fully_replicated:
        raise TypeError("an array over several devices: move each of its addressable_shards")
    return np.asarray(given)


def _of_tensorflow(given: Any) -> Array:
    if "CPU" not in given.device:
        raise _on_a_device(given, given.device)
    # Its buffers leave bfloat16 out.
    array: Array = given.__array__().view()
    array.flags.writeable = False
    return array
