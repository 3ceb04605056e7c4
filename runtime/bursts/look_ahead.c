/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe but for look_ahead_create(). */
#include "bursts/look_ahead.h"

#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "arch/arch.h"
#include "bursts/rate.h"
#include "isa/guarded_memory.h"
#include "large_table.h"
#include "memory/fault_guard.h"
#include "memory/forbidden.h"
#include "memory/memory.h"
#include "memory/stub_memory.h"
#include "output/output.h"
#include "output/say.h"
#include "own/bound.h"
#include "own/raw_call.h"
#include "process/settings.h"
#include "process/tree.h"
#include "recording/tape.h"
#include "sampling/call_path.h"
#include "watches/watch.h"

#include "signal_safe.h"

enum {
    DECODE_CACHE_BYTES = 4 << 20,
    /* A burst of code that was not met before needs some 200 KB for it. Its page faults would be
       taken for those of the program's loads. */
    DECODE_CACHE_AHEAD = 256 << 10,
    STUB_BYTES = 1 << 20,
    INTERPRETERS_MAX = 256,
    /* More than there are processors: handlers may be preempted. */
    INTERPRETERS_SPARE = 12,
    /* Instructions per call of the interpreter: bounds a loop that makes no access at all. */
    INSTRUCTIONS_PER_ACCESS = 64,
};

/* Our own code; written once at start-up. */
static uint64_t own_low, own_high;

/* Of struct thread's interpreters: each serves one look-ahead at a time, of whichever thread. */
struct pooled {
    _Atomic bool taken;
    /* Written by who has taken it. */
    bool is_kept_from_children;
    void *memory; /* of an interpreter; NULL: not used yet */
};
static LARGE_TABLE struct pooled interpreters[INTERPRETERS_MAX];
static unsigned interpreter_count; /* written once at start-up */

/* The decoder, its cache and its stubs: made for the first look-ahead, for most short programs have
 * none. A forked child makes its own, or, where it got a copy of the cache, the stubs. */
enum cache_state { CACHE_NONE, CACHE_LACKS_STUBS, CACHE_BEING_MADE, CACHE_READY, CACHE_IMPOSSIBLE };
static _Atomic int cache_state;
static struct stub_memory stubs; /* written by who makes it, as is: */
static void *cache_memory;
static _Atomic bool cache_is_kept_from_children;

static int find_own_code(struct dl_phdr_info *module, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    for (int i = 0; i < module->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &module->dlpi_phdr[i];
        uint64_t low = module->dlpi_addr + header->p_vaddr;

        if (header->p_type == PT_LOAD && header->p_flags & PF_X &&
            (uintptr_t)find_own_code - low < header->p_memsz) {
            own_low = low;
            own_high = low + header->p_memsz;
            return 1;
        }
    }
    return 0;
}

static bool is_limited(int resource)
{
    struct rlimit limit;

    return raw_call(SYS_prlimit64, 0, resource, 0, (long)&limit, 0, 0) == 0 &&
           limit.rlim_cur != RLIM_INFINITY;
}

/* What stands in the way: the kernel has one error for most. */
static const char *memory_remedy(int error)
{
    return error == EAGAIN           ? "the program locks its memory, raise `ulimit -l`"
           : is_limited(RLIMIT_AS)   ? "raise `ulimit -v`"
           : is_limited(RLIMIT_DATA) ? "raise `ulimit -d`"
                                     : "the program uses all of its address space, or as many "
                                       "mappings as sysctl vm.max_map_count allows";
}

static void tell_want_of_memory(void)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    struct line line;

    if (atomic_flag_test_and_set(&told))
        return;
    line_begin(&line);
    line_text(&line, "no memory to look ahead with (");
    line_error(&line, memory_error());
    line_text(&line, "), so that nothing is sampled: ");
    line_text(&line, memory_remedy(memory_error()));
    output_note(NOTE_WARNING, line.text + strlen("libreuse: "));
    if (tree_first_failure(TREE_WANTS_MEMORY))
        say_error(&line);
}

static void create_cache(void)
{
    if (!cache_memory)
        cache_memory = memory_map(DECODE_CACHE_BYTES);
    /* Without them SIMD results stay unknown. */
    if (ARCH_HAS_STUBS)
        stubs = stub_memory_create(STUB_BYTES);
    if (!cache_memory) {
        tell_want_of_memory();
        return;
    }
    decode_cache_create(cache_memory, DECODE_CACHE_BYTES, stubs.executable,
                        stubs.executable ? STUB_BYTES : 0, stubs.to_writable);
}

static void populate_cache(void)
{
    size_t size;
    void *ahead = decode_cache_ahead(DECODE_CACHE_AHEAD, &size);

    if (size > 0)
        memory_populate(ahead, size);
}

static void tell_no_decoder(void)
{
    struct line line;

    line_begin(&line);
    line_text(&line, "the program runs on unprofiled: the decoder of "
                     "instructions cannot be loaded any more (chroot?)");
    say_error(&line);
    output_note(NOTE_WARNING, line.text + strlen("libreuse: "));
}

/* False while another thread makes it, or for good. */
static bool has_cache(void)
{
    int now = atomic_load_explicit(&cache_state, memory_order_acquire);

    if (now == CACHE_READY)
        return true;
    if (now == CACHE_BEING_MADE || now == CACHE_IMPOSSIBLE ||
        !atomic_compare_exchange_strong(&cache_state, &now, CACHE_BEING_MADE))
        return false;
    if (now == CACHE_NONE && !bound_decoder()) {
        tell_no_decoder();
        atomic_store_explicit(&cache_state, CACHE_IMPOSSIBLE, memory_order_release);
        return false;
    }
    if (now == CACHE_NONE) {
        create_cache();
        forbidden_look();
    } else {
        decode_cache_lost_stubs(stub_memory_renew(&stubs, STUB_BYTES));
    }
    atomic_store_explicit(&cache_state, CACHE_READY, memory_order_release);
    return true;
}

void look_ahead_create(void)
{
    dl_iterate_phdr(find_own_code, NULL);
    interpreter_count = settings.cpus < INTERPRETERS_MAX - INTERPRETERS_SPARE
                            ? (unsigned)settings.cpus + INTERPRETERS_SPARE
                            : INTERPRETERS_MAX;
    own_low = tape_value(TAPE_SETTING, own_low);
    own_high = tape_value(TAPE_SETTING, own_high);
    if (tape_inside)
        interpreter_processor(tape_pass_bytes);
}

void look_ahead_before_fork(void)
{
    if (atomic_load(&cache_state) == CACHE_READY && cache_memory && !cache_is_kept_from_children)
        cache_is_kept_from_children = memory_keep_from_children(cache_memory, DECODE_CACHE_BYTES);
    for (unsigned i = 0; i < interpreter_count; i++) {
        struct pooled *one = &interpreters[i];

        if (atomic_exchange(&one->taken, true))
            continue;
        if (one->memory && !one->is_kept_from_children)
            one->is_kept_from_children =
                memory_keep_from_children(one->memory, interpreter_memory_size());
        atomic_store(&one->taken, false);
    }
}

void look_ahead_reset_after_fork(void)
{
    decode_cache_after_fork();
    /* Another thread was at work on it, and is not here to end that. */
    if (atomic_load(&cache_state) == CACHE_BEING_MADE ||
        (atomic_load(&cache_state) != CACHE_IMPOSSIBLE && cache_is_kept_from_children))
        atomic_store(&cache_state, CACHE_NONE);
    if (atomic_load(&cache_state) == CACHE_READY && stubs.executable)
        atomic_store(&cache_state, CACHE_LACKS_STUBS);
    for (unsigned i = 0; i < interpreter_count; i++) {
        struct pooled *one = &interpreters[i];

        /* Read first: most are free, and what is written the child has to copy. */
        if (!atomic_load(&one->taken))
            continue;
        /* Another thread was at work on it, and is not here to end that. */
        atomic_store(&one->taken, false);
        if (one->memory) {
            memory_unmap(one->memory, interpreter_memory_size());
            one->memory = NULL;
            one->is_kept_from_children = false;
        }
    }
}

bool look_ahead_is_runtime(uint64_t ip)
{
    return ip - own_low < own_high - own_low;
}

static void on_call(void *context, const struct interpreter *interpreter, uint64_t accesses,
                    uint64_t target, uint64_t return_address)
{
    struct thread *thread = context;

    if (return_address == 0)
        rate_return(thread, interpreter, target, accesses);
    if (thread->calls)
        call_path_add(thread->calls, accesses,
                      look_ahead_is_runtime(return_address) ? CALL_PATH_HIDDEN : return_address);
}

static void on_backward_branch(void *context, const struct interpreter *interpreter,
                               uint64_t target, uint64_t accesses)
{
    struct thread *thread = context;

    (void)interpreter;
    (void)accesses;
    loops_visit(&thread->loops, target);
}

/* The line of a watched word, read by the kernel: a load of ours would trap as the target's do. */
static bool read_watched(void *context, uint64_t address, void *buffer, size_t size)
{
    struct iovec here = {buffer, size}, there = {(void *)(uintptr_t)address, size};
    bool done = !tape_supplies() && raw_call(SYS_process_vm_readv, getpid(), (long)&here, 1,
                                             (long)&there, 1, 0) == (long)size;

    (void)context;
    done = tape_value(TAPE_CALL, done);
    if (done)
        tape_bytes(buffer, size);
    return done;
}

/* Where some memory must not be read ahead. */
static bool read_allowed(void *context, uint64_t address, void *buffer, size_t size)
{
    (void)context;
    return !forbidden_at(address, size) && guarded_memory_read(address, buffer, size);
}

static interpreter_read reader(void)
{
    if (tape_mode != TAPE_OFF)
        return tape_read_memory;
    return forbidden_any() ? read_allowed : NULL;
}

static struct interpreter_options options_for(struct thread *thread)
{
    return (struct interpreter_options){
        .read = reader(),
        .read_avoided = read_watched,
        .backward_branch = on_backward_branch,
        .call = on_call,
        .branch_context = thread,
    };
}

static void avoid_watched(struct thread *thread)
{
    uint64_t words[2];

    for (unsigned i = 0; i < thread->watches.count; i++)
        if (atomic_load(&thread->watches.watch[i].state) != WATCH_FREE)
            interpreter_avoid(thread->interpreter, thread->watches.watch[i].sample.watch_address);
    line_sharing_words(words);
    for (unsigned i = 0; i < 2; i++)
        if (words[i])
            interpreter_avoid(thread->interpreter, words[i]);
}

void look_ahead_registers(const ucontext_t *context, struct interpreter_registers *registers)
{
    arch_registers(context, tape_value(TAPE_SETTING, (uintptr_t)__builtin_thread_pointer()),
                   registers);
}

/* The first that is free: its memory is the most likely to be in a cache. */
static bool take_interpreter(struct thread *thread)
{
    struct interpreter_options options = options_for(thread);

    for (unsigned i = 0; i < interpreter_count; i++) {
        struct pooled *one = &interpreters[i];

        if (atomic_load_explicit(&one->taken, memory_order_relaxed) ||
            atomic_exchange_explicit(&one->taken, true, memory_order_acquire))
            continue;
        if (!one->memory)
            one->memory = memory_map(interpreter_memory_size());
        if (one->memory) {
            thread->interpreter = interpreter_create(one->memory, &options);
            thread->interpreter_number = i;
            return true;
        }
        atomic_store(&one->taken, false);
        tell_want_of_memory();
        return false;
    }
    return false;
}

bool look_ahead_begin(struct thread *thread, const ucontext_t *context)
{
    struct interpreter_registers registers;

    if (!has_cache() || !take_interpreter(thread))
        return false;
    populate_cache();
    fault_guard_enter(context);
    tape_memory_may_change();
    loops_begin(&thread->loops);
    thread->looked = 0;
    look_ahead_registers(context, &registers);
    interpreter_begin(thread->interpreter, &registers, arch_extended_state(context));
    avoid_watched(thread);
    return true;
}

void look_ahead_end(struct thread *thread)
{
    fault_guard_leave();
    atomic_store_explicit(&interpreters[thread->interpreter_number].taken, false,
                          memory_order_release);
    thread->interpreter = NULL;
}

bool look_ahead_begin_after_access(struct thread *thread, const ucontext_t *context)
{
    enum interpreter_stop why = INTERPRETER_BUDGET;

    if (!look_ahead_begin(thread, context))
        return false;
    if (ARCH_TRAPS_BEFORE_ACCESS)
        interpreter_run(thread->interpreter, thread->batch, THREAD_BATCH, 1, &why);
    if (why == INTERPRETER_BUDGET)
        return true;
    look_ahead_end(thread);
    return false;
}

/*
 * What the runtime itself would do is left out of the batch of n accesses. Calls are noted with the
 * number of accesses before them: from the event `first` on it becomes that of those that are kept.
 */
static size_t leave_out(struct thread *thread, size_t n, unsigned first)
{
    struct access *batch = thread->batch;
    struct call_path *calls = thread->calls;
    unsigned event = first, events = calls ? calls->count : 0;
    uint64_t looked = thread->looked;
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        for (; event < events && calls->events[event].accesses <= looked + i; event++)
            calls->events[event].accesses = thread->calls_kept + kept;
        if (look_ahead_is_runtime(batch[i].ip))
            continue;
        if (kept != i)
            batch[kept] = batch[i];
        kept++;
    }
    for (; event < events; event++)
        calls->events[event].accesses = thread->calls_kept + kept;
    thread->looked += n;
    thread->calls_kept += kept;
    return kept;
}

static size_t run(struct thread *thread, size_t capacity, uint64_t instructions,
                  enum interpreter_stop *why)
{
    unsigned first = thread->calls ? thread->calls->count : 0;
    size_t n = interpreter_run(thread->interpreter, thread->batch, capacity, instructions, why);

    return leave_out(thread, n, first);
}

size_t look_ahead_next(struct thread *thread, size_t capacity, enum interpreter_stop *why)
{
    return run(thread, capacity, (uint64_t)capacity * INSTRUCTIONS_PER_ACCESS, why);
}

size_t look_ahead_step(struct thread *thread, unsigned instructions, enum interpreter_stop *why)
{
    size_t n = run(thread, THREAD_BATCH, instructions, why);

    if (*why == INTERPRETER_BUDGET)
        *why = INTERPRETER_FULL;
    return n;
}
