"""PyTorch on the same card: reads one case a line from standard input, prints seconds a line."""

import json
import statistics
import sys

import torch

if not torch.cuda.is_available():
    sys.exit("PyTorch finds no CUDA device")

TYPES = {1: torch.uint8, 2: torch.int16, 4: torch.float32, 8: torch.float64, 16: torch.complex128}


def median(run, rounds):
    run()
    times = []
    for _ in range(rounds):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        run()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) / 1e3)
    return statistics.median(times)


print(json.dumps({"version": torch.__version__}), flush=True)
for line in sys.stdin:
    case = json.loads(line)
    if "sizes" in case:
        source = torch.zeros(case["sizes"], dtype=TYPES[case["width"]], device="cuda")
        view = source.permute(case["permutation"])
        made = torch.empty(view.shape, dtype=source.dtype, device="cuda")
        seconds = median(lambda: made.copy_(view), case["rounds"])
        del source, view, made
    else:
        m, k, n = case["product"]
        a, b = torch.randn(m, k, device="cuda"), torch.randn(k, n, device="cuda")
        seconds = median(lambda: a @ b, case["rounds"])
    print(seconds, flush=True)
