/* SPDX-License-Identifier: BSD-3-Clause */
/* See sharing.h. */
#include "sharing.h"

#include <stdlib.h>
#include <string.h>

#include "instructions.h"
#include "objects.h"

enum {
    FIRST_EVENTS = 256,
    EVENTS_MAX = 1 << 20,  /* kept apart per destination thread; more without their lines */
    OBJECTS_MAX = 1 << 18, /* further ones without lines; more are counted by pair alone */
    PREFETCH_AHEAD = 12,   /* accesses */
    PREFETCH_SHARE = 16,   /* look ahead when more than one access in so many was searched for */
    DETAILED_MAX = 50000,  /* written by line, and as many by object alone */
};

/* Transfers to one thread that agree in everything but their number. */
struct event {
    uint64_t line; /* + 1; 0: of any line, and then of any instructions and bytes */
    struct exact_end source, destination;
    uint8_t kind;
    bool true_sharing;
    uint32_t object;     /* number of the object that the destination came for */
    uint64_t base, size; /* of the block that it is, else 0; they go with the object and the line */
    uint64_t count;      /* 0: the entry is free */
};

struct sharing {
    struct exact_coherence_thread *thread; /* NULL once it has ended */
    uint64_t untracked;                    /* of the ended thread, and events without memory */
    pthread_mutex_t lock;                  /* over the table: its thread adds, the writer reads */
    struct event *events;                  /* open addressing */
    uint32_t size, used;
    struct sharing *following;
};

static struct exact_coherence *coherence; /* set before the guest runs, or by its only thread */
static uint32_t line_size;
static bool parallel; /* set while there is one thread */

/* All threads' tables; written under list_lock, entries stay. */
static struct sharing *all;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;

bool sharing_start(uint32_t size)
{
    line_size = size;
    coherence = exact_coherence_create(size);
    return coherence != NULL;
}

static bool ends_agree(const struct exact_end *a, const struct exact_end *b)
{
    return a->thread == b->thread && a->instruction == b->instruction && a->offset == b->offset &&
           a->width == b->width;
}

static bool agree(const struct event *a, const struct event *b)
{
    return a->line == b->line && ends_agree(&a->source, &b->source) &&
           ends_agree(&a->destination, &b->destination) && a->kind == b->kind &&
           a->true_sharing == b->true_sharing && a->object == b->object && a->base == b->base &&
           a->size == b->size;
}

static uint64_t hash_of_end(const struct exact_end *end)
{
    uint64_t what = (uint64_t)end->instruction << 32 | (uint32_t)end->offset << 8 | end->width;
    return (what ^ (uint64_t)end->thread << 20) * 0xd6e8feb86659fd93u;
}

static struct event *place_of(struct event *events, uint32_t size, const struct event *event)
{
    uint64_t hash = event->line * 0x9e3779b97f4a7c15u ^ hash_of_end(&event->source);
    hash = (hash ^ hash >> 29) + hash_of_end(&event->destination);
    hash += (uint64_t)event->kind * 2 + event->true_sharing + event->object * 8;
    for (uint64_t i = hash ^ hash >> 31;; i++) {
        struct event *place = &events[i & (size - 1)];
        if (place->count == 0 || agree(place, event))
            return place;
    }
}

static bool grow(struct sharing *sharing)
{
    uint32_t size = sharing->size ? 2 * sharing->size : FIRST_EVENTS;
    struct event *events = calloc(size, sizeof *events);
    if (events == NULL)
        return false;
    for (uint32_t i = 0; i < sharing->size; i++)
        if (sharing->events[i].count != 0)
            *place_of(events, size, &sharing->events[i]) = sharing->events[i];
    free(sharing->events);
    sharing->events = events;
    sharing->size = size;
    return true;
}

/* Blocks come and go: whose line it is has to be found out now. */
static void find_object(struct event *event)
{
    struct object_range range;
    /* A line can hold several objects: the one that the destination came for is meant. */
    uint64_t address = (event->line - 1) * line_size + event->destination.offset;
    event->object = object_at(address, &range);
    enum object_kind kind = object_identity(event->object).kind;
    if (kind == OBJECT_HEAP || kind == OBJECT_MAPPING || kind == OBJECT_NAMED) {
        event->base = range.low;
        event->size = range.size;
    }
}

/* What remains when there are too many to keep apart: first the object and the instructions ... */
static void forget_line(struct event *event)
{
    event->line = event->base = event->size = 0;
    event->source.offset = event->destination.offset = 0;
    event->source.width = event->destination.width = 0;
}

/* ... then only the threads. */
static void forget_object(struct event *event)
{
    forget_line(event);
    event->object = 0;
    event->source.instruction = event->destination.instruction = 0;
}

static bool knows_object(const struct event *event)
{
    return event->object != 0 || event->source.instruction != 0 ||
           event->destination.instruction != 0;
}

static void count_transfer(void *context, const struct exact_transfer *transfer)
{
    struct sharing *sharing = context;
    struct event event = {.line = transfer->line + 1,
                          .source = transfer->source,
                          .destination = transfer->destination,
                          .kind = (uint8_t)transfer->kind,
                          .true_sharing = transfer->true_sharing};
    find_object(&event);
    pthread_mutex_lock(&sharing->lock);
    if (2 * (sharing->used + 1) > sharing->size && !grow(sharing)) {
        sharing->untracked++;
        pthread_mutex_unlock(&sharing->lock);
        return;
    }
    if (sharing->used >= EVENTS_MAX && place_of(sharing->events, sharing->size, &event)->count == 0)
        forget_line(&event);
    if (sharing->used >= EVENTS_MAX + OBJECTS_MAX &&
        place_of(sharing->events, sharing->size, &event)->count == 0)
        forget_object(&event);
    struct event *place = place_of(sharing->events, sharing->size, &event);
    if (place->count == 0) {
        *place = event;
        sharing->used++;
    }
    place->count++;
    pthread_mutex_unlock(&sharing->lock);
}

void sharing_thread_started(struct guest_thread *thread)
{
    if (coherence == NULL)
        return;
    struct sharing *sharing = calloc(1, sizeof *sharing);
    if (sharing == NULL)
        return;
    sharing->thread = malloc(sizeof *sharing->thread);
    if (sharing->thread == NULL) {
        free(sharing);
        return;
    }
    pthread_mutex_init(&sharing->lock, NULL);
    exact_coherence_thread_init(sharing->thread, coherence, thread->thread_id, count_transfer,
                                sharing);
    thread->sharing = sharing->thread;
    thread->calls_in = parallel ? sharing->thread : NULL;
    pthread_mutex_lock(&list_lock);
    sharing->following = all;
    all = sharing;
    pthread_mutex_unlock(&list_lock);
}

void sharing_thread_ended(struct guest_thread *thread)
{
    if (thread->sharing == NULL)
        return;
    struct sharing *sharing = thread->sharing->context;
    pthread_mutex_lock(&sharing->lock);
    sharing->untracked += thread->sharing->untracked;
    sharing->thread = NULL;
    pthread_mutex_unlock(&sharing->lock);
    free(thread->sharing);
    thread->sharing = thread->calls_in = NULL;
}

void sharing_become_parallel(struct guest_thread *only)
{
    parallel = true;
    if (only != NULL)
        only->calls_in = only->sharing;
}

void sharing_batch(struct guest_thread *thread, const struct stream_access *accesses, size_t count)
{
    if (thread->sharing == NULL || thread->calls_in != NULL)
        return;
    uint64_t searched_before = thread->sharing->searched;
    for (size_t i = 0; i < count; i++) {
        if (stream_kind(&accesses[i]) == 0)
            continue;
        if (thread->sharing_far && i + PREFETCH_AHEAD < count)
            exact_coherence_prefetch(thread->sharing,
                                     stream_address(&accesses[i + PREFETCH_AHEAD]));
        bool write = stream_kind(&accesses[i]) & ACCESS_STORE || stream_modifies(&accesses[i]);
        exact_coherence_access(thread->sharing, stream_address(&accesses[i]),
                               stream_width(&accesses[i]), write, accesses[i].instruction);
    }
    thread->sharing_far = (thread->sharing->searched - searched_before) * PREFETCH_SHARE > count;
}

struct events {
    struct event *items;
    size_t count;
};

static struct events collect(void)
{
    struct events events = {NULL, 0};
    pthread_mutex_lock(&list_lock);
    struct sharing *sharing = all;
    pthread_mutex_unlock(&list_lock);
    for (; sharing != NULL; sharing = sharing->following) {
        pthread_mutex_lock(&sharing->lock);
        struct event *more =
            realloc(events.items, (events.count + sharing->used + 1) * sizeof *more);
        if (more != NULL) {
            events.items = more;
            for (uint32_t i = 0; i < sharing->size; i++)
                if (sharing->events[i].count != 0)
                    events.items[events.count++] = sharing->events[i];
        }
        pthread_mutex_unlock(&sharing->lock);
    }
    return events;
}

static int by_count(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    return (x->count < y->count) - (x->count > y->count);
}

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Events that agree in everything but their number are neighbours, once they have forgotten lines.
 */
static int by_object(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    int order = compare(x->source.thread, y->source.thread);
    order = order ? order : compare(x->destination.thread, y->destination.thread);
    order = order ? order : compare(x->kind, y->kind);
    order = order ? order : compare(x->true_sharing, y->true_sharing);
    order = order ? order : compare(x->object, y->object);
    order = order ? order : compare(x->source.instruction, y->source.instruction);
    return order ? order : compare(x->destination.instruction, y->destination.instruction);
}

/* Equal events become one; those with the largest numbers come first. */
static void add_up(struct events *events)
{
    size_t kept = 0;
    if (events->count > 0)
        qsort(events->items, events->count, sizeof *events->items, by_object);
    for (size_t i = 0; i < events->count; i++) {
        if (kept > 0 && by_object(&events->items[kept - 1], &events->items[i]) == 0)
            events->items[kept - 1].count += events->items[i].count;
        else
            events->items[kept++] = events->items[i];
    }
    events->count = kept;
    if (events->count > 0)
        qsort(events->items, events->count, sizeof *events->items, by_count);
}

static struct record_transfer record_of(const struct event *event)
{
    return (struct record_transfer){.source_thread = event->source.thread,
                                    .destination_thread = event->destination.thread,
                                    .kind = (uint8_t)event->kind,
                                    .true_sharing = (uint8_t)event->true_sharing,
                                    .line_size = (uint16_t)line_size};
}

static void write_event(struct profile_writer *writer, const struct event *event, uint64_t now_ns)
{
    struct object_identity object = object_identity(event->object);
    struct record_transfer record = record_of(event);
    record.object_kind = (uint8_t)object.kind;
    record.object_reference = object.reference;
    record.object_address = event->line != 0 ? (event->line - 1) * line_size : 0;
    record.object_base = event->line != 0 ? event->base : object.symbol;
    record.object_size = event->size;
    record.source_ip = instruction_at(event->source.instruction)->ip;
    record.source_offset = event->source.offset;
    record.source_width = event->source.width;
    record.destination_ip = instruction_at(event->destination.instruction)->ip;
    record.destination_offset = event->destination.offset;
    record.destination_width = event->destination.width;
    record.transfers = (double)event->count;
    profile_writer_append(writer, RECORD_TRANSFER, &record, sizeof record, NULL, 0, now_ns);
}

void sharing_write(struct profile_writer *writer, bool detailed, uint64_t now_ns)
{
    if (coherence == NULL)
        return;
    struct events events = collect();
    if (events.count > 0)
        qsort(events.items, events.count, sizeof *events.items, by_count);
    /* What was written leaves nothing to its pair: that is written, too, and takes the place of
     * what an earlier snapshot said of the pair. */
    for (size_t i = 0; i < events.count; i++) {
        if (detailed && i < DETAILED_MAX && events.items[i].line != 0) {
            write_event(writer, &events.items[i], now_ns);
            events.items[i].count = 0;
            forget_object(&events.items[i]);
        } else if (detailed) {
            forget_line(&events.items[i]);
        } else {
            forget_object(&events.items[i]);
        }
    }
    add_up(&events);
    for (size_t i = 0; detailed && i < events.count; i++) {
        if (i < DETAILED_MAX && events.items[i].count > 0 && knows_object(&events.items[i])) {
            write_event(writer, &events.items[i], now_ns);
            events.items[i].count = 0;
        }
        forget_object(&events.items[i]);
    }
    add_up(&events);
    for (size_t i = 0; i < events.count; i++)
        write_event(writer, &events.items[i], now_ns);
    free(events.items);
}

uint64_t sharing_lost(void)
{
    uint64_t lost = 0;
    for (struct sharing *sharing = all; sharing != NULL; sharing = sharing->following) {
        pthread_mutex_lock(&sharing->lock);
        lost += sharing->untracked + (sharing->thread != NULL ? sharing->thread->untracked : 0);
        pthread_mutex_unlock(&sharing->lock);
    }
    return lost;
}

void sharing_after_fork(void)
{
    pthread_mutex_init(&list_lock, NULL);
    all = NULL;
    parallel = false;
    if (coherence != NULL)
        coherence = exact_coherence_create(line_size);
}
