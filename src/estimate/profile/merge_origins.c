/* SPDX-License-Identifier: BSD-3-Clause */
/* The merge's origins: who ran where, on what machine, and what all of them have in common. */
#include <stdlib.h>
#include <string.h>

#include "profile/merge_internal.h"
#include "support/memory.h"

/* Text pairs of one origin, in one piece. */
struct pairs {
    char *text;
    size_t size, capacity;
};

static const char *find_pair(const char *text, size_t size, const char *key)
{
    for (const char *end = text + size; text < end;) {
        const char *value = text + strlen(text) + 1;
        if (strcmp(text, key) == 0)
            return value;
        text = value + strlen(value) + 1;
    }
    return NULL;
}

static void add_pair(struct pairs *pairs, const char *key, const char *value)
{
    size_t key_size = strlen(key) + 1;
    size_t value_size = strlen(value) + 1;
    merge_reserve((void **)&pairs->text, &pairs->capacity, pairs->size + key_size + value_size, 1);
    memcpy(pairs->text + pairs->size, key, key_size);
    memcpy(pairs->text + pairs->size + key_size, value, value_size);
    pairs->size += key_size + value_size;
}

/* Keeps of what all origins agreed on what this one agrees on too. */
static void agree(struct profile_merge *merge, const struct pairs *pairs)
{
    if (!merge->agreed) {
        merge->agreed = allocate(pairs->size, 1);
        if (pairs->size)
            memcpy(merge->agreed, pairs->text, pairs->size);
        merge->agreed_size = pairs->size;
        return;
    }
    size_t kept = 0;
    for (size_t at = 0; at < merge->agreed_size;) {
        const char *key = merge->agreed + at;
        const char *value = key + strlen(key) + 1;
        size_t size = (size_t)(value + strlen(value) + 1 - key);
        const char *other = find_pair(pairs->text, pairs->size, key);
        bool same = other && strcmp(other, value) == 0;
        if (same)
            memmove(merge->agreed + kept, key, size);
        kept += same ? size : 0;
        at += size;
    }
    merge->agreed_size = kept;
}

static void write_origin(struct profile_merge *merge, const struct record_origin *head,
                         const struct pairs *pairs)
{
    static const char too_long[] = "the run keys of this origin were too long to keep all of them";
    size_t most = PROFILE_WRITER_PAYLOAD_MAX - sizeof(*head);
    size_t size = 0;
    while (size < pairs->size) {
        const char *value = pairs->text + size + strlen(pairs->text + size) + 1;
        size_t next = (size_t)(value - pairs->text) + strlen(value) + 1;
        if (next > most)
            break;
        size = next;
    }
    merge_append(merge, RECORD_ORIGIN, head, sizeof(*head), pairs->text, size);
    if (size < pairs->size) {
        struct record_note note = {.severity = NOTE_WARNING, .origin_id = head->origin_id};
        merge_append(merge, RECORD_NOTE, &note, sizeof(note), too_long, sizeof(too_long));
    }
    agree(merge, pairs);
    if (head->wall_ns > merge->wall_ns)
        merge->wall_ns = head->wall_ns;
    if (head->exit_status > merge->exit_status)
        merge->exit_status = head->exit_status;
}

/* The input is one process: its own run becomes an origin. */
static void merge_single_origin(struct merge_input *input)
{
    struct profile_merge *merge = input->merge;
    const struct profile *profile = input->profile;
    struct record_origin head = {
        .origin_id = ++merge->origins,
        .flags = profile->complete ? ORIGIN_COMPLETE : 0,
        .wall_ns = profile->end.wall_ns,
        .dropped_bytes = profile->dropped_bytes,
        .lost_records = profile->lost_records,
        .exit_status = profile->end.exit_status,
    };
    struct pairs pairs = {0};
    for (size_t i = 0; i + 1 < profile->run.count; i += 2) {
        const char *key = profile->run.items[i];
        /* The last one of a key counts; the others need not be kept. */
        if (profile->run.items[i + 1] == profile_run_text(profile, key, NULL))
            add_pair(&pairs, key, profile->run.items[i + 1]);
    }
    if (!profile_run_text(profile, "profile", NULL))
        add_pair(&pairs, "profile", profile->path);
    write_origin(merge, &head, &pairs);
    input->own_origin = head.origin_id;
    free(pairs.text);
}

static void merge_many_origins(struct merge_input *input)
{
    struct profile_merge *merge = input->merge;
    for (size_t i = 0; i < input->profile->origins.count; i++) {
        const struct record_origin *origin = input->profile->origins.items[i];
        struct record_origin head = *origin;
        struct pairs pairs = {0};
        input->origins[i] = head.origin_id = ++merge->origins;
        if (!input->profile->complete) /* a merged file cut short: some of it is missing */
            head.flags &= ~(uint32_t)ORIGIN_COMPLETE;
        for (const char *key = origin->pairs; *key;) {
            const char *value = key + strlen(key) + 1;
            add_pair(&pairs, key, value);
            key = value + strlen(value) + 1;
        }
        write_origin(merge, &head, &pairs);
        free(pairs.text);
    }
}

static void add_caches(struct merge_input *input, uint32_t from, uint32_t to)
{
    struct profile_merge *merge = input->merge;
    for (size_t i = 0; i < input->profile->caches.count; i++) {
        struct record_cache cache = input->profile->caches.items[i];
        if (cache.origin_id != 0 && cache.origin_id != from)
            continue;
        merge_reserve((void **)&merge->caches, &merge->cache_capacity, merge->cache_count + 1,
                      sizeof(cache));
        cache.origin_id = to;
        merge->caches[merge->cache_count++] = cache;
    }
}

void merge_origins(struct merge_input *input)
{
    const struct profile *profile = input->profile;
    if (profile->origins.count == 0) {
        merge_single_origin(input);
        add_caches(input, 0, input->own_origin);
        return;
    }
    merge_many_origins(input);
    for (size_t i = 0; i < profile->origins.count; i++)
        add_caches(input, profile->origins.items[i]->origin_id, input->origins[i]);
}

/* Whether every origin has the same list of caches; *count is its length. They lie in the order
 * of the origins. */
static bool one_machine(const struct profile_merge *merge, size_t *count)
{
    size_t each = merge->origins ? merge->cache_count / merge->origins : 0;
    *count = each;
    if (each * merge->origins != merge->cache_count)
        return false;
    for (size_t i = each; i < merge->cache_count; i++) {
        struct record_cache cache = merge->caches[i];
        if (cache.origin_id != i / each + 1)
            return false;
        cache.origin_id = merge->caches[i % each].origin_id;
        if (memcmp(&cache, &merge->caches[i % each], sizeof(cache)) != 0)
            return false;
    }
    return true;
}

void merge_write_run(struct profile_merge *merge)
{
    size_t count;
    for (size_t at = 0; at < merge->agreed_size;) {
        const char *key = merge->agreed + at;
        const char *value = key + strlen(key) + 1;
        merge_append(merge, RECORD_RUN, key, strlen(key) + 1, value, strlen(value) + 1);
        at += strlen(key) + strlen(value) + 2;
    }
    bool same = one_machine(merge, &count);
    for (size_t i = 0; i < (same ? count : merge->cache_count); i++) {
        struct record_cache cache = merge->caches[i];
        if (same)
            cache.origin_id = 0;
        merge_append(merge, RECORD_CACHE, &cache, sizeof(cache), NULL, 0);
    }
}
