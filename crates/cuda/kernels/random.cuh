// Random numbers, counted by the logical index: minormajor::random has the formulas. Kernels are
// compiled without fused multiply-adds, so every operation here is rounded once.
#pragma once
#include "numbers.cuh"

struct RandomParams {
    u64 result;
    u64 work;
    u64 elements;
    u64 seed;
    // Of integers: the lowest, and how many there are.
    u64 low;
    u64 range;
    // Of uniform floats.
    double lowest;
    double width;
    double highest;
};

struct Words {
    u32 w[4];
};

MM_DEVICE Words philox(u64 block, u64 seed) {
    u32 a = u32(block), b = u32(block >> 32), c = 0, d = 0;
    u32 k = u32(seed), l = u32(seed >> 32);
    MM_UNROLL
    for (int round = 0; round < 10; round++) {
        u32 first = mulhi(0xd2511f53u, a), second = mulhi(0xcd9e8d57u, c);
        u32 first_low = 0xd2511f53u * a, second_low = 0xcd9e8d57u * c;
        a = second ^ b ^ k;
        b = second_low;
        c = first ^ d ^ l;
        d = first_low;
        k += 0x9e3779b9u;
        l += 0xbb67ae85u;
    }
    return Words{{a, b, c, d}};
}

MM_DEVICE u64 long_word(const Words& words, int n) {
    return u64(words.w[2 * n + 1]) << 32 | words.w[2 * n];
}

MM_DEVICE float root(float x) { return sqrtf(x); }
MM_DEVICE double root(double x) { return sqrt(x); }

template <class F, int N>
MM_DEVICE F polynomial(const F (&coefficients)[N], F at) {
    F sum = coefficients[N - 1];
    MM_UNROLL
    for (int n = N - 2; n >= 0; n--) {
        sum = coefficients[n] + at * sum;
    }
    return sum;
}

// The two numbers of a radius and an angle in quarters of a turn and a rest.
template <class F>
MM_DEVICE void turned(F radius, u32 quarter, F sine, F cosine, F (&to)[2]) {
    F x = quarter & 1 ? sine : cosine, y = quarter & 1 ? cosine : sine;
    // (c, s), (-s, c), (-c, -s), (s, -c)
    to[0] = radius * (quarter == 1 || quarter == 2 ? -x : x);
    to[1] = radius * (quarter >= 2 ? -y : y);
}

MM_DEVICE void normal(u32 x, u32 y, float (&to)[2]) {
    const float atanh[] = {1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9};
    const float sines[] = {-1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880};
    const float cosines[] = {-1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800};
    float u = float(x) * float(1.0 / 4294967296.0) + float(1.0 / 8589934592.0);
    i32 b = i32(as<u32>(u) - 0x3f3504f3u);
    i32 k = b >> 23;
    float m = as<float>((u32(b) & 0x7fffffu) + 0x3f3504f3u);
    float s = (m - 1.0f) / (m + 1.0f);
    float z = s * s, two = s + s;
    float ln = float(k) * float(0.69314718055994530942) + (two + two * (z * polynomial(atanh, z)));
    u32 quarter = (y + (1u << 29)) >> 30;
    float a = float(i32(y - (quarter << 30))) * float(6.28318530717958647692 / 4294967296.0);
    float w = a * a;
    float sine = a + a * (w * polynomial(sines, w)), cosine = 1.0f + w * polynomial(cosines, w);
    turned(root(-2.0f * ln), quarter, sine, cosine, to);
}

MM_DEVICE void normal(u64 x, u64 y, double (&to)[2]) {
    const double atanh[] = {1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11,
                            1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21};
    const double sines[] = {-1.0 / 6,         1.0 / 120,         -1.0 / 5040,
                            1.0 / 362880,     -1.0 / 39916800,   1.0 / 6227020800.0,
                            -1.0 / 1307674368000.0, 1.0 / 355687428096000.0};
    const double cosines[] = {-1.0 / 2,       1.0 / 24,        -1.0 / 720,
                              1.0 / 40320,    -1.0 / 3628800,  1.0 / 479001600.0,
                              -1.0 / 87178291200.0, 1.0 / 20922789888000.0,
                              -1.0 / 6402373705728000.0};
    double u = (double(x >> 12) + 0.5) * (1.0 / 4503599627370496.0);
    i64 b = i64(as<u64>(u) - 0x3fe6a09e667f3bcdull);
    i64 k = b >> 52;
    double m = as<double>((u64(b) & 0xfffffffffffffull) + 0x3fe6a09e667f3bcdull);
    double s = (m - 1.0) / (m + 1.0);
    double z = s * s, two = s + s;
    double ln = double(k) * 0.69314718055994530942 + (two + two * (z * polynomial(atanh, z)));
    u64 quarter = (y + (1ull << 61)) >> 62;
    double a = double(i64(y - (quarter << 62))) * (6.28318530717958647692 / 18446744073709551616.0);
    double w = a * a;
    double sine = a + a * (w * polynomial(sines, w)), cosine = 1.0 + w * polynomial(cosines, w);
    turned(root(-2.0 * ln), u32(quarter), sine, cosine, to);
}

// The numbers of a block: 4 of 32-bit words, or 2 of 64-bit ones.
template <class T>
struct Normal {
    static constexpr int COUNT = sizeof(T) == 8 ? 2 : 4;
    MM_DEVICE void make(const RandomParams&, const Words& words, T (&to)[COUNT]) {
        if constexpr (COUNT == 2) {
            normal(long_word(words, 0), long_word(words, 1), to);
        } else {
            MM_UNROLL
            for (int n = 0; n < 4; n += 2) {
                float two[2];
                normal(words.w[n], words.w[n + 1], two);
                to[n] = narrow<T>(two[0]);
                to[n + 1] = narrow<T>(two[1]);
            }
        }
    }
};

template <class T>
struct Uniform {
    static constexpr int COUNT = sizeof(T) == 8 ? 2 : 4;
    MM_DEVICE void make(const RandomParams& p, const Words& words, T (&to)[COUNT]) {
        MM_UNROLL
        for (int n = 0; n < COUNT; n++) {
            if constexpr (COUNT == 2) {
                double u = double(long_word(words, n) >> 11) * (1.0 / 9007199254740992.0);
                double x = p.lowest + u * p.width;
                to[n] = x < p.highest ? x : p.highest;
            } else {
                float u = float(words.w[n] >> 8) * (1.0f / 16777216.0f);
                T x = narrow<T>(float(p.lowest) + u * float(p.width));
                T highest = rounded<T>(p.highest);
                to[n] = widen(x) > widen(highest) ? highest : x;
            }
        }
    }
};

template <class T>
struct Integers {
    static constexpr int COUNT = 2;
    MM_DEVICE void make(const RandomParams& p, const Words& words, T (&to)[COUNT]) {
        MM_UNROLL
        for (int n = 0; n < COUNT; n++) {
            to[n] = T(p.low + mulhi(long_word(words, n), p.range));
        }
    }
};

// Every thread makes a block's numbers, in row-major order.
template <class T, template <class> class Make>
struct RandomKernel {
    typedef RandomParams Params;
    enum { BARRIERS = 0, PHASES = 1, COUNT = Make<T>::COUNT };

    MM_DEVICE void prepare(const Params&, u32, Shared) {}
    MM_DEVICE u64 work(const Params& p) { return p.work; }

    template <int>
    MM_DEVICE void phase(const Params& p, u64 work, u32 thread, Shared) {
        u64 block = work * MM_THREADS + thread;
        u64 first = block * COUNT;
        if (first >= p.elements) {
            return;
        }
        T made[COUNT];
        Make<T>::make(p, philox(block, p.seed), made);
        MM_UNROLL
        for (u32 n = 0; n < COUNT; n++) {
            if (first + n < p.elements) {
                typedef typename Access<sizeof(T)>::Type Bits;
                write(p.result + (first + n) * sizeof(T), as<Bits>(made[n]));
            }
        }
    }
};
