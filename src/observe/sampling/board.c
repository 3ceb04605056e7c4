/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/board.h"

#include <stdatomic.h>
#include <stddef.h>

#include "signal_safe.h"

static uint32_t bucket_of(uint64_t line)
{
    /* Not the highest bits: by these lines are chosen for the board (shared_lines.h). */
    return (uint32_t)((line >> 5) * 0x9e3779b97f4a7c15u >> 46) % BOARD_BUCKETS;
}

void board_publish(struct board *board, const struct board_entry *entry)
{
    struct board_bucket *bucket = &board->buckets[bucket_of(entry->line)];
    uint32_t sequence = atomic_load_explicit(&bucket->sequence, memory_order_relaxed);
    struct board_entry *place = &bucket->entries[0];

    if (sequence & 1 || !atomic_compare_exchange_strong(&bucket->sequence, &sequence, sequence + 1))
        return;
    atomic_thread_fence(memory_order_release);
    for (unsigned i = 0; i < BOARD_WAYS; i++) {
        struct board_entry *other = &bucket->entries[i];

        if (other->thread == entry->thread && other->line == entry->line) {
            other->bytes |= entry->bytes;
            other->kinds |= entry->kinds;
            other->time_ns = entry->time_ns;
            place = NULL;
            break;
        }
        if (other->time_ns < place->time_ns)
            place = other;
    }
    if (place)
        *place = *entry;
    atomic_store_explicit(&bucket->sequence, sequence + 2, memory_order_release);
}

bool board_others(const struct board *board, uint64_t line, uint32_t thread, uint64_t since_ns,
                  uint64_t *bytes)
{
    enum { ATTEMPTS = 3 };
    const struct board_bucket *bucket = &board->buckets[bucket_of(line)];

    for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
        uint32_t before = atomic_load_explicit(&bucket->sequence, memory_order_acquire);
        bool found = false;

        *bytes = 0;
        for (unsigned i = 0; i < BOARD_WAYS; i++) {
            struct board_entry entry = bucket->entries[i];

            if (entry.thread && entry.thread != thread && entry.line == line &&
                entry.time_ns >= since_ns) {
                found = true;
                *bytes |= entry.bytes;
            }
        }
        atomic_thread_fence(memory_order_acquire);
        if (!(before & 1) &&
            atomic_load_explicit(&bucket->sequence, memory_order_relaxed) == before)
            return found;
    }
    *bytes = 0;
    return false;
}
