/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/shared_lines.h"

#include "sampling/line_mask.h"

#include "signal_safe.h"

/* Entries that are put together before they are published; a power of two. */
enum { PENDING = 64 };

static void put(struct board *board, struct board_entry *entry)
{
    if (entry->thread)
        board_publish(board, entry);
    entry->thread = 0;
}

void shared_lines_publish(struct board *board, const struct access *accesses, uint32_t n,
                          uint32_t line_size, uint32_t thread_id, uint64_t now_ns)
{
    struct board_entry pending[PENDING];

    for (uint32_t i = 0; i < PENDING; i++)
        pending[i].thread = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct access *access = &accesses[i];
        uint64_t line = line_start(access->address, line_size);
        struct board_entry *entry = &pending[line / line_size % PENDING];

        if (!shared_lines_follows(line, now_ns))
            continue;
        if (entry->thread && entry->line != line)
            put(board, entry);
        if (!entry->thread)
            *entry = (struct board_entry){.line = line, .time_ns = now_ns, .thread = thread_id};
        entry->bytes |= line_mask(line, line_size, access->address, access->width);
        entry->kinds |= access->kind;
    }
    for (uint32_t i = 0; i < PENDING; i++)
        put(board, &pending[i]);
}

void shared_lines_find(const struct board *board, const struct access *accesses, uint32_t n,
                       uint32_t line_size, uint32_t thread_id, uint64_t now_ns,
                       struct store_list *out)
{
    /* What the board said of lines: bursts store to few lines, again and again. */
    struct {
        uint64_t line;
        bool others;
    } known[PENDING];
    uint64_t since = board_since(now_ns), bytes;

    for (uint32_t i = 0; i < PENDING; i++)
        known[i].line = UINT64_MAX;
    out->count = 0;
    for (uint32_t i = 0; i < n && out->count < STORE_LIST_MAX; i++) {
        uint64_t line = line_start(accesses[i].address, line_size);
        uint32_t place = line / line_size % PENDING;

        if (accesses[i].kind != ACCESS_STORE)
            continue;
        if (known[place].line != line) {
            known[place].line = line;
            known[place].others = board_others(board, line, thread_id, since, &bytes);
        }
        if (known[place].others)
            out->index[out->count++] = (uint16_t)i;
    }
}
