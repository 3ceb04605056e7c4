/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The options of a profiled run: one table for `reuse-run`, for the environment variables that the
 * runtime and the exact engine read, and for the documentation. `reuse-run --NAME VALUE` does
 * nothing but set the variable for its target, so a run can be had with either.
 *
 * A variable that is absent or empty means its default. Unknown REUSE_* variables are ignored.
 *
 * Everything here is pure: no allocation, no stdio, no locale, no system call, no global that is
 * written. Safe before main() and in a signal handler. Values are never truncated; messages quote
 * at most 100 bytes of them, without control characters.
 */
#ifndef REUSE_OPTIONS_H
#define REUSE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_id {
    OPTION_ENGINE,
    OPTION_BUDGET,
    OPTION_PERIOD,
    OPTION_LINE_SIZE,
    OPTION_OUTPUT,
    OPTION_FOLLOW,
    OPTION_EVENT,
    OPTION_DURATION,
    OPTION_SNAPSHOT,
    OPTION_METRICS,
    OPTION_INTERVAL,
    OPTION_SHARING,
    OPTION_REGISTERS,
    OPTION_SEED,
    OPTION_LINE_SIZES,
    OPTION_REGIONS,
    OPTION_RATE,
    OPTION_PARTITIONS,
    OPTION_PARTITION_GROUPS,
    OPTION_SHARED_CACHE,
    OPTION_PLACE,
    OPTION_TRY,
    OPTION_SIMULATE_LAYOUT,
    OPTION_SIMULATE_SKID,
    OPTION_SIMULATE_LOSS,
    OPTION_SIMULATE_TRAP,
    OPTION_SIMULATE_REGISTER,
    OPTION_RECORD_RAW,
    OPTION_REPLAY,
    OPTION_QUIET,
    OPTION_VERBOSE,
    OPTION_COUNT
};

struct option_description {
    const char *variable; /* "REUSE_ENGINE" */
    const char *name;     /* long option of reuse-run without its dashes */
    char letter;          /* short option, or 0 */
    const char *argument; /* what the option takes, as the help calls it; NULL: a switch */
    const char *given;    /* switches: the value that the option stands for; else NULL */
    const char *fallback; /* the default as the user would write it, "" when there is none */
    const char *values;   /* what is accepted, for messages: "a percentage from 0.1 to 50" */
    const char *help;     /* one line of at most 54 characters, without the default */
};

/* Indexed by enum option_id. */
extern const struct option_description option_table[OPTION_COUNT];

enum engine {
    ENGINE_AUTO,
    ENGINE_PMU,
    ENGINE_CLOCK,
    ENGINE_EXACT,
    ENGINE_SIMULATE,
    ENGINE_NONE, /* no profile: the program with its threads placed, to be timed */
    ENGINE_COUNT
};

/* "auto", "pmu" ... */
extern const char *const engine_names[ENGINE_COUNT];

/* Whose records the simulated PMU writes: Intel's, AMD's or Arm's. */
enum simulated_layout { LAYOUT_PEBS, LAYOUT_IBS, LAYOUT_SPE, LAYOUT_COUNT };

/* "pebs", "ibs", "spe" */
extern const char *const simulated_layout_names[LAYOUT_COUNT];

/* Bits of options.follow: which offspring are profiled too, each into its own file. */
enum { FOLLOW_FORK = 1, FOLLOW_EXEC = 2 };

enum {
    OPTIONS_OUTPUT_MAX = 4096, /* bytes of an output pattern or path, terminator included */
    OPTIONS_EVENT_MAX = 256,
    OPTIONS_REGIONS_MAX = 4096,
    OPTIONS_LINE_SIZES_MAX = 4,
    OPTIONS_PARTITIONS_MAX = 8,
    OPTIONS_REGISTERS_MAX = 4,
    OPTIONS_GROUPS_MAX = 4096,
    OPTIONS_MESSAGE_MAX = 512, /* enough for any message made here */
};

/* The default of --output in the ranks of a job whose name is known (job.h). */
#define OPTIONS_OUTPUT_OF_JOB "reuse.%j.%r.rprof"

#define OPTIONS_BUDGET_MIN 0.1
#define OPTIONS_BUDGET_MAX 50.0
#define OPTIONS_PERIOD_MAX UINT64_C(1000000000000)
#define OPTIONS_DURATION_MAX 1e9
#define OPTIONS_SNAPSHOT_MIN 1.0
#define OPTIONS_SNAPSHOT_MAX 1e9
#define OPTIONS_RATE_MIN 0.001
enum {
    OPTIONS_SKID_MAX = 1000000,
    OPTIONS_REGISTER_MIN = 8, /* bytes */
    OPTIONS_REGISTER_MAX = 128,
};

struct options {
    enum engine engine;
    double budget_percent; /* share of the target's CPU time that profiling may take, 0.1..50 */
    uint64_t period;       /* fixed sampling period: ns of CPU time (clock), events (pmu), accesses
                              (simulate); 0: governed by the budget */
    uint32_t line_size;    /* bytes, power of two, LINE_SIZE_MIN..LINE_SIZE_MAX */
    unsigned follow;       /* FOLLOW_* */
    double duration;       /* seconds of wall time after which sampling stops; 0: no limit */
    int snapshot_signal;   /* number of the signal that asks for a snapshot; 0: none does */
    double snapshot_every; /* seconds of wall time between snapshots; 0: none by time */
    double interval;       /* seconds of wall time between rewrites of `metrics` */
    bool sharing;          /* watch other threads' stores; off saves registers and time */
    unsigned registers;    /* debug registers to use at most, 0..OPTIONS_REGISTERS_MAX */
    bool quiet;            /* no line on stderr except errors */
    bool verbose;          /* more lines on stderr */
    bool seed_given;       /* else the engine draws a seed and records it */
    uint64_t seed;
    /* The exact engine's own: */
    uint32_t line_sizes[OPTIONS_LINE_SIZES_MAX]; /* also computed; valid, distinct */
    unsigned line_size_count;
    double rate;         /* share of the lines to follow, OPTIONS_RATE_MIN..1 */
    unsigned partitions; /* objects to follow in split caches, 0..OPTIONS_PARTITIONS_MAX */
    bool shared_cache;   /* compute the cache that all threads share */
    /* The engine simulate's own: */
    enum simulated_layout simulate_layout;
    uint32_t simulate_skid;       /* accesses from the sampled one to its record's delivery */
    double simulate_loss_percent; /* of the records, 0..100 */
    bool simulate_trap_before;    /* debug registers trap before the access, as Arm's */
    uint32_t simulate_register;   /* bytes that one watches, power of two, at most the line */
    uint64_t texts_given; /* bits of those of the texts below that have no default and are not "" */
    char event[OPTIONS_EVENT_MAX];     /* libpfm4 name or rXXXX; "" lets the engine choose */
    char output[OPTIONS_OUTPUT_MAX];   /* pattern, valid for options_expand_output() */
    char regions[OPTIONS_REGIONS_MAX]; /* functions, separated by commas; "" none */
    char partition_groups[OPTIONS_GROUPS_MAX]; /* see exact/partition_groups.h; "" none */
    char place[OPTIONS_OUTPUT_MAX];   /* mapping file (placement_file.h); "": threads stay free */
    char metrics[OPTIONS_OUTPUT_MAX]; /* pattern of a file that reuse-run keeps; "": none */
    char try[OPTIONS_OUTPUT_MAX];     /* changes to heap blocks (heap_remedy.h); "": none */
    char record_raw[OPTIONS_OUTPUT_MAX]; /* pattern of a tape to record; "": none */
    char replay[OPTIONS_OUTPUT_MAX];     /* a tape to repeat instead of a program's run; "": none */
};

/* Whether the text of that option is not "". Not of OPTION_OUTPUT, which has a default. The text
 * itself is on pages of its own, which a short process is not to touch in vain. */
static inline bool options_has_text(const struct options *options, enum option_id id)
{
    return options->texts_given >> id & 1;
}

/* Every option at its default. */
void options_default(struct options *);

/*
 * Sets one option from its text. Returns 0, or -1 with *options unchanged and one line in `reason`
 * that does not name the option, such as "'90' is not a percentage from 0.1 to 50". An empty value
 * sets the default.
 */
int options_set(struct options *, enum option_id, const char *value, char *reason,
                size_t reason_size);

/*
 * Reads all variables from an environment (NULL-terminated, as environ; NULL counts as empty).
 * Always leaves valid options. Returns 0, or -1 when a variable was bad: then it has its default
 * and `message` holds one line that names the first such variable: "REUSE_BUDGET: '90' is not ...".
 */
int options_parse(const char *const *environment, struct options *, char *message,
                  size_t message_size);

/* The same into *options that is all zeros: what stays empty of it is not touched. */
int options_read(const char *const *environment, struct options *, char *message,
                 size_t message_size);

/* What the conversions of an output pattern stand for. Text: '/' in it becomes '_'. */
struct output_names {
    int64_t pid;         /* %p */
    const char *host;    /* %h */
    const char *job;     /* %j, NULL or "" when not known: expands to "0" */
    const char *rank;    /* %r, NULL or "" when not an MPI process: expands to "0" */
    const char *program; /* %e, the executable's file name; a path is cut to its last component */
};

/*
 * Expands %p %h %j %r %e %% of a pattern into `path`. Returns 0, or -1 with one line in `reason`
 * and an empty path: unknown conversion, empty result, no room.
 */
int options_expand_output(const char *pattern, const struct output_names *, char *path,
                          size_t path_size, char *reason, size_t reason_size);

#endif
