/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the estimate of communication share. */
#ifndef REUSE_ANALYSIS_COMMUNICATION_INTERNAL_H
#define REUSE_ANALYSIS_COMMUNICATION_INTERNAL_H

#include "analysis/communication/communication.h"
#include "analysis/curves/line_uses.h"
#include "analysis/internal.h"

/* Longer than what a handler of ours holds a thread up for. */
enum { HANDLER_NS = 200 * 1000 };

/* n observations that show nothing leave 3/n possible (95 %). */
enum { RULE_OF_THREE = 3 };

struct communication {
    const struct analysis *analysis;
    uint32_t line_size;
    bool modelled; /* communication_is_modelled() */
    struct flow *flows;
    size_t count, capacity;
    size_t value_capacity; /* flows that `values` has room for */

    /* Sampled profiles. */
    uint32_t replicates;  /* bootstrap replicates; 0: exact */
    float *values;        /* [flow][replicate], beside flow.transfers */
    double least;         /* transfers that one more watch would have added, had it seen one */
    size_t watched_flows; /* that rest on sampled stores: the first of all */
};

/* A new flow at the end, zeroed. Valid until the next call. */
struct flow *communication_add(struct communication *);
/* Room for its replicates in `values`, zeroed. */
float *communication_more_values(struct communication *);

/* communication_exact.c: flows from counted transfers. False with a message. */
bool communication_from_counts(struct communication *, char *message, size_t message_size);

/* communication_sampled.c: flows from watches after sampled stores. False with a message. */
bool communication_from_watches(struct communication *, char *message, size_t message_size);

/* ---- sampled profiles ---- */

/* The access of a sample as one of a transfer; where the line of a sample is. */
struct flow_end communication_sample_end(const struct record_sample *, uint32_t line_size);
void communication_describe_flow(const struct analysis *, uint32_t sample, struct flow *);

/* communication_wider.c: from flows at the run's line size to those at the larger one that is
 * asked for. */
void communication_widen(struct communication *);
/* Where between its bounds a replicate (1 ..) takes what is not known: 0 .. 1. */
double communication_doubt(uint32_t replicate);
/* communication_neighbours.c: adds flows between lines of the run's size. */
void communication_add_neighbours(struct communication *);

/* communication_limits.c: scales the modelled flows from `first` on down to what their receivers'
 * CPU time has room for. */
void communication_limit_to_time(struct communication *, size_t first);

/* turns.c: turns of threads that poll, and how many each that was looked at stands for. */
struct seen_turn {
    const struct record_turn *record;
    uint32_t profile;
    double stands_for; /* turns; 0: nothing tells how many there were */
};

struct turn_group { /* of one thread after waits in one place, whose number is known */
    uint32_t profile, thread_id;
    uint64_t loop;
};

struct turns {
    struct seen_turn *items; /* by sample */
    size_t count;
    struct turn_group *groups;
    size_t group_count;
};
void turns_create(const struct analysis *, struct turns *);
void turns_free(struct turns *);
/* Stores that the sampled store of a turn stands for. */
double turns_weight(const struct turns *, const struct analysed_sample *);
/* Whether turns of the thread are known, and whether the sample is of one of their loops: then the
 * stores of that thread, or there, are counted by turns. */
bool turns_cover(const struct turns *, uint32_t profile, uint32_t thread_id);
bool turns_cover_sample(const struct turns *, const struct analysed_sample *);

/* What happens in a segment, in the order in which it counts at one time. */
enum arrival_class { ARRIVAL_READ, ARRIVAL_END };

/* An arrival that was seen and tells something. */
struct arrival {
    const struct record_line_event *event;
    uint32_t watch;      /* index */
    uint32_t previous;   /* an earlier read of the same watch, + 1; 0: none */
    uint32_t reader;     /* of a read: number of its thread among the readers of the stratum */
    uint8_t class;       /* enum arrival_class */
    bool own;            /* of the thread whose store began the segment */
    double at;           /* ns after the store */
    double multiplicity; /* arrivals that it stands for; 0: it only ends the watch */
    bool certain;        /* every watch would have shown it: it counts in the sampled word */
    uint64_t bytes;      /* of the line, that the access itself touched */
};

/* A sampled store whose line was watched. */
struct followed {
    uint32_t sample;   /* index into analysis.samples */
    uint32_t position; /* of it in segments.samples */
    uint32_t stratum;
    const struct record_line_watch *record;
    double until;       /* ns: end of the segment, or of what is known of it */
    double loads_until; /* of other threads' loads */
    uint32_t last_read; /* arrival that was the last read in it, + 1; 0: none */
    bool to_the_end;    /* of the segment, its memory or the process: nothing can come later */
};

/* Stores that are estimated together. */
struct store_stratum {
    bool within;                         /* followed by a store of their own in the window */
    size_t first_arrival, arrival_count; /* sorted by time, class */
    size_t first_watch, watch_count;     /* of by_end and by_loads */
    uint32_t first_reader, reader_count;
};

struct segments {
    /* Store samples in use. */
    uint32_t *samples;    /* indexes into analysis.samples */
    double *weights;      /* by position in samples: stores, where not told by time; else 0 */
    uint32_t *stratum_of; /* by position in samples */
    /* By position: bytes that the thread was sampled to touch at the line at that time, and those
     * that any thread was sampled to store to. */
    uint64_t *touched, *written;
    size_t count;
    struct followed *watches;
    uint32_t *by_end;   /* watches by stratum, then until, ascending */
    uint32_t *by_loads; /* the same by loads_until */
    size_t watch_count;
    struct arrival *arrivals;
    size_t arrival_count;
    struct store_stratum *strata;
    size_t stratum_count;
    uint32_t reader_count; /* of all strata */
    struct line_uses uses;
};

/* segments.c: collects and stratifies. */
void segments_create(const struct analysis *, const struct turns *, struct segments *);
/* Stores that the sample at that position stands for. */
double segments_weight(const struct analysis *, const struct segments *, uint32_t replicate,
                       size_t position);
void segments_free(struct segments *);
/* Where the sample (index into analysis.samples) stands in segments.samples; or segments.count. */
size_t segments_position(const struct segments *, uint32_t sample);

/* competing_risks.c: what followed each arrival's kind of store, on average. */
struct masses {
    double *arrival; /* [arrival]: transfers (reads) or ends per store of the stratum */
    double *scale;   /* [reader]: for the copies that ends take from readers */
    /* Room for one stratum's readers. */
    double *unread, *unseen, *followed, *sum, *seen_sum, *raw, *taken;
};
void masses_create(const struct segments *, struct masses *);
void masses_free(struct masses *);
void masses_of_stratum(const struct analysis *, const struct segments *,
                       const struct store_stratum *, uint32_t replicate, struct masses *);
/* How many copies of a reader an end takes: see add_end(). 0: none. */
double copies_taken(const struct arrival *end, const struct arrival *read);

/* communication_polled.c: stores that polling threads wait for. */
struct polled_stratum { /* one instruction of one thread */
    uint32_t profile, thread_id;
    uint64_t ip;
    double rate;     /* stores per ns of polling */
    bool fast;       /* they come sooner than traps can tell */
    double segments; /* that they open, in the replicate estimated last */
};

struct polled_flow {
    uint32_t sample; /* index into analysis.samples */
    uint32_t stratum;
    double factor; /* transfers per segment of the stratum */
    enum transfer_kind kind;
    struct flow_end source, destination;
    bool true_sharing;
};

struct polled_line {
    uint32_t profile;
    uint64_t line;
    bool awaited; /* stores to the polled bytes themselves were seen */
};

struct polled {
    struct polled_line *lines; /* that threads were seen to poll, sorted */
    size_t line_count;
    struct polled_stratum *strata;
    size_t count;
    struct polled_flow *flows;
    size_t flow_count, flow_capacity;
};
/* Not those of stores that are counted by turns. */
void polled_create(const struct analysis *, const struct turns *, struct polled *);
void polled_free(struct polled *);
/* Stores to such a line are counted from the side of the thread that polls. */
bool polled_has_line(const struct polled *, uint32_t profile, uint64_t line);
/* The same, and what the thread polls is stored to: it does not just lie beside other data. */
bool polled_is_awaited(const struct polled *, uint32_t profile, uint64_t line);
void polled_estimate(const struct analysis *, struct polled *, uint32_t replicate);

/* communication_sampled.c: the two accesses of a transfer. */
struct flow_end communication_event_end(const struct record_line_event *);

/* segment_bytes.c: fills touched and written. */
void segments_find_bytes(const struct analysis *, const struct line_uses *, struct segments *);

/* communication_contended.c: adds flows of lines that a thread stores to again within nanoseconds,
 * while others use them. */
void communication_add_contended(struct communication *, const struct segments *,
                                 const struct polled *);

/* communication_processes.c: adds flows over memory that processes share, at the line size that is
 * asked for. */
void communication_add_processes(struct communication *);

/* communication_meetings.c: adds flows between threads that no register watched, at the line size
 * that is asked for. */
void communication_add_meetings(struct communication *);

#endif
