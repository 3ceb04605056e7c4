/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/line_visit.h"

#include <string.h>

#include "sampling/line_mask.h"
#include "sampling/watch_plan.h"

#include "signal_safe.h"

static bool touches(uint64_t word, uint64_t address, uint32_t width)
{
    return word && address < word + WATCH_WORD && address + width > word;
}

static void take(struct line_visit *visit, uint8_t kind, uint64_t address, uint32_t width)
{
    uint64_t bytes = line_mask(visit->line, visit->line_size, address, width);

    if (kind & ACCESS_LOAD)
        visit->read |= bytes;
    if (kind & ACCESS_STORE) {
        visit->stores = true;
        visit->written |= bytes;
    }
    for (unsigned i = 0; i < 2; i++) {
        if (kind & ACCESS_STORE)
            visit->stores_end[i] = touches(visit->words[i], address, width);
        else if (!visit->stores)
            visit->reads_end[i] = touches(visit->words[i], address, width);
    }
}

void line_visit_begin(struct line_visit *visit, const struct line_arrival *arrival,
                      uint32_t line_size)
{
    const struct record_line_event *event = &arrival->event;
    uint64_t trapped = arrival->words[event->flags & LINE_EVENT_SECOND ? 1 : 0];
    bool known = event->flags & LINE_EVENT_KIND_KNOWN;

    memset(visit, 0, sizeof *visit);
    visit->line = arrival->line;
    visit->line_size = line_size;
    memcpy(visit->words, arrival->words, sizeof visit->words);
    /* What cannot be told is taken for a load, which does not hide the stores that follow. */
    if (known)
        take(visit, event->kind, arrival->line + event->offset, event->width);
    else
        take(visit, event->kind ? event->kind : ACCESS_LOAD, trapped, WATCH_WORD);
}

void line_visit_feed(struct line_visit *visit, const struct access *accesses, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct access *access = &accesses[i];

        if (access->address + access->width <= visit->line ||
            access->address >= visit->line + visit->line_size)
            continue;
        /* The load of a read-modify-write instruction is part of a write. */
        if (access->read_modify_write && access->kind == ACCESS_LOAD)
            visit->read |= line_mask(visit->line, visit->line_size, access->address, access->width);
        else
            take(visit, access->kind, access->address, access->width);
    }
}

void line_visit_end(const struct line_visit *visit, struct record_line_event *event)
{
    unsigned flags = LINE_EVENT_VISIT_KNOWN;

    flags |= visit->reads_end[0] ? LINE_EVENT_READ_ENDS : 0;
    flags |= visit->reads_end[1] ? LINE_EVENT_READ_ENDS2 : 0;
    flags |= visit->stores ? LINE_EVENT_STORES : 0;
    flags |= visit->stores_end[0] ? LINE_EVENT_STORE_ENDS : 0;
    flags |= visit->stores_end[1] ? LINE_EVENT_STORE_ENDS2 : 0;
    event->flags |= (uint16_t)flags;
    event->visit_read = visit->read;
    event->visit_written = visit->written;
}

void own_visit_begin(struct own_visit *visit, const struct access_run *run)
{
    uint32_t first = run->sampled > VISIT_ACCESSES ? run->sampled - VISIT_ACCESSES : 0;

    *visit = (struct own_visit){
        .line = line_start(run->sample.address, run->line_size),
        .line_size = run->line_size,
        .next_store = REUSE_TIME_NONE,
    };
    for (uint32_t i = first; i <= run->sampled; i++) {
        const struct access *access = i < run->sampled ? &run->accesses[i] : &run->sample;
        uint64_t bytes = line_mask(visit->line, visit->line_size, access->address, access->width);

        visit->accessed |= bytes;
        if (access->kind == ACCESS_STORE)
            visit->written |= bytes;
    }
}

bool own_visit_feed(struct own_visit *visit, const struct access *accesses, size_t n)
{
    for (size_t i = 0; i < n && visit->next_store == REUSE_TIME_NONE; i++) {
        visit->examined++;
        if (accesses[i].kind == ACCESS_STORE &&
            line_mask(visit->line, visit->line_size, accesses[i].address, accesses[i].width))
            visit->next_store = visit->examined;
    }
    return visit->next_store != REUSE_TIME_NONE;
}

void own_visit_end(const struct own_visit *visit, struct record_sample *sample)
{
    sample->flags |= SAMPLE_LINE_VISIT;
    sample->visit_accessed = visit->accessed;
    sample->visit_written = visit->written;
    sample->next_store = visit->next_store;
}
