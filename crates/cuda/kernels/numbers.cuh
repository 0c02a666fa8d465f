// Element types that are computed with, by their XLA names, and what operations mean on them.
#pragma once
#include "walk.cuh"

struct f16 {
    u16 bits;
};
struct bf16 {
    u16 bits;
};

// The same bits as another type.
template <class To, class From>
MM_DEVICE To as(From from) {
    union {
        From from;
        To to;
    } both;
    static_assert(sizeof(To) == sizeof(From), "as many bits");
    both.from = from;
    return both.to;
}

MM_DEVICE float widen(f16 x) {
#ifdef __CUDACC__
    float result;
    asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(x.bits));
    return result;
#else
    u32 sign = u32(x.bits & 0x8000) << 16, rest = x.bits & 0x7fff;
    if (rest >= 0x7c00) {
        return as<float>(sign | 0x7f800000 | (rest & 0x3ff) << 13);
    }
    // Halves as numbers of another scale: exact, subnormal ones too.
    return as<float>(sign | as<u32>(as<float>(rest << 13) * as<float>(0x77800000u)));
#endif
}

MM_DEVICE float widen(bf16 x) { return as<float>(u32(x.bits) << 16); }
MM_DEVICE float widen(float x) { return x; }
MM_DEVICE double widen(double x) { return x; }

template <class T>
MM_DEVICE T narrow(float x);

template <>
MM_MEMBER float narrow<float>(float x) {
    return x;
}

template <>
MM_MEMBER bf16 narrow<bf16>(float x) {
    u32 bits = as<u32>(x);
    if ((bits & 0x7fffffff) > 0x7f800000) {
        return bf16{u16(bits >> 16 | 0x40)};
    }
    return bf16{u16((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

template <>
MM_MEMBER f16 narrow<f16>(float x) {
#ifdef __CUDACC__
    u16 result;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result) : "f"(x));
    return f16{result};
#else
    u32 bits = as<u32>(x), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
    if (rest > 0x7f800000) {
        return f16{u16(sign | 0x7e00)};
    }
    if (rest >= 0x477ff000) {
        return f16{u16(sign | 0x7c00)};
    }
    if (rest < 0x38800000) {
        // Subnormal: adding 0.5 rounds to a multiple of 2^-24.
        float sum = as<float>(rest) + 0.5f;
        return f16{u16(sign | (as<u32>(sum) - 0x3f000000))};
    }
    return f16{u16(sign | (rest - 0x38000000 + 0xfff + (rest >> 13 & 1)) >> 13)};
#endif
}

// A double rounded once to a narrower type.
template <class T>
MM_DEVICE T rounded(double x) {
    if constexpr (sizeof(T) == 8) {
        return x;
    } else {
        float near = float(x);
        if constexpr (sizeof(T) == 4) {
            return near;
        } else {
            // Towards zero, with the last bit for whatever was lost: rounding that to the narrower
            // type rounds x.
            u32 bits = as<u32>(near);
            double back = near;
            if (back != x && x == x) {
                bool beyond = back < 0 ? back < x : back > x;
                bits = (bits - (beyond ? 1 : 0)) | 1;
            }
            return narrow<T>(as<float>(bits));
        }
    }
}

enum Operation : u32 { ADD, SUBTRACT, MULTIPLY, DIVIDE, MINIMUM, MAXIMUM };

// What a type's numbers are.
template <class T>
struct Number;

template <class T, class C>
struct Float {
    typedef double Sum;
    typedef T Type;
    typedef typename Access<sizeof(T)>::Type Bits;
    static constexpr bool IS_FLOAT = true;

    MM_DEVICE C value(Bits bits) { return widen(as<T>(bits)); }
    MM_DEVICE Bits bits(C value) { return as<Bits>(narrowed(value)); }
    MM_DEVICE T narrowed(C value) {
        if constexpr (sizeof(T) == 8) {
            return value;
        } else {
            return narrow<T>(value);
        }
    }

    MM_DEVICE Bits apply(u32 operation, Bits left, Bits right) {
        C a = value(left), b = value(right);
        switch (operation) {
            case ADD:
                return bits(a + b);
            case SUBTRACT:
                return bits(a - b);
            case MULTIPLY:
                return bits(a * b);
            case DIVIDE:
                return bits(a / b);
            case MINIMUM:
                return a < b || a != a ? left : right;
            default:
                return a > b || a != a ? left : right;
        }
    }

    MM_DEVICE Sum to_sum(Bits bits) { return double(value(bits)); }

    MM_DEVICE bool is_close(Bits left, Bits right, double relative, double absolute) {
        double a = value(left), b = value(right);
        double bound = b < 0 ? -b : b, difference = a < b ? b - a : a - b;
        // Of an infinity or a NaN, the difference with itself is a NaN.
        bool finite = a - a == 0 && b - b == 0;
        return a == b || (finite && difference <= absolute + relative * bound);
    }
};

template <>
struct Number<float> : Float<float, float> {
    MM_DEVICE u32 lowest() { return 0xff800000; }
};
template <>
struct Number<double> : Float<double, double> {
    MM_DEVICE u64 lowest() { return 0xfff0000000000000; }
};
template <>
struct Number<f16> : Float<f16, float> {
    MM_DEVICE u16 lowest() { return 0xfc00; }
};
template <>
struct Number<bf16> : Float<bf16, float> {
    MM_DEVICE u16 lowest() { return 0xff80; }
};

// Integers wrap; T is the type, U the unsigned one of its width.
template <class T, class U>
struct Integer {
    static constexpr bool SIGNED = T(-1) < T(0);
    static constexpr bool IS_FLOAT = false;
    typedef U Bits;

    MM_DEVICE Bits apply(u32 operation, Bits left, Bits right) {
        T a = T(left), b = T(right);
        switch (operation) {
            case ADD:
                return Bits(u64(left) + u64(right));
            case SUBTRACT:
                return Bits(u64(left) - u64(right));
            case MULTIPLY:
                return Bits(u64(left) * u64(right));
            case DIVIDE:
                if (b == 0) {
                    return Bits(~Bits(0));
                }
                if (SIGNED && b == T(-1)) {
                    return Bits(0 - u64(left));
                }
                return Bits(T(a / b));
            case MINIMUM:
                return a < b ? left : right;
            default:
                return a > b ? left : right;
        }
    }

    MM_DEVICE bool is_close(Bits left, Bits right, double relative, double absolute) {
        T a = T(left), b = T(right);
        U difference = a < b ? U(u64(right) - u64(left)) : U(u64(left) - u64(right));
        double bound = double(b);
        bound = absolute + relative * (bound < 0 ? -bound : bound);
        return a == b || double(difference) <= bound;
    }
};

#define MM_INTEGER(T, U, S, LOWEST)                             \
    template <>                                                 \
    struct Number<T> : Integer<T, U> {                          \
        typedef S Sum;                                          \
        typedef T Type;                                         \
        MM_DEVICE U lowest() { return U(LOWEST); }              \
        MM_DEVICE S to_sum(U bits) { return S(T(bits)); }       \
    };
MM_INTEGER(i8, u8, i64, 0x80)
MM_INTEGER(i16, u16, i64, 0x8000)
MM_INTEGER(i32, u32, i64, 0x80000000)
MM_INTEGER(i64, u64, i64, 0x8000000000000000)
MM_INTEGER(u8, u8, u64, 0)
MM_INTEGER(u16, u16, u64, 0)
MM_INTEGER(u32, u32, u64, 0)
MM_INTEGER(u64, u64, u64, 0)
