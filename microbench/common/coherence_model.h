/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The definitions of communication, written down as plainly as possible: the lines of one object at
 * one line size, and for each line what every thread's cache knows of it.
 */
#ifndef MICROBENCH_COHERENCE_MODEL_H
#define MICROBENCH_COHERENCE_MODEL_H

#include "communication_truth.h"

struct coherence_model;

/* An event from a thread to a thread; offsets are those of the two accesses within the object. */
struct coherence_event {
    enum communication_kind kind;
    bool true_sharing;
    size_t source, destination;
    size_t source_offset, destination_offset;
};

typedef void coherence_seen(void *context, const struct coherence_event *);

struct coherence_model *coherence_model_create(size_t bytes, uint32_t line_size, size_t threads);
void coherence_model_free(struct coherence_model *);

/* One access that lies within the object, and may straddle lines. */
void coherence_model_access(struct coherence_model *, size_t thread, size_t offset, size_t width,
                            enum access_effect, coherence_seen *, void *context);

#endif
