/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records of the run itself: its machine, processes and threads, what was loaded and allocated,
 * what was lost, how it ended. What all records have in common: format.h.
 */
#ifndef REUSE_PROFILE_FORMAT_RUN_H
#define REUSE_PROFILE_FORMAT_RUN_H

#include <stdint.h>

enum cache_type { CACHE_DATA = 1, CACHE_UNIFIED = 2, CACHE_INSTRUCTION = 3 };

struct record_cache {
    uint8_t level; /* 1.. */
    uint8_t type;  /* enum cache_type */
    uint16_t ways; /* 0: unknown or fully associative */
    uint32_t line_size;
    uint64_t bytes;
    uint32_t sharing_cpus; /* how many CPUs share one such cache */
    uint32_t origin_id;    /* whose machine; 0: that of every origin */
};

struct record_module {
    uint32_t module_id;
    uint32_t build_id_size; /* 0..20 */
    uint64_t load_bias;     /* add to a link-time address to get the run-time one */
    uint64_t start, end;    /* extent in memory */
    uint64_t monotonic_ns;
    uint8_t build_id[24];
    char path[]; /* absolute, as the target saw it */
};

struct record_module_end {
    uint32_t module_id;
    uint32_t reserved;
    uint64_t monotonic_ns;
};

enum mapping_flags {
    MAPPING_ANONYMOUS = 1,
    MAPPING_SHARED = 2,
    MAPPING_HEAP = 4,
    MAPPING_STACK = 8
};

struct record_mapping {
    uint64_t start, end;
    uint64_t offset;
    uint64_t monotonic_ns;
    uint32_t flags; /* enum mapping_flags */
    uint32_t origin_id;
    char path[]; /* empty when anonymous */
};

struct record_thread {
    uint32_t thread_id;
    int32_t tid;                    /* the kernel's */
    uint64_t monotonic_ns;          /* when the runtime first saw it */
    uint64_t stack_low, stack_high; /* 0 when unknown */
    char name[16];                  /* comm, NUL-padded */
    uint32_t origin_id;             /* 0: the process that RECORD_RUN describes */
    uint32_t reserved;
};

struct record_thread_end {
    uint32_t thread_id;
    uint32_t reserved;
    uint64_t monotonic_ns;
    uint64_t app_ns;
};

/* Contexts form a tree; ip is the sampled instruction at the leaf, a return address above it. */
struct record_context {
    uint32_t context_id;
    uint32_t parent_id; /* 0: outermost frame */
    uint64_t ip;
};

enum object_kind {
    OBJECT_UNKNOWN = 0,
    OBJECT_HEAP,           /* reference = site_id */
    OBJECT_GLOBAL,         /* reference = module_id; the report finds the symbol by address */
    OBJECT_STACK,          /* reference = thread_id of the stack's owner */
    OBJECT_MAPPING,        /* reference = site_id of the mmap call */
    OBJECT_HEAP_UNTRACKED, /* heap memory whose block is not tracked (not chosen, no room, older) */
    OBJECT_NAMED,          /* reference = site_id; named through the API */
    OBJECT_SHARED,         /* in transfers between processes: reference = mapping_id, see
                              struct record_shared_mapping */
};

enum allocator {
    ALLOCATOR_MALLOC = 1,
    ALLOCATOR_CALLOC,
    ALLOCATOR_REALLOC,
    ALLOCATOR_MEMALIGN,
    ALLOCATOR_POSIX_MEMALIGN,
    ALLOCATOR_ALIGNED_ALLOC,
    ALLOCATOR_VALLOC,
    ALLOCATOR_PVALLOC,
    ALLOCATOR_MMAP,
    ALLOCATOR_MREMAP,
    ALLOCATOR_API,
};

struct record_site {
    uint32_t site_id;
    uint32_t context_id; /* leaf: return address into the caller of the allocator */
    uint16_t allocator;  /* enum allocator */
    uint16_t reserved[3];
    char name[]; /* given through the API, else empty */
};

/* Of blocks below 4 KiB, and of larger ones while they are dear, estimates from those that were
 * tracked (objects/block_choice.h). */
struct record_site_totals {
    uint32_t site_id;
    uint32_t reserved;
    uint64_t blocks, bytes;   /* allocated since the start */
    uint64_t largest_bytes;   /* largest single block */
    uint64_t live_bytes_peak; /* 0 when not tracked */
};

struct record_region {
    uint32_t region_id;
    uint32_t reserved;
    uint64_t entry_ip; /* function entry, or 0 for a span of the API */
    char name[];
};

enum origin_flags { ORIGIN_COMPLETE = 1 /* its RECORD_END was seen */ };

/* Only in merged files: what the origin's own file said about its run. */
struct record_origin {
    uint32_t origin_id;
    uint32_t flags; /* enum origin_flags */
    uint64_t wall_ns;
    uint64_t dropped_bytes; /* cut off at the end of its file */
    uint64_t lost_records;
    uint32_t exit_status;
    uint32_t reserved;
    char pairs[]; /* its RECORD_RUN: key NUL value NUL ... */
};

/* What was lost and why; cumulative. Indexes of record_totals.lost. */
enum loss {
    LOSS_UNREADABLE = 0, /* the interpreter found no access before it had to stop */
    LOSS_ASYNCHRONOUS,   /* signal delivered late (SIGTRAP was blocked): place unknown */
    LOSS_IN_RUNTIME,     /* expiry inside the profiler itself or the loader */
    LOSS_BUFFER,         /* no room in the output buffer */
    LOSS_NO_REGISTER,    /* debug registers taken by somebody else */
    LOSS_TRAP_UNKNOWN,   /* trap of a watch that had ended already */
    LOSS_CONTEXT,        /* calling context could not be taken or stored */
    LOSS_THREAD,         /* threads that could not be profiled (no descriptor, no permission) */
    LOSS_OWN_TRAP,       /* a register trapped on what the profiler read: no loss, but a cost */
    LOSS_COUNT = 12      /* room for more */
};

struct record_totals {
    uint32_t thread_id;
    uint32_t reserved;
    uint64_t monotonic_ns;
    uint64_t app_ns;
    uint64_t
        handler_ns; /* time taken by the profiler in this thread, hidden kernel cost included */
    uint64_t expirations; /* clock expiries seen */
    uint64_t samples;
    uint64_t armed, reused, invalidated, evicted,
        ended; /* watches; ended: thread, process, freed, lost */
    uint64_t lost[LOSS_COUNT];
    uint64_t bursts;
    uint64_t markers, foreseen; /* set; and of these trapped at the foreseen instruction */
    uint64_t stops, bridged;    /* in bursts: met; and of these gone on from, in the same burst */
    uint64_t besides_ns; /* what profiling cost outside handlers, estimated: caches to be filled
                            again, context switches with our events, blocks
                            that are tracked, loading and unloading of ours */
    /* CPU time as the kernel divides it, the profiler's included; it mostly looks at each clock
     * tick who runs. Both 0 where nobody said: hardware counters, profiles before version 3.3. */
    uint64_t user_ns, kernel_ns;
};

enum note_severity { NOTE_INFORMATION = 1, NOTE_WARNING = 2 };

struct record_note {
    uint32_t severity;
    uint32_t origin_id;
    char text[];
};

struct record_end {
    uint64_t monotonic_ns;
    uint64_t wall_ns;     /* length of the run */
    uint32_t exit_status; /* 0 when unknown */
    uint32_t reserved;
};

#endif
