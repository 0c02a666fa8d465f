// What kernels are written in: on a device plain CUDA C++, on a host C++17 in which every access
// to memory is checked. A kernel is a struct with
//   Params                  one struct, made on the host;
//   work(p)                 how many work items there are, which blocks share;
//   BARRIERS                1 where its phases share memory, else 0;
//   prepare(p, thread, shared)             once a block, before all work;
//   PHASES, phase<N>(p, work, thread, shared)  for each work item, a barrier after each phase.
// Phases keep nothing in registers for one another, so a host can run them thread by thread.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;

// 16 bytes that are moved at once.
struct alignas(16) u128 {
    u32 w[4];
};

#define MM_THREADS 256

#ifdef __CUDACC__

#define MM_DEVICE static __device__ __forceinline__
#define MM_MEMBER __device__ __forceinline__
#define MM_UNROLL _Pragma("unroll")
#define MM_LOOP _Pragma("unroll 1")
// Several reads are under way at once.
#define MM_UNROLL_4 _Pragma("unroll 4")

template <class V>
MM_DEVICE V read(u64 address) {
    return *reinterpret_cast<const V*>(address);
}

template <>
__device__ __forceinline__ u128 read<u128>(u64 address) {
    uint4 v = *reinterpret_cast<const uint4*>(address);
    return u128{{v.x, v.y, v.z, v.w}};
}

template <class V>
MM_DEVICE void write(u64 address, V value) {
    *reinterpret_cast<V*>(address) = value;
}

template <>
__device__ __forceinline__ void write<u128>(u64 address, u128 v) {
    *reinterpret_cast<uint4*>(address) = make_uint4(v.w[0], v.w[1], v.w[2], v.w[3]);
}

// Makes a number of 32 bits 1, which any number of threads may do at once.
MM_DEVICE void raise(u64 address) { *reinterpret_cast<volatile u32*>(address) = 1; }

// The block's shared memory; offsets in bytes.
struct Shared {
    u8* base;
    template <class V>
    MM_MEMBER V get(u32 offset) const {
        return *reinterpret_cast<const V*>(base + offset);
    }
    template <class V>
    MM_MEMBER void put(u32 offset, V value) const {
        *reinterpret_cast<V*>(base + offset) = value;
    }
};

MM_DEVICE u32 mulhi(u32 a, u32 b) { return __umulhi(a, b); }
MM_DEVICE u64 mulhi(u64 a, u64 b) { return __umul64hi(a, b); }
MM_DEVICE u32 permute(u32 a, u32 b, u32 selector) { return __byte_perm(a, b, selector); }

template <class K, int N>
MM_DEVICE void phases(const typename K::Params& p, u64 work, Shared shared) {
    if constexpr (N < K::PHASES) {
        K::template phase<N>(p, work, threadIdx.x, shared);
        if constexpr (K::BARRIERS) {
            __syncthreads();
        }
        phases<K, N + 1>(p, work, shared);
    }
}

template <class K>
MM_DEVICE void run(const typename K::Params& p, Shared shared) {
    K::prepare(p, threadIdx.x, shared);
    if constexpr (K::BARRIERS) {
        __syncthreads();
    }
    for (u64 work = blockIdx.x; work < K::work(p); work += gridDim.x) {
        phases<K, 0>(p, work, shared);
    }
}

#define MM_KERNEL(name, ...)                                                                   \
    extern "C" __global__ void __launch_bounds__(MM_THREADS)                                   \
        name(const __grid_constant__ __VA_ARGS__::Params p) {                                  \
        extern __shared__ __align__(16) u8 dynamic_shared[];                                   \
        run<__VA_ARGS__>(p, Shared{dynamic_shared});                                           \
    }

#else

#include "host.h"

#endif

// n / d without a division, for n below 2^31: `magic` and `shift` are made on the host.
MM_DEVICE u32 divide(u32 n, u32 magic, u32 shift) { return (mulhi(n, magic) + n) >> shift; }
// The same for n below 2^63.
MM_DEVICE u64 divide(u64 n, u64 magic, u32 shift) { return (mulhi(n, magic) + n) >> shift; }

// A loop that is gone through by work items; strides in bytes.
struct Outer {
    u64 extent;
    u64 magic;
    i64 stride[2];
    u32 shift;
    u32 unused;
};

// A loop that is gone through by threads; strides in bytes.
struct Inner {
    u32 extent;
    u32 magic;
    u32 shift;
    u32 unused;
    i64 stride[2];
};
