/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small programs for the interpreter to look ahead into. Compiled several times with different
 * optimisation; WORKLOAD_LEVEL names the variant.
 */
#include "config.h"

#include "isa_workloads.h"

#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define TABLE JOIN(isa_workloads_, WORKLOAD_LEVEL)

static volatile uint64_t sink;
static volatile double float_sink;
static uint64_t seed = 88172645463325252u;

static uint64_t random_word(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static void integers(void)
{
    uint64_t sum = 1;
    int32_t narrow = 7;
    int16_t shorter = 3;
    int8_t byte = 1;
    for (unsigned i = 1; i < 4000; i++) {
        uint64_t x = random_word();
        sum += x * i ^ (sum >> 3);
        sum = sum << (x & 63) | sum >> (-x & 63);
        narrow = (int32_t)((uint32_t)narrow * 31u + (uint32_t)x);
        shorter = (int16_t)(shorter ^ narrow);
        byte = (int8_t)(byte + shorter);
        sum += x / i + x % (i + 3) + (uint64_t)((int64_t)x / -(int64_t)i);
        sum += (uint64_t)(narrow / (int32_t)i) + (uint64_t)(byte < 0 ? shorter : narrow);
        sum += (uint64_t)((unsigned __int128)x * sum >> 64);
    }
    sink = sum + (uint64_t)narrow;
}

static void bits(void)
{
    uint64_t sum = 0;
    uint32_t crc = ~0u;
    static uint64_t set[64];
    for (unsigned i = 0; i < 4000; i++) {
        uint64_t x = random_word();
        sum += (uint64_t)__builtin_popcountll(x) + (uint64_t)__builtin_clzll(x | 1) +
               (uint64_t)__builtin_ctzll(x | 256) + __builtin_bswap64(x) +
               __builtin_bswap32((uint32_t)x);
        set[x >> 6 & 63] ^= UINT64_C(1) << (x & 63);
        sum += set[i & 63] >> (x >> 12 & 63) & 1;
        crc ^= (uint8_t)x;
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (0xedb88320u & -(crc & 1));
    }
    sink = sum + crc;
}

static void strings(void)
{
    static char a[4096], b[4096];
    for (unsigned i = 0; i < 200; i++) {
        size_t n = random_word() % 1000;
        memset(a, 'a' + (int)(i % 26), n);
        a[n] = 0;
        memcpy(b + i % 7, a, n + 1);
        sink +=
            strlen(b + i % 7) + (uint64_t)strcmp(a, b) + (uint64_t)(memchr(a, 0, sizeof a) != 0);
        memmove(a + 3, a, n);
        sink += (uint64_t)strncmp(a, b, n / 2) + (uint64_t)(strstr(b, "aab") != 0) +
                (uint64_t)(strchr(a, 'z') != 0) + (uint64_t)memcmp(a, b, n);
        strcpy(b, a + n / 2);
        strcat(b, "tail");
    }
}

static int compare_ints(const void *a, const void *b)
{
    return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

static void sorting(void)
{
    static int values[2000];
    for (unsigned i = 0; i < 2000; i++)
        values[i] = (int)random_word();
    qsort(values, 2000, sizeof *values, compare_ints);
    sink += (uint64_t)values[1000];
}

static void printing(void)
{
    char text[200];
    for (int i = 0; i < 60; i++) {
        int n = snprintf(text, sizeof text, "%d %08x %s %5.2f %g %p %ld %Lf", i, i * 77, "word",
                         i * 1.37, exp(i), (void *)text, random(), (long double)i / 3);
        sink += (uint64_t)n + strtoul("123456", NULL, 10);
        float_sink += strtod(text, NULL);
    }
}

static void floats(void)
{
    static double a[600], b[600], c[600];
    static float f[600];
    for (unsigned i = 0; i < 600; i++) {
        a[i] = (double)(random_word() % 1000) / 7;
        b[i] = (double)i;
        f[i] = (float)i * 0.3f;
    }
    double sum = 0;
    for (unsigned r = 0; r < 10; r++) {
        for (unsigned i = 0; i < 600; i++) {
            c[i] = a[i] * b[i] + c[i] / 3;
            f[i] = sqrtf(f[i]) + 1;
        }
        for (unsigned i = 0; i < 600; i++) {
            if (a[i] < b[i])
                sum += c[(unsigned)(a[i]) % 600];
            sum += (double)(int64_t)f[i] + (double)(float)c[i];
        }
    }
    float_sink = sum;
}

static void mathematics(void)
{
    double sum = 0;
    for (unsigned i = 1; i < 150; i++) {
        double x = (double)i * 0.37;
        sum += sin(x) + exp(-x) + pow(x, 1.7) + log(x) + atan2(x, 3) + floor(x) + fmod(x, 0.7) +
               cbrt(x) + (double)lround(x) + hypot(x, 2) + tanh(x);
    }
    float_sink = sum;
}

static void allocation(void)
{
    static void *blocks[64];
    for (unsigned i = 0; i < 3000; i++) {
        unsigned k = (unsigned)(random_word() % 64);
        free(blocks[k]);
        blocks[k] = malloc(random_word() % 600 + 1);
        *(char *)blocks[k] = 1;
    }
}

struct shape {
    double (*area)(const struct shape *);
    double size;
};

static double square(const struct shape *s)
{
    return s->size * s->size;
}

static double circle(const struct shape *s)
{
    return 3.14159 * s->size * s->size;
}

static double thin(const struct shape *s)
{
    return s->size;
}

static void virtual_calls(void)
{
    static struct shape shapes[300];
    static double (*const kinds[])(const struct shape *) = {square, circle, thin};
    double sum = 0;
    for (unsigned i = 0; i < 300; i++)
        shapes[i] = (struct shape){kinds[random_word() % 3], (double)i};
    for (unsigned r = 0; r < 20; r++) {
        for (unsigned i = 0; i < 300; i++)
            sum += shapes[i].area(&shapes[i]);
    }
    float_sink = sum;
}

static uint64_t fibonacci(unsigned n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static void recursion(void)
{
    sink += fibonacci(18);
}

static jmp_buf escape;

static void deep(unsigned n)
{
    if (n == 0)
        longjmp(escape, 1);
    volatile uint64_t frame[4] = {n};
    if (n < 1000)
        deep(n - 1);
    sink += frame[0];
}

static void jumps(void)
{
    for (volatile unsigned i = 0; i < 300; i++) {
        if (setjmp(escape) == 0)
            deep(i % 20);
        switch (random_word() % 8) {
        case 0:
            sink += 3;
            break;
        case 1:
            sink ^= 5;
            break;
        case 2:
            sink *= 7;
            break;
        case 3:
            sink >>= 1;
            break;
        case 5:
            sink -= 9;
            break;
        default:
            sink++;
        }
    }
}

static void hashing(void)
{
    static uint64_t keys[4096], values[4096];
    for (unsigned i = 0; i < 8000; i++) {
        uint64_t key = random_word() % 3000 + 1, slot = key * 0x9E3779B97F4A7C15 >> 52;
        while (keys[slot] != 0 && keys[slot] != key)
            slot = (slot + 1) % 4096;
        keys[slot] = key;
        values[slot] += i;
        __atomic_fetch_add(&values[(slot + 1) % 4096], 1, __ATOMIC_SEQ_CST);
        uint64_t expected = values[slot];
        __atomic_compare_exchange_n(&values[slot], &expected, expected + 1, 0, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST);
        sink += __atomic_exchange_n(&values[i % 4096], i, __ATOMIC_SEQ_CST);
    }
}

#if defined(__x86_64__)
static void assembly(void)
{
    static uint8_t from[512], to[512];
    uint64_t a = random_word(), b = random_word();
    for (unsigned i = 0; i < 200; i++) {
        void *source = from, *destination = to;
        uint64_t count = random_word() % 64;
        __asm__ volatile("rep movsb" : "+S"(source), "+D"(destination), "+c"(count) : : "memory");
        count = 40;
        destination = to;
        __asm__ volatile("rep stosq" : "+D"(destination), "+c"(count) : "a"(i) : "memory");
        count = 100;
        destination = to;
        __asm__ volatile("repne scasb" : "+D"(destination), "+c"(count) : "a"(77) : "memory", "cc");
        count = 64;
        source = from, destination = to;
        __asm__ volatile("std\n\tlea 63(%0), %0\n\tlea 63(%1), %1\n\trepe cmpsb\n\tcld"
                         : "+S"(source), "+D"(destination), "+c"(count)
                         :
                         : "memory", "cc");
        __asm__ volatile(
            "add %1, %0\n\tadc $3, %1\n\tsbb %0, %1\n\trcl $5, %0\n\trcr $1, %1\n\t"
            "shld $7, %1, %0\n\tshrd %%cl, %0, %1\n\tbt %1, %0\n\tcmc\n\tadc $0, %0\n\t"
            "lahf\n\tsahf\n\tsetc %%al\n\tmovsbl %%al, %%eax\n\tadd %%rax, %0\n\t"
            "xchg %b0, %h0\n\tneg %1\n\tnot %0\n\tdec %1\n\tinc %0"
            : "+d"(a), "+b"(b)
            : "c"(i)
            : "rax", "cc", "memory");
        uint64_t turns = i % 9 + 1;
        __asm__ volatile("1: xadd %0, %1\n\tloop 1b\n\tjrcxz 2f\n\tud2\n2:"
                         : "+r"(a), "+r"(b), "+c"(turns)
                         :
                         : "cc");
        from[i] = (uint8_t)(a ^ b);
    }
    sink += a + b;
}
#else
static void assembly(void) {}
#endif

const struct isa_workload TABLE[] = {
    {"integers", integers},
    {"bits", bits},
    {"strings", strings},
    {"sorting", sorting},
    {"printing", printing},
    {"floats", floats},
    {"mathematics", mathematics},
    {"allocation", allocation},
    {"virtual calls", virtual_calls},
    {"recursion", recursion},
    {"jumps", jumps},
    {"hashing", hashing},
    {"assembly", assembly},
    {NULL, NULL},
};
