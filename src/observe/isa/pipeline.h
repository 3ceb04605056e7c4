/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long interpreted code would take: a coarse model of an out-of-order processor, as throughput
 * predictors have it (Abel and Reineke, uiCA, ICS 2022), but fed with what was executed.
 *
 * Where no counter tells how many accesses a thread makes per nanosecond, loops whose variables say
 * nothing are compared by this model: it knows what chains of operations wait for each other,
 * branches that are mispredicted, stores that a load waits for, and lines that come from beyond the
 * first cache. It need not be right in all, only alike for the loops of a program: what it is off
 * by in common is found from those that were measured (docs/estimators.md, section 1).
 *
 * Three processors run side by side, which differ in where lines come from that the code has not
 * used lately: they are in the first cache all the same; they come from the second; from memory,
 * the sooner if their neighbours were used before, for then they have been prefetched. The code
 * itself says nothing of that but how many such lines there are: the curve does.
 *
 * How many instructions and accesses the processor begins in a cycle is measured on the one at hand
 * (processor_speed.h of the runtime): when a burst begins, for another thread of the same core
 * takes its share.
 *
 * Times are in parts of a cycle, PIPELINE_CYCLE. Pure; no allocation; signal-safe. 40 KiB.
 */
#ifndef REUSE_ISA_PIPELINE_H
#define REUSE_ISA_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "isa/branch_predictor.h"

enum {
    PIPELINE_CYCLE = 120, /* a multiple of all widths but seven */
    PIPELINE_WIDEST = 8,
    PIPELINE_REGISTERS = 64,
    /* Instructions under way, powers of two: of processors that begin four a cycle (Skylake 224,
     * Zen 2 224), and of wider ones (Zen 4 320, Golden Cove 512). */
    PIPELINE_NARROW_WINDOW = 256,
    PIPELINE_WINDOW = 512,
    PIPELINE_SETS = 256, /* of two lines each: 32 KiB */
    PIPELINE_STORES = 256,
    PIPELINE_TURNS = 256,
    /* Lines on their way to the first cache at a time (Skylake 12, Golden Cove 16, Zen 4 24). */
    PIPELINE_FILLS = 16,
    /* Of a load whose line is in the first cache. */
    PIPELINE_LOAD = 4 * PIPELINE_CYCLE,
    /* Cycles of the fastest division: what takes as long keeps the divider busy. */
    PIPELINE_DIVISION = 14,
};

/* Instructions and accesses that begin in a cycle, 1 to PIPELINE_WIDEST. */
struct pipeline_width {
    uint8_t instructions, accesses;
};

/* What an instruction and an access take of the units for them: parts of a cycle, at least
 * PIPELINE_CYCLE / PIPELINE_WIDEST and at most PIPELINE_CYCLE. And what a loaded word takes that
 * was stored by the same name (see pipeline_load()) once it is known: less than PIPELINE_LOAD where
 * the processor renames memory as it does registers (Zen 2, Golden Cove and later). */
struct pipeline_pace {
    uint32_t instruction, access, forward;
};

/* What takes cycles on one processor and none on another, in parts of a cycle. */
struct pipeline_costs {
    /* From one taken branch to the next, if it was among the last PIPELINE_TURNS, and else: the
     * nearest table of targets is small. */
    uint32_t turn, far_turn;
    uint32_t refill; /* after a misprediction, from when it is known */
    uint32_t store;  /* from one store to the next */
    /* From one line of memory to the next if they are scattered, and if one is next to the other.
     */
    uint32_t scattered, streamed;
    uint32_t memory; /* that a scattered line of memory is later than one in the first cache */
};

/* Where nothing was measured: Zen 4. */
extern const struct pipeline_costs pipeline_usual_costs;

static inline struct pipeline_pace pipeline_pace_of(struct pipeline_width width)
{
    return (struct pipeline_pace){
        .instruction = (uint32_t)PIPELINE_CYCLE / width.instructions,
        .access = (uint32_t)PIPELINE_CYCLE / width.accesses,
        .forward = PIPELINE_LOAD,
    };
}

/* Rounded. */
static inline struct pipeline_width pipeline_width_of(struct pipeline_pace pace)
{
    return (struct pipeline_width){
        .instructions = (uint8_t)((PIPELINE_CYCLE + pace.instruction / 2) / pace.instruction),
        .accesses = (uint8_t)((PIPELINE_CYCLE + pace.access / 2) / pace.access),
    };
}

/* Where lines come from that were not used lately. */
enum pipeline_source { PIPELINE_HELD, PIPELINE_NEAR, PIPELINE_FAR, PIPELINE_SOURCES };

/* One of the processors. */
struct pipeline_timeline {
    uint32_t dispatch; /* of the instruction under way */
    uint32_t complete; /* its last operation */
    uint32_t retired;
    /* When what makes accesses, what makes stores, the way to memory, the divider, and what
     * foresees taken branches are free. */
    uint32_t memory, stores, lines, divider, fetch;
    uint32_t locked; /* the last atomic access is complete, which later ones wait for */
    uint32_t filled, fills[PIPELINE_FILLS]; /* lines so far; when the last of them are there */
    uint32_t ready[PIPELINE_REGISTERS];     /* when each register is known */
    uint32_t window[PIPELINE_WINDOW];       /* when the instruction so many before was retired */
    uint32_t stored[PIPELINE_STORES];       /* when the word that was stored last is known */
    uint32_t arrives[PIPELINE_SETS][2];     /* when each line is there */
};

struct pipeline {
    bool timing;
    struct pipeline_pace pace;
    const struct pipeline_costs *costs;
    uint32_t window; /* instructions under way */
    struct pipeline_timeline from[PIPELINE_SOURCES];
    uint32_t instructions, accesses; /* timed */
    uint32_t new_lines;              /* of these accesses, those whose line was not used lately */
    uint32_t scattered;              /* of these, those next to no line that was */
    uint32_t line[PIPELINE_SETS][2]; /* in the first cache, 1 + number; the later one first */
    uint32_t store[PIPELINE_STORES]; /* word, 1 + number */
    uint32_t name[PIPELINE_STORES];  /* by which it was stored */
    uint32_t turns[PIPELINE_TURNS / 2][2]; /* branches taken lately, 1 + address; the later first */
    /* From here on what pipeline_begin() leaves. */
    struct branch_predictor predictor;
};

/* Nothing is under way, and no line is known. Branches are, if the memory was used before: a
 * processor knows those of a program that has run for a while. At first all is 0. What follows is
 * not timed: it only makes lines and branches known, by pipeline_warm(), pipeline_branch(),
 * pipeline_jump() and pipeline_taken(). The costs must stay as long as it is told; they may change
 * until it is timed. */
void pipeline_begin(struct pipeline *, struct pipeline_pace, const struct pipeline_costs *);
void pipeline_warm(struct pipeline *, uint64_t address);

/* Whether the line of the address was not used lately, nor one next to it. No branch is taken. */
bool pipeline_scattered(const struct pipeline *, uint64_t address);

/* From here on it is timed. */
void pipeline_time_from_here(struct pipeline *);

/* An instruction begins. fused: it takes no room of its own. What it does follows, and its end. */
void pipeline_instruction(struct pipeline *, bool fused);
void pipeline_retire(struct pipeline *);

/* Registers that an operation waits for and sets: a bit each. */
struct pipeline_operands {
    uint64_t reads, writes;
};

/* latency in cycles; from PIPELINE_DIVISION on it is a division, or a root. */
void pipeline_compute(struct pipeline *, struct pipeline_operands, unsigned latency);
/* name: how code names the place, by which processors that rename memory know it again: the same
 * for the same base register, displacement and width; 0: there is an index. */
void pipeline_load(struct pipeline *, struct pipeline_operands, uint64_t address, uint32_t name);
void pipeline_store(struct pipeline *, struct pipeline_operands, uint64_t address, uint32_t name);

/* The access that the instruction under way has made is atomic: it takes so many cycles from when
 * its operands and the accesses before are complete, and those that follow wait for it. */
void pipeline_lock(struct pipeline *, unsigned latency);

/* One of many accesses of one instruction, which wait for nothing. */
void pipeline_touch(struct pipeline *, uint64_t address, unsigned width);

/* A conditional branch at ip, taken or not; an indirect one to target. */
void pipeline_branch(struct pipeline *, uint64_t reads, uint64_t ip, bool taken);
void pipeline_jump(struct pipeline *, uint64_t reads, uint64_t ip, uint64_t target);

/* Execution goes on elsewhere than at the next instruction, by the one at ip. */
void pipeline_taken(struct pipeline *, uint64_t ip);

/* What has been timed and retired. */
struct pipeline_time {
    uint32_t instructions, accesses, new_lines, scattered;
    uint32_t cycles[PIPELINE_SOURCES];
};
struct pipeline_time pipeline_time(const struct pipeline *);

#endif
