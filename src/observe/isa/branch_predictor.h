/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which branches a processor foresees: by what followed the same history, in tables of histories
 * that grow geometrically; of those whose tags match, the longest decides. Directions after Seznec
 * and Michaud (A case for (partially) tagged geometric history length branch prediction, JILP 8,
 * 2006), targets after Seznec (A 64-Kbytes ITTAGE indirect branch predictor, JWAC-2, 2011), both in
 * their simplest form: an entry that is wrong hands over to the next longer history at once.
 *
 * It learns from all that it is told, over many bursts, as that of a processor does over the run.
 * Pure; no allocation; signal-safe. 19 KiB; at first all is 0.
 */
#ifndef REUSE_ISA_BRANCH_PREDICTOR_H
#define REUSE_ISA_BRANCH_PREDICTOR_H

#include <stdbool.h>
#include <stdint.h>

enum {
    PREDICTOR_ALONE = 4096, /* branches by themselves */
    PREDICTOR_TABLES = 4,
    PREDICTOR_ENTRIES = 1024, /* of a table */
    PREDICTOR_TARGETS = 256,  /* of a table of targets */
};

struct branch_predictor {
    uint64_t history; /* a bit of each branch, three of each target; the last lowest */
    uint8_t alone[PREDICTOR_ALONE]; /* 0: never seen; 1..4: not taken to taken */
    uint8_t after[PREDICTOR_TABLES][PREDICTOR_ENTRIES]; /* likewise, after a history */
    uint8_t tag[PREDICTOR_TABLES][PREDICTOR_ENTRIES];   /* 0: none */
    uint32_t target[PREDICTOR_TABLES][PREDICTOR_TARGETS];
    uint16_t target_tag[PREDICTOR_TABLES][PREDICTOR_TARGETS]; /* 0: none */
    uint8_t target_sure[PREDICTOR_TABLES][PREDICTOR_TARGETS]; /* 0..3 */
};

/* A conditional branch at ip was taken or not, an indirect one went to target: returns whether it
 * was mispredicted. What was never seen is foreseen. */
bool predictor_branch(struct branch_predictor *, uint64_t ip, bool taken);
bool predictor_jump(struct branch_predictor *, uint64_t ip, uint64_t target);

#endif
