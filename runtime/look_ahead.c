/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe but for look_ahead_create(). */
#include "look_ahead.h"

#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "arch/arch.h"
#include "fault_guard.h"
#include "memory.h"
#include "tape.h"
#include "watch.h"

#include "signal_safe.h"

enum {
    DECODE_CACHE_BYTES = 4 << 20,
    STUB_BYTES = 1 << 20,
    /* Instructions per call of the interpreter: bounds a loop that makes no access at all. */
    INSTRUCTIONS_PER_ACCESS = 64,
};

/* Our own code; written once at start-up. */
static uint64_t own_low, own_high;

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

void look_ahead_create(void)
{
    void *cache = memory_map(DECODE_CACHE_BYTES);
    void *stubs = mmap(NULL, STUB_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    dl_iterate_phdr(find_own_code, NULL);
    /* Where memory must not be both writable and executable, SIMD results stay unknown. */
    if (stubs == MAP_FAILED)
        stubs = NULL;
    if (cache)
        decode_cache_create(cache, DECODE_CACHE_BYTES, stubs, stubs ? STUB_BYTES : 0);
    own_low = tape_value(TAPE_SETTING, own_low);
    own_high = tape_value(TAPE_SETTING, own_high);
    if (tape_inside)
        interpreter_processor(tape_pass_bytes);
}

bool look_ahead_is_runtime(uint64_t ip)
{
    return ip - own_low < own_high - own_low;
}

static void on_call(void *context, uint64_t accesses, uint64_t return_address)
{
    struct thread *thread = context;

    if (accesses <= WINDOW_SKIP_MAX)
        call_path_add(&thread->call_path, accesses, return_address);
}

static void show_frame(struct thread *thread, struct loop_head *head)
{
    uint32_t words[LOOP_FRAME_WORDS], unknown = 0;

    for (unsigned i = 0; i < LOOP_FRAME_WORDS; i++) {
        uint64_t value = 0;

        if (!interpreter_peek(thread->interpreter, head->frame + 4 * i, 4, &value))
            unknown |= 1u << i;
        words[i] = (uint32_t)value;
    }
    loops_frame(head, words, unknown);
}

static void on_backward_branch(void *context, const struct interpreter *interpreter,
                               uint64_t target, uint64_t accesses)
{
    struct thread *thread = context;
    struct loop_head *head = loops_visit(&thread->loops, target, interpreter_general(interpreter),
                                         interpreter_poisoned_registers(interpreter), accesses);

    if (head)
        show_frame(thread, head);
}

/* The line of a watched word, read by the kernel: a load of ours would trap as the target's do. */
static bool read_watched(void *context, uint64_t address, void *buffer, size_t size)
{
    struct iovec here = {buffer, size}, there = {(void *)(uintptr_t)address, size};
    int saved = errno;
    bool done = !tape_supplies() &&
                syscall(SYS_process_vm_readv, getpid(), &here, 1UL, &there, 1UL, 0UL) == (long)size;

    (void)context;
    errno = saved;
    done = tape_value(TAPE_CALL, done);
    if (done)
        tape_bytes(buffer, size);
    return done;
}

/* branch NULL: for the loop table and the call path. */
static struct interpreter_options options_for(struct thread *thread, interpreter_branch branch,
                                              interpreter_condition condition, void *context)
{
    return (struct interpreter_options){
        .read = tape_mode == TAPE_OFF ? NULL : tape_read_memory,
        .read_avoided = read_watched,
        .backward_branch = branch ? branch : on_backward_branch,
        .condition = condition,
        .call = branch ? NULL : on_call,
        .branch_context = branch ? context : thread,
    };
}

void look_ahead_hook(struct thread *thread, interpreter_branch branch,
                     interpreter_condition condition, void *context)
{
    struct interpreter_options options = options_for(thread, branch, condition, context);

    interpreter_set_options(thread->interpreter, &options);
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

bool look_ahead_begin(struct thread *thread, const ucontext_t *context)
{
    struct interpreter_registers registers;

    if (!thread->interpreter) {
        struct interpreter_options options = options_for(thread, NULL, NULL, NULL);
        void *memory = memory_map(interpreter_memory_size());

        if (!memory)
            return false;
        thread->interpreter = interpreter_create(memory, &options);
    }
    fault_guard_enter(context);
    tape_memory_may_change();
    loops_begin(&thread->loops);
    call_path_begin(&thread->call_path);
    thread->left_out = 0;
    look_ahead_registers(context, &registers);
    interpreter_begin(thread->interpreter, &registers, arch_extended_state(context));
    avoid_watched(thread);
    return true;
}

void look_ahead_end(struct thread *thread)
{
    (void)thread;
    fault_guard_leave();
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

static size_t run(struct thread *thread, size_t capacity, uint64_t instructions,
                  enum interpreter_stop *why)
{
    struct access *batch = thread->batch;
    size_t n = interpreter_run(thread->interpreter, batch, capacity, instructions, why);
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        if (!look_ahead_is_runtime(batch[i].ip))
            batch[kept++] = batch[i];
    thread->left_out += n - kept;
    return kept;
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
