/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A mixture of reuse distances: five blocks of given sizes, each swept so many times, loads and
 * stores alternating; before each sweep come stores to an array that all threads share, whose lines
 * the threads take from one another. After the reuse-invalidation benchmark of Sasongko et al.
 * (ReuseTracker, TACO 2021).
 */
#include <stdlib.h>

#include "common/options.h"
#include "common/timing.h"
#include "common/truth.h"

enum { BLOCKS = 5 };
static const char *size_list = "1024,2048,4096,8192,16384", *repetition_list = "200,60,15,4,2";
static uint64_t stride = 64, invalidate;
static struct run_options run_options = {.threads = 1};

enum { BUFFER, SHARED }; /* numbers of the objects in the truth */

struct mixture {
    char *buffer; /* all blocks of thread 0, of thread 1 ... */
    char *shared;
    size_t thread_bytes;        /* of one thread's blocks */
    size_t block_begin[BLOCKS]; /* bytes, within a thread's blocks */
    uint64_t elements[BLOCKS];  /* even */
    uint64_t repetitions[BLOCKS];
    uint64_t sums[THREADS_MAX];
};

/* Loads a byte of every element of even number, stores four bytes to those of odd number. */
__attribute__((noinline)) static uint64_t sweep_block(char *restrict block, size_t step,
                                                      size_t elements, uint32_t value)
{
    uint64_t sum = 0;
    for (char *end = block + elements * step; block < end; block += 2 * step) {
        sum += *(const unsigned char *)block;
        *(uint32_t *)(void *)(block + step) = value;
    }
    return sum;
}

/* Stores that other threads make to the same words at the same time. */
__attribute__((noinline)) static void store_shared(char *shared, size_t step, size_t stores,
                                                   uint32_t value)
{
    for (char *end = shared + stores * step; shared < end; shared += step)
        __atomic_store_n((uint32_t *)(void *)shared, value, __ATOMIC_RELAXED);
}

static void work(void *context, size_t thread, struct run *run)
{
    struct mixture *m = context;
    char *buffer = m->buffer + thread * m->thread_bytes;
    uint64_t sum = 0;
    while (run_continues(run)) {
        for (size_t k = 0; k < BLOCKS; k++) {
            for (uint64_t i = 0; i < m->repetitions[k]; i++) {
                store_shared(m->shared, stride, invalidate, (uint32_t)thread);
                sum += sweep_block(buffer + m->block_begin[k], stride, m->elements[k],
                                   (uint32_t)run->iteration);
            }
        }
    }
    m->sums[thread] = sum;
}

/*
 * Between two sweeps of a block lie the shared stores; before its first in an iteration, all other
 * blocks. Between two rounds of shared stores lies one sweep of one block.
 */
static void tell_truth(struct truth *t, const struct mixture *m)
{
    for (size_t i = 0; i < TRUTH_LINE_SIZES; i++) {
        uint64_t shared_lines = sweep_lines(invalidate, stride, truth_line_sizes[i]);
        uint64_t lines[BLOCKS], all_lines = shared_lines, all_accesses = 0;
        for (size_t k = 0; k < BLOCKS; k++) {
            lines[k] = sweep_lines(m->elements[k], stride, truth_line_sizes[i]);
            all_lines += lines[k];
            all_accesses += m->repetitions[k] * (m->elements[k] + invalidate);
        }
        for (size_t thread = 0; thread < run_options.threads; thread++) {
            truth_footprint(t, i, all_lines);
            for (size_t k = 0; k < BLOCKS; k++) {
                uint64_t size = m->elements[k], again = m->repetitions[k] - 1;
                size_t before = k > 0 ? k - 1 : BLOCKS - 1;
                truth_sweep(t, thread, i, BUFFER, size, stride, all_lines - lines[k],
                            all_accesses - again * (size + invalidate) - size, 1);
                truth_sweep(t, thread, i, BUFFER, size, stride, shared_lines, invalidate,
                            (double)again);
                truth_sweep(t, thread, i, SHARED, invalidate, stride, lines[before],
                            m->elements[before], 1);
                truth_sweep(t, thread, i, SHARED, invalidate, stride, lines[k], size,
                            (double)again);
            }
        }
    }
}

/* BLOCKS whole numbers of minimum..2^30, separated by commas. */
static void parse_list(const char *option, const char *text, uint64_t minimum,
                       uint64_t values[BLOCKS])
{
    const char *rest = text;
    for (int k = 0; k < BLOCKS; k++) {
        char *end;
        unsigned long long value = strtoull(rest, &end, 10);
        if (end == rest || *rest < '0' || *rest > '9' || *end != (k + 1 < BLOCKS ? ',' : '\0'))
            usage_error("--%s: '%s' is not %d whole numbers with commas between", option, text,
                        BLOCKS);
        if (value < minimum || value > 1u << 30)
            usage_error("--%s: %llu is outside %llu..%u", option, value,
                        (unsigned long long)minimum, 1u << 30);
        values[k] = value;
        rest = end + 1;
    }
}

static unsigned char element_value(size_t element)
{
    return (unsigned char)(element % 11 + 1);
}

static double verify(const struct mixture *m, const uint64_t *done)
{
    uint64_t once = 0;
    double checksum = 0;
    for (size_t k = 0; k < BLOCKS; k++) {
        uint64_t sum = 0;
        for (size_t element = 0; element < m->elements[k]; element += 2)
            sum += element_value(element);
        once += sum * m->repetitions[k];
    }
    for (size_t thread = 0; thread < run_options.threads; thread++) {
        uint64_t expected = once * done[thread];
        if (m->sums[thread] != expected)
            fatal("wrong result on thread %zu: %llu instead of %llu", thread,
                  (unsigned long long)m->sums[thread], (unsigned long long)expected);
        checksum += (double)m->sums[thread];
    }
    return checksum;
}

int main(int argc, char **argv)
{
    const struct option_spec options[] = {
        {"sizes", "N,N,N,N,N", "elements of the blocks, even", OPTION_TEXT, &size_list, 0, 0},
        {"repetitions", "N,N,N,N,N", "sweeps of each block", OPTION_TEXT, &repetition_list, 0, 0},
        {"stride", "N", "bytes from one element to the next, a multiple of 4", OPTION_SIZE, &stride,
         4, 4096},
        {"invalidate", "N", "shared stores before each sweep", OPTION_COUNT, &invalidate, 0,
         1u << 24},
    };
    const struct command command = {.name = "mixture",
                                    .purpose = "Five blocks of different reuse distances.",
                                    .options = options,
                                    .option_count = sizeof options / sizeof options[0],
                                    .run = &run_options,
                                    .threaded = true};
    options_parse(&command, argc, argv);
    if (stride % 4 != 0)
        usage_error("--stride: %llu is not a multiple of 4", (unsigned long long)stride);
    static struct mixture m;
    parse_list("sizes", size_list, 2, m.elements);
    parse_list("repetitions", repetition_list, 1, m.repetitions);
    for (size_t k = 0; k < BLOCKS; k++) {
        if (m.elements[k] % 2 != 0)
            usage_error("--sizes: %llu is not even", (unsigned long long)m.elements[k]);
        m.block_begin[k] = m.thread_bytes;
        m.thread_bytes += array_size(m.elements[k] * stride);
    }
    size_t bytes = m.thread_bytes * run_options.threads;
    char *buffer = aligned_alloc(ARRAY_ALIGNMENT, bytes);
    char *shared = aligned_alloc(ARRAY_ALIGNMENT, array_size(invalidate * stride + 1));
    check_allocation(buffer, "buffer", bytes);
    check_allocation(shared, "shared", invalidate * stride + 1);
    m.buffer = buffer;
    m.shared = shared;
    uint64_t setup = 0;
    for (size_t thread = 0; thread < run_options.threads; thread++) {
        for (size_t k = 0; k < BLOCKS; k++) {
            char *block = buffer + thread * m.thread_bytes + m.block_begin[k];
            for (size_t element = 0; element < m.elements[k]; element += 2)
                block[element * stride] = (char)element_value(element);
            setup += m.elements[k] / 2;
        }
    }

    struct truth *t = truth_create(&command);
    if (t != NULL) {
        truth_parameter_text(t, "sizes", size_list);
        truth_parameter_text(t, "repetitions", repetition_list);
        truth_parameter(t, "stride", stride);
        truth_parameter(t, "invalidate", invalidate);
        truth_object(t, "buffer", buffer, bytes);
        truth_object(t, "shared", shared, invalidate * stride);
        truth_setup(t, setup);
        tell_truth(t, &m);
    }
    uint64_t done[THREADS_MAX];
    const volatile void *markers[THREADS_MAX];
    run_threads(&run_options, work, &m, done, markers);
    double checksum = verify(&m, done);
    truth_finish(t, &run_options, done, markers, checksum);
    free(shared);
    free(buffer);
    return 0;
}
