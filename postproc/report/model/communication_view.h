/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the sections on communication work on: the flows of the profiles, and labels that say from
 * whom to whom, on which object and between which lines of source each of them goes.
 */
#ifndef REUSE_POSTPROC_COMMUNICATION_VIEW_H
#define REUSE_POSTPROC_COMMUNICATION_VIEW_H

#include "analysis/communication/communication.h"
#include "report/model/model.h"
#include "report/model/object_labels.h"

/* A thread, a core, a process or a rank. */
struct party {
    size_t profile;
    uint32_t id;      /* thread_id or origin_id of the profile, or number of the CPU or rank */
    int64_t number;   /* what people know it by: the kernel's tid or pid, the CPU, the rank */
    const char *name; /* of a thread or program; "rank"; "" for CPUs */
};

typedef ARRAY(struct party) party_list;

/* Where a flow was seen. */
enum flow_place {
    FLOW_PROGRAM, /* in the program's own code */
    FLOW_RUNTIME, /* both accesses in barriers, locks or thread management */
};

/* Arrays have one entry per flow. */
struct communication_view {
    struct communication *communication; /* NULL: nothing is known, for the reason in message */
    struct analysis *whole; /* that it rests on, where the model's is of one thread; else NULL */
    char message[512];
    size_t count;
    party_list threads, cores, processes, ranks;
    uint32_t *from_thread, *to_thread;   /* numbers in threads; GROUP_NONE: unknown */
    uint32_t *from_process, *to_process; /* likewise in processes; NULL: there is one alone */
    uint32_t *from_rank, *to_rank;       /* likewise in ranks; NULL: no ranks of a job */
    uint32_t *from_core, *to_core;       /* NULL: no CPUs were recorded */
    uint32_t *place;                     /* enum flow_place; GROUP_NONE: not asked for */

    /* After communication_view_label_code(). */
    uint32_t *from_line, *to_line; /* numbers in lines; GROUP_NONE: unknown */
    bool *counts_references;       /* the later access does (reference_counts.h) */
    ARRAY(struct code_line) lines;

    /* After communication_view_label_objects(): objects of the two accesses, which may differ. */
    uint32_t *from_object, *to_object;
    uint64_t *from_offset, *to_offset; /* of the accesses in their objects, or OFFSET_UNKNOWN */
    data_objects objects;
};

/* Created when first asked for; lives as long as the model. */
struct communication_view *communication_view_of(struct model *);
void communication_view_free(struct communication_view *);

/* Whether the address of an access belonged to several modules of the run, one after the other. */
bool code_is_ambiguous(const struct profile *, uint64_t ip);

void communication_view_label_code(struct model *, struct communication_view *);
void communication_view_label_objects(struct model *, struct communication_view *);

/* "0 dmtvm (1234)" or "CPU 3". The caller frees it. */
char *party_text(const struct party *, size_t number);

#endif
