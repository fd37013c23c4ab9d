"""What the report names: lines of the Python file, arrays, launches."""

import os
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import triton
import triton.language as tl

import reuselens.triton as rt


@triton.jit
def copy_kernel(from_ptr, to_ptr, stride, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(from_ptr + i * stride)  # line of the load
    tl.store(to_ptr + i, x)  # line of the store


@triton.jit
def scale_kernel(data_ptr, factor, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(data_ptr + i, tl.load(data_ptr + i) * factor)


def line_of(text):
    with open(__file__) as file:
        return next(number for number, line in enumerate(file, 1) if text in line)


def launch(from_there, stride=1):
    to_here = np.zeros(256, np.float32)  # line of the result
    copy_kernel[(2,)](from_there, to_here, stride, B=128)
    return to_here


def test_report_has_lines_of_the_file_and_names_of_arrays():
    samples = np.arange(256, dtype=np.float32)  # line of the samples
    launch(samples)
    text = rt.report()
    name = os.path.basename(__file__)
    for place in ("load", "store"):
        assert f"{name}:{line_of(f'# line of the {place}')} " in text
    assert re.search(r"^ *samples ", text, re.M) and re.search(r"^ *to_here ", text, re.M)
    rt_json = rt._active().native.json("test")
    for place in ("samples", "result"):
        assert f"{name}:{line_of(f'# line of the {place}')}" in rt_json


def test_several_kernels_and_launches_are_one_report():
    samples = np.arange(256, dtype=np.float32)
    for _ in range(3):
        launch(samples)
    scale_kernel[(2,)](samples, 2.0, B=128)
    rows = {row["kernel"]: row for row in rt.kernels()}
    assert {name: row["launches"] for name, row in rows.items()} == {
        "copy_kernel": 3,
        "scale_kernel": 1,
    }
    assert rows["copy_kernel"]["calls"][-1][0] == "launch"
    text = rt.report()
    assert "copy_kernel" in text and "scale_kernel" in text


def test_sectors_are_those_that_the_addresses_have():
    samples = np.arange(256 * 8, dtype=np.float32)
    launch(samples)
    launch(samples, stride=8)
    near, far = rt.kernels()
    # 256 loads and 256 stores of 4 bytes side by side; loads that are 32 bytes apart.
    assert near["sectors"] == 2 * 256 * 4 // 32 and near["excessive_sectors"] == 0
    assert far["sectors"] == 256 + 256 * 4 // 32 and far["excessive_sectors"] == 256 - 32


def test_reset_begins_an_empty_report():
    launch(np.arange(256, dtype=np.float32))
    rt.reset()
    assert rt.report() == "" and rt.kernels() == []


def test_reports_do_not_depend_on_the_number_of_threads():
    reports = []
    for threads in (1, 4):
        rt.install(threads=threads)
        samples = np.arange(2048, dtype=np.float32)
        launch(samples, stride=8)
        reports.append(rt.report())
    assert reports[0] == reports[1]


def test_files_are_written_and_not_overwritten(tmp_path):
    launch(np.arange(256, dtype=np.float32))
    for ending in ("rlgpu", "html", "csv", "txt"):
        path = tmp_path / f"run.{ending}"
        rt.save(path)
        assert "copy_kernel" in path.read_text()
        with pytest.raises(OSError):
            rt.save(path)
        rt.save(path, overwrite=True)
    with pytest.raises(ValueError):
        rt.save(tmp_path / "run.pdf")


def test_recording_appears_at_its_end(tmp_path):
    path = tmp_path / "run.rlwarp"
    with rt.record(path):
        launch(np.arange(256, dtype=np.float32))
        with pytest.raises(OSError):
            rt._active().native.record(str(tmp_path / "other"), False, "")
        assert not path.exists()
    assert path.read_bytes()[1:4] == b"RLW"
    with pytest.raises(KeyError), rt.record(tmp_path / "none.rlwarp"):
        raise KeyError
    assert not (tmp_path / "none.rlwarp").exists()


@pytest.mark.skipif("REUSELENS" not in os.environ, reason="REUSELENS is not the reuselens command")
def test_command_reads_what_is_written(tmp_path):
    with rt.record(tmp_path / "run.rlwarp"):
        launch(np.arange(256, dtype=np.float32))
    rt.save(tmp_path / "before.rlgpu")
    rt.save(tmp_path / "after.rlgpu")

    def run(*arguments):
        command = [os.environ["REUSELENS"], "gpu", *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "copy_kernel" in run("report", "run.rlwarp")
    run("diff", "before.rlgpu", "after.rlgpu")


def test_arrays_without_a_variable_have_the_argument_s_name():
    copy_kernel[(2,)](np.arange(256, dtype=np.float32), np.zeros(256, np.float32), 1, B=128)
    assert "from_ptr of copy_kernel" in rt.report()


@triton.jit
def beyond_kernel(a_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(a_ptr + i, i)  # line beyond


def test_access_beyond_an_array_names_line_and_array():
    short_one = np.zeros(100, np.int32)
    with pytest.raises(rt.KernelError) as error:
        beyond_kernel[(1,)](short_one, B=128)
    message = str(error.value)
    assert f"{os.path.basename(__file__)}:{line_of('# line beyond')}" in message
    assert "'short_one'" in message and "beyond_kernel" in message
    assert "beyond_kernel" in rt.report()
    # The device goes on.
    launch(np.arange(256, dtype=np.float32))


@triton.jit
def assert_kernel(a_ptr):
    tl.device_assert(tl.load(a_ptr) == 1, "it is not 1")


def test_device_assert_names_its_condition():
    assert_kernel[(1,)](np.ones(1, np.int32), debug=True)
    with pytest.raises(rt.KernelError, match="it is not 1"):
        assert_kernel[(1,)](np.zeros(1, np.int32), debug=True)


def test_read_only_arrays_are_not_written():
    to_here = np.zeros(256, np.float32)
    to_here.flags.writeable = False
    samples = np.arange(256, dtype=np.float32)
    with pytest.raises(ValueError, match="'to_here', which is read-only"):
        copy_kernel[(2,)](samples, to_here, 1, B=128)
    assert not to_here.any()
    samples.flags.writeable = False
    launch(samples)


def test_what_cannot_be_run_is_refused_with_a_reason():
    samples = np.arange(256, dtype=np.float32)
    with pytest.raises(ValueError, match="sm_75 to sm_89"):
        rt.install("sm_100")
    with pytest.raises(ValueError, match="hopper"):
        rt.install(gpu="other")
    rt.install(memory_limit=1 << 10)
    with pytest.raises(MemoryError, match="memory_limit"):
        launch(samples)
    rt.install(max_instructions=1)
    with pytest.raises(rt.KernelError):
        scale_kernel[(2000,)](np.ones(2000 * 128, np.float32), 2.0, B=128)
    rt.uninstall()
    with pytest.raises(RuntimeError, match="install"):
        rt.report()


def test_interrupt_ends_a_kernel(tmp_path):
    script = tmp_path / "endless.py"
    script.write_text(
        textwrap.dedent(
            """
            import os, signal, threading
            import numpy as np, triton, triton.language as tl
            import reuselens.triton as rt

            rt.install()

            @triton.jit
            def endless(a_ptr):
                while tl.load(a_ptr, volatile=True) == 0:
                    pass

            threading.Timer(2.0, os.kill, (os.getpid(), signal.SIGINT)).start()
            try:
                endless[(1,)](np.zeros(1, np.int32))
            except KeyboardInterrupt:
                print("interrupted")
            """
        )
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert done.stdout == "interrupted\n", done.stderr
