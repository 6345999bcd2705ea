"""Rates by the wall and by the processor: medians of five. On a busy machine only the second says something."""
import json
import statistics
import sys
import time


def tell(name, figures):
    print(json.dumps({"bench": name, **figures}))
    sys.stdout.flush()


def rate(name, work, n, unit, repeats=5):
    """`work(turn, n)` does n things."""
    work(repeats, max(1, n // 10))
    wall, processor = [], []
    for turn in range(repeats):
        start, used = time.perf_counter(), time.process_time()
        work(turn, n)
        wall.append(n / (time.perf_counter() - start))
        processor.append(n / max(1e-9, time.process_time() - used))
    tell(name, {"unit": unit, "n": n, "wall_per_s_median": round(statistics.median(wall)),
                "cpu_per_s_median": round(statistics.median(processor))})
