// Sums and maxima over dimensions.
#pragma once
#include "numbers.cuh"

#define MM_REDUCED 20

// Work items take a block's outputs and a segment of what is reduced to each of them.
struct ReduceParams {
    u64 source;
    // Element `segment` of `segments` for each output, in the outputs' order.
    u64 result;
    u64 work;
    u64 outputs;
    u64 reduced;
    // Elements of a segment.
    u64 length;
    u64 segments;
    u64 segments_magic;
    u32 segments_shift;
    // 2^lanes threads work at each output.
    u32 lanes;
    // Whether neighbouring threads have neighbouring outputs, or else elements.
    u32 across;
    u32 kept_count;
    u32 reduced_count;
    u32 unused;
    // The first stride counts; fastest first.
    Outer kept[MM_REDUCED];
    Outer along[MM_REDUCED];
};

MM_DEVICE i64 offset_of(const Outer (&loops)[MM_REDUCED], u32 count, u64 n) {
    i64 offset = 0;
    MM_LOOP
    for (u32 d = 0; d + 1 < count; d++) {
        u64 next = divide(n, loops[d].magic, loops[d].shift);
        offset += i64(n - next * loops[d].extent) * loops[d].stride[0];
        n = next;
    }
    return count == 0 ? 0 : offset + i64(n) * loops[count - 1].stride[0];
}

template <class T>
struct SumOf {
    typedef typename Number<T>::Bits In;
    typedef typename Number<T>::Sum Value;
    MM_DEVICE Value start() { return 0; }
    MM_DEVICE Value value(In in) { return Number<T>::to_sum(in); }
    MM_DEVICE Value join(Value a, Value b) {
        if constexpr (Number<T>::IS_FLOAT) {
            return a + b;
        } else {
            return Value(u64(a) + u64(b));
        }
    }
};

template <class T>
struct MaxOf {
    typedef typename Number<T>::Bits In;
    typedef In Value;
    MM_DEVICE Value start() { return Number<T>::lowest(); }
    MM_DEVICE Value value(In in) { return in; }
    MM_DEVICE Value join(Value a, Value b) { return Number<T>::apply(MAXIMUM, a, b); }
};

template <class R>
struct ReduceKernel {
    typedef ReduceParams Params;
    typedef typename R::In In;
    typedef typename R::Value Value;
    // The first phase, one for each halving of 256 threads, and the last.
    enum { BARRIERS = 1, PHASES = 10 };

    MM_DEVICE void prepare(const Params&, u32, Shared) {}
    MM_DEVICE u64 work(const Params& p) { return p.work; }

    MM_DEVICE void place(const Params& p, u32 thread, u32& output, u32& lane) {
        u32 outputs = MM_THREADS >> p.lanes;
        output = p.across ? thread & (outputs - 1) : thread >> p.lanes;
        lane = p.across ? thread >> (8 - p.lanes) : thread & ((1u << p.lanes) - 1);
    }

    // Where a thread's value lies in shared memory: lanes that are joined lie apart by whole rows.
    MM_DEVICE u32 slot(const Params& p, u32 output, u32 lane) {
        return (lane * (MM_THREADS >> p.lanes) + output) * u32(sizeof(Value));
    }

    template <int N>
    MM_DEVICE void phase(const Params& p, u64 work, u32 thread, Shared shared) {
        u32 local, lane;
        place(p, thread, local, lane);
        u64 group = divide(work, p.segments_magic, p.segments_shift);
        u64 segment = work - group * p.segments;
        u64 output = group * (MM_THREADS >> p.lanes) + local;
        if constexpr (N == 0) {
            Value sum = R::start();
            if (output < p.outputs) {
                u64 from = p.source + offset_of(p.kept, p.kept_count, output);
                u64 end = (segment + 1) * p.length;
                end = end < p.reduced ? end : p.reduced;
                MM_UNROLL_4
                for (u64 n = segment * p.length + lane; n < end; n += 1u << p.lanes) {
                    In in = read<In>(from + offset_of(p.along, p.reduced_count, n));
                    sum = R::join(sum, R::value(in));
                }
            }
            shared.put(slot(p, local, lane), sum);
        } else if constexpr (N < PHASES - 1) {
            u32 half = (1u << p.lanes) >> N;
            if (lane < half) {
                Value a = shared.get<Value>(slot(p, local, lane));
                Value b = shared.get<Value>(slot(p, local, lane + half));
                shared.put(slot(p, local, lane), R::join(a, b));
            }
        } else if (lane == 0 && output < p.outputs) {
            u64 to = p.result + (output * p.segments + segment) * sizeof(Value);
            write(to, shared.get<Value>(slot(p, local, 0)));
        }
    }
};

struct FinishParams {
    u64 source;
    u64 result;
    u64 work;
    u64 elements;
    // What sums are divided by: 1 for sums.
    double count;
};

// Sums rounded to a type.
template <class T>
struct FinishKernel {
    typedef FinishParams Params;
    enum { BARRIERS = 0, PHASES = 1 };

    MM_DEVICE void prepare(const Params&, u32, Shared) {}
    MM_DEVICE u64 work(const Params& p) { return p.work; }

    template <int>
    MM_DEVICE void phase(const Params& p, u64 work, u32 thread, Shared) {
        u64 n = work * MM_THREADS + thread;
        if (n < p.elements) {
            double sum = read<double>(p.source + n * 8) / p.count;
            write(p.result + n * sizeof(T), as<typename Number<T>::Bits>(rounded<T>(sum)));
        }
    }
};
