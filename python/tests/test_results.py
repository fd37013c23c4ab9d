"""Results of unmodified Triton kernels against NumPy."""

import numpy as np
import pytest
import triton
import triton.language as tl

import reuselens.triton as rt


@triton.jit
def add_kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(output_ptr + offsets, x + y, mask=mask)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int32, np.int64, np.uint8])
def test_sum_of_vectors_equals_numpy(rng, dtype):
    n = 5003
    x = (100 * rng.random(n)).astype(dtype)
    y = (100 * rng.random(n)).astype(dtype)
    out = np.zeros_like(x)
    add_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK_SIZE"]),)](x, y, out, n, BLOCK_SIZE=256)
    assert np.array_equal(out, x + y)


@triton.jit
def softmax_kernel(out_ptr, in_ptr, out_stride, in_stride, n_rows, n_cols, BLOCK: tl.constexpr):
    start = tl.program_id(0)
    for row in tl.range(start, n_rows, tl.num_programs(0)):
        columns = tl.arange(0, BLOCK)
        mask = columns < n_cols
        x = tl.load(in_ptr + row * in_stride + columns, mask=mask, other=-float("inf"))
        e = tl.exp(x - tl.max(x, axis=0))
        tl.store(out_ptr + row * out_stride + columns, e / tl.sum(e, axis=0), mask=mask)


@pytest.mark.parametrize("num_warps", [1, 4, 8])
def test_softmax_equals_numpy(rng, num_warps):
    x = rng.standard_normal((37, 781)).astype(np.float32)
    y = np.zeros_like(x)
    softmax_kernel[(8,)](y, x, 781, 781, 37, 781, BLOCK=1024, num_warps=num_warps)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(y, e / e.sum(axis=1, keepdims=True), rtol=1e-5, atol=1e-7)


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, sam, sak, sbk, sbn, scm, scn,
                  BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    a = a_ptr + rm[:, None] * sam + rk[None, :] * sak
    b = b_ptr + rk[:, None] * sbk + rn[None, :] * sbn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        inside = rk < K - k * BK
        x = tl.load(a, mask=(rm[:, None] < M) & inside[None, :], other=0.0)
        y = tl.load(b, mask=inside[:, None] & (rn[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc)
        a += BK * sak
        b += BK * sbk
    mask = (rm[:, None] < M) & (rn[None, :] < N)
    tl.store(c_ptr + rm[:, None] * scm + rn[None, :] * scn, acc, mask=mask)


def strides(array):
    return [step // array.itemsize for step in array.strides]


@pytest.mark.parametrize("dtype, tolerance", [(np.float16, 2e-3), (np.float32, 2e-2)])
@pytest.mark.parametrize("num_stages", [1, 3])
def test_product_of_matrices_equals_numpy(rng, dtype, tolerance, num_stages):
    m, n, k = 100, 72, 90
    a = rng.standard_normal((m, k)).astype(dtype)
    # A view with its dimensions exchanged.
    b = rng.standard_normal((n, k)).astype(dtype).T
    c = np.zeros((m, n), np.float32)
    grid = (triton.cdiv(m, 32), triton.cdiv(n, 32))
    matmul_kernel[grid](a, b, c, m, n, k, *strides(a), *strides(b), *strides(c),
                        BM=32, BN=32, BK=32, num_stages=num_stages)
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    assert np.abs(c - wanted).max() < tolerance * np.abs(wanted).max()


@triton.jit
def attention_kernel(q_ptr, k_ptr, v_ptr, o_ptr, N, scale,
                     BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rd = tl.arange(0, D)
    rn = tl.arange(0, BN)
    q = tl.load(q_ptr + rm[:, None] * D + rd[None, :])
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    end = N
    if CAUSAL:
        end = (tl.program_id(0) + 1) * BM
    for n in range(0, end, BN):
        k = tl.load(k_ptr + (n + rn)[None, :] * D + rd[:, None])
        s = tl.dot(q, k) * scale
        if CAUSAL:
            s = tl.where(rm[:, None] >= (n + rn)[None, :], s, -1.0e6)
        new = tl.maximum(top, tl.max(s, axis=1))
        p = tl.exp(s - new[:, None])
        shrunk = tl.exp(top - new)
        total = total * shrunk + tl.sum(p, axis=1)
        v = tl.load(v_ptr + (n + rn)[:, None] * D + rd[None, :])
        acc = acc * shrunk[:, None] + tl.dot(p.to(tl.float16), v)
        top = new
    tl.store(o_ptr + rm[:, None] * D + rd[None, :], acc / total[:, None])


@pytest.mark.parametrize("causal", [False, True])
def test_flash_attention_equals_numpy(rng, causal):
    n, d = 128, 64
    q, k, v = (rng.standard_normal((n, d)).astype(np.float16) for _ in range(3))
    o = np.zeros((n, d), np.float32)
    attention_kernel[(n // 64,)](q, k, v, o, n, 0.125, BM=64, BN=32, D=d, CAUSAL=causal)
    s = q.astype(np.float32) @ k.astype(np.float32).T * 0.125
    if causal:
        s = np.where(np.tril(np.ones((n, n), bool)), s, -np.inf)
    p = np.exp(s - s.max(axis=1, keepdims=True))
    wanted = p / p.sum(axis=1, keepdims=True) @ v.astype(np.float32)
    np.testing.assert_allclose(o, wanted, atol=5e-3)


@triton.jit
def histogram_kernel(x_ptr, counts_ptr, sum_ptr, most_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    mask = i < n
    x = tl.load(x_ptr + i, mask=mask, other=0)
    tl.atomic_add(counts_ptr + x, 1, mask=mask)
    tl.atomic_add(sum_ptr, tl.sum(x.to(tl.float32), axis=0))
    tl.atomic_max(most_ptr, tl.max(x, axis=0))


def test_atomic_operations_of_all_blocks_count(rng):
    n = 3000
    x = rng.integers(0, 17, n).astype(np.int32)
    counts, total, most = np.zeros(17, np.int32), np.zeros(1, np.float32), np.zeros(1, np.int32)
    histogram_kernel[(triton.cdiv(n, 256),)](x, counts, total, most, n, B=256)
    assert np.array_equal(counts, np.bincount(x, minlength=17))
    assert (total[0], most[0]) == (x.sum(), x.max())


@triton.jit
def lock_kernel(lock_ptr, counter_ptr):
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.store(counter_ptr, tl.load(counter_ptr) + 1)
    tl.atomic_xchg(lock_ptr, 0)


def test_blocks_that_lock_count_each_other():
    lock, counter = np.zeros(1, np.int32), np.zeros(1, np.int32)
    lock_kernel[(50,)](lock, counter)
    assert (lock[0], counter[0]) == (0, 50)


@triton.jit
def chain_kernel(flags_ptr, n):
    block = tl.program_id(0)
    if block < n - 1:
        while tl.load(flags_ptr + block + 1, volatile=True) == 0:
            pass
    tl.store(flags_ptr + block, 1)


def test_blocks_wait_for_later_ones_if_all_run_at_the_same_time():
    flags = np.zeros(40, np.int32)
    chain_kernel[(40,)](flags, 40, launch_cooperative_grid=True)
    assert flags.all()
    rt.install(max_instructions=1 << 20)
    with pytest.raises(rt.KernelError, match="instructions"):
        chain_kernel[(40,)](np.zeros(40, np.int32), 40)


@triton.jit
def scalars_kernel(o_ptr, i, f, flag, none_ptr, pair):
    tl.store(o_ptr, i)
    tl.store(o_ptr + 1, f)
    if flag:
        tl.store(o_ptr + 2, 1.0)
    if none_ptr is not None:
        tl.store(o_ptr + 3, 5.0)
    tl.store(o_ptr + 4, tl.load(pair[0]) + pair[1])


def test_scalars_flags_none_and_tuples_are_arguments():
    o = np.zeros(5)
    scalars_kernel[(1,)](o, np.int64(1 << 40), 0.5, True, None, (np.full(1, 3.0), 4))
    assert o.tolist() == [float(1 << 40), 0.5, 1.0, 0.0, 7.0]


def test_views_of_one_array_share_its_memory():
    whole = np.arange(512, dtype=np.float32)
    left, right = whole[:256], whole[256:]
    wanted = left + right
    add_kernel[(1,)](left, right, left, 256, BLOCK_SIZE=256)
    assert np.array_equal(left, wanted)
    assert np.array_equal(right, np.arange(256, 512))


def test_views_at_odd_addresses_are_right():
    for shift in range(1, 9):
        x = np.arange(300, dtype=np.float32)[shift:]
        raw = np.zeros(4 * 300 + shift, np.uint8)[shift:].view(np.uint8)
        out = np.frombuffer(raw.data, np.uint8, 4 * (300 - shift))
        out = np.zeros_like(x) if shift % 4 else out.view(np.float32)
        add_kernel[(2,)](x, x, out, len(x), BLOCK_SIZE=256)
        assert np.array_equal(out, 2 * x)


def test_empty_grids_and_arrays_do_nothing():
    nothing = np.zeros(0, np.float32)
    add_kernel[(0,)](nothing, nothing, nothing, 0, BLOCK_SIZE=256)
    add_kernel[(1,)](nothing, nothing, nothing, 0, BLOCK_SIZE=256)


@triton.jit
def print_kernel(x_ptr, B: tl.constexpr):
    tl.static_assert(B == 32)
    tl.device_print("value", tl.load(x_ptr + tl.arange(0, B)))


def test_device_print_goes_to_standard_output(capsys):
    print_kernel[(1,)](np.arange(32, dtype=np.int32), B=32, num_warps=1)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 32
    assert all("value" in line and str(number) in line for number, line in enumerate(lines))


def test_static_assert_stops_the_compiler():
    with pytest.raises(triton.compiler.errors.CompileTimeAssertionFailure):
        print_kernel[(1,)](np.arange(64, dtype=np.int32), B=64)


@triton.autotune(
    configs=[triton.Config({"B": size}, num_warps=warps) for size, warps in [(64, 1), (256, 4)]],
    key=["n"],
    reset_to_zero=["out_ptr"],
)
@triton.jit
def tuned_kernel(x_ptr, out_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.atomic_add(out_ptr, tl.sum(x, axis=0))


@pytest.mark.parametrize("policy", ["first", "all"])
def test_autotuned_kernels_run_once_for_the_result(rng, policy):
    rt.install(autotune=policy)
    tuned_kernel.cache.clear()
    x, out = rng.integers(0, 9, 1000).astype(np.float32), np.zeros(1, np.float32)
    tuned_kernel[lambda meta: (triton.cdiv(1000, meta["B"]),)](x, out, 1000)
    assert out[0] == x.sum()
    rows = rt.autotuning()
    assert len(rows) == (2 if policy == "all" else 0)
    launches = sum(row["launches"] for row in rt.kernels())
    assert launches == (3 if policy == "all" else 1)
    assert ("Autotuning" in rt.report()) == (policy == "all")
