"""Kernels that are compiled before they are launched, and benchmarks, which measure nothing."""

import math
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import triton
import triton.language as tl
import triton.testing

import reuselens.triton as rt


@triton.jit
def rows_kernel(out_ptr, in_ptr, stride, n_rows, n, B: tl.constexpr):
    i = tl.arange(0, B)
    for row in tl.range(tl.program_id(0), n_rows, tl.num_programs(0), num_stages=2):
        x = tl.load(in_ptr + row * stride + i, mask=i < n, other=0.0)
        tl.store(out_ptr + row * stride + i, x / tl.sum(x, axis=0), mask=i < n)


def compiled(out, samples):
    return rows_kernel.warmup(out, samples, 100, 9, 100, B=128, num_warps=4, grid=(1,))


def test_kernels_know_registers_and_run_when_they_are_compiled(rng):
    samples = rng.random((9, 100)).astype(np.float32)
    out = np.zeros_like(samples)  # line of the result
    kernel = compiled(out, samples)
    kernel._init_handles()
    assert rt.kernels() == []
    assert 0 < kernel.n_regs <= 255 and kernel.n_spills == 0
    assert kernel.metadata.shared > 0
    kernel[(4, 1, 1)](out, samples, 100, 9, 100, 128)
    np.testing.assert_allclose(out, samples / samples.sum(axis=1, keepdims=True), rtol=1e-5)
    (row,) = rt.kernels()
    place = f"{os.path.basename(__file__)}:"
    assert row["calls"][-1][0] == "test_kernels_know_registers_and_run_when_they_are_compiled"
    assert "samples" in rt.report() and place in row["calls"][-1][1]


def test_kernels_that_are_kept_run_on_the_next_device(rng):
    samples = rng.random((9, 100)).astype(np.float32)
    out = np.zeros_like(samples)
    kernel = compiled(out, samples)
    kernel[(4, 1, 1)](out, samples, 100, 9, 100, 128)
    rt.install()
    kernel[(4, 1, 1)](out, samples, 100, 9, 100, 128)
    assert [row["launches"] for row in rt.kernels()] == [1]


def test_kernels_of_the_compiler_run_without_their_function(rng):
    types = {"out_ptr": "*fp32", "in_ptr": "*fp32", "stride": "i32", "n_rows": "i32", "n": "i32"}
    source = triton.compiler.ASTSource(
        rows_kernel, {**types, "B": "constexpr"}, constexprs={"B": 128}
    )
    kernel = triton.compile(source)
    samples = rng.random((9, 100)).astype(np.float32)
    out = np.zeros_like(samples)
    for _ in range(2):
        kernel[(4, 1, 1)](out, samples, 100, 9, 100, 128)
        assert [row["launches"] for row in rt.kernels()] == [1]
        rt.install()
    np.testing.assert_allclose(out, samples / samples.sum(axis=1, keepdims=True), rtol=1e-5)


def test_benchmarks_run_once_and_give_no_times(capsys):
    runs = []

    def bench(**options):
        return triton.testing.do_bench(lambda: runs.append(1), **options)

    assert math.isnan(bench())
    assert all(map(math.isnan, bench(quantiles=[0.5, 0.2, 0.8])))
    assert math.isnan(bench(quantiles=[0.5])) and math.isnan(bench(return_mode="all")[0])
    assert len(runs) == 4
    assert capsys.readouterr().err.count("nan") == 1


@triton.testing.perf_report(
    triton.testing.Benchmark(
        x_names=["n", "m"],
        x_vals=[1 << 20, 1 << 30],
        line_arg="provider",
        line_vals=["a", "b"],
        line_names=["A", "B"],
        ylabel="GB/s",
        plot_name="never-measured",
        args={},
    )
)
def report_of_times(n, m, provider):
    raise AssertionError("sizes for a GPU take too long")


def test_reports_of_times_are_left_out(capsys, tmp_path):
    assert report_of_times.run(print_data=True, save_path=str(tmp_path)) is None
    captured = capsys.readouterr()
    assert captured.out == "" and "never-measured is left out" in captured.err
    assert list(tmp_path.iterdir()) == []
    pytest.importorskip("pandas", reason="pandas is not installed: tables are not tested")
    table = report_of_times.run(return_df=True)
    assert list(table.columns) == ["n", "m", "A (GB/s)", "B (GB/s)"]
    assert list(table["m"]) == [1 << 20, 1 << 30] and table["B (GB/s)"].isna().all()


def test_all_functions_are_given_back():
    rt.uninstall()
    before = {
        name: getattr(triton.testing, name)
        for name in ("do_bench", "do_bench_cudagraph", "do_bench_proton")
    }
    run, item = triton.testing.Mark.run, triton.compiler.CompiledKernel.__getitem__
    rt.install()
    assert triton.testing.do_bench is not before["do_bench"]
    rt.uninstall()
    assert all(getattr(triton.testing, name) is kept for name, kept in before.items())
    assert triton.testing.Mark.run is run
    assert triton.compiler.CompiledKernel.__getitem__ is item
    assert not hasattr(triton.compiler.CompiledKernel, "n_regs")


SCRIPT = """
import sys
import numpy as np, triton, triton.language as tl

@triton.jit
def fill(to_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(to_ptr + i, i)

filled = np.zeros(64, np.int32)
if "nothing" not in sys.argv:
    fill[(1,)](filled, B=64)
print(__name__, sys.argv[1:], filled.sum())
if "fail" in sys.argv:
    sys.exit(5)
if "ends" in sys.argv:
    sys.exit(0)
if "uninstall" in sys.argv:
    import reuselens.triton
    reuselens.triton.uninstall()
if "cuda" in sys.argv:
    raise RuntimeError("Found no NVIDIA driver on your system.")
"""


def run(folder, *arguments):
    (folder / "script.py").write_text(textwrap.dedent(SCRIPT))
    command = [sys.executable, "-m", "reuselens.triton", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


def test_scripts_and_modules_run_as_they_are(tmp_path):
    for name in (["script.py"], ["-m", "script"]):
        done = run(tmp_path, *name, "-o", "1")
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("__main__ ['-o', '1'] 2016\n")
        assert "script.py:8" in done.stdout and "filled" in done.stdout


def test_runner_keeps_the_exit_status_and_writes_the_file(tmp_path):
    done = run(tmp_path, "-q", "-o", "run.rlgpu", "script.py", "fail")
    assert (done.returncode, done.stdout) == (5, "__main__ ['fail'] 2016\n")
    assert '"reuselens-gpu/1"' in (tmp_path / "run.rlgpu").read_text()
    done = run(tmp_path, "-o", "run.rlgpu", "script.py")
    assert done.returncode == 2 and "-f" in done.stderr
    done = run(tmp_path, "-o", "missing/run.rlgpu", "script.py")
    assert done.returncode == 1 and "missing/run.rlgpu" in done.stderr
    assert "Traceback" not in done.stderr
    # Whoever ends by SystemExit, as pytest does, has not written the file either.
    done = run(tmp_path, "-o", "missing/run.rlgpu", "script.py", "ends")
    assert done.returncode == 1 and "missing/run.rlgpu" in done.stderr
    done = run(tmp_path, "-o", "none.rlgpu", "script.py", "nothing")
    assert done.returncode == 1 and "no kernel" in done.stderr
    done = run(tmp_path, "script.py", "uninstall")
    assert done.returncode == 1 and "install()" in done.stderr
    done = run(tmp_path, "script.py", "cuda")
    assert done.returncode == 1 and "filled" in done.stdout and "device='cpu'" in done.stderr
    done = run(tmp_path, "script.py", "nothing")
    assert done.returncode == 0 and "no kernel" in done.stderr


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "name a script"),
        (["missing.py"], "missing.py"),
        (["-o", "run.pdf", "script.py"], ".rlgpu"),
        (["--target", "sm_50", "script.py"], "sm_75 to sm_89"),
        (["--gpu-model", "other", "script.py"], "other"),
    ],
)
def test_runner_refuses_bad_arguments(tmp_path, arguments, message):
    done = run(tmp_path, *arguments)
    assert done.returncode == 2 and message in done.stderr
    assert "Traceback" not in done.stderr
