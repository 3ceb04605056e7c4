/* SPDX-License-Identifier: BSD-3-Clause */
/* Fork of the profiled process: the child starts a profile of its own. */
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "bursts/look_ahead.h"
#include "bursts/meet.h"
#include "bursts/sampler.h"
#include "bursts/thread.h"
#include "interposition/descriptors.h"
#include "interposition/interpose_signal.h"
#include "interposition/interpose_stderr.h"
#include "interposition/interpose_thread.h"
#include "memory/fault_guard.h"
#include "memory/modules.h"
#include "memory/page_map.h"
#include "memory/regions.h"
#include "memory/scratch.h"
#include "memory/shared_mappings.h"
#include "output/output.h"
#include "own/c_library.h"
#include "perf_events/level_counts.h"
#include "process/process_internal.h"
#include "process/settings.h"
#include "process/tree.h"
#include "recording/tape.h"
#include "unwinding/attribution.h"
#include "watches/watch.h"

/* Signals stay blocked over the fork, so that nothing of ours is half done in the child. */
static __thread sigset_t fork_mask __attribute__((tls_model("initial-exec")));

static void before_fork(void)
{
    signals_block(&fork_mask);
    scratch_before_fork();
    look_ahead_before_fork();
    /* Or the child would have it as its own. */
    descriptors_hold_limit();
}

static void after_fork_parent(void)
{
    descriptors_let_limit_go();
    signals_restore(&fork_mask);
}

/* Other threads of the parent may have held them: they are not in the child. Every lock of the
 * runtime is here, or in what the other functions below reset. */
static void open_locks(void)
{
    descriptor_after_fork();
    signal_after_fork();
    fault_guard_reset();
    modules_after_fork();
    regions_after_fork();
    shared_mappings_after_fork();
    meet_after_fork();
    stderr_after_fork();
    sampler_after_fork();
    interpose_thread_after_fork();
    look_ahead_reset_after_fork();
    page_map_after_fork();
    shared_watch_reset_after_fork();
    attribution_reset_after_fork();
}

static void begin_child(void *unused)
{
    bool follow = settings.options.follow & FOLLOW_FORK;

    (void)unused;
    process_is_follower = true;
    process_former = (struct tree_former){0};
    tape_forget();
    level_counts_forget();
    open_locks();
    scratch_create(settings.cpus);
    atomic_store(&process_pid, follow ? getpid() : 0);
    if (follow) {
        tree_after_fork();
        output_reset_after_fork();
        thread_reset_after_fork();
        if (!process_is_without_hardware)
            level_counts_begin();
    } else {
        tree_forget();
        output_forget();
        thread_forget_all();
        attribution_stop();
    }
}

static void after_fork_child(void)
{
    if (atomic_load(&process_pid) != 0)
        process_on_own_stack(begin_child);
    else
        descriptors_let_limit_go();
    signals_restore(&fork_mask);
}

void process_fork_begin(void)
{
    c_library_at_fork(before_fork, after_fork_parent, after_fork_child);
}
