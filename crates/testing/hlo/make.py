"""Makes the HLO dumps in this folder: python make.py FOLDER

Three programs of our own, each as XLA writes it with --xla_dump_to: as JAX hands it over
(NAME.before.txt) and as the CPU compiler leaves it (NAME.after.txt). The fourth is a small one in
the form without layouts and with nested computations, which XLA's fingerprints are made of
(reduce.canonical.txt). Needed: jax 0.10.2 and jaxlib 0.10.2 from PyPI.
"""

import os
import pathlib
import re
import sys
import tempfile

DUMPS = tempfile.mkdtemp()
# One target machine whatever this one is: the vector width decides what is fused, and how.
os.environ["XLA_FLAGS"] = f"--xla_dump_to={DUMPS} --xla_dump_hlo_as_text --xla_cpu_max_isa=AVX2"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
from jax import lax
from jaxlib import _hlo


def block(x, p):
    """A transformer block: attention and a feed-forward layer, each behind a normalisation."""

    def norm(x, gain):
        mean = x.mean(-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(-1, keepdims=True)
        return (x - mean) * lax.rsqrt(variance + 1e-6) * gain

    y = norm(x, p["gain1"]).astype(jnp.bfloat16)
    q, k, v = (jnp.einsum("bsd,dhk->bshk", y, p[name]) for name in ("q", "k", "v"))
    scores = jnp.einsum("bqhk,bshk->bhqs", q, k).astype(jnp.float32) / 8
    allowed = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    weights = jax.nn.softmax(jnp.where(allowed, scores, -1e30)).astype(jnp.bfloat16)
    mixed = jnp.einsum("bhqs,bshk->bqhk", weights, v)
    x = x + jnp.einsum("bqhk,hkd->bqd", mixed, p["o"]).astype(jnp.float32)
    y = norm(x, p["gain2"]).astype(jnp.bfloat16)
    return x + (jax.nn.gelu(y @ p["up"]) @ p["down"]).astype(jnp.float32)


def transformer():
    shapes = {
        "gain1": (256,),
        "gain2": (256,),
        "q": (256, 4, 64),
        "k": (256, 4, 64),
        "v": (256, 4, 64),
        "o": (4, 64, 256),
        "up": (256, 1024),
        "down": (1024, 256),
    }
    types = {name: jnp.bfloat16 for name in shapes} | {"gain1": jnp.float32, "gain2": jnp.float32}
    p = {name: jax.ShapeDtypeStruct(shapes[name], types[name]) for name in shapes}

    def train(x, p):
        """The loss and its gradients over two blocks with the same weights."""

        def loss(p):
            y, _ = lax.scan(lambda x, _: (block(x, p), None), x, None, length=2)
            return (y**2).mean()

        return jax.value_and_grad(loss)(p)

    return train, (jax.ShapeDtypeStruct((2, 100, 256), jnp.float32), p)


def convolution():
    """A small net on pictures: convolutions, pooling, an update of the weights."""

    def net(p, x):
        for kernel in p["kernels"]:
            x = lax.conv_general_dilated(
                x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
            x = jax.nn.relu(x)
            x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return x.reshape(x.shape[0], -1) @ p["out"]

    def step(p, x, labels):
        def loss(p):
            logits = jax.nn.log_softmax(net(p, x))
            return -jnp.take_along_axis(logits, labels[:, None], 1).mean()

        gradient = jax.grad(loss)(p)
        return jax.tree.map(lambda w, g: w - 0.1 * g, p, gradient)

    f32 = lambda *shape: jax.ShapeDtypeStruct(shape, jnp.float32)
    p = {"kernels": [f32(3, 3, 3, 24), f32(3, 3, 24, 40)], "out": f32(8 * 8 * 40, 10)}
    return step, (p, f32(16, 32, 32, 3), jax.ShapeDtypeStruct((16,), jnp.int32))


def fourier():
    """A filter in the frequency domain, on the last two dimensions of a stack of pictures."""

    def smooth(x, width):
        spectrum = jnp.fft.rfft2(x)
        y = jnp.fft.fftfreq(x.shape[-2])[:, None]
        z = jnp.fft.rfftfreq(x.shape[-1])[None, :]
        spectrum = spectrum * jnp.exp(-width * (y**2 + z**2))
        back = jnp.fft.irfft2(spectrum, s=x.shape[-2:])
        order = jnp.argsort(back.reshape(x.shape[0], -1), axis=-1)
        return jnp.swapaxes(back, 0, 2), order[:, :5]

    shapes = jax.ShapeDtypeStruct((3, 60, 84), jnp.float32), jax.ShapeDtypeStruct((), jnp.float32)
    return smooth, shapes


def without_places(text):
    """The text without the names of this machine's files and functions, and without its tables
    of them; compact metadata stays."""
    text = re.sub(r'"(?:/[^"]*/)([^"/]*)"', r'"\1"', text)
    return text


def dump(name, program):
    function, arguments = program()
    before = set(pathlib.Path(DUMPS).iterdir())
    jax.jit(function).lower(*arguments).compile()
    made = set(pathlib.Path(DUMPS).iterdir()) - before
    for stage, ending in [("before", "before_optimizations.txt"), ("after", "after_optimizations.txt")]:
        (path,) = [path for path in made if path.name.endswith(ending)]
        pathlib.Path(sys.argv[1], f"{name}.{stage}.txt").write_text(without_places(path.read_text()))


if __name__ == "__main__":
    for name, program in [("transformer", transformer), ("convolution", convolution), ("fourier", fourier)]:
        dump(name, program)
    lowered = jax.jit(lambda x: (jnp.cumsum(x, 1).sum(0), jnp.sort(x)))
    text = lowered.lower(jax.ShapeDtypeStruct((6, 50), jnp.float32)).compile().as_text()
    module = _hlo.hlo_module_from_text(text)
    canonical = module.to_string(_hlo.HloPrintOptions.canonical())
    pathlib.Path(sys.argv[1], "reduce.canonical.txt").write_text(canonical)
