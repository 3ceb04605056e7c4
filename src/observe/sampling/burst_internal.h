/* SPDX-License-Identifier: BSD-3-Clause */
/* What a burst consists of: for the files burst*.c and their tests alone. */
#ifndef REUSE_SAMPLING_BURST_INTERNAL_H
#define REUSE_SAMPLING_BURST_INTERNAL_H

#include "sampling/burst.h"

enum {
    BURST_LINES_PER_ACCESS = ACCESS_WIDTH_MAX / LINE_SIZE_MIN + 1,
    BURST_TOUCHES = BURST_ACCESSES * BURST_LINES_PER_ACCESS, /* at most */
    BURST_PROBE_TOUCHES = BURST_PROBES * BURST_LINES_PER_ACCESS,
    BURST_TOUCH_NONE = 0xffff,
};

/*
 * The lines of one size that the accesses touch, in order: an access to several touches the lowest
 * first. A touch is told by its number.
 */
struct burst_touches {
    uint32_t line_size;
    uint32_t count;
    uint32_t probes;                        /* the first so many are of accesses that are probes */
    uint16_t access[BURST_TOUCHES];         /* that makes the touch */
    uint16_t previous[BURST_TOUCHES];       /* touch of the same line, or BURST_TOUCH_NONE */
    uint16_t next[BURST_PROBE_TOUCHES];     /* likewise; none: it is open */
    uint16_t distance[BURST_PROBE_TOUCHES]; /* other lines touched until then, or to the end */
    uint64_t line[BURST_TOUCHES];           /* address / line size */
};

/* What tells groups apart, in words. */
struct burst_key {
    uint64_t ip, reuse_ip;
    uint64_t where; /* reference of the object, and path */
    uint64_t what;  /* kinds of object and access, and how blocks are tracked */
};

/* Probes that have everything in common but distance and time. */
struct burst_group {
    struct burst_key key;
    struct probe_group probe;
    /* Entries of burst.counts, by line size index. */
    uint16_t size[PROBE_LINE_SIZES];
    uint32_t first[PROBE_LINE_SIZES];
};

/* Where an instruction's last probe belonged: the next one mostly does, too. */
struct burst_instruction {
    struct burst_object object;
    uint16_t group; /* + 1; 0: none */
};

enum {
    BURST_TABLE = 16384,       /* places for touches: a third more than there are */
    BURST_GROUP_PLACES = 8192, /* likewise, for groups */
    BURST_COUNT_WORDS = BURST_TOUCHES / 64 + 8, /* one that is begun, and eight at a time */
    BURST_OBJECTS = 16,                         /* last found, searched one after the other */
    BURST_INSTRUCTIONS = 256,
    BURST_CODES = 8192, /* values of probe_code() */
};

struct burst {
    uint32_t line_size;  /* the run's */
    uint32_t line_sizes; /* 1, or PROBE_LINE_SIZES */
    bool recorded;
    uint32_t count, probes; /* accesses; of these, probes */
    uint32_t open, groups;
    struct random random; /* for places; goes on from burst to burst */
    struct access accesses[BURST_ACCESSES];

    struct burst_touches run, other;        /* lines of the run's size; of the others, one by one */
    uint16_t first_touch[BURST_PROBES];     /* of the access, in `run` */
    uint16_t group_of[BURST_PROBE_TOUCHES]; /* likewise */
    uint16_t open_touches[BURST_PROBE_TOUCHES];

    struct burst_group group[BURST_PROBE_TOUCHES];
    struct probe_count counts[PROBE_LINE_SIZES * BURST_PROBE_TOUCHES];
    uint32_t counted; /* of these */

    /* Scratch. A table's entries are numbers of touches or groups + 1; 0: free. */
    uint16_t table[BURST_TABLE];
    uint16_t group_table[BURST_GROUP_PLACES];
    uint64_t latest[BURST_COUNT_WORDS];   /* a bit for each touch that is its line's latest */
    uint8_t latest_in[BURST_COUNT_WORDS]; /* how many of a word's are set */
    struct burst_object objects[BURST_OBJECTS];
    uint32_t next_object;
    uint32_t group_places;                                     /* of the table, in use for groups */
    struct burst_instruction instructions[BURST_INSTRUCTIONS]; /* by hash */
    uint16_t other_group_of[BURST_PROBE_TOUCHES];
    uint16_t group_end[BURST_PROBE_TOUCHES];
    uint16_t by_group[BURST_PROBE_TOUCHES]; /* probes, group by group */
    uint16_t code_counts[BURST_CODES];      /* all zero between uses */
};

static inline uint32_t burst_hash(uint64_t key, uint32_t mask)
{
    return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 40) & mask;
}

/* Fills `touches` for lines of that size. */
void burst_find_uses(struct burst *, struct burst_touches *, uint32_t line_size);

/* That touch of a line of the run's size. */
struct burst_probe burst_probe_at(const struct burst *, uint32_t touch);

/* Groups the probes; find_uses() has been done for the run's line size. */
void burst_group_probes(struct burst *, const struct burst_host *);

#endif
