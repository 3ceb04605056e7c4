/* SPDX-License-Identifier: BSD-3-Clause */
/* See exact_coherence.h. Entries, lines and copies are taken from arenas and never move nor end. */
#include "reuse/exact_coherence.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "access.h"

enum {
    SHARDS = 1024,
    FIRST_INDEX = 16,
    ARENA = 16384,            /* bytes, of expanded lines, per shard */
    GROUP_ARENA = 256 * 1024, /* bytes, of groups, per thread */
    /* Numbers of groups have 48 - 5 - 4 bits at most. */
    LEAF_BITS = 20,
    ROOT_BITS = 19,
};

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
    unsigned char ***root; /* group number -> entries; both levels come as zero pages, all atomic */
    pthread_mutex_t group_lock;
    void *group_blocks; /* memory of all groups; under group_lock */
    struct shard shards[SHARDS];
};

/* Zero pages that cost nothing until they are touched; NULL when there are none. */
static void *sparse_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

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
    coherence->root = sparse_memory(sizeof(void *) << ROOT_BITS);
    if (coherence->root == NULL) {
        free(coherence);
        return NULL;
    }
    pthread_mutex_init(&coherence->group_lock, NULL);
    for (size_t i = 0; i < SHARDS; i++)
        pthread_mutex_init(&coherence->shards[i].lock, NULL);
    return coherence;
}

void exact_coherence_destroy(struct exact_coherence *coherence)
{
    if (coherence == NULL)
        return;
    for (size_t i = 0; i < (size_t)1 << ROOT_BITS; i++)
        if (coherence->root[i] != NULL)
            munmap(coherence->root[i], sizeof(void *) << LEAF_BITS);
    munmap(coherence->root, sizeof(void *) << ROOT_BITS);
    for (void *block = coherence->group_blocks; block != NULL;) {
        void *next = *(void **)block;
        free(block);
        block = next;
    }
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
    thread->words = coherence->words;
    thread->entry_bytes = sizeof(struct exact_private) + 2 * coherence->words * sizeof(uint64_t);
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

/* The access that an event names. */
static struct exact_end end_of(const struct exact_coherence *coherence, uint32_t thread,
                               const struct exact_last *last, unsigned which)
{
    unsigned granules = last->last[which] - last->first[which] + 1u;
    return (struct exact_end){
        .thread = thread,
        .instruction = last->instruction[which],
        .offset = (uint16_t)(last->first[which] << coherence->granule_shift),
        .width = (uint8_t)(granules << coherence->granule_shift),
    };
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
        event->source = end_of(thread->coherence, copy->thread, &copy->last, EXACT_LAST_WRITE);
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
        event->source = end_of(thread->coherence, copy->thread, &copy->last,
                               event->kind == TRANSFER_WAW ? EXACT_LAST_WRITE : EXACT_LAST_ACCESS);
        event->true_sharing = meet(bytes, copy->masks, words);
        thread->transfer(thread->context, event);
        set_state(copy, COPY_INVALID);
        memset(copy->masks, 0, words * sizeof *copy->masks);
    }
    line->last_writer = mine->thread;
}

/* Zeroed entries of a group from the thread's arena. */
static unsigned char *new_group(struct exact_coherence_thread *thread)
{
    size_t bytes = EXACT_COHERENCE_GROUP * thread->entry_bytes;
    if (bytes > thread->arena_left) {
        unsigned char *block = calloc(1, GROUP_ARENA);
        if (block == NULL)
            return NULL;
        pthread_mutex_lock(&thread->coherence->group_lock);
        *(void **)block = thread->coherence->group_blocks;
        thread->coherence->group_blocks = block;
        pthread_mutex_unlock(&thread->coherence->group_lock);
        thread->arena = block + sizeof(void *);
        thread->arena_left = GROUP_ARENA - sizeof(void *);
    }
    return thread->arena;
}

unsigned char *exact_coherence_group(struct exact_coherence_thread *thread, uint64_t group)
{
    unsigned char ***root =
        &thread->coherence->root[group >> LEAF_BITS & ((UINT64_C(1) << ROOT_BITS) - 1)];
    unsigned char **leaf = __atomic_load_n(root, __ATOMIC_ACQUIRE);
    if (leaf == NULL) {
        unsigned char **fresh = sparse_memory(sizeof(void *) << LEAF_BITS);
        if (fresh == NULL)
            return NULL;
        if (__atomic_compare_exchange_n(root, &leaf, fresh, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
            leaf = fresh;
        else
            munmap(fresh, sizeof(void *) << LEAF_BITS);
    }
    unsigned char **place = &leaf[group & ((UINT64_C(1) << LEAF_BITS) - 1)];
    unsigned char *entries = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (entries == NULL) {
        unsigned char *fresh = new_group(thread);
        if (fresh == NULL)
            return NULL;
        if (__atomic_compare_exchange_n(place, &entries, fresh, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE)) {
            entries = fresh;
            thread->arena += EXACT_COHERENCE_GROUP * thread->entry_bytes;
            thread->arena_left -= EXACT_COHERENCE_GROUP * thread->entry_bytes;
        }
    }
    unsigned slot = group % EXACT_COHERENCE_GROUPS;
    thread->searched++;
    thread->groups[slot].group = group + 1;
    thread->groups[slot].entries = entries;
    return entries;
}

/*
 * A line that nobody else has touched becomes, or stays, the thread's own. False if somebody has.
 */
static bool take_private(struct exact_coherence_thread *thread, struct exact_private *entry,
                         const uint64_t *bytes, bool write, const struct exact_last *now)
{
    uint32_t mine = thread->thread << 2, tag = __atomic_load_n(&entry->tag, __ATOMIC_RELAXED);
    while (tag == 0 || tag == (mine | COPY_SHARED) || tag == (mine | COPY_EXCLUSIVE)) {
        uint32_t wanted = write ? mine | COPY_EXCLUSIVE : tag == 0 ? mine | COPY_SHARED : tag;
        if (!__atomic_compare_exchange_n(&entry->tag, &tag, wanted, false, __ATOMIC_ACQ_REL,
                                         __ATOMIC_RELAXED))
            continue;
        exact_coherence_note(&entry->last, now->instruction[0], now->first[0], now->last[0], write);
        for (unsigned i = 0; i < thread->words; i++) {
            entry->masks[i] |= bytes[i];
            if (write)
                entry->masks[thread->words + i] |= bytes[i];
        }
        return true;
    }
    return false;
}

/* Moves what the table knows of a line to the expanded line. Under the shard's lock. */
static bool expand(struct exact_coherence *coherence, struct shard *shard,
                   struct coherence_line *line, struct exact_private *entry)
{
    uint32_t tag = __atomic_load_n(&entry->tag, __ATOMIC_ACQUIRE);
    bool had_one;
    if (tag == EXACT_EXPANDED)
        return true;
    struct exact_copy *copy = find_copy(coherence, shard, line, tag >> 2, &had_one);
    if (copy == NULL)
        return false;
    tag = __atomic_exchange_n(&entry->tag, EXACT_EXPANDED, __ATOMIC_ACQ_REL);
    copy->last = entry->last;
    memcpy(copy->masks, entry->masks, 2 * coherence->words * sizeof(uint64_t));
    set_state(copy, tag & 3);
    line->last_writer = (tag & 3) == COPY_EXCLUSIVE ? copy->thread : 0;
    return true;
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

    struct exact_last now = {0};
    exact_coherence_note(&now, instruction, first, last, false);
    struct exact_private *entry = exact_coherence_entry(thread, number);
    if (entry != NULL && take_private(thread, entry, bytes, write, &now))
        return false;

    pthread_mutex_lock(&shard->lock);
    bool had_one = false;
    struct coherence_line *line = entry != NULL ? find_line(coherence, shard, number) : NULL;
    struct exact_copy *mine = NULL;
    if (line != NULL && expand(coherence, shard, line, entry))
        mine = find_copy(coherence, shard, line, thread->thread, &had_one);
    if (mine == NULL) {
        thread->untracked++;
        pthread_mutex_unlock(&shard->lock);
        return false;
    }
    struct exact_transfer event = {
        .destination = end_of(coherence, thread->thread, &now, EXACT_LAST_ACCESS), .line = number};
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
    exact_coherence_note(&mine->last, instruction, first, last, write);
    if (write)
        set_state(mine, COPY_EXCLUSIVE);
    else if (!held)
        set_state(mine, COPY_SHARED);
    unsigned slot = (unsigned)(number ^ number >> 10) % EXACT_COHERENCE_CACHED;
    thread->cached[slot].line = number + 1;
    thread->cached[slot].copy = mine;
    pthread_mutex_unlock(&shard->lock);
    return had_one && !held;
}

uint64_t exact_coherence_shared_lines(const struct exact_coherence *coherence)
{
    uint64_t lines = 0;
    for (size_t i = 0; i < SHARDS; i++)
        lines += coherence->shards[i].count;
    return lines;
}
