/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "isa/x86/processor.h"

#include <cpuid.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "isa/interpreter.h"

#include "signal_safe.h"

struct x86_processor x86_processor;

/* CPUID words that tell of instruction sets. */
enum word { LEAF_1_C, LEAF_1_D, LEAF_7_B, LEAF_7_C, LEAF_7_1_A, LEAF_81_C, WORDS };
static uint32_t words[WORDS];

enum needs { NOTHING, AVX, AVX512 };

/*
 * Instruction sets by the prefix of Zydis's name, the CPUID bit that announces them, and the
 * register state that they need. (Intel SDM volume 2A, CPUID; AMD APM volume 3, appendix E.)
 */
static const struct set {
    ZydisISASet first, last;
    enum word word;
    unsigned bit;
    enum needs needs;
} sets[] = {
#define SET(name, word, bit, needs) {ZYDIS_ISA_SET_##name, ZYDIS_ISA_SET_##name, word, bit, needs},
#define SETS(from, to, word, bit) {ZYDIS_ISA_SET_##from, ZYDIS_ISA_SET_##to, word, bit, AVX512},
    SET(SSE, LEAF_1_D, 25, NOTHING) SET(SSE2, LEAF_1_D, 26, NOTHING) SET(SSE3, LEAF_1_C, 0, NOTHING)
        SET(SSSE3, LEAF_1_C, 9, NOTHING) SET(SSE4, LEAF_1_C, 19, NOTHING) SET(
            SSE42, LEAF_1_C, 20, NOTHING) SET(AES, LEAF_1_C, 25, NOTHING)
            SET(PCLMULQDQ, LEAF_1_C, 1, NOTHING) SET(SHA, LEAF_7_B, 29, NOTHING) SET(
                GFNI, LEAF_7_C, 8, NOTHING) SET(BMI1, LEAF_7_B, 3, NOTHING)
                SET(BMI2, LEAF_7_B, 8, NOTHING) SET(ADOX_ADCX, LEAF_7_B, 19, NOTHING) SET(
                    AVX, LEAF_1_C, 28, AVX) SET(AVX2, LEAF_7_B, 5, AVX) SET(FMA, LEAF_1_C, 12, AVX)
                    SET(F16C, LEAF_1_C, 29, AVX) SET(AVXAES, LEAF_1_C, 25, AVX)
                        SET(AVX_GFNI, LEAF_7_C, 8, AVX) SET(AVX_VNNI, LEAF_7_1_A, 4, AVX)
                            SET(VAES, LEAF_7_C, 9, AVX) SET(VPCLMULQDQ, LEAF_7_C, 10, AVX)
                                SETS(AVX512F_128, AVX512F_SCALAR, LEAF_7_B,
                                     16) SETS(AVX512BW_128, AVX512BW_KOP, LEAF_7_B,
                                              30) SETS(AVX512CD_128, AVX512CD_512, LEAF_7_B, 28)
                                    SETS(AVX512DQ_128, AVX512DQ_SCALAR, LEAF_7_B,
                                         17) SETS(AVX512_BF16_128, AVX512_BF16_512, LEAF_7_1_A, 5)
                                        SETS(AVX512_BITALG_128, AVX512_BITALG_512, LEAF_7_C,
                                             12) SETS(AVX512_GFNI_128, AVX512_GFNI_512, LEAF_7_C, 8)
                                            SETS(AVX512_IFMA_128, AVX512_IFMA_512, LEAF_7_B, 21)
                                                SETS(AVX512_VAES_128, AVX512_VAES_512, LEAF_7_C,
                                                     9) SETS(AVX512_VBMI2_128, AVX512_VBMI2_512,
                                                             LEAF_7_C, 6)
                                                    SETS(AVX512_VBMI_128, AVX512_VBMI_512, LEAF_7_C,
                                                         1) SETS(AVX512_VNNI_128, AVX512_VNNI_512,
                                                                 LEAF_7_C, 11)
                                                        SETS(AVX512_VPCLMULQDQ_128,
                                                             AVX512_VPCLMULQDQ_512, LEAF_7_C, 10)
                                                            SETS(AVX512_VPOPCNTDQ_128,
                                                                 AVX512_VPOPCNTDQ_512, LEAF_7_C, 14)
#undef SET
#undef SETS
};

static uint64_t enabled_components(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

/* State components beyond the first two, from CPUID leaf 0xD; size 0 if not enabled. */
enum { COMPONENTS = 20 };
static struct component {
    uint32_t offset, size;
    bool aligned; /* to 64 bytes in the compacted format */
} components[COMPONENTS];

static void detect_components(uint64_t enabled, struct component *found)
{
    for (unsigned i = 2; i < COMPONENTS; i++) {
        uint32_t a, b, c, d;
        if (!(enabled >> i & 1))
            continue;
        __cpuid_count(0xd, i, a, b, c, d);
        found[i] = (struct component){.offset = b, .size = a, .aligned = c & 2};
    }
}

unsigned x86_processor_save_size(uint64_t wanted, bool compacted)
{
    unsigned size = 576; /* FXSAVE area and header */
    for (unsigned i = 2; i < COMPONENTS; i++) {
        if (!(wanted >> i & 1) || components[i].size == 0)
            continue;
        if (compacted && components[i].aligned)
            size = (size + 63) & ~63u;
        if (compacted)
            size += components[i].size;
        else if (size < components[i].offset + components[i].size)
            size = components[i].offset + components[i].size;
    }
    return size;
}

bool x86_processor_saves_vectors(uint64_t saved)
{
    const uint64_t needed = 0x2 | (x86_processor.ymm_high ? 0x4 : 0) |
                            (x86_processor.opmask ? 0x20 : 0) | (x86_processor.zmm_high ? 0xc0 : 0);
    return (saved & needed) == needed;
}

struct detected {
    struct x86_processor processor;
    uint32_t words[WORDS];
    struct component components[COMPONENTS];
};

static void detect(struct detected *found)
{
    enum { OSXSAVE = 1 << 27, YMM_STATE = 0x6, ZMM_STATE = 0xe6 };
    struct x86_processor *p = &found->processor;
    uint32_t *w = found->words;
    uint32_t a, b, c, d;
    memset(found, 0, sizeof *found);
    __cpuid(1, a, b, w[LEAF_1_C], w[LEAF_1_D]);
    if (__get_cpuid_count(7, 0, &a, &w[LEAF_7_B], &w[LEAF_7_C], &d) && a >= 1)
        __cpuid_count(7, 1, w[LEAF_7_1_A], b, c, d);
    __cpuid(0x80000001, a, b, w[LEAF_81_C], d);
    if (w[LEAF_1_C] & OSXSAVE) {
        uint64_t enabled = enabled_components();
        p->avx = (enabled & YMM_STATE) == YMM_STATE && w[LEAF_1_C] >> 28 & 1;
        /* Masks are 64 bits wide from AVX512BW on, and shorter vectors need AVX512VL; processors
         * without either are rare enough to do without. */
        p->avx512 = p->avx && (enabled & ZMM_STATE) == ZMM_STATE && w[LEAF_7_B] >> 16 & 1 &&
                    w[LEAF_7_B] >> 30 & 1 && w[LEAF_7_B] >> 31 & 1;
        detect_components(enabled, found->components);
        p->ymm_high = found->components[2].offset;
        p->opmask = found->components[5].offset;
        p->zmm_high = found->components[6].offset;
        p->zmm_16_31 = found->components[7].offset;
    }
    /* Does nothing where shadow stacks are off. */
    uint64_t shadow = 0;
    __asm__ volatile("rdsspq %0" : "+r"(shadow));
    p->shadow_stack = shadow != 0;
}

/*
 * Threads that come here together all ask the processor, and one stores what it says. The others
 * wait for these few stores, but not for ever: a fork may have left the storing thread behind.
 */
void x86_processor_detect(void)
{
    enum { UNKNOWN, STORING, KNOWN, PATIENCE = 100000 };
    static atomic_int state;
    struct detected found;
    int expected = UNKNOWN;
    if (__builtin_expect(atomic_load_explicit(&state, memory_order_acquire) == KNOWN, 1))
        return;
    detect(&found);
    if (!atomic_compare_exchange_strong(&state, &expected, STORING)) {
        for (unsigned i = 0;
             i < PATIENCE && atomic_load_explicit(&state, memory_order_acquire) != KNOWN; i++)
            __builtin_ia32_pause();
        return;
    }
    x86_processor = found.processor;
    memcpy(words, found.words, sizeof words);
    memcpy(components, found.components, sizeof components);
    atomic_store_explicit(&state, KNOWN, memory_order_release);
}

bool x86_processor_has(ZydisISASet isa_set)
{
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        const struct set *set = &sets[i];
        if (isa_set >= set->first && isa_set <= set->last)
            return words[set->word] >> set->bit & 1 && (set->needs != AVX || x86_processor.avx) &&
                   (set->needs != AVX512 || x86_processor.avx512);
    }
    return false;
}

static void forget_if_beyond(uint32_t *offset, uint32_t size)
{
    if (*offset > INTERPRETER_STATE_MAX || size > INTERPRETER_STATE_MAX - *offset)
        *offset = 0;
}

void interpreter_processor(void (*piece)(void *bytes, size_t size))
{
    x86_processor_detect();
    piece(&x86_processor, sizeof x86_processor);
    piece(words, sizeof words);
    piece(components, sizeof components);
    /* What was kept may be damaged, and is read at these places. */
    forget_if_beyond(&x86_processor.ymm_high, 16 * 16);
    forget_if_beyond(&x86_processor.opmask, 8 * 8);
    forget_if_beyond(&x86_processor.zmm_high, 16 * 32);
    forget_if_beyond(&x86_processor.zmm_16_31, 16 * 64);
    for (unsigned i = 0; i < COMPONENTS; i++)
        if (components[i].offset > INTERPRETER_STATE_MAX ||
            components[i].size > INTERPRETER_STATE_MAX - components[i].offset)
            components[i] = (struct component){0};
}
