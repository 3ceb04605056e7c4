/* SPDX-License-Identifier: BSD-3-Clause */
/* See coherence_model.h. A thread's cache holds a line from its access to it until another writes.
 */
#include "coherence_model.h"

#include <stdlib.h>
#include <string.h>

enum { NOBODY = -1, LARGEST_LINE = 256 };

/* A set of bytes of a line. */
struct bytes {
    uint64_t words[LARGEST_LINE / 64];
};

struct copy {
    bool held;
    struct bytes accessed; /* by its thread since it got the copy */
    struct bytes written;  /* by others since it lost the copy; ever, if it had none */
    size_t last_offset;    /* of its thread's last access, within the object */
};

struct line {
    int last_writer;
    struct copy copies[]; /* one per thread */
};

struct coherence_model {
    uint32_t line_size;
    size_t threads, lines, line_bytes;
    char *memory; /* the lines */
};

static struct line *line_at(struct coherence_model *model, size_t index)
{
    return (struct line *)(void *)(model->memory + index * model->line_bytes);
}

struct coherence_model *coherence_model_create(size_t bytes, uint32_t line_size, size_t threads)
{
    struct coherence_model *model = calloc(1, sizeof *model);
    check_allocation(model, "the truth", sizeof *model);
    model->line_size = line_size;
    model->threads = threads;
    model->lines = (bytes + line_size - 1) / line_size;
    model->line_bytes = sizeof(struct line) + threads * sizeof(struct copy);
    model->memory = calloc(model->lines, model->line_bytes);
    check_allocation(model->memory, "the truth", model->lines * model->line_bytes);
    for (size_t i = 0; i < model->lines; i++)
        line_at(model, i)->last_writer = NOBODY;
    return model;
}

void coherence_model_free(struct coherence_model *model)
{
    free(model->memory);
    free(model);
}

static struct bytes bytes_between(size_t first, size_t end)
{
    struct bytes set = {{0}};
    for (size_t i = first; i < end; i++)
        set.words[i / 64] |= UINT64_C(1) << i % 64;
    return set;
}

static void include(struct bytes *set, const struct bytes *more)
{
    for (size_t i = 0; i < LARGEST_LINE / 64; i++)
        set->words[i] |= more->words[i];
}

static bool meet(const struct bytes *a, const struct bytes *b)
{
    for (size_t i = 0; i < LARGEST_LINE / 64; i++)
        if (a->words[i] & b->words[i])
            return true;
    return false;
}

static void write_line(const struct coherence_model *model, struct line *line,
                       const struct bytes *bytes, struct coherence_event *event,
                       coherence_seen *seen, void *context)
{
    for (size_t holder = 0; holder < model->threads; holder++) {
        struct copy *copy = &line->copies[holder];
        if (holder == event->destination)
            continue;
        if (!copy->held) {
            include(&copy->written, bytes);
            continue;
        }
        event->kind = line->last_writer == (int)holder ? WAW : WAR;
        event->source = holder;
        event->source_offset = copy->last_offset;
        event->true_sharing = meet(bytes, &copy->accessed);
        seen(context, event);
        *copy = (struct copy){.written = *bytes};
    }
    line->last_writer = (int)event->destination;
}

static void access_line(struct coherence_model *model, struct line *line, const struct bytes *bytes,
                        enum access_effect effect, struct coherence_event *event,
                        coherence_seen *seen, void *context)
{
    struct copy *mine = &line->copies[event->destination];
    int writer = line->last_writer;
    if (effect == WRITES) {
        write_line(model, line, bytes, event, seen, context);
    } else if (!mine->held && writer != NOBODY && writer != (int)event->destination) {
        event->kind = RAW;
        event->source = (size_t)writer;
        event->source_offset = line->copies[writer].last_offset;
        event->true_sharing = meet(bytes, &mine->written);
        seen(context, event);
    }
    if (!mine->held)
        *mine = (struct copy){.held = true};
    include(&mine->accessed, bytes);
    mine->last_offset = event->destination_offset;
}

void coherence_model_access(struct coherence_model *model, size_t thread, size_t offset,
                            size_t width, enum access_effect effect, coherence_seen *seen,
                            void *context)
{
    size_t first = offset, end = offset + width;
    while (first < end) {
        size_t index = first / model->line_size, start = index * model->line_size;
        size_t stop = end < start + model->line_size ? end : start + model->line_size;
        struct bytes bytes = bytes_between(first - start, stop - start);
        struct coherence_event event = {.destination = thread, .destination_offset = first};
        access_line(model, line_at(model, index), &bytes, effect, &event, seen, context);
        first = stop;
    }
}
