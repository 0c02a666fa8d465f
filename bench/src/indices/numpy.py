"""Times NumPy's conversions of indices.

Reads a request a line, answers with a line. Each time is of as many runs as a readable time needs.
"""

import math
import sys
import time

import numpy as np

READING = 50e-6  # seconds that a reading of the clock spans at least


def prepare(count, *sizes):
    places = np.arange(count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    positions = ((places >> np.uint64(1)) % np.uint64(math.prod(sizes))).astype(np.int64)
    columns = np.unravel_index(positions, sizes)
    columns = tuple(np.ascontiguousarray(column) for column in columns)
    assert np.array_equal(np.ravel_multi_index(columns, sizes), positions)
    return {
        "ravel": lambda: np.ravel_multi_index(columns, sizes),
        "unravel": lambda: np.unravel_index(positions, sizes),
    }


def seconds(run):
    count = 1
    while True:
        start = time.perf_counter()
        for _ in range(count):
            run()
        elapsed = time.perf_counter() - start
        if elapsed >= READING:
            return elapsed / count
        count *= 2


print(np.__version__, flush=True)
runs = {}
for line in sys.stdin:
    what, *numbers = line.split()
    if what == "prepare":
        runs = prepare(*map(int, numbers))
        print("ready", flush=True)
    else:
        print(seconds(runs[what]), flush=True)
