/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records of bursts. At each expiry an engine looks at the thread's next BURST_ACCESSES accesses,
 * in order. Those of the first half are probes: each is followed to the end of the burst, and
 * either its line is used again there (resolved: reuse time and stack distance are exact) or not
 * (open). A burst is one observation of the run, however many probes it has (docs/estimators.md).
 * What all records have in common: format.h.
 */
#ifndef REUSE_PROFILE_FORMAT_BURSTS_H
#define REUSE_PROFILE_FORMAT_BURSTS_H

#include <stdint.h>

enum {
    BURST_ACCESSES = 4096,
    BURST_PROBES = BURST_ACCESSES / 2, /* accesses that are probes: the first ones */
    /* Looked at for one burst at most: code that hardly accesses memory would take milliseconds. A
     * burst that they end has INTERPRETER_BUDGET as its stop. */
    BURST_INSTRUCTIONS_MAX = 32 * BURST_ACCESSES,
};

/* Line sizes that wide bursts and pursuits tell, by index: the run's; half, twice, four times that
 * (probe_line_size()). */
enum { PROBE_LINE_SIZES = 4 };

enum burst_flags {
    BURST_WIDE = 1, /* probes are told at PROBE_LINE_SIZES line sizes, else at the run's alone */
    BURST_RECORDED = 2, /* the first access was given by hardware, and had been executed */
};

/*
 * The tail holds the probes, grouped (profile/probes.h). An access that touches two lines is a
 * probe in each of them, so there may be more probes than accesses.
 */
struct record_burst {
    uint64_t burst_id;
    uint32_t thread_id;
    uint32_t context_id; /* of the interrupted instruction; 0 unknown */
    uint64_t monotonic_ns;
    uint64_t app_ns;    /* at its first access */
    uint64_t weight_ns; /* app time that it stands for (taken in inverse proportion) */
    uint64_t loop;      /* identifies the loop for access rates: its head's ip; 0 none */
    uint32_t accesses;  /* in it; fewer than BURST_ACCESSES if it had to end early */
    uint32_t probes;    /* accesses that are probes: min(accesses, BURST_PROBES) */
    uint32_t touches;   /* lines of the run's size that they touched: probes in the tail */
    uint32_t open;      /* of these, not used again in the burst */
    uint32_t region_id; /* innermost span of the API that the thread was in; 0 none */
    uint16_t cpu;
    uint16_t stops;      /* places at which looking ahead ended and was taken up again */
    uint8_t stop;        /* enum interpreter_stop that ended it early; 0: it is complete */
    uint8_t flags;       /* enum burst_flags */
    uint16_t groups;     /* in the tail */
    uint32_t probe_size; /* bytes of the tail in use; zeros follow up to a multiple of 8 */
    unsigned char tail[];
};

/*
 * How the addresses of an instruction follow each other in a burst. A step is far if it is as long
 * as a line or longer: it never leads to the line before.
 */
struct address_steps {
    uint64_t ip;
    uint64_t loaded_by; /* instruction that loaded what most of its addresses are made of; 0: none
                           or not known */
    int64_t stride;     /* bytes: the step that more than half of the far ones are, if one is */
    uint32_t accesses;  /* of the instruction */
    uint32_t far;       /* steps between them */
    uint32_t even;      /* of these, those as long as the step before */
    uint32_t traced;    /* accesses of which it is known what their address was made of */
    uint32_t loaded;    /* of these, of a loaded value */
    /* Accesses to lines since whose last use no more others were used than the first cache has room
       for (record_cache of level 1; where that has none, 64 sets of 8 ways); and those that it does
       not hold all the same. Counted where an instruction goes by even steps of a multiple of 256
       bytes, else 0. */
    uint16_t judged, crowded;
};

/* Of a burst: instructions with many far steps. */
struct record_steps {
    uint64_t burst_id;
    uint32_t count;
    uint32_t reserved;
    struct address_steps steps[];
};

/* Loads of an instruction whose lines were timed when the burst was interpreted: lines that were
 * not used lately, nor one next to them (docs/measuring-the-rate.md, "Timed lines"). */
struct timed_loads {
    uint64_t ip;
    uint32_t memory_ns;   /* that those from memory took longer than a line at hand, all together */
    uint16_t timed;       /* loads */
    uint16_t from_memory; /* of these */
};

/* Of a burst: all such instructions. From version 4.2 on. */
struct record_timed_loads {
    uint64_t burst_id;
    uint32_t count;
    uint32_t reserved;
    struct timed_loads loads[];
};

#endif
