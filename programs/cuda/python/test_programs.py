"""The programs of this folder under `reuselens profile`: each checks its own results, and the report
has the lines and kernels that it should. REUSELENS is the command; programs whose packages are
missing are skipped.
"""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).resolve().parent
REUSELENS = os.environ.get("REUSELENS", "reuselens")

# Kernels that ran, and lines of sources that accessed global memory.
PROGRAMS = {
    "numba_kernels": (
        ["numba.cuda", "numba_cuda"],
        ["product", "total_of", "smooth", "norms", "doubled", "shifted"],
        ["numba_kernels.py:23", "numba_kernels.py:38", "numba_kernels.py:53"],
    ),
    "core_kernels": (
        ["cuda.core"],
        ["product<float>", "sum", "smooth", "squares"],
        ["core_kernels.cu:12", "core_kernels.cu:37"],
    ),
    "bindings_kernel": (["cuda.bindings"], ["saxpy"], ["saxpy.cu:6"]),
    "cupy_kernels": (["cupy"], ["product", "distance", "row_norm"], [".cubin.cu:11"]),
}


def has(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def profile(folder, *arguments):
    """Runs a Python under `profile`; what it wrote, and the JSON of the run."""
    # CuPy keeps what it has compiled, by the text and the architecture.
    environment = dict(os.environ, CUPY_CACHE_DIR=str(folder), NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS="0")
    done = subprocess.run(
        [REUSELENS, "profile", "--json", "run.json", "--", sys.executable, *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout, json.loads((folder / "run.json").read_text())


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_runs_as_it_is_and_its_lines_are_reported(name, tmp_path):
    packages, kernels, lines = PROGRAMS[name]
    missing = [package for package in packages if not has(package)]
    if missing:
        pytest.skip(f"no {', '.join(missing)}")
    printed, run = profile(tmp_path, FOLDER / f"{name}.py")
    assert f"{name}.py:" in printed and " imports " in printed
    assert "not provided" not in printed, printed
    found = [kernel["kernel"].split("::")[-1] for kernel in run["by_kernel"]]
    assert set(kernels) <= set(found), found
    places = [line["line"] for line in run["by_line"]]
    for line in lines:
        assert any(place.endswith(line) for place in places), (line, places)
    # Arrays and launches have the names and lines of Python, not those of its interpreter.
    data = [run["objects"][row["object"]]["name"] for row in run["by_object"] if row["object"]]
    assert any(f", {name}.py:" in row for row in data), data
    launches = [run["call_paths"][kernel["call_path"]] for kernel in run["kernels"]]
    assert all(f"{name}.py:" in path[-1]["place"] for path in launches), launches


def test_cuda_of_an_installed_package_is_found_where_it_is_asked_for(tmp_path):
    """A program that does not say that it uses CUDA: a library that it loads by name."""
    text = "import ctypes; print(ctypes.CDLL('libcuda.so.1').cuInit(0))"
    done = subprocess.run(
        [REUSELENS, "profile", "-q", "--cuda", "--", sys.executable, "-c", text],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0 and done.stdout.startswith("0\n"), done.stdout
