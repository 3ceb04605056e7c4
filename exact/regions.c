/* SPDX-License-Identifier: BSD-3-Clause */
/* See regions.h. */
#include "regions.h"

#include <fnmatch.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "elf_image.h"

/* libiberty's header declares basename() in a way that conflicts with <string.h> without this. */
#define HAVE_DECL_BASENAME 1
#include <libiberty/demangle.h>

enum { CHOSEN_MAX = 256, NODE_SLOTS = 2 * REGION_NODES_MAX };

/* Set before the guest starts, but for `found` (under lock). */
static struct {
    char *pattern;
    bool found;
} chosen[CHOSEN_MAX];
static unsigned chosen_count;

/* Where a region's function begins. */
struct entry {
    uint64_t address;
    uint32_t region;
};

/* Everything below is written under `lock`. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    char *name;
    uint64_t entry; /* 0: a span of the API */
    bool written;
} regions[REGIONS_MAX + 1];
static uint32_t region_count; /* atomic */
static struct entry *entries; /* sorted by address */
static size_t entry_count, entry_capacity;

/* Nodes by number; an entry does not change once node_count (atomic) is beyond it. */
static struct {
    uint32_t parent, region;
} nodes[REGION_NODES_MAX];
static uint32_t node_count = 1;
static uint32_t node_index[NODE_SLOTS]; /* hash of parent and region -> number */

void regions_choose(const char *names)
{
    while (*names != '\0' && chosen_count < CHOSEN_MAX) {
        size_t length = strcspn(names, ",");
        if (length > 0)
            chosen[chosen_count++].pattern = strndup(names, length);
        names += length + (names[length] == ',');
    }
}

bool regions_follow_calls(void)
{
    return chosen_count > 0;
}

uint32_t regions_count(void)
{
    return __atomic_load_n(&region_count, __ATOMIC_ACQUIRE);
}

uint32_t regions_split(void)
{
    return regions_count() < REGIONS_SPLIT_MAX ? regions_count() : REGIONS_SPLIT_MAX;
}

/* Under lock. */
static uint32_t number_of(const char *name, uint64_t entry)
{
    for (uint32_t i = 1; i <= region_count; i++)
        if (strcmp(regions[i].name, name) == 0)
            return i;
    char *copy = region_count < REGIONS_MAX ? strdup(name) : NULL;
    if (copy == NULL)
        return 0;
    regions[region_count + 1].name = copy;
    regions[region_count + 1].entry = entry;
    __atomic_store_n(&region_count, region_count + 1, __ATOMIC_RELEASE);
    return region_count;
}

uint32_t regions_named(const char *name)
{
    pthread_mutex_lock(&lock);
    uint32_t number = number_of(name, 0);
    pthread_mutex_unlock(&lock);
    return number;
}

/* Under lock. */
static bool is_chosen(const char *name)
{
    bool any = false;
    for (unsigned i = 0; i < chosen_count; i++) {
        if (chosen[i].pattern == NULL || fnmatch(chosen[i].pattern, name, 0) != 0)
            continue;
        chosen[i].found = any = true;
    }
    return any;
}

static void add_entry(uint64_t address, const char *name)
{
    uint32_t region = number_of(name, address);
    if (entry_count == entry_capacity) {
        size_t capacity = entry_capacity ? 2 * entry_capacity : 64;
        struct entry *more = realloc(entries, capacity * sizeof *more);
        if (more == NULL)
            return;
        entries = more;
        entry_capacity = capacity;
    }
    if (region != 0)
        entries[entry_count++] = (struct entry){address, region};
}

/* One function of a module: by the name that people know it by. Under lock. */
static void visit_function(void *context, const char *symbol, uint64_t address)
{
    uint64_t load_bias = *(const uint64_t *)context;
    /* What compilers add: clones for some arguments, parts; the cold part is never called. */
    size_t length = strcspn(symbol + 1, ".@") + 1;
    if (strstr(symbol + length, ".cold") != NULL)
        return;
    char *name = strndup(symbol, length);
    char *readable = name != NULL && (name[0] == '_' && (name[1] == 'Z' || name[1] == 'R'))
                         ? cplus_demangle(name, DMGL_AUTO | DMGL_ANSI)
                         : NULL;
    const char *known = readable != NULL ? readable : name;
    if (known != NULL && is_chosen(known))
        add_entry(address + load_bias, known);
    free(readable);
    free(name);
}

static int by_address(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

void regions_add_module(const char *path, uint64_t load_bias)
{
    if (chosen_count == 0)
        return;
    pthread_mutex_lock(&lock);
    elf_image_functions(path, visit_function, &load_bias);
    if (entry_count > 0)
        qsort(entries, entry_count, sizeof *entries, by_address);
    pthread_mutex_unlock(&lock);
}

void regions_remove_module(uint64_t start, uint64_t end)
{
    size_t kept = 0;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < entry_count; i++)
        if (entries[i].address < start || entries[i].address >= end)
            entries[kept++] = entries[i];
    entry_count = kept;
    pthread_mutex_unlock(&lock);
}

uint32_t regions_entered_at(uint64_t address)
{
    struct entry wanted = {.address = address};
    pthread_mutex_lock(&lock);
    const struct entry *found =
        entry_count > 0 ? bsearch(&wanted, entries, entry_count, sizeof *entries, by_address)
                        : NULL;
    uint32_t region = found != NULL ? found->region : 0;
    pthread_mutex_unlock(&lock);
    return region;
}

bool regions_contain(uint32_t node, uint32_t region)
{
    while (node != 0 && nodes[node].region != region)
        node = nodes[node].parent;
    return node != 0;
}

/* The node of the set with one region more; `node` itself when it has it, or there are too many. */
static uint32_t child_of(uint32_t node, uint32_t region)
{
    if (region == 0 || regions_contain(node, region))
        return node;
    pthread_mutex_lock(&lock);
    uint32_t slot = (node * 0x9e3779b9u ^ region * 0x85ebca6bu) % NODE_SLOTS, number;
    while ((number = node_index[slot]) != 0 &&
           (nodes[number].parent != node || nodes[number].region != region))
        slot = (slot + 1) % NODE_SLOTS;
    if (number == 0 && node_count < REGION_NODES_MAX) {
        number = node_count;
        nodes[number].parent = node;
        nodes[number].region = region;
        node_index[slot] = number;
        __atomic_store_n(&node_count, number + 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    return number != 0 ? number : node;
}

/* The same from what the thread asked before, mostly. */
static uint32_t with_region(struct region_state *state, uint32_t node, uint32_t region)
{
    unsigned slot = (node * 5 + region) % (sizeof state->known / sizeof state->known[0]);
    if (state->known[slot].region != region || state->known[slot].node != node) {
        state->known[slot].node = node;
        state->known[slot].region = region;
        state->known[slot].child = child_of(node, region);
    }
    return state->known[slot].child;
}

/* The calls' node and the API's regions together. */
static void unite(struct region_state *state)
{
    uint32_t node = exact_calls_node(&state->calls);
    unsigned depth = state->depth < REGION_SPANS_MAX ? state->depth : REGION_SPANS_MAX;
    for (unsigned i = 0; i < depth; i++)
        node = with_region(state, node, state->spans[i]);
    state->node = node;
}

void regions_follow(struct region_state *state, const struct guest_thread *thread,
                    const struct stream_access *access)
{
    unsigned flags = stream_call_flags(access);
    state->calls.stack_low = thread->stack_low;
    state->calls.stack_high = thread->stack_high;
    if (flags & STREAM_CALL)
        exact_calls_call(&state->calls, stream_address(access));
    else if (flags & STREAM_RETURN)
        exact_calls_return(&state->calls, stream_address(access));
    else
        exact_calls_enter(&state->calls,
                          with_region(state, exact_calls_node(&state->calls), access->instruction));
    unite(state);
}

void regions_span_begin(struct region_state *state, uint32_t region)
{
    if (state->depth < REGION_SPANS_MAX)
        state->spans[state->depth] = region;
    state->depth++;
    unite(state);
}

void regions_span_end(struct region_state *state)
{
    if (state->depth > 0)
        state->depth--;
    unite(state);
}

void regions_write(struct profile_writer *writer, uint64_t now_ns)
{
    pthread_mutex_lock(&lock);
    for (uint32_t i = 1; i <= region_count; i++) {
        struct record_region record = {.region_id = i, .entry_ip = regions[i].entry};
        if (!regions[i].written)
            profile_writer_append(writer, RECORD_REGION, &record,
                                  offsetof(struct record_region, name), regions[i].name,
                                  strlen(regions[i].name) + 1, now_ns);
        regions[i].written = true;
    }
    pthread_mutex_unlock(&lock);
}

const char *regions_unknown_name(unsigned index)
{
    for (unsigned i = 0; i < chosen_count; i++)
        if (!chosen[i].found && chosen[i].pattern != NULL && index-- == 0)
            return chosen[i].pattern;
    return NULL;
}

void regions_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    for (uint32_t i = 1; i <= region_count; i++)
        regions[i].written = false;
}
