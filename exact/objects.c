/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See objects.h. Stacks and modules are few: a sorted array of ranges. Everything here is under one
 * lock; consumers ask only when an access leaves the range that they were given before.
 */
#include "objects.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "elf_image.h"
#include "heap.h"
#include "objects/block_map.h"

uint32_t objects_epoch_value;

enum range_kind { RANGE_STACK = 1, RANGE_MODULE };

struct range {
    uint64_t low, high;
    enum range_kind kind;
    uint32_t reference; /* thread or module */
    uint64_t load_bias; /* modules: */
    char *path;
    struct elf_symbol *variables; /* found when first asked for */
    size_t variable_count;
    bool variables_known;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct range *ranges; /* sorted, disjoint */
static size_t range_count, range_capacity;

static struct object_identity *identities; /* by number */
static uint32_t identity_count, identity_capacity;
static uint32_t *identity_index; /* hash of identity -> number + 1 */
static uint32_t identity_index_size;

/* By kind and site: the number of its object, 0 when it has none yet; atomic. */
static uint32_t site_objects[OBJECT_NAMED + 1][BLOCK_SITE_MAX + 1];

static uint32_t *identity_slot(struct object_identity identity)
{
    uint64_t hash = identity.symbol * 0x9e3779b97f4a7c15u ^
                    ((uint64_t)identity.kind << 32 | identity.reference) * 0xd6e8feb86659fd93u;
    for (uint64_t i = hash ^ hash >> 29;; i++) {
        uint32_t *slot = &identity_index[i & (identity_index_size - 1)];
        if (*slot == 0 || memcmp(&identities[*slot - 1], &identity, sizeof identity) == 0)
            return slot;
    }
}

static bool grow_identities(void)
{
    uint32_t capacity = identity_capacity ? 2 * identity_capacity : 256;
    struct object_identity *more = realloc(identities, capacity * sizeof *more);
    if (more == NULL)
        return false;
    identities = more;
    uint32_t *index = calloc(2 * (size_t)capacity, sizeof *index);
    if (index == NULL)
        return false;
    free(identity_index);
    identity_index = index;
    identity_index_size = 2 * capacity;
    identity_capacity = capacity;
    for (uint32_t i = 0; i < identity_count; i++)
        *identity_slot(identities[i]) = i + 1;
    return true;
}

/* Number of an identity; OBJECT_NUMBER_UNKNOWN when memory is short. */
static uint32_t number_of(struct object_identity identity)
{
    if (identity_count == 0) {
        if (!grow_identities())
            return OBJECT_NUMBER_UNKNOWN;
        *identity_slot((struct object_identity){0}) = 1;
        identities[identity_count++] = (struct object_identity){0};
    }
    if (identity_count == identity_capacity && !grow_identities())
        return OBJECT_NUMBER_UNKNOWN;
    uint32_t *slot = identity_slot(identity);
    if (*slot == 0) {
        identities[identity_count] = identity;
        *slot = ++identity_count;
    }
    return *slot - 1;
}

/* Index of the first range that ends above address. */
static size_t range_after(uint64_t address)
{
    size_t low = 0, high = range_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (ranges[middle].high <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void objects_new_epoch(void)
{
    __atomic_add_fetch(&objects_epoch_value, 1, __ATOMIC_RELEASE);
}

static void remove_at(size_t i)
{
    free(ranges[i].path);
    free(ranges[i].variables);
    memmove(&ranges[i], &ranges[i + 1], (range_count - i - 1) * sizeof *ranges);
    range_count--;
}

/* Later knowledge replaces what it overlaps. */
static void add_range(struct range range)
{
    pthread_mutex_lock(&lock);
    size_t i = range_after(range.low);
    while (i < range_count && ranges[i].low < range.high)
        remove_at(i);
    if (range_count == range_capacity) {
        size_t capacity = range_capacity ? 2 * range_capacity : 64;
        struct range *more = realloc(ranges, capacity * sizeof *more);
        if (more == NULL) {
            free(range.path);
            pthread_mutex_unlock(&lock);
            return;
        }
        ranges = more;
        range_capacity = capacity;
    }
    memmove(&ranges[i + 1], &ranges[i], (range_count - i) * sizeof *ranges);
    ranges[i] = range;
    range_count++;
    objects_new_epoch();
    pthread_mutex_unlock(&lock);
}

static void remove_range(enum range_kind kind, uint32_t reference)
{
    pthread_mutex_lock(&lock);
    for (size_t i = range_count; i-- > 0;)
        if (ranges[i].kind == kind && ranges[i].reference == reference)
            remove_at(i);
    objects_new_epoch();
    pthread_mutex_unlock(&lock);
}

void objects_add_stack(uint32_t thread_id, uint64_t low, uint64_t high)
{
    add_range(
        (struct range){.low = low, .high = high, .kind = RANGE_STACK, .reference = thread_id});
}

void objects_remove_stack(uint32_t thread_id)
{
    remove_range(RANGE_STACK, thread_id);
}

void objects_add_module(uint32_t module_id, const char *path, uint64_t low, uint64_t high,
                        uint64_t load_bias)
{
    add_range((struct range){.low = low,
                             .high = high,
                             .kind = RANGE_MODULE,
                             .reference = module_id,
                             .load_bias = load_bias,
                             .path = strdup(path)});
}

void objects_remove_module(uint32_t module_id)
{
    remove_range(RANGE_MODULE, module_id);
}

/* The variable at address in a module, or the gap between two; narrows [*low, *high). */
static uint64_t variable_at(struct range *module, uint64_t address, uint64_t *low, uint64_t *high)
{
    if (!module->variables_known) {
        module->variables_known = true;
        if (module->path != NULL)
            module->variable_count = elf_image_variables(module->path, &module->variables);
    }
    const struct elf_symbol *variables = module->variables;
    size_t first = 0, end = module->variable_count;
    while (first < end) {
        size_t middle = (first + end) / 2;
        if (variables[middle].address + variables[middle].size + module->load_bias <= address)
            first = middle + 1;
        else
            end = middle;
    }
    if (first > 0) {
        uint64_t before =
            variables[first - 1].address + variables[first - 1].size + module->load_bias;
        if (before > *low)
            *low = before;
    }
    if (first == module->variable_count)
        return 0;
    uint64_t start = variables[first].address + module->load_bias;
    if (start > address) {
        if (start < *high)
            *high = start;
        return 0;
    }
    *low = start;
    *high = start + variables[first].size;
    return start;
}

/* The object of an allocation site; site 0: of all blocks of that kind. */
static uint32_t object_of_site(enum object_kind kind, uint32_t site)
{
    uint32_t number = __atomic_load_n(&site_objects[kind][site], __ATOMIC_RELAXED);
    if (number != 0)
        return number;
    pthread_mutex_lock(&lock);
    number = number_of((struct object_identity){.kind = kind, .reference = site});
    pthread_mutex_unlock(&lock);
    __atomic_store_n(&site_objects[kind][site], number, __ATOMIC_RELAXED);
    return number;
}

/* A block cannot begin or end in the middle of one. */
static void narrow_to_word(uint64_t address, struct object_range *range)
{
    *range = (struct object_range){.low = address & ~UINT64_C(7), .size = 8};
}

uint32_t object_at(uint64_t address, struct object_range *range)
{
    struct object_identity identity = {0};
    struct block block;
    bool told = heap_is_told();
    enum object_kind kind = heap_find(address, &block, &range->lasting);
    if (kind == OBJECT_HEAP_UNTRACKED)
        narrow_to_word(address, range);
    if (kind == OBJECT_HEAP || kind == OBJECT_MAPPING || kind == OBJECT_NAMED) {
        range->low = block.base;
        range->size = block.size;
    }
    /* A program may have made a thread's stack out of a block: then it is that. */
    bool may_hold_stack = kind == OBJECT_MAPPING || range->lasting;
    if (kind != OBJECT_UNKNOWN && !may_hold_stack)
        return object_of_site(kind, block.site);

    pthread_mutex_lock(&lock);
    size_t i = range_after(address);
    bool in_range = i < range_count && ranges[i].low <= address;
    if (kind != OBJECT_UNKNOWN && !(in_range && ranges[i].kind == RANGE_STACK)) {
        pthread_mutex_unlock(&lock);
        return object_of_site(kind, block.site);
    }
    uint64_t high;
    if (in_range) {
        range->low = ranges[i].low;
        high = ranges[i].high;
        identity.reference = ranges[i].reference;
        identity.kind = ranges[i].kind == RANGE_STACK ? OBJECT_STACK : OBJECT_GLOBAL;
        if (ranges[i].kind == RANGE_MODULE)
            identity.symbol = variable_at(&ranges[i], address, &range->low, &high);
    } else {
        range->low = i > 0 ? ranges[i - 1].high : 0;
        high = i < range_count ? ranges[i].low : UINT64_MAX;
    }
    range->size = high - range->low;
    range->lasting = true;
    if (told && identity.kind == OBJECT_UNKNOWN)
        narrow_to_word(address, range);
    uint32_t number = number_of(identity);
    pthread_mutex_unlock(&lock);
    return number;
}

struct object_identity object_identity(uint32_t number)
{
    struct object_identity identity = {0};
    pthread_mutex_lock(&lock);
    if (number < identity_count)
        identity = identities[number];
    pthread_mutex_unlock(&lock);
    return identity;
}

void objects_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
}
