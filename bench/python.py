"""The Python package beside NumPy and PyTorch: whole calls, in rounds that take turns.

`cargo xtask bench --python` builds the package and runs this. Suites A and B of cases.tsv with the
output given to all, small arrays with a new one, and index conversion in bulk. Every result is compared
with NumPy's before it is timed. Times are medians; a reading spans at least 50 microseconds.

PyTorch's threads wait for their next call by turning around for some milliseconds, on a core that is
then missing to whoever has the next turn. So with several threads there is a pause before each turn,
and a call that is not timed.
"""

import argparse
import math
import mmap
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

READING = 50e-6
PAUSE = 10e-3


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--suites", nargs="*", default=["A", "B", "small", "index"])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--most", type=int, default=1 << 40, help="bytes of the largest array")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    asked = arguments()
    if asked.child is None:
        # A process for each number of threads: libraries count the CPUs when they start.
        for threads in asked.threads:
            command = [sys.executable, __file__, *sys.argv[1:], "--child", str(threads)]
            subprocess.run(command, check=True)
        return
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: asked.child])
    run(asked, asked.child)


def run(asked, threads):
    import numpy as np

    import minormajor as mm

    try:
        import torch

        torch.set_num_threads(threads)
    except ImportError:
        torch = None
        print("PyTorch is not installed: left out")
    print(f"{threads} thread(s); minormajor {mm.__version__}, NumPy {np.__version__}"
          + (f", PyTorch {torch.__version__}" if torch else ""))

    def touched(sizes, dtype):
        """Memory on huge pages that was written before."""
        size = max(math.prod(sizes) * np.dtype(dtype).itemsize, 1)
        memory = mmap.mmap(-1, size)
        memory.madvise(mmap.MADV_HUGEPAGE)
        array = np.frombuffer(memory, np.uint8)
        step = np.arange(min(size, 1 << 20), dtype=np.uint32) * 167 % 251
        for start in range(0, size, len(step)):
            part = array[start : start + len(step)]
            part[:] = step[: len(part)]
        return np.frombuffer(memory, dtype, math.prod(sizes)).reshape(sizes)

    def in_order(sizes, order, dtype):
        stored = touched([sizes[d] for d in order], dtype)
        return stored.transpose(np.argsort(order))

    def times(calls, pause=0.0):
        """Medians of the calls' times, in seconds, taken in turns."""
        repeats = []
        for call in calls:
            count, spent = 1, 0.0
            while spent < READING:
                start = time.perf_counter()
                for _ in range(count):
                    call()
                spent = time.perf_counter() - start
                count *= 1 if spent >= READING else 2
            repeats.append(count)
        readings = [[] for _ in calls]
        for _ in range(asked.rounds):
            for call, count, taken in zip(calls, repeats, readings):
                if pause:
                    time.sleep(pause)
                    call()
                start = time.perf_counter()
                for _ in range(count):
                    call()
                taken.append((time.perf_counter() - start) / count)
        return [statistics.median(taken) for taken in readings]

    def report(name, ours, theirs, unit):
        line = f"  {name:48} {ours / unit:10.3f}"
        for peer, taken in theirs.items():
            line += f"   {peer} {taken / unit:10.3f} ({taken / ours:5.2f} x)"
        print(line, flush=True)

    def means(suite, ratios):
        for peer, found in ratios.items():
            mean = math.exp(statistics.fmean(map(math.log, found)))
            print(f"  {suite} beside {peer}: geometric mean {mean:.2f} x, least {min(found):.2f} x")

    def listed(suite):
        for line in (Path(__file__).parent / "cases.tsv").read_text().splitlines():
            if line.startswith(suite + "_"):
                name, source, destination = line.split("\t")[:3]
                yield name, mm.Shape(source), mm.Shape(destination)

    for suite in [s for s in asked.suites if s in ("A", "B")]:
        print(f"suite {suite}, ms")
        ratios = {}
        for name, source, destination in listed(suite):
            if source.allocated_bytes > asked.most:
                continue
            layout = destination.layout
            orders = [tuple(reversed(s.layout.minor_to_major)) for s in (source, destination)]
            array = in_order(source.sizes, orders[0], source.dtype)
            out, check = (in_order(source.sizes, orders[1], source.dtype) for _ in range(2))
            check[...] = array
            mm.relayout(array, layout, out, threads)
            assert out.tobytes() == check.tobytes(), name
            del check
            calls = [
                lambda: mm.relayout(array, layout, out, threads),
                lambda: np.copyto(out, array),
            ]
            names = ["NumPy"]
            if torch is not None:
                to, of = (torch.from_numpy(a.view(carrier(np, a))) for a in (out, array))
                calls.append(lambda: to.copy_(of))
                names.append("PyTorch")
            ours, *theirs = times(calls, PAUSE if threads > 1 and torch is not None else 0.0)
            report(name, ours, dict(zip(names, theirs)), 1e-3)
            for peer, taken in zip(names, theirs):
                ratios.setdefault(peer, []).append(taken / ours)
        means(suite, ratios)

    if "small" in asked.suites:
        print("small arrays to column-major, the output new, us")
        ratios = {}
        for dtype in ("u1", "f4", "f8", "c16"):
            for n in (1, 2, 4, 8, 16, 32, 64):
                array = np.arange(n * n).reshape(n, n).astype(dtype)
                made = mm.relayout(array, "{0,1}", copy=True)
                assert (made == array).all() and made.flags.f_contiguous
                ours, text, theirs = times([
                    lambda: mm.ascontiguous(array, "F", copy=True),
                    lambda: mm.relayout(array, "{0,1}", copy=True),
                    lambda: np.array(array, order="F", copy=True),
                ])
                report(f"{dtype} {n} x {n}", ours, {"relayout": text, "NumPy": theirs}, 1e-6)
                ratios.setdefault("NumPy", []).append(theirs / max(ours, text))
        means("small arrays", ratios)

    if "index" in asked.suites:
        cache = second_level_cache()
        print(f"indices in bulk, us: batches that fit the cache of {cache >> 10} KiB with their results")
        counts = (64, 256, 1024, 4096, 16_384, 65_536)
        found = {}
        random = np.random.default_rng(1)
        for sizes in (
            (4096,), (1000, 1000), (7, 30, 41), (16, 32, 64, 8), (3, 5, 7, 11, 13), (4, 6, 3, 5, 7, 9)
        ):
            shape = mm.Shape.array("f32", sizes)
            for count in counts:
                if 8 * count * (len(sizes) + 1) > cache:
                    continue
                columns = tuple(random.integers(0, n, count) for n in sizes)
                rows = np.stack(columns, axis=-1)
                expected = np.ravel_multi_index(columns, sizes)
                for kind, index in (
                    ("int64", columns),
                    ("int32", tuple(column.astype(np.int32) for column in columns)),
                    ("rows of int64", rows.T),
                    ("rows of int32", rows.astype(np.int32).T),
                ):
                    assert (mm.ravel_index(index, shape) == expected).all()
                    mine, other = times([
                        lambda: mm.ravel_index(index, shape),
                        lambda: np.ravel_multi_index(index, sizes),
                    ])
                    report(f"ravel {count} {kind} in {sizes}", mine, {"NumPy": other}, 1e-6)
                    found.setdefault(f"ravel {kind}", {}).setdefault(count, []).append(other / mine)
                for kind in ("int64", "int32"):
                    positions = expected.astype(kind)
                    there = mm.unravel_index(positions, shape)
                    assert all((a == b).all() for a, b in zip(there, columns))
                    mine, other = times([
                        lambda: mm.unravel_index(positions, shape),
                        lambda: np.unravel_index(positions, sizes),
                    ])
                    report(f"unravel {count} {kind} in {sizes}", mine, {"NumPy": other}, 1e-6)
                    found.setdefault(f"unravel {kind}", {}).setdefault(count, []).append(other / mine)
        print("  NumPy's time over ours, geometric mean and least of all sizes, by numbers of a batch")
        print(f"  {'':24}" + "".join(f"{count:>14}" for count in counts))
        for kind, by_count in found.items():
            cells = (
                f"{math.exp(statistics.fmean(map(math.log, by_count[count]))):7.2f} {min(by_count[count]):6.2f}"
                for count in counts
            )
            print(f"  {kind:24}" + "".join(cells))


def second_level_cache():
    """Its bytes, for one core; 1 MiB where the system does not say."""
    try:
        text = Path("/sys/devices/system/cpu/cpu0/cache/index2/size").read_text().strip()
    except OSError:
        return 1 << 20
    return int(text[:-1]) << {"K": 10, "M": 20}[text[-1]]


def carrier(np, array):
    """A type that PyTorch has for elements as wide."""
    return {1: np.uint8, 2: np.int16, 4: np.float32, 8: np.float64, 16: np.complex128}[
        array.dtype.itemsize
    ]


main()
