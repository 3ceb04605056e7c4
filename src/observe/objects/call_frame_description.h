/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an object's call frame information says of one function: its frame description entry (FDE),
 * together with the common information entry (CIE) that it refers to, found by the binary search
 * table of .eh_frame_hdr. Internal to call_frame.c. Signal-safe; from any thread, nothing is kept.
 */
#ifndef REUSE_OBJECTS_CALL_FRAME_DESCRIPTION_H
#define REUSE_OBJECTS_CALL_FRAME_DESCRIPTION_H

#include <stdbool.h>
#include <stdint.h>

#include "objects/call_frame_expression.h"

/* Points into the object's memory, which is only read. */
struct frame_description {
    struct frame_reader initial; /* instructions of the CIE */
    struct frame_reader program; /* instructions of the FDE */
    uint64_t start;              /* first address described */
    uint64_t code_alignment;     /* bytes of code that an advance of 1 stands for */
    int64_t data_alignment;      /* bytes that an offset of 1 stands for */
    bool is_signal;              /* of a signal trampoline */
};

/*
 * Finds the description of the code at ip. eh_frame_header: the loaded PT_GNU_EH_FRAME segment of
 * the object that contains ip; it must stay mapped as long as the description is used. False, and
 * nothing that could be used, when the object does not describe ip, or in a form that compilers for
 * our machines do not write.
 */
bool frame_description_find(const void *eh_frame_header, uint64_t ip, struct frame_description *);

#endif
