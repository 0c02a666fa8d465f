// Every kernel that is shipped. `cargo xtask ptx` makes kernels.ptx of this.
#include "elementwise.cuh"
#include "random.cuh"
#include "reduce.cuh"
#include "relayout.cuh"


// runs_N moves runs in vectors of N bytes, fill_N fills them.
#define MM_RUNS(bytes)                                                 \
    MM_KERNEL(runs_##bytes, Runs<Access<bytes>::Type, false>) \
    MM_KERNEL(fill_##bytes, Runs<Access<bytes>::Type, true>)
MM_RUNS(1)
MM_RUNS(2)
MM_RUNS(4)
MM_RUNS(8)
MM_RUNS(16)

// tiles_WIDTH_PACK_LOAD_STORE
#define MM_TILES(width, pack, load, store) \
    MM_KERNEL(tiles_##width##_##pack##_##load##_##store, Tiles<width, pack, load, store>)
MM_TILES(1, 1, 1, 1)
MM_TILES(1, 1, 1, 16)
MM_TILES(1, 1, 16, 1)
MM_TILES(1, 1, 16, 16)
MM_TILES(1, 4, 4, 1)
MM_TILES(1, 4, 4, 4)
MM_TILES(1, 4, 16, 1)
MM_TILES(1, 4, 16, 4)
MM_TILES(2, 1, 1, 1)
MM_TILES(2, 1, 1, 8)
MM_TILES(2, 1, 8, 1)
MM_TILES(2, 1, 8, 8)
MM_TILES(2, 2, 2, 1)
MM_TILES(2, 2, 2, 4)
MM_TILES(2, 2, 8, 1)
MM_TILES(2, 2, 8, 4)
MM_TILES(4, 1, 1, 1)
MM_TILES(4, 1, 1, 4)
MM_TILES(4, 1, 4, 1)
MM_TILES(4, 1, 4, 4)
MM_TILES(8, 1, 1, 1)
MM_TILES(8, 1, 1, 2)
MM_TILES(8, 1, 2, 1)
MM_TILES(8, 1, 2, 2)
MM_TILES(16, 1, 1, 1)

// Operations on elements: KERNEL_TYPE, with XLA's names of types.
#define MM_NUMBER(name, type)                                              \
    MM_KERNEL(binary_##name, BinaryKernel<type, 1>)                        \
    MM_KERNEL(binary_wide_##name, BinaryKernel<type, 16 / sizeof(type)>)   \
    MM_KERNEL(close_##name, CloseKernel<type>)                             \
    MM_KERNEL(sum_##name, ReduceKernel<SumOf<type>>)                       \
    MM_KERNEL(max_##name, ReduceKernel<MaxOf<type>>)
MM_NUMBER(f32, float)
MM_NUMBER(f64, double)
MM_NUMBER(f16, f16)
MM_NUMBER(bf16, bf16)
MM_NUMBER(s8, i8)
MM_NUMBER(s16, i16)
MM_NUMBER(s32, i32)
MM_NUMBER(s64, i64)
MM_NUMBER(u8, u8)
MM_NUMBER(u16, u16)
MM_NUMBER(u32, u32)
MM_NUMBER(u64, u64)

#define MM_FLOAT(name, type)                            \
    MM_KERNEL(finish_##name, FinishKernel<type>)        \
    MM_KERNEL(normal_##name, RandomKernel<type, Normal>) \
    MM_KERNEL(uniform_##name, RandomKernel<type, Uniform>)
MM_FLOAT(f32, float)
MM_FLOAT(f64, double)
MM_FLOAT(f16, f16)
MM_FLOAT(bf16, bf16)

// Integers by their bits: signs make no difference.
MM_KERNEL(integers_8, RandomKernel<u8, Integers>)
MM_KERNEL(integers_16, RandomKernel<u16, Integers>)
MM_KERNEL(integers_32, RandomKernel<u32, Integers>)
MM_KERNEL(integers_64, RandomKernel<u64, Integers>)
