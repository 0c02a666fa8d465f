"""Moves a file as `cargo xtask bench --files --peers` times it: files.py LIBRARY IN OUT.

Of a .safetensors file all matrices are transposed, a .npy file goes to Fortran order.
"""

import sys

library, source, target = sys.argv[1:]
if source.endswith(".npy"):
    import numpy as np

    if library == "numpy":
        np.save(target, np.asfortranarray(np.load(source)))
    else:
        import torch

        columns = torch.from_numpy(np.load(source)).T.contiguous()
        np.save(target, columns.numpy().T)
else:
    if library == "numpy":
        import numpy as np
        from safetensors.numpy import load_file, save_file

        def turned(array):
            return np.ascontiguousarray(array.T)
    else:
        from safetensors.torch import load_file, save_file

        def turned(array):
            return array.T.contiguous()

    arrays = load_file(source)
    save_file({name: turned(a) if a.ndim == 2 else a for name, a in arrays.items()}, target)
