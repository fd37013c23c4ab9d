"""``triton.testing`` on an interpreter: its times say nothing about a GPU, so none are given."""

from __future__ import annotations

import math
import sys
from typing import Any, Callable, List, Optional, Sequence, Union

import triton.testing

from ._replaced import Replaced

_WHY = "times of an interpreter say nothing about a GPU"


def replace(replaced: Replaced) -> None:
    """Puts functions that measure nothing in the place of those of ``triton.testing``."""
    bench = _bench_once()
    for name in ("do_bench", "do_bench_cudagraph", "do_bench_proton", "do_bench_cudagraph_proton"):
        if hasattr(triton.testing, name):
            replaced.set(triton.testing, name, bench)
    replaced.set(triton.testing.Mark, "run", _leave_out)


def _say(text: str) -> None:
    print(f"reuselens: {text}: {_WHY}", file=sys.stderr)


def _bench_once() -> Callable[..., Union[float, List[float]]]:
    """``do_bench`` that runs a function once, for the report, and says one time that it does."""
    is_said = False

    def do_bench(
        fn: Callable[[], Any],
        warmup: float = 0,
        rep: float = 0,
        grad_to_none: Optional[Sequence[Any]] = None,
        quantiles: Optional[Sequence[float]] = None,
        return_mode: str = "mean",
    ) -> Union[float, List[float]]:
        nonlocal is_said
        for tensor in grad_to_none or ():
            tensor.grad = None
        fn()
        if not is_said:
            _say("do_bench runs the function once and gives nan")
            is_said = True
        if quantiles is not None:
            return math.nan if len(quantiles) == 1 else [math.nan] * len(quantiles)
        return [math.nan] if return_mode == "all" else math.nan

    return do_bench


def _leave_out(
    mark: triton.testing.Mark,
    show_plots: bool = False,
    print_data: bool = False,
    save_path: str = "",
    return_df: bool = False,
    **_: Any,
) -> Any:
    """In the place of ``run`` of a ``perf_report``, whose sizes are those for a GPU."""
    is_single = isinstance(mark.benchmarks, triton.testing.Benchmark)
    benchmarks = [mark.benchmarks] if is_single else list(mark.benchmarks)
    first = benchmarks[0].plot_name if benchmarks else ""
    if len(benchmarks) == 1:
        _say(f"benchmark {first} is left out")
    elif benchmarks:
        _say(f"benchmark {first} and {len(benchmarks) - 1} more are left out")
    if not return_df:
        return None
    tables = [_empty_table(benchmark) for benchmark in benchmarks]
    return tables[0] if is_single else tables


def _empty_table(benchmark: triton.testing.Benchmark) -> Any:
    """The table of a benchmark, as ``perf_report`` makes it, with nan for what was not measured."""
    import pandas

    names = list(benchmark.x_names)
    rows = [x if isinstance(x, (list, tuple)) else [x] * len(names) for x in benchmark.x_vals]
    table = pandas.DataFrame([list(row) for row in rows], columns=names)
    for line in benchmark.line_names:
        table[f"{line} ({benchmark.ylabel})"] = math.nan
    return table
