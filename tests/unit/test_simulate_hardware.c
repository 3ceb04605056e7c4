/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulated PMU, debug registers and record layouts, each against brute force. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "simulate/layout.h"
#include "simulate/pmu.h"
#include "simulate/processor.h"
#include "simulate/registers.h"

enum { ACCESSES = 60000, RECORDS = 1024, BURST_BYTES_MAX = 65536 };

static struct stream_access stream[ACCESSES];
/* The same, as brute force looks at it: read-modify-writes are two. */
static struct access flat[2 * ACCESSES];
static size_t flat_count;

static uint64_t ip_of(void *user, uint32_t instruction)
{
    (void)user;
    return 0x1000 + 16 * (uint64_t)instruction;
}

static unsigned length_of(void *user, uint32_t instruction)
{
    (void)user;
    return 1 + instruction % 15;
}

/* Words of `lines` lines, some more popular than others; one access in eight is an atomic one. */
static void make_stream(struct random *random, uint32_t lines)
{
    static const unsigned widths[] = {1, 4, 8, 8, 8, 16, 32};

    flat_count = 0;
    for (size_t i = 0; i < ACCESSES; i++) {
        uint32_t line = random_below(random, random_below(random, lines) + 1);
        unsigned width = widths[random_below(random, 7)];
        uint64_t address =
            UINT64_C(0x7f0000000000) + 64 * (uint64_t)line + random_below(random, 64);
        uint32_t instruction = random_below(random, 20);
        unsigned kind = random_below(random, 8) ? 1 + random_below(random, 2) : 3;

        stream[i] = (struct stream_access){
            .bits = address | (uint64_t)(width - 1) << 48 | (uint64_t)kind << 54,
            .instruction = instruction,
        };
        for (unsigned half = 1; half <= 2; half++)
            if (kind & half)
                flat[flat_count++] = (struct access){.ip = ip_of(NULL, instruction),
                                                     .address = address,
                                                     .width = (uint8_t)width,
                                                     .kind = (uint8_t)half};
    }
}

static bool overlaps(const struct access *access, uint64_t low, uint64_t size)
{
    return access->address < low + size && low < access->address + access->width;
}

/* ---- what the processor recorded ---- */

static union {
    struct record_burst record;
    unsigned char bytes[BURST_BYTES_MAX];
} bursts[RECORDS];
static struct record_sample samples[RECORDS];
static struct record_watch_end ends[RECORDS];
static struct record_totals totals;
static size_t bursts_written, sample_count, end_count;

static void identify(void *user, uint64_t address, struct burst_object *object)
{
    (void)user;
    *object = (struct burst_object){.low = address & ~UINT64_C(4095),
                                    .high = (address & ~UINT64_C(4095)) + 4096,
                                    .base = address & ~UINT64_C(4095),
                                    .size = 4096,
                                    .reference = 3,
                                    .kind = OBJECT_HEAP};
}

static void append(void *user, enum record_type type, const void *record, size_t size)
{
    (void)user;
    assert_int_equal(size % 8, 0);
    if (type == RECORD_BURST) {
        assert_true(bursts_written < RECORDS && size <= BURST_BYTES_MAX);
        memcpy(&bursts[bursts_written++], record, size);
    } else if (type == RECORD_SAMPLE) {
        assert_true(sample_count < RECORDS);
        memcpy(&samples[sample_count++], record, size);
    } else if (type == RECORD_WATCH_END) {
        assert_true(end_count < RECORDS);
        memcpy(&ends[end_count++], record, size);
    } else if (type == RECORD_TOTALS) {
        memcpy(&totals, record, size);
    }
}

static uint64_t monotonic_ns(void *user)
{
    (void)user;
    return 1;
}

static const struct processor_host host = {
    .ip_of = ip_of,
    .length_of = length_of,
    .identify = identify,
    .append = append,
    .monotonic_ns = monotonic_ns,
};

static struct processor_options options_of(uint64_t period)
{
    return (struct processor_options){
        .pmu = {.period = period},
        .register_size = 8,
        .registers = 4,
        .line_size = 64,
    };
}

/* Runs the stream in batches of changing sizes. */
static void run(const struct processor_options *options, uint64_t seed)
{
    static struct processor processor;
    struct random random;

    bursts_written = sample_count = end_count = 0;
    random_seed(&random, seed);
    assert_true(processor_begin(&processor, options, &host, NULL, 3, seed));
    for (size_t at = 0; at < ACCESSES;) {
        size_t n = 1 + random_below(&random, 3000);

        n = n < ACCESSES - at ? n : ACCESSES - at;
        processor_run(&processor, stream + at, n);
        at += n;
    }
    assert_int_equal(processor.accesses, flat_count);
    processor_end(&processor, WATCH_THREAD_ENDED);
    processor_append_totals(&processor);
    processor_free(&processor);
}

static const struct record_watch_end *end_of(const struct record_sample *sample)
{
    const struct record_watch_end *found = NULL;

    for (size_t i = 0; i < end_count; i++)
        if (ends[i].sample_id == sample->sample_id) {
            assert_null(found);
            found = &ends[i];
        }
    return found;
}

/* First access after number `from` (the first is 1) that touches the bytes; 0 none. */
static size_t next_touch(size_t from, uint64_t low, uint64_t size)
{
    for (size_t i = from; i < flat_count; i++)
        if (overlaps(&flat[i], low, size))
            return i + 1;
    return 0;
}

static const struct record_burst *burst_of(uint64_t id)
{
    for (size_t i = 0; i < bursts_written; i++)
        if (bursts[i].record.burst_id == id)
            return &bursts[i].record;
    return NULL;
}

/* Adds the probes of access i, whose burst ends before access `end`, to the counts by code. */
static void count_probes(uint32_t *counts, size_t i, size_t end)
{
    static uint32_t seen[4096], stamp; /* by line: there are fewer */
    uint64_t line = flat[i].address & ~UINT64_C(63);

    for (; line < flat[i].address + flat[i].width; line += 64) {
        uint32_t distance = 0;
        bool open = true;
        size_t k;

        stamp++;
        /* What else the access itself touches comes after its lower lines. */
        for (k = i; k < end && open; k++) {
            uint64_t other = flat[k].address & ~UINT64_C(63);

            for (; other < flat[k].address + flat[k].width && open; other += 64) {
                uint32_t *known = &seen[other / 64 % 4096];

                if (k == i && other <= line)
                    continue;
                if (other == line) {
                    open = false;
                    break;
                }
                distance += *known != stamp;
                *known = stamp;
            }
        }
        counts[probe_code(open, probe_distance_bin(distance),
                          probe_time_bin((uint32_t)(k - 1 - i)))]++;
    }
}

/* The tail says of every probe what brute force finds. */
static void check_probes(const struct record_burst *burst)
{
    static uint32_t counts[8192];
    static struct probe_count told[PROBE_COUNTS_MAX];
    size_t first = burst->app_ns - 1, sizes[PROBE_LINE_SIZES];
    struct probe_decoder decoder;
    struct probe_group group;
    unsigned groups = 0;
    uint32_t touches = 0;

    memset(counts, 0, sizeof counts);
    for (size_t i = first; i < first + burst->probes; i++)
        count_probes(counts, i, first + burst->accesses);
    probe_decoder_begin(&decoder, burst);
    for (; probe_decode(&decoder, &group, told, PROBE_COUNTS_MAX, sizes); groups++)
        for (size_t i = 0; i < sizes[0]; i++) {
            assert_true(counts[told[i].code] >= told[i].count);
            counts[told[i].code] -= told[i].count;
            touches += told[i].count;
            assert_int_equal(group.object_reference, 3);
            assert_true(group.place < 4096);
        }
    assert_false(decoder.damaged);
    assert_int_equal(groups, burst->groups);
    assert_int_equal(touches, burst->touches);
    for (size_t i = 0; i < 8192; i++)
        assert_int_equal(counts[i], 0);
}

static void check_burst(const struct processor_options *options, const struct record_burst *burst)
{
    bool recorded = options->pmu.skid == 0;

    assert_int_equal(burst->thread_id, 3);
    assert_int_equal(burst->weight_ns % options->pmu.period, 0);
    assert_int_equal(burst->flags & ~(unsigned)BURST_WIDE, recorded ? BURST_RECORDED : 0);
    if (burst->accesses < BURST_ACCESSES) {
        /* Only the thread's end can cut a burst short. */
        assert_int_equal(burst->app_ns + burst->accesses - 1, flat_count);
        assert_int_not_equal(burst->stop, 0);
    } else {
        assert_int_equal(burst->stop, 0);
    }
    assert_int_equal(burst->probes,
                     burst->accesses < BURST_PROBES ? burst->accesses : BURST_PROBES);
    if (burst->burst_id % 3 == 0 || burst->stop)
        check_probes(burst);
}

/* The sample is the access that was made, or its part in a line; what the burst tells of it. */
static void check_sample(const struct record_sample *sample)
{
    const struct record_burst *burst = burst_of(sample->burst_id);
    size_t made = sample->app_ns - sample->marker_accesses; /* the first is 1 */
    const struct access *access = &flat[made - 1];
    uint64_t line = sample->address & ~UINT64_C(63);
    size_t reuse = next_touch(made, line, 64);
    uint32_t told = sample->reuse_time[line_size_index(64)];

    assert_non_null(burst);
    assert_int_equal(sample->weight_ns, burst->weight_ns);
    assert_true(made - burst->app_ns < burst->probes);
    assert_int_equal(sample->accesses_ahead, burst->app_ns + burst->accesses - 1 - made);
    assert_int_equal(sample->ip, access->ip);
    assert_int_equal(sample->kind, access->kind);
    assert_true(sample->address == access->address || sample->address == line);
    assert_true(overlaps(access, sample->address, sample->width));
    assert_int_equal(sample->object_size, 4096);
    if (told != REUSE_TIME_NONE)
        assert_int_equal(told, reuse - made);
    else
        assert_true(reuse == 0 || reuse > made + sample->accesses_ahead);
}

/* A watch that began at the end of its burst. */
static void check_watch(const struct processor_options *options, const struct record_sample *sample)
{
    const struct record_burst *burst = burst_of(sample->burst_id);
    const struct record_watch_end *end = end_of(sample);
    uint64_t line = sample->address & ~UINT64_C(63);
    size_t touch;

    assert_int_equal(sample->reuse_time[line_size_index(64)], REUSE_TIME_NONE);
    assert_int_equal(sample->app_ns, burst->app_ns + burst->accesses - 1);
    assert_int_equal(sample->marker_accesses, sample->accesses_ahead);
    assert_int_equal(sample->watch_length, options->register_size);
    assert_int_equal(sample->watch_address & ~UINT64_C(63), line);
    assert_non_null(end);
    touch = next_touch(sample->app_ns, sample->watch_address, options->register_size);
    if (end->reason == WATCH_REUSED) {
        uint32_t instruction = (uint32_t)((flat[touch - 1].ip - 0x1000) / 16);

        assert_int_equal(end->app_ns, touch);
        assert_int_equal(end->ip, flat[touch - 1].ip +
                                      (options->trap_before ? 0 : length_of(NULL, instruction)));
        return;
    }
    assert_true(end->reason == WATCH_EVICTED || end->reason == WATCH_THREAD_ENDED);
    assert_true(touch == 0 || touch > end->app_ns);
}

/* Everything that was recorded; returns how many watches there were. */
static size_t check_all(const struct processor_options *options)
{
    size_t any = 0, watched = 0;

    for (size_t i = 0; i < bursts_written; i++) {
        check_burst(options, &bursts[i].record);
        /* One does not begin before the last is over. */
        if (i > 0)
            assert_true(bursts[i].record.app_ns >=
                        bursts[i - 1].record.app_ns + bursts[i - 1].record.accesses - 1);
    }
    for (size_t i = 0; i < sample_count; i++) {
        check_sample(&samples[i]);
        if (samples[i].flags & SAMPLE_OPEN) {
            check_watch(options, &samples[i]);
            watched++;
        } else {
            assert_null(end_of(&samples[i]));
            if (options->pmu.skid == 0)
                assert_int_equal(samples[i].app_ns, burst_of(samples[i].burst_id)->app_ns);
            any++;
        }
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(samples[i].sample_id, samples[k].sample_id);
    }
    assert_int_equal(any, bursts_written);
    assert_int_equal(end_count, watched);
    return watched;
}

static void records_tell_what_brute_force_finds(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct processor_options options = options_of(40 + 6000 * (seed % 3));
        struct random random;
        size_t watched;

        random_seed(&random, seed);
        options.trap_before = seed % 2;
        options.register_size = 8u << seed % 4;
        options.layout = (enum simulated_layout)(seed % LAYOUT_COUNT);
        make_stream(&random, 3000);
        run(&options, seed);
        watched = check_all(&options);
        assert_true(bursts_written >= 5 && watched >= bursts_written);
        assert_int_equal(totals.bursts, bursts_written);
        assert_int_equal(totals.samples, sample_count);
        assert_int_equal(totals.armed, watched);
        assert_int_equal(totals.reused + totals.evicted + totals.ended, watched);
        assert_int_equal(totals.app_ns, flat_count);
    }
}

/* Some bursts tell distances at four line sizes. */
static void one_burst_in_four_is_wide(void **state)
{
    unsigned wide = 0, all = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 16; seed++) {
        struct processor_options options = options_of(300);
        struct random random;

        random_seed(&random, seed);
        make_stream(&random, 500);
        run(&options, seed);
        for (size_t i = 0; i < bursts_written; i++)
            wide += bursts[i].record.flags & BURST_WIDE ? 1 : 0;
        all += (unsigned)bursts_written;
    }
    /* Five standard deviations. */
    assert_in_range(all, 200, 300);
    assert_in_range(wide, all / 4 - 33, all / 4 + 33);
}

/* A visit's flags, from the accesses after the trap. */
static void visits_are_followed(void **state)
{
    struct processor_options options = options_of(400);
    struct random random;
    size_t seen = 0;

    (void)state;
    random_seed(&random, 77);
    make_stream(&random, 3000);
    run(&options, 77);
    for (size_t i = 0; i < sample_count; i++) {
        const struct record_watch_end *end = end_of(&samples[i]);
        uint64_t line = samples[i].address & ~UINT64_C(63);
        bool touches = false, ends_here = true;

        if (end == NULL || end->reason != WATCH_REUSED || end->app_ns + VISIT_ACCESSES > flat_count)
            continue;
        for (size_t k = end->app_ns; k < end->app_ns + VISIT_ACCESSES; k++) {
            if (!overlaps(&flat[k], line, 64))
                continue;
            ends_here = overlaps(&flat[k], samples[i].watch_address, 8);
            touches |= overlaps(&flat[k], samples[i].address & ~UINT64_C(7), 8);
        }
        assert_int_equal(!!(end->flags & WATCH_END_VISIT_ENDS_HERE), ends_here);
        assert_int_equal(!!(end->flags & WATCH_END_VISIT_TOUCHES_ACCESSED), touches);
        seen++;
    }
    assert_true(seen > 20);
}

static void late_records_begin_a_burst_ahead(void **state)
{
    struct processor_options options = options_of(6000);
    struct random random;

    (void)state;
    options.pmu.skid = 37;
    random_seed(&random, 5);
    make_stream(&random, 3000);
    run(&options, 5);
    assert_true(bursts_written >= 8);
    check_all(&options);
}

static void lost_records_are_counted(void **state)
{
    struct processor_options options = options_of(100);
    struct random random;

    (void)state;
    options.pmu.loss = 0.25;
    random_seed(&random, 6);
    make_stream(&random, 3000);
    run(&options, 6);
    /* Some 675 overflows; five standard deviations. */
    assert_in_range(totals.expirations, 600, 750);
    assert_in_range(totals.lost[LOSS_BUFFER], 110, 230);
    check_all(&options);
}

/* However many expiries fall into bursts, these stand for all accesses together. */
static void weights_add_up_to_the_accesses(void **state)
{
    (void)state;
    for (uint64_t period = 20; period <= 2000; period *= 10) {
        struct processor_options options = options_of(period);
        const struct record_burst *last;
        uint64_t weight = 0;
        struct random random;

        random_seed(&random, 9);
        make_stream(&random, 3000);
        run(&options, 9);
        for (size_t i = 0; i < bursts_written; i++)
            weight += bursts[i].record.weight_ns;
        last = &bursts[bursts_written - 1].record;
        /* Periods scatter about their mean: a quarter, uniform; four standard deviations. */
        assert_true(weight > 0.95 * (double)last->app_ns &&
                    weight < 1.05 * (double)last->app_ns + (double)period);
    }
}

/* Lines that are never used again must not hold the registers for ever. */
static void registers_do_not_starve(void **state)
{
    struct processor_options options = options_of(300);
    size_t early = 0, late = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct random random;

        random_seed(&random, seed);
        make_stream(&random, 2000);
        for (size_t i = 0; i < ACCESSES; i += 50)
            stream[i] = (struct stream_access){.bits = (UINT64_C(0x7e0000000000) + 64 * i) |
                                                       7ull << 48 | 1ull << 54};
        flat_count = 0;
        for (size_t i = 0; i < ACCESSES; i++)
            flat_count += stream_uses(&stream[i]);
        run(&options, seed);
        for (size_t i = 0; i < sample_count; i++) {
            if (!(samples[i].flags & SAMPLE_OPEN))
                continue;
            early += samples[i].app_ns < flat_count / 2;
            late += samples[i].app_ns >= flat_count / 2;
        }
    }
    assert_true(late > 50 && late > early / 2);
}

static void registers_trap_on_every_byte_of_their_range(void **state)
{
    static struct simulated_registers registers;
    struct random random;

    (void)state;
    random_seed(&random, 12);
    for (int round = 0; round < 20000; round++) {
        unsigned slot = random_below(&random, WATCHES_MAX), expected = 0;
        uint64_t size = 8u << random_below(&random, 10);
        uint64_t low = (0x10000 + random_below(&random, 1 << 14)) & ~(size - 1);
        unsigned width = 1 + random_below(&random, 64);
        struct access access = {.address = 0x10000 + random_below(&random, 1 << 14),
                                .width = (uint8_t)width};
        struct stream_access entry = {.bits = access.address | (uint64_t)(width - 1) << 48};

        if (random_below(&random, 3))
            registers_arm(&registers, slot, low, size, 1);
        else
            registers_disarm(&registers, slot);
        for (unsigned i = 0; i < WATCHES_MAX; i++)
            if (registers.armed & 1u << i &&
                overlaps(&access, registers.slot[i].low, registers.slot[i].size))
                expected |= 1u << i;
        assert_int_equal(registers_touched(&registers, access.address, width), expected);
        if (expected)
            assert_true(registers_may_touch(&registers, &entry));
    }
    for (unsigned i = 0; i < WATCHES_MAX; i++)
        registers_disarm(&registers, i);
    for (unsigned i = 0; i < REGISTERS_FILTER; i++)
        assert_int_equal(registers.filter[i], 0);
}

static void every_layout_carries_an_access(void **state)
{
    (void)state;
    for (int layout = 0; layout < LAYOUT_COUNT; layout++)
        for (unsigned width = 1; width <= 64; width *= 2)
            for (unsigned kind = ACCESS_LOAD; kind <= ACCESS_STORE; kind++) {
                struct access made = {.ip = 0x401234,
                                      .address = 0x7ffc12345678,
                                      .width = (uint8_t)width,
                                      .kind = (uint8_t)kind};
                struct access told;

                assert_true(layout_pass((enum simulated_layout)layout, &made, 12345, &told));
                assert_int_equal(told.ip, made.ip);
                assert_int_equal(told.address, made.address);
                assert_int_equal(told.width, made.width);
                assert_int_equal(told.kind, made.kind);
            }
}

static void periods_are_kept_on_average(void **state)
{
    static const struct simulated_pmu_options options = {.period = 10000};
    uint64_t sum = 0, first = 0;
    struct simulated_pmu pmu;
    struct random random;

    (void)state;
    random_seed(&random, 2);
    for (int i = 0; i < 1000; i++) {
        pmu_begin(&pmu, &options, &random);
        assert_in_range(pmu.left, 1, 10000);
        first += pmu.left;
    }
    /* Uniform over the first period; five standard deviations. */
    assert_in_range(first / 1000, 4540, 5460);
    for (int i = 0; i < 10000; i++) {
        assert_true(pmu_overflow(&pmu));
        assert_in_range(pmu.left, 7500, 12500);
        sum += pmu.left;
    }
    assert_in_range(sum / 10000, 9925, 10075);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_tell_what_brute_force_finds),
        cmocka_unit_test(visits_are_followed),
        cmocka_unit_test(one_burst_in_four_is_wide),
        cmocka_unit_test(late_records_begin_a_burst_ahead),
        cmocka_unit_test(lost_records_are_counted),
        cmocka_unit_test(weights_add_up_to_the_accesses),
        cmocka_unit_test(registers_do_not_starve),
        cmocka_unit_test(registers_trap_on_every_byte_of_their_range),
        cmocka_unit_test(every_layout_carries_an_access),
        cmocka_unit_test(periods_are_kept_on_average),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
