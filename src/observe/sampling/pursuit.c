/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/pursuit.h"

#include <string.h>

#include "signal_safe.h"

uint32_t pursuit_length(struct random *random)
{
    unsigned doublings = 0;

    while (doublings < PURSUIT_DOUBLINGS && random_next(random) >> 63)
        doublings++;
    return (uint32_t)BURST_ACCESSES << doublings;
}

static uint32_t filter_bit(const struct pursuit *pursuit, uint64_t address)
{
    return (uint32_t)((address >> pursuit->widest_log2) * UINT64_C(0x9e3779b97f4a7c15) >>
                      (64 - PURSUIT_FILTER_BITS));
}

static bool is_complete(const struct pursuit *pursuit, const struct pursued_line *line)
{
    for (unsigned i = 0; i < PROBE_LINE_SIZES; i++)
        if (pursuit->line_sizes[i] && line->used[i] == REUSE_TIME_NONE)
            return false;
    return true;
}

static void make_filter(struct pursuit *pursuit)
{
    memset(pursuit->filter, 0, sizeof pursuit->filter);
    pursuit->left = 0;
    for (unsigned i = 0; i < pursuit->count; i++) {
        uint32_t bit = filter_bit(pursuit, pursuit->lines[i].address);

        if (is_complete(pursuit, &pursuit->lines[i]))
            continue;
        pursuit->filter[bit / 64] |= UINT64_C(1) << bit % 64;
        pursuit->left++;
    }
}

void pursuit_begin(struct pursuit *pursuit, uint32_t line_size, const struct burst_probe *probes,
                   unsigned n, uint32_t burst_accesses, uint32_t length)
{
    uint32_t widest = line_size;

    for (unsigned i = 0; i < PROBE_LINE_SIZES; i++) {
        pursuit->line_sizes[i] = probe_line_size(line_size, i);
        if (pursuit->line_sizes[i] > widest)
            widest = pursuit->line_sizes[i];
    }
    pursuit->widest_log2 = (unsigned)__builtin_ctz(widest);
    pursuit->wanted = length;
    pursuit->seen = 0;
    pursuit->count = n;
    for (unsigned i = 0; i < n; i++) {
        struct pursued_line *line = &pursuit->lines[i];

        *line = (struct pursued_line){.address = probes[i].address,
                                      .ahead = burst_accesses - 1 - probes[i].index};
        for (unsigned size = 0; size < PROBE_LINE_SIZES; size++)
            line->used[size] = REUSE_TIME_NONE;
    }
    make_filter(pursuit);
}

uint32_t pursuit_wants(const struct pursuit *pursuit)
{
    return pursuit->left > 0 ? pursuit->wanted - pursuit->seen : 0;
}

/* Whether the access touches the line of that size around the address. */
static bool touches(const struct access *access, uint64_t address, uint32_t line_size)
{
    uint64_t line = address & ~(uint64_t)(line_size - 1);

    return access->address < line + line_size && line < access->address + access->width;
}

/* The access may be a use of some line. */
static void look_at(struct pursuit *pursuit, const struct access *access)
{
    bool found = false;

    for (unsigned i = 0; i < pursuit->count; i++) {
        struct pursued_line *line = &pursuit->lines[i];

        for (unsigned size = 0; size < PROBE_LINE_SIZES; size++) {
            if (!pursuit->line_sizes[size] || line->used[size] != REUSE_TIME_NONE ||
                !touches(access, line->address, pursuit->line_sizes[size]))
                continue;
            line->used[size] = line->ahead + pursuit->seen + 1;
            found = true;
            if (size == 0) {
                line->ip = access->ip;
                line->kind = access->kind;
            }
        }
    }
    if (found)
        make_filter(pursuit);
}

static bool may_touch(const struct pursuit *pursuit, uint64_t address)
{
    uint32_t bit = filter_bit(pursuit, address);

    return pursuit->filter[bit / 64] >> bit % 64 & 1;
}

void pursuit_feed(struct pursuit *pursuit, const struct access *accesses, uint32_t n)
{
    for (uint32_t i = 0; i < n && pursuit_wants(pursuit) > 0; i++) {
        const struct access *access = &accesses[i];

        if (may_touch(pursuit, access->address) ||
            may_touch(pursuit, access->address + access->width - 1))
            look_at(pursuit, access);
        pursuit->seen++;
    }
}

void pursuit_describe(const struct pursuit *pursuit, unsigned i, struct record_watch_end *end)
{
    const struct pursued_line *line = &pursuit->lines[i];

    end->reason = line->used[0] == REUSE_TIME_NONE ? WATCH_PURSUIT_ENDED : WATCH_REUSED;
    end->ip = line->ip;
    end->kind = line->kind;
    end->pursued = line->ahead + pursuit->seen;
    memcpy(end->used, line->used, sizeof end->used);
}
