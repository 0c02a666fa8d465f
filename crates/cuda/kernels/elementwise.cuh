// Operations on pairs of elements.
#pragma once
#include "numbers.cuh"
#include "registers.cuh"

// What an operand is for one item.
enum Kind : u32 { VECTOR, REPEATED, SCALAR };

struct BinaryParams {
    u64 place[2];
    u64 result;
    // Of a SCALAR, its bits.
    u64 scalar[2];
    u32 kind[2];
    u32 operation;
    u32 unused;
    // Offsets of both operands; the result is dense in the order of the walk.
    Walk walk;
};

// An item is `COUNT` neighbours of the result.
template <class T, int COUNT>
struct BinaryKernel {
    typedef BinaryParams Params;
    typedef typename Number<T>::Bits Bits;
    enum { BARRIERS = 0, PHASES = 1, WIDTH = sizeof(T) };

    MM_DEVICE void prepare(const Params&, u32, Shared) {}
    MM_DEVICE u64 work(const Params& p) { return p.walk.work; }

    MM_DEVICE void get(const Params& p, int side, i64 offset, Registers<WIDTH * COUNT>& to) {
        if (p.kind[side] == VECTOR) {
            to.read_from(p.place[side] + offset);
            return;
        }
        Bits value = p.kind[side] == SCALAR ? Bits(p.scalar[side])
                                            : read<Bits>(p.place[side] + offset);
        MM_UNROLL
        for (int k = 0; k < COUNT; k++) {
            to.template set<WIDTH>(k, value);
        }
    }

    template <int>
    MM_DEVICE void phase(const Params& p, u64 work, u32 thread, Shared) {
        Begin start = begin(p.walk, work, thread);
        u64 result = p.result + start.pass * p.walk.items * (WIDTH * COUNT);
        MM_LOOP
        for (u32 k = 0; k < MM_ITEMS; k++) {
            u32 item = start.first + k * MM_THREADS;
            if (item < p.walk.items) {
                i64 a = start.offset[0], b = start.offset[1];
                add_offsets(p.walk, item, a, b);
                Registers<WIDTH * COUNT> left, right;
                get(p, 0, a, left);
                get(p, 1, b, right);
                compute(p.operation, left, right);
                left.write_to(result + u64(item) * (WIDTH * COUNT));
            }
        }
    }

    MM_DEVICE void compute(u32 operation, Registers<WIDTH * COUNT>& left,
                           const Registers<WIDTH * COUNT>& right) {
        switch (operation) {
            case ADD:
                return each<ADD>(left, right);
            case SUBTRACT:
                return each<SUBTRACT>(left, right);
            case MULTIPLY:
                return each<MULTIPLY>(left, right);
            case DIVIDE:
                return each<DIVIDE>(left, right);
            case MINIMUM:
                return each<MINIMUM>(left, right);
            default:
                return each<MAXIMUM>(left, right);
        }
    }

    template <u32 OPERATION>
    MM_DEVICE void each(Registers<WIDTH * COUNT>& left, const Registers<WIDTH * COUNT>& right) {
        Registers<WIDTH * COUNT> made;
        MM_UNROLL
        for (int j = 0; j < COUNT; j++) {
            Bits a = left.template get<WIDTH>(j), b = right.template get<WIDTH>(j);
            made.template set<WIDTH>(j, Number<T>::apply(OPERATION, a, b));
        }
        left = made;
    }
};

struct CloseParams {
    u64 place[2];
    // A number of 32 bits that becomes 1 where two elements are not close.
    u64 flag;
    double relative;
    double absolute;
    Walk walk;
};

template <class T>
struct CloseKernel {
    typedef CloseParams Params;
    typedef typename Number<T>::Bits Bits;
    enum { BARRIERS = 0, PHASES = 1 };

    MM_DEVICE void prepare(const Params&, u32, Shared) {}
    MM_DEVICE u64 work(const Params& p) { return p.walk.work; }

    template <int>
    MM_DEVICE void phase(const Params& p, u64 work, u32 thread, Shared) {
        Begin start = begin(p.walk, work, thread);
        MM_LOOP
        for (u32 k = 0; k < MM_ITEMS; k++) {
            u32 item = start.first + k * MM_THREADS;
            if (item < p.walk.items) {
                i64 a = start.offset[0], b = start.offset[1];
                add_offsets(p.walk, item, a, b);
                Bits left = read<Bits>(p.place[0] + a), right = read<Bits>(p.place[1] + b);
                if (!Number<T>::is_close(left, right, p.relative, p.absolute)) {
                    raise(p.flag);
                }
            }
        }
    }
};
