/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records of a made-up unit, byte for byte as hardware and kernel would leave them: samples in a
 * ring, SPE packets in an AUX area of which the kernel tells by halves, and what happens when it is
 * full.
 *
 * PMU_STAND_IN_DATA: OFFSET:BYTES of an array in the main program (hexadecimal),
 * PMU_STAND_IN_POINTER: offset of a pointer to a block as large; half of the accesses go to each.
 * PMU_STAND_IN_CODE: offset of the instruction that makes them. Of the loads one half is served by
 * L1, a quarter by L2, an eighth by L3 and an eighth by memory, in 5, 14, 50 and 300 cycles; a
 * third of all accesses are stores, of which nothing is told. In memory, addresses are translated
 * by a walk.
 */
#define _GNU_SOURCE
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "pmu/encode.h"
#include "support/pmu_stand_in.h"

enum { THREAD_MAKERS = 8, BATCH_MOST = 1 << 20, OPERATIONS = 4, IBS_CAPABILITIES = 0xbff };

static __thread struct maker *mine[THREAD_MAKERS] __attribute__((tls_model("initial-exec")));

struct maker *maker_create(enum made_unit unit, unsigned thirds,
                           const struct perf_event_attr *attributes)
{
    const size_t size = sizeof(struct maker) + STAND_IN_BUFFERS;
    const long arguments[6] = {
        0, (long)size + STAND_IN_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0};
    long memory = stand_in_kernel(SYS_mmap, arguments);
    struct maker *maker = (void *)(memory + STAND_IN_BUFFERS);
    unsigned free = 0;

    if (memory < 0 && memory > -4096)
        return NULL;
    *maker = (struct maker){.unit = unit,
                            .thirds = (unsigned char)thirds,
                            .period = attributes->sample_period,
                            .sample_type = attributes->sample_type,
                            .page = (void *)memory};
    random_seed(&maker->random, (uint64_t)memory);
    while (free < THREAD_MAKERS - 1 && mine[free] && mine[free]->page)
        free++;
    mine[free] = maker;
    return maker;
}

/* ---- buffers ---- */

static void put_in_ring(struct maker *maker, const uint8_t *record, size_t size)
{
    uint8_t *data = (uint8_t *)maker->page + STAND_IN_PAGE;
    uint64_t head = maker->page->data_head;

    if (head + size - maker->page->data_tail > STAND_IN_RING)
        return;
    for (size_t i = 0; i < size; i++)
        data[(head + i) % STAND_IN_RING] = record[i];
    __atomic_store_n(&maker->page->data_head, head + size, __ATOMIC_RELEASE);
}

static uint8_t *area(const struct maker *maker)
{
    return (uint8_t *)maker->page + STAND_IN_PAGE + STAND_IN_RING;
}

/* PERF_RECORD_ITRACE_START once, then PERF_RECORD_AUX. */
static void tell(struct maker *maker, uint64_t flags)
{
    struct {
        struct perf_event_header header;
        uint32_t pid, tid;
    } begun = {{PERF_RECORD_ITRACE_START, 0, 16}, 0, 0};
    struct {
        struct perf_event_header header;
        uint64_t offset, size, flags;
    } piece = {{PERF_RECORD_AUX, 0, 32},
               maker->page->aux_head,
               maker->written - maker->page->aux_head,
               flags};

    if (!maker->begun)
        put_in_ring(maker, (uint8_t *)&begun, sizeof begun);
    maker->begun = true;
    if (piece.size > 0 || flags)
        put_in_ring(maker, (uint8_t *)&piece, sizeof piece);
    __atomic_store_n(&maker->page->aux_head, maker->written, __ATOMIC_RELEASE);
}

void maker_flush(struct maker *maker)
{
    if (maker->unit == MADE_SPE && maker->page)
        tell(maker, 0);
}

static void put_in_area(struct maker *maker, const uint8_t *record, size_t size)
{
    uint64_t all = maker->page->aux_size, room;
    bool full;

    room = all - (maker->written - __atomic_load_n(&maker->page->aux_tail, __ATOMIC_ACQUIRE));
    full = room < size;
    for (size_t i = 0; i < (full ? room : size); i++)
        area(maker)[maker->written++ % all] = record[i];
    if (full) {
        tell(maker, PERF_AUX_FLAG_TRUNCATED | (room > 0 ? PERF_AUX_FLAG_PARTIAL : 0));
        maker->enabled = false;
    } else if (maker->written - maker->page->aux_head >= all / 2) {
        tell(maker, 0);
    }
}

static void put(struct maker *maker, const struct access_record *access)
{
    struct perf_layout layout = {.sample_type = maker->sample_type};
    uint8_t record[512];
    size_t size;

    if (maker->unit == MADE_SPE) {
        size = encode_spe(SPE_SOURCE_NEOVERSE, access, record, sizeof record);
        put_in_area(maker, record, size);
    } else {
        size = maker->unit == MADE_IBS
                   ? encode_ibs(&layout, IBS_CAPABILITIES, access, record, sizeof record)
                   : encode_pebs(&layout, access, record, sizeof record);
        put_in_ring(maker, record, size);
    }
}

/* ---- the self-test ---- */

static int find_library(struct dl_phdr_info *info, size_t size, void *base)
{
    (void)size;
    if (!strstr(info->dlpi_name, "libreuse.so"))
        return 0;
    *(uint64_t *)base = info->dlpi_addr;
    return 1;
}

void maker_fill_test(struct maker *maker)
{
    uint64_t array = 0;

    dl_iterate_phdr(find_library, &array);
    array += stand_in_number("PMU_STAND_IN_ARRAY", 16, 0);
    random_seed(&maker->random, 1);
    for (unsigned i = 0; i < stand_in_test_accesses() / maker->period; i++) {
        unsigned which = (unsigned)random_below(&maker->random, 3);

        if ((maker->thirds == 2 && which == 2) || (maker->thirds == 1 && which != 2))
            continue;
        struct access_record record = {
            .ip = 0x401000,
            .address = array + 8 * (3 * random_below(&maker->random, 1365) + which),
            .flags = PMU_HAS_IP | PMU_EXACT_IP | PMU_HAS_ADDRESS,
            .kinds = which == 2 ? ACCESS_STORE : ACCESS_LOAD,
            .width = 8,
            .level = LEVEL_L1,
            .translation = TRANSLATION_L1,
            .privilege = PRIVILEGE_USER,
        };

        put(maker, &record);
    }
    maker_flush(maker);
}

/* ---- the run ---- */

static int find_program(struct dl_phdr_info *info, size_t size, void *base)
{
    (void)size;
    *(uint64_t *)base = info->dlpi_addr;
    return 1; /* the first is the program */
}

/* What the environment says of the program. */
static struct {
    bool known;
    uint64_t array, bytes, pointer, code;
} program;

static bool know_program(void)
{
    const char *data = getenv("PMU_STAND_IN_DATA"), *colon = data ? strchr(data, ':') : NULL;
    uint64_t base = 0;

    if (!colon)
        return false;
    if (program.known)
        return true;
    dl_iterate_phdr(find_program, &base);
    program.array = base + strtoull(data, NULL, 16);
    program.bytes = strtoull(colon + 1, NULL, 16);
    program.pointer = stand_in_number("PMU_STAND_IN_POINTER", 16, 0);
    program.pointer += program.pointer ? base : 0;
    program.code = base + stand_in_number("PMU_STAND_IN_CODE", 16, 0);
    program.known = true;
    return true;
}

static uint64_t any_address(struct maker *maker)
{
    uint64_t block = program.pointer ? *(const volatile uint64_t *)program.pointer : 0;
    uint64_t start = block && random_below(&maker->random, 2) ? block : program.array;

    return start + random_below(&maker->random, program.bytes / 8) * 8;
}

static void served(struct access_record *access, struct random *random)
{
    static const struct {
        uint8_t level, translation;
        uint32_t flags, latency;
    } sources[] = {
        {LEVEL_L1, TRANSLATION_L1, 0, 5},
        {LEVEL_L2, TRANSLATION_L1, PMU_L1_MISSED, 14},
        {LEVEL_L3, TRANSLATION_L1, PMU_L1_MISSED | PMU_L2_MISSED, 50},
        {LEVEL_DRAM, TRANSLATION_WALK, PMU_L1_MISSED | PMU_L2_MISSED | PMU_L3_MISSED, 300},
    };
    unsigned eighth = (unsigned)random_below(random, 8);
    unsigned source = eighth < 4 ? 0 : eighth < 6 ? 1 : eighth < 7 ? 2 : 3;

    access->level = sources[source].level;
    access->translation = sources[source].translation;
    access->flags |= sources[source].flags | PMU_HAS_LATENCY;
    access->latency = sources[source].latency;
}

static void make_access(struct maker *maker)
{
    bool load = maker->thirds == 2 || (maker->thirds == 3 && random_below(&maker->random, 3) < 2);
    struct access_record access = {
        .ip = program.code,
        .flags = PMU_HAS_IP | PMU_EXACT_IP | PMU_HAS_ADDRESS,
        .kinds = load ? ACCESS_LOAD : ACCESS_STORE,
        .width = 8,
        .privilege = PRIVILEGE_USER,
    };

    access.address = any_address(maker);
    if (load && maker->unit != MADE_COUNTS)
        served(&access, &maker->random);
    put(maker, &access);
}

/* SPE samples operations, of which one in OPERATIONS is an access, and leaves those out that are
 * none. */
static void advance(struct maker *maker, uint64_t accesses)
{
    unsigned each = maker->unit == MADE_SPE
                        ? (unsigned)stand_in_number("PMU_STAND_IN_OPERATIONS", 10, OPERATIONS)
                        : 1;
    uint64_t events = accesses / 3 * maker->thirds * each;

    if (!maker->enabled)
        maker->last = events;
    for (unsigned i = 0; maker->enabled && maker->last + maker->period <= events && i < BATCH_MOST;
         i++) {
        maker->last += maker->period;
        if (maker->unit != MADE_SPE || random_below(&maker->random, OPERATIONS) == 0)
            make_access(maker);
    }
}

void makers_advance(uint64_t accesses)
{
    if (!know_program())
        return;
    for (unsigned i = 0; i < THREAD_MAKERS; i++)
        if (mine[i] && mine[i]->page)
            advance(mine[i], accesses);
}
