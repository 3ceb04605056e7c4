/* SPDX-License-Identifier: BSD-3-Clause */
/* See burst_oracle.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/burst_oracle.h"

enum { BASE_PAGE = 0x7f0000000 };

struct burst_oracle oracle;

uint32_t oracle_probes(void)
{
    return oracle.count < BURST_PROBES ? oracle.count : BURST_PROBES;
}

/* Lines differ in the last so many bytes of their address alone: a stamp for each. */
static struct brute_use find_use(uint32_t of, uint32_t line_size)
{
    static uint32_t seen[1 << 20], stamp;
    struct brute_use use = {0};

    stamp++;
    for (uint32_t i = of + 1; i < oracle.touch_count; i++) {
        uint32_t *known = &seen[oracle.touches[i].line / line_size % (1 << 20)];

        if (oracle.touches[i].line == oracle.touches[of].line) {
            use.next = i;
            return use;
        }
        use.distance += *known != stamp;
        *known = stamp;
    }
    return use;
}

void oracle_find_all(uint32_t line_size)
{
    oracle.touch_count = oracle.probe_count = oracle.open_count = 0;
    for (uint32_t i = 0; i < oracle.count; i++) {
        uint64_t line = oracle.stream[i].address / line_size * line_size;

        for (; line < oracle.stream[i].address + oracle.stream[i].width; line += line_size)
            oracle.touches[oracle.touch_count++] = (struct brute_touch){.line = line, .access = i};
        if (i < oracle_probes())
            oracle.probe_count = oracle.touch_count;
    }
    for (uint32_t i = 0; i < oracle.probe_count; i++) {
        oracle.uses[i] = find_use(i, line_size);
        oracle.open_count += oracle.uses[i].next == 0;
    }
}

struct burst_probe oracle_probe(uint32_t touch, uint32_t line_size)
{
    const struct access *access = &oracle.stream[oracle.touches[touch].access];
    uint64_t low = access->address, high = low + access->width;

    if (low < oracle.touches[touch].line)
        low = oracle.touches[touch].line;
    if (high > oracle.touches[touch].line + line_size)
        high = oracle.touches[touch].line + line_size;
    return (struct burst_probe){.index = oracle.touches[touch].access,
                                .address = low,
                                .width = (uint8_t)(high - low),
                                .straddles = high - low < access->width};
}

void oracle_make_stream(struct random *random, uint32_t n, uint32_t pages, bool straddling)
{
    oracle.count = n;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t page = BASE_PAGE + random_below(random, random_below(random, pages) + 1);
        uint32_t place =
            random_below(random, 8) ? random_below(random, 128) * 8 : random_below(random, 4096);

        oracle.stream[i] = (struct access){
            .ip = 0x1000 + random_below(random, 30) * 4,
            .address = page * 4096 + place,
            .width = (uint8_t)(straddling ? 1 + random_below(random, 64) : 1),
            .kind = (uint8_t)(ACCESS_LOAD + random_below(random, 2)),
        };
    }
}

void oracle_identify(void *user, uint64_t address, struct burst_object *object)
{
    uint64_t page = address / 4096 * 4096, number = address / 4096 - BASE_PAGE;

    (void)user;
    *object = (struct burst_object){.low = page,
                                    .high = page + 4096,
                                    .base = page,
                                    .size = 4096,
                                    .reference = (uint32_t)(number / 2),
                                    .kind = OBJECT_HEAP};
    if (number == 2) {
        object->kind = OBJECT_GLOBAL;
        object->base = object->size = 0;
    }
    if (number == 4) {
        object->low = address / 1024 * 1024;
        object->high = object->low + 1024;
        object->tracked_log2 = (uint8_t)(address / 1024 % 2);
    }
}

static uint32_t last_index;

static uint32_t path_of(uint32_t index)
{
    return index / 700;
}

static uint32_t path(void *user, uint32_t index)
{
    (void)user;
    assert_true(index == 0 || index > last_index);
    last_index = index;
    return path_of(index);
}

uint32_t oracle_path(uint32_t access)
{
    return path_of(access);
}

static void meet(void *user, uint32_t path, uint64_t ip)
{
    (void)user;
    oracle.met++;
    oracle.met_sum += path * 1000 + ip;
}

const struct burst_host oracle_host = {.identify = oracle_identify, .path = path, .meet = meet};

void oracle_feed(struct random *random, uint32_t line_size, bool wide)
{
    uint32_t at = 0;

    burst_begin(oracle.burst, line_size, wide);
    assert_int_equal(burst_wants(oracle.burst), BURST_ACCESSES);
    while (at < oracle.count) {
        uint32_t n = 1 + random_below(random, 700);

        n = n < oracle.count - at ? n : oracle.count - at;
        assert_int_equal(burst_feed(oracle.burst, oracle.stream + at, n), n);
        at += n;
    }
    assert_int_equal(burst_wants(oracle.burst), BURST_ACCESSES - oracle.count);
    assert_int_equal(burst_count(oracle.burst), oracle.count);
    oracle.met = 0;
    oracle.met_sum = 0;
    last_index = 0;
    oracle_find_all(line_size);
    assert_int_equal(burst_close(oracle.burst, &oracle_host), oracle.probe_count);
    assert_int_equal(burst_open(oracle.burst), oracle.open_count);
}
