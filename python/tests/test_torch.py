"""CPU tensors of torch, where torch is installed."""

import pytest
import triton
import triton.language as tl

import reuselens.triton as rt

torch = pytest.importorskip("torch")


@triton.jit
def add_kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(output_ptr + offsets, x + y, mask=mask)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64])
def test_sum_of_tensors_equals_torch(dtype):
    device = triton.runtime.driver.active.get_active_torch_device()
    first = torch.arange(2000, device=device).to(dtype)
    second = torch.arange(2000, device=device).flip(0).to(dtype)[:1000]
    out = torch.zeros(1000, dtype=dtype, device=device)
    add_kernel[(4,)](first[500:1500], second, out, 1000, BLOCK_SIZE=256)
    assert torch.equal(out, first[500:1500] + second)
    text = rt.report()
    assert "out" in text and "part of first" in text
