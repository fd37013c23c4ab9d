"""Kernels run on the interpreter, and each test has a report of its own."""

import os
import tempfile

import pytest

# Other runs have compiled for other drivers.
os.environ.setdefault("TRITON_CACHE_DIR", tempfile.mkdtemp(prefix="reuselens-triton-"))

import reuselens.triton as rt


@pytest.fixture(autouse=True)
def installed():
    rt.install()
    yield
    rt.uninstall()


@pytest.fixture
def rng():
    import numpy as np

    return np.random.default_rng(7)
