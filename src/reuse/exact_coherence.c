/* SPDX-License-Identifier: BSD-3-Clause */
/* See exact_coherence.h. Lines and copies are taken from arenas and never move nor disappear. */
#include "reuse/exact_coherence.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"

enum { SHARDS = 1024, FIRST_INDEX = 16, ARENA = 16384 };

struct coherence_line {
    uint64_t line;
    uint32_t last_writer; /* 0: nobody yet */
    uint32_t reserved;
    struct exact_copy *copies;
    uint64_t ever_written[]; /* words; without what an exclusive holder has yet to tell */
};

struct shard {
    pthread_mutex_t lock;
    struct coherence_line **index; /* open addressing */
    uint32_t size, count;
    unsigned char *arena; /* rest of the current block */
    size_t arena_left;
    void *blocks; /* all blocks; the first word of each leads to the next */
} __attribute__((aligned(64)));

struct exact_coherence {
    unsigned line_shift, granule_shift;
    unsigned words;
    struct shard shards[SHARDS];
};

static uint64_t mixed(uint64_t line)
{
    line *= 0x9e3779b97f4a7c15u;
    return line ^ line >> 29;
}

struct exact_coherence *exact_coherence_create(uint32_t line_size)
{
    struct exact_coherence *coherence = aligned_alloc(64, sizeof *coherence);
    if (coherence == NULL)
        return NULL;
    memset(coherence, 0, sizeof *coherence);
    unsigned bits_max = 6 + (unsigned)__builtin_ctz(EXACT_COHERENCE_WORDS);
    coherence->line_shift = (unsigned)__builtin_ctz(line_size);
    coherence->granule_shift =
        coherence->line_shift > bits_max ? coherence->line_shift - bits_max : 0;
    unsigned bits = coherence->line_shift - coherence->granule_shift;
    coherence->words = bits > 6 ? 1u << (bits - 6) : 1;
    for (size_t i = 0; i < SHARDS; i++)
        pthread_mutex_init(&coherence->shards[i].lock, NULL);
    return coherence;
}

void exact_coherence_destroy(struct exact_coherence *coherence)
{
    if (coherence == NULL)
        return;
    for (size_t i = 0; i < SHARDS; i++) {
        free(coherence->shards[i].index);
        for (void *block = coherence->shards[i].blocks; block != NULL;) {
            void *next = *(void **)block;
            free(block);
            block = next;
        }
        pthread_mutex_destroy(&coherence->shards[i].lock);
    }
    free(coherence);
}

void exact_coherence_thread_init(struct exact_coherence_thread *thread,
                                 struct exact_coherence *coherence, uint32_t number,
                                 void (*transfer)(void *, const struct exact_transfer *),
                                 void *context)
{
    memset(thread, 0, sizeof *thread);
    thread->coherence = coherence;
    thread->thread = number;
    thread->line_shift = coherence->line_shift;
    thread->granule_shift = coherence->granule_shift;
    thread->transfer = transfer;
    thread->context = context;
}

/* Zeroed memory that stays; NULL when there is none. */
static void *take_memory(struct shard *shard, size_t bytes)
{
    if (bytes > shard->arena_left) {
        unsigned char *block = calloc(1, ARENA);
        if (block == NULL)
            return NULL;
        *(void **)block = shard->blocks;
        shard->blocks = block;
        shard->arena = block + sizeof(void *);
        shard->arena_left = ARENA - sizeof(void *);
    }
    void *memory = shard->arena;
    shard->arena += bytes;
    shard->arena_left -= bytes;
    return memory;
}

static struct coherence_line **find_place(struct coherence_line **index, uint32_t size,
                                          uint64_t line)
{
    for (uint64_t i = mixed(line) >> 10;; i++) {
        struct coherence_line **place = &index[i & (size - 1)];
        if (*place == NULL || (*place)->line == line)
            return place;
    }
}

static bool grow_index(struct shard *shard)
{
    uint32_t size = shard->size ? 2 * shard->size : FIRST_INDEX;
    struct coherence_line **index = calloc(size, sizeof *index);
    if (index == NULL)
        return false;
    for (uint32_t i = 0; i < shard->size; i++)
        if (shard->index[i] != NULL)
            *find_place(index, size, shard->index[i]->line) = shard->index[i];
    free(shard->index);
    shard->index = index;
    shard->size = size;
    return true;
}

static struct coherence_line *find_line(struct exact_coherence *coherence, struct shard *shard,
                                        uint64_t number)
{
    if (4 * (shard->count + 1) > 3 * shard->size && !grow_index(shard) &&
        shard->count + 1 >= shard->size)
        return NULL;
    struct coherence_line **place = find_place(shard->index, shard->size, number);
    if (*place == NULL) {
        struct coherence_line *line =
            take_memory(shard, sizeof *line + coherence->words * sizeof(uint64_t));
        if (line == NULL)
            return NULL;
        line->line = number;
        *place = line;
        shard->count++;
    }
    return *place;
}

/* The thread's copy, perhaps invalid; *had_one tells whether it ever had one. */
static struct exact_copy *find_copy(struct exact_coherence *coherence, struct shard *shard,
                                    struct coherence_line *line, uint32_t thread, bool *had_one)
{
    struct exact_copy *copy = line->copies;
    while (copy != NULL && copy->thread != thread)
        copy = copy->next;
    *had_one = copy != NULL;
    if (copy == NULL) {
        copy = take_memory(shard, sizeof *copy + 2 * coherence->words * sizeof(uint64_t));
        if (copy == NULL)
            return NULL;
        copy->thread = thread;
        copy->next = line->copies;
        line->copies = copy;
    }
    return copy;
}

/* An exclusive holder's writes become known to those who lost their copies. */
static void tell_writes(struct coherence_line *line, struct exact_copy *writer, unsigned words)
{
    uint64_t *written = &writer->masks[words];
    for (struct exact_copy *copy = line->copies; copy != NULL; copy = copy->next)
        for (unsigned i = 0; i < words && copy != writer && copy->state == COPY_INVALID; i++)
            copy->masks[i] |= written[i];
    for (unsigned i = 0; i < words; i++) {
        line->ever_written[i] |= written[i];
        written[i] = 0;
    }
}

static bool meet(const uint64_t *a, const uint64_t *b, unsigned words)
{
    uint64_t common = 0;
    for (unsigned i = 0; i < words; i++)
        common |= a[i] & b[i];
    return common != 0;
}

static void set_state(struct exact_copy *copy, enum copy_state state)
{
    __atomic_store_n(&copy->state, state, __ATOMIC_RELAXED);
}

static void read_without_copy(struct exact_coherence_thread *thread, struct coherence_line *line,
                              struct exact_copy *mine, bool had_one, const uint64_t *bytes,
                              struct exact_transfer *event)
{
    unsigned words = thread->coherence->words;
    for (struct exact_copy *copy = line->copies; copy != NULL; copy = copy->next) {
        if (copy->thread != line->last_writer || copy == mine)
            continue;
        tell_writes(line, copy, words);
        if (copy->state == COPY_EXCLUSIVE)
            set_state(copy, COPY_SHARED);
        event->kind = TRANSFER_RAW;
        event->source = copy->thread;
        event->source_instruction = copy->instruction;
        event->true_sharing = meet(bytes, had_one ? mine->masks : line->ever_written, words);
        thread->transfer(thread->context, event);
    }
}

static void write_line(struct exact_coherence_thread *thread, struct coherence_line *line,
                       struct exact_copy *mine, const uint64_t *bytes, struct exact_transfer *event)
{
    unsigned words = thread->coherence->words;
    for (struct exact_copy *copy = line->copies; copy != NULL; copy = copy->next)
        if (copy != mine && copy->state == COPY_EXCLUSIVE)
            tell_writes(line, copy, words);
    for (struct exact_copy *copy = line->copies; copy != NULL; copy = copy->next) {
        if (copy == mine || copy->state == COPY_INVALID)
            continue;
        event->kind = copy->thread == line->last_writer ? TRANSFER_WAW : TRANSFER_WAR;
        event->source = copy->thread;
        event->source_instruction = copy->instruction;
        event->true_sharing = meet(bytes, copy->masks, words);
        thread->transfer(thread->context, event);
        set_state(copy, COPY_INVALID);
        memset(copy->masks, 0, words * sizeof *copy->masks);
    }
    line->last_writer = mine->thread;
}

bool exact_coherence_take(struct exact_coherence_thread *thread, uint64_t number, unsigned first,
                          unsigned last, bool write, uint32_t instruction)
{
    struct exact_coherence *coherence = thread->coherence;
    struct shard *shard = &coherence->shards[mixed(number) % SHARDS];
    unsigned words = coherence->words;
    uint64_t bytes[EXACT_COHERENCE_WORDS] = {0};
    for (unsigned bit = first; bit <= last; bit++)
        bytes[bit / 64] |= UINT64_C(1) << bit % 64;

    pthread_mutex_lock(&shard->lock);
    bool had_one = false;
    struct coherence_line *line = find_line(coherence, shard, number);
    struct exact_copy *mine =
        line != NULL ? find_copy(coherence, shard, line, thread->thread, &had_one) : NULL;
    if (mine == NULL) {
        thread->untracked++;
        pthread_mutex_unlock(&shard->lock);
        return false;
    }
    struct exact_transfer event = {
        .destination = thread->thread, .destination_instruction = instruction, .line = number};
    bool held = had_one && mine->state != COPY_INVALID;
    if (write)
        write_line(thread, line, mine, bytes, &event);
    else if (!held)
        read_without_copy(thread, line, mine, had_one, bytes, &event);
    for (unsigned i = 0; i < words; i++) {
        mine->masks[i] = held ? mine->masks[i] | bytes[i] : bytes[i];
        if (write)
            mine->masks[words + i] |= bytes[i];
    }
    mine->instruction = instruction;
    if (write)
        set_state(mine, COPY_EXCLUSIVE);
    else if (!held)
        set_state(mine, COPY_SHARED);
    unsigned slot = (unsigned)(number ^ number >> 11) % EXACT_COHERENCE_CACHED;
    thread->cached[slot].line = number + 1;
    thread->cached[slot].copy = mine;
    pthread_mutex_unlock(&shard->lock);
    return had_one && !held;
}

uint64_t exact_coherence_lines(const struct exact_coherence *coherence)
{
    uint64_t lines = 0;
    for (size_t i = 0; i < SHARDS; i++)
        lines += coherence->shards[i].count;
    return lines;
}

void exact_coherence_after_fork(struct exact_coherence *coherence)
{
    for (size_t i = 0; i < SHARDS; i++)
        pthread_mutex_init(&coherence->shards[i].lock, NULL);
}
