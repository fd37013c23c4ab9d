"""CPU tensors of torch, where torch is installed."""

import subprocess
import sys
import textwrap

import pytest
import triton
import triton.language as tl

import reuselens.triton as rt

torch = pytest.importorskip("torch", reason="torch is not installed: tensors are not tested")


@triton.jit
def add_kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(output_ptr + offsets, x + y, mask=mask)


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int8, torch.int64]
)
def test_sum_of_tensors_equals_torch(dtype):
    device = triton.runtime.driver.active.get_active_torch_device()
    first = (torch.arange(2000, device=device) % 50).to(dtype)
    second = (torch.arange(2000, device=device) % 50).flip(0).to(dtype)[:1000]
    out = torch.zeros(1000, dtype=dtype, device=device)
    add_kernel[(4,)](first[500:1500], second, out, 1000, BLOCK_SIZE=256)
    assert torch.equal(out, first[500:1500] + second)
    text = rt.report()
    assert "out" in text and "part of first" in text


@triton.jit
def convert_kernel(from_ptr, to_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(to_ptr + i, tl.load(from_ptr + i).to(to_ptr.dtype.element_ty))


# Results are known where no conversion rounds.
@pytest.mark.parametrize(
    "dtype, target",
    [
        (torch.float8_e5m2, "sm_80"),
        (torch.float8_e5m2, "sm_89"),
        (torch.float8_e4m3fn, "sm_89"),
        (torch.bfloat16, "sm_80"),
        (torch.float16, "sm_80"),
        (torch.int8, "sm_80"),
    ],
)
def test_conversions_there_and_back_equal_torch(dtype, target):
    rt.install(target)
    numbers = torch.tensor([2.0**e * s for e in range(-2, 6) for s in (1, -1.25)]).to(dtype)
    there, back = torch.zeros(16, dtype=torch.float32), torch.zeros(16, dtype=dtype)
    convert_kernel[(1,)](numbers, there, B=16)
    convert_kernel[(1,)](there, back, B=16)
    assert torch.equal(there, numbers.to(torch.float32))
    assert torch.equal(back.view(torch.uint8), numbers.view(torch.uint8))


@triton.jit
def product_kernel(a_ptr, b_ptr, c_ptr, sam, sak, sbk, sbn, PRECISION: tl.constexpr,
                   M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + m[:, None] * sam + k[None, :] * sak)
    b = tl.load(b_ptr + k[:, None] * sbk + n[None, :] * sbn)
    c = tl.dot(a, b, input_precision=PRECISION)
    tl.store(c_ptr + m[:, None] * N + n[None, :], c)


@pytest.mark.parametrize(
    "dtype, precision, target",
    [
        (torch.float16, "ieee", "sm_80"),
        (torch.bfloat16, "ieee", "sm_80"),
        (torch.float8_e5m2, "ieee", "sm_80"),
        (torch.float8_e5m2, "ieee", "sm_89"),
        (torch.float8_e4m3fn, "ieee", "sm_89"),
        (torch.float32, "tf32", "sm_80"),
        (torch.float32, "tf32x3", "sm_80"),
        (torch.float32, "ieee", "sm_80"),
    ],
)
def test_products_of_tensors_with_any_strides_equal_torch(dtype, precision, target):
    rt.install(target)
    # Small whole numbers, whose products and sums all types hold exactly.
    a = (torch.arange(32 * 64).reshape(32, 64) % 5 - 2).to(dtype)
    b = (torch.arange(64 * 64).reshape(64, 64) % 7 - 3).to(dtype).T[:, ::2]
    c = torch.empty(32, 32, dtype=torch.float32)
    product_kernel[(1,)](a, b, c, *a.stride(), *b.stride(), precision, M=32, N=32, K=64)
    assert torch.equal(c, a.float() @ b.float())


@triton.jit
def scaled_kernel(x_ptr, out_ptr, factor, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n) * factor, mask=i < n)


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        result = torch.empty_like(x)
        scaled_kernel[(triton.cdiv(x.numel(), 128),)](x, result, factor, x.numel(), B=128)
        return result

    @staticmethod
    def backward(ctx, gradient):
        back = torch.empty_like(gradient)
        scaled_kernel[(triton.cdiv(back.numel(), 128),)](
            gradient, back, ctx.factor, back.numel(), B=128
        )
        return back, None


def test_autograd_functions_run_kernels_forwards_and_backwards():
    x = torch.arange(300, dtype=torch.float32, requires_grad=True)
    Scaled.apply(x, 3.0).backward(torch.arange(300, dtype=torch.float32))
    assert torch.equal(x.grad, 3.0 * torch.arange(300, dtype=torch.float32))
    rows = rt.kernels()
    assert [row["calls"][-1][0] for row in rows] == ["forward", "backward"]
    assert all(name in rt.report() for name in ("result", "back"))


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(256))
        self.register_buffer("total", torch.zeros(256))

    def forward(self):
        scaled_kernel[(2,)](self.weight, self.total, 2.0, 256, B=128)


def test_tensors_of_modules_have_the_names_of_their_attributes():
    Layer()()
    assert "self.weight" in rt.report() and "self.total" in rt.report()


@triton.jit
def locked_kernel(lock_ptr, count_ptr, sums_ptr, rows_ptr, GROUPS: tl.constexpr, B: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, B)
    part = tl.load(rows_ptr + row * B + i)
    group = row % GROUPS
    while tl.atomic_cas(lock_ptr + group, 0, 1) == 1:
        pass
    if tl.load(count_ptr + group) == 0:
        tl.atomic_xchg(count_ptr + group, 1)
    else:
        part += tl.load(sums_ptr + group * B + i)
    tl.store(sums_ptr + group * B + i, part)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr + group, 0)


def test_blocks_that_lock_add_their_rows():
    rows = (torch.arange(100 * 128).reshape(100, 128) % 17).to(torch.float16)
    locks, counts = torch.zeros(8, dtype=torch.int32), torch.zeros(8, dtype=torch.int32)
    sums = torch.zeros(8, 128, dtype=torch.float16)
    locked_kernel[(100,)](locks, counts, sums, rows, GROUPS=8, B=128)
    wanted = torch.stack([rows[group::8].float().sum(0) for group in range(8)])
    assert torch.equal(sums.float(), wanted)
    assert not locks.any() and counts.all()


@triton.jit
def tile_kernel(from_desc, to_ptr, m, n, M: tl.constexpr, N: tl.constexpr):
    to_desc = tl.make_tensor_descriptor(to_ptr, [m, n], [n, 1], [M, N])
    tile = from_desc.load([tl.program_id(0) * M, tl.program_id(1) * N])
    to_desc.store([tl.program_id(0) * M, tl.program_id(1) * N], tile + 1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_descriptors_of_host_and_kernel_load_and_store_tiles(dtype):
    from triton.tools.tensor_descriptor import TensorDescriptor

    source = torch.arange(50 * 40).reshape(50, 40).to(dtype)
    target = torch.zeros_like(source)
    tiles = TensorDescriptor.from_tensor(source, [16, 32])
    tile_kernel[(4, 2)](tiles, target, 50, 40, M=16, N=32)
    assert torch.equal(target, source + 1)
    assert "source" in rt.report() and "target" in rt.report()


def test_torch_describes_the_gpu_that_kernels_are_compiled_for():
    rt.install("sm_86", gpu="l1=128K,l2=40M,sms=84")
    assert torch.cuda.get_device_capability() == (8, 6)
    properties = triton.runtime.driver.active.utils.get_device_properties(0)
    assert properties["multiprocessor_count"] == 84
    assert properties["max_shared_mem"] == 99 << 10
    if not torch.cuda.is_available():
        assert torch.cuda.get_device_properties("cuda").multi_processor_count == 84
        torch.cuda.synchronize()
        with torch.cuda.device(torch.zeros(1).device.index):
            assert torch.cuda.current_device() == 0
        assert torch.cuda.current_stream().cuda_stream == 0
        rt.uninstall()
        with pytest.raises((RuntimeError, AssertionError)):
            torch.cuda.synchronize()


def test_torch_that_is_imported_later_describes_that_gpu(tmp_path):
    script = tmp_path / "later.py"
    script.write_text(
        textwrap.dedent(
            """
            import sys
            import reuselens.triton as rt

            rt.install("sm_89")
            assert "torch" not in sys.modules
            import torch

            print(torch.cuda.get_device_capability())
            rt.uninstall()
            assert not any("reuselens" in type(it).__module__ for it in sys.meta_path)
            """
        )
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300)
    assert done.stdout == "(8, 9)\n", done.stderr


def test_tensors_of_other_devices_are_refused():
    with pytest.raises(TypeError, match="device='cpu'"):
        x = torch.empty(128, device="meta")
        scaled_kernel[(1,)](x, x, 2.0, 128, B=128)
