/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Walks a thread's stack with cached rules. Signal-safe.
 *
 * Rules are remembered in a table shared by all threads: an entry is three words, of which the
 * first is the exclusive or of the key and the others, so that a torn entry, written by two threads
 * at once, does not match (R. Hyatt, T. Mann: A lockless transposition table).
 */
#include "unwinding/unwind.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/arch.h"
#include "isa/guarded_memory.h"
#include "objects/call_frame.h"
#include "unwinding/unwind_stack.h"

#include "signal_safe.h"

enum {
    RULES = 1 << 15,
    UPWARD_PROBES = 16384, /* frames of more than 64 MiB end the walk */
};

/* Calls of dlopen and dlclose under way. */
static __thread unsigned loader_depth __attribute__((tls_model("initial-exec")));

struct rule_entry {
    _Atomic uint64_t check; /* key ^ low ^ high */
    _Atomic uint64_t low, high;
};

/* Written by any thread at any time, see above. */
static struct rule_entry rules[RULES];

/* Part of every key; changed by whoever unloads an object. */
static _Atomic uint64_t rules_epoch;

static _Atomic uint64_t truncated_walks;

void unwind_loader_enter(void)
{
    loader_depth++;
}

void unwind_loader_leave(bool unloaded)
{
    loader_depth--;
    if (unloaded)
        atomic_fetch_add_explicit(&rules_epoch, UINT64_C(1) << 48, memory_order_relaxed);
}

uint64_t unwind_truncated(void)
{
    return atomic_load_explicit(&truncated_walks, memory_order_relaxed);
}

/* The exception data of the loaded object that contains ip, or NULL. */
#if defined(DLFO_EH_SEGMENT_TYPE)
static const void *exception_header(uint64_t ip)
{
    struct dl_find_object object;
    return _dl_find_object((void *)ip, &object) == 0 ? object.dlfo_eh_frame : NULL;
}
#else
struct object_search {
    uint64_t ip;
    const void *header;
};

static int visit_object(struct dl_phdr_info *info, size_t size, void *user)
{
    struct object_search *search = user;
    const void *header = NULL;
    bool contains = false;
    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        const uint64_t start = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && search->ip - start < segment->p_memsz)
            contains = true;
        if (segment->p_type == PT_GNU_EH_FRAME)
            header = (const void *)start;
    }
    if (contains)
        search->header = header;
    return contains;
}

static const void *exception_header(uint64_t ip)
{
    struct object_search search = {.ip = ip};
    if (loader_depth == 0)
        dl_iterate_phdr(visit_object, &search);
    return search.header;
}
#endif

static struct rule_entry *rule_entry(uint64_t key)
{
    return &rules[key * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (RULES - 1)]; /* golden ratio */
}

static uint64_t rule_key(uint64_t ip)
{
    return ip ^ atomic_load_explicit(&rules_epoch, memory_order_relaxed);
}

/* The rule for the instruction at ip if it is in the table. */
static inline bool recall_rule(uint64_t ip, struct call_frame_rule *rule)
{
    _Static_assert(sizeof *rule == 16, "a rule is two words");
    const uint64_t key = rule_key(ip);
    const struct rule_entry *entry = rule_entry(key);
    const uint64_t words[2] = {atomic_load_explicit(&entry->low, memory_order_relaxed),
                               atomic_load_explicit(&entry->high, memory_order_relaxed)};
    const uint64_t check = atomic_load_explicit(&entry->check, memory_order_relaxed);
    memcpy(rule, words, sizeof *rule);
    return check == (key ^ words[0] ^ words[1]) && check != 0;
}

/* The rule for the instruction at ip; false when there is none. */
static bool find_rule(uint64_t ip, struct call_frame_rule *rule)
{
    if (recall_rule(ip, rule))
        return true;
    const void *header = exception_header(ip);
    if (header == NULL || !call_frame_find(header, ip, rule))
        return false;
    uint64_t words[2];
    memcpy(words, rule, sizeof words);
    const uint64_t key = rule_key(ip);
    struct rule_entry *entry = rule_entry(key);
    atomic_store_explicit(&entry->low, words[0], memory_order_relaxed);
    atomic_store_explicit(&entry->high, words[1], memory_order_relaxed);
    atomic_store_explicit(&entry->check, key ^ words[0] ^ words[1], memory_order_relaxed);
    return true;
}

/* One frame. A frame pointer that came from memory is part of the trace only once it is used. */
struct cursor {
    uint64_t ip, stack_pointer, frame_pointer, link;
    uint64_t frame_pointer_slot;  /* where it was read, 0: it is the register of the start */
    bool frame_pointer_relied_on; /* its present value is accounted for in the trace */
    bool frame_pointer_known;
    bool is_call;
    bool link_known;
    struct stack_range stack;
    struct unwind_trace *trace;
};

static void rely_on(struct cursor *cursor, uint64_t address, uint64_t value, bool is_address)
{
    struct unwind_trace *trace = cursor->trace;
    if (trace == NULL)
        return;
    if (trace->count == UNWIND_TRACE_MAX) {
        trace->complete = false;
        return;
    }
    trace->is_address |= (uint64_t)is_address << trace->count;
    trace->address[trace->count] = address;
    trace->value[trace->count++] = value;
}

UNWIND_READS_FRAMES static bool read_word(struct cursor *cursor, uint64_t address, uint64_t *value)
{
    if (address % 8 != 0 || address < cursor->stack.low)
        return false;
    for (unsigned probes = 0; address >= cursor->stack.high; probes++) {
        if (probes == UPWARD_PROBES || !unwind_is_readable(cursor->stack.high))
            return false;
        cursor->stack.high += PAGE_BYTES;
    }
    if (guarded_load_64(address, value))
        return true;
    stack_range_forget(address);
    cursor->stack.high = address & -(uint64_t)PAGE_BYTES;
    return false;
}

static bool use_frame_pointer(struct cursor *cursor)
{
    if (!cursor->frame_pointer_known)
        return false;
    if (cursor->frame_pointer_relied_on)
        return true;
    cursor->frame_pointer_relied_on = true;
    if (cursor->frame_pointer_slot != 0)
        rely_on(cursor, cursor->frame_pointer_slot, cursor->frame_pointer, true);
    else if (cursor->trace != NULL)
        cursor->trace->uses_frame_pointer = true;
    return true;
}

/* Address of a saved register; false when it is not in memory. */
static bool saved_address(struct cursor *cursor, uint8_t place, int64_t offset, uint64_t cfa,
                          uint64_t *address)
{
    switch (place) {
    case PLACE_AT_CFA:
        *address = cfa + (uint64_t)offset;
        return true;
    case PLACE_AT_STACK:
        *address = cursor->stack_pointer + (uint64_t)offset;
        return true;
    case PLACE_AT_FRAME:
        *address = cursor->frame_pointer + (uint64_t)offset;
        return use_frame_pointer(cursor);
    default:
        return false;
    }
}

enum step { STEP_DONE, STEP_OUTERMOST, STEP_LOST };

/* A place that an interrupt, a register or the stack tells need not be code at all. */
static bool code_is_readable(uint64_t ip, uint64_t bytes)
{
    return unwind_is_readable(ip & -8ull) && unwind_is_readable((ip + bytes - 1) & -8ull);
}

/* The walk goes on below the frame of a signal, which may have been taken on another stack. */
static void leave_signal_frame(struct cursor *cursor, uint64_t stack_pointer)
{
    cursor->is_call = false;
    cursor->stack_pointer = stack_pointer;
    if (stack_pointer >= cursor->stack.low && stack_pointer < cursor->stack.high)
        return;
    stack_range_remember(&cursor->stack);
    cursor->stack = stack_range_around(stack_pointer);
}

/* The kernel's code that ends a handler, where nothing but its instructions tells what it is: what
 * was interrupted has all its registers in the frame. */
static bool is_undescribed_signal_frame(const struct cursor *cursor, struct arch_saved *saved)
{
    return ARCH_SIGNAL_FRAMES_UNDESCRIBED &&
           code_is_readable(cursor->ip - ARCH_SIGNAL_RETURN_BYTES / 2,
                            ARCH_SIGNAL_RETURN_BYTES * 3 / 2) &&
           arch_signal_frame(cursor->ip, cursor->stack_pointer, saved);
}

static enum step step_over_signal_frame(struct cursor *cursor, const struct arch_saved *saved)
{
    uint64_t ip, stack_pointer, frame_pointer, link;

    if (!read_word(cursor, saved->ip, &ip) ||
        !read_word(cursor, saved->stack_pointer, &stack_pointer) ||
        !read_word(cursor, saved->frame_pointer, &frame_pointer) ||
        !read_word(cursor, saved->link, &link))
        return STEP_LOST;
    rely_on(cursor, saved->ip, ip, false);
    rely_on(cursor, saved->stack_pointer, stack_pointer, true);
    rely_on(cursor, saved->link, link, false);
    if (ip == 0)
        return STEP_OUTERMOST;
    cursor->ip = ip;
    cursor->frame_pointer = frame_pointer;
    cursor->frame_pointer_slot = saved->frame_pointer;
    cursor->frame_pointer_relied_on = false;
    cursor->frame_pointer_known = true;
    cursor->link = link;
    cursor->link_known = true;
    leave_signal_frame(cursor, stack_pointer);
    return STEP_DONE;
}

/* To the caller along the chain of frame pointers, where code says nothing of its frames (generated
 * code). If the frame pointer still is the caller's, the caller is passed over. A linkage stub has
 * no frame: its caller is where the link register says. */
static enum step step_by_frame_pointer(struct cursor *cursor)
{
    const uint64_t frame = cursor->frame_pointer;
    uint64_t caller_frame, return_address;

    if (!cursor->is_call && cursor->link_known && cursor->link != 0 &&
        code_is_readable(cursor->ip, ARCH_LINKAGE_STUB_BYTES) && arch_is_linkage_stub(cursor->ip)) {
        cursor->ip = arch_strip_signature(cursor->link);
        cursor->is_call = true;
        cursor->link_known = false;
        return STEP_DONE;
    }
    if (!use_frame_pointer(cursor) || frame < cursor->stack_pointer ||
        !read_word(cursor, frame, &caller_frame) || !read_word(cursor, frame + 8, &return_address))
        return STEP_LOST;
    rely_on(cursor, frame + 8, return_address, false);
    return_address = arch_strip_signature(return_address);
    if (return_address < PAGE_BYTES || return_address >> 48 != 0)
        return STEP_LOST;
    cursor->ip = return_address;
    cursor->is_call = true;
    cursor->link_known = false;
    cursor->stack_pointer = frame + 16;
    cursor->frame_pointer = caller_frame;
    cursor->frame_pointer_slot = frame;
    cursor->frame_pointer_relied_on = false;
    return STEP_DONE;
}

/* Ordinary frames, as many in a row as there are: with known rules, on memory known to be readable.
 */
UNWIND_READS_FRAMES static size_t step_plain(struct cursor *cursor, uint64_t *ips, size_t n,
                                             size_t max)
{
    struct call_frame_rule rule;
    struct unwind_trace *trace = cursor->trace;
    const uint64_t low = cursor->stack.low, high = cursor->stack.high;
    uint64_t ip = cursor->ip, stack_pointer = cursor->stack_pointer;
    while (n < max && recall_rule(ip - 1, &rule) && (rule.flags & CALL_FRAME_PLAIN) != 0) {
        const uint64_t cfa = stack_pointer + (uint32_t)rule.cfa_offset;
        const uint64_t place = cfa + (uint64_t)(int64_t)rule.return_address_offset;
        if (place % 8 != 0 || place < low || place >= high ||
            (trace != NULL && trace->count == UNWIND_TRACE_MAX))
            break;
        uint64_t return_address;
        if (!guarded_load_64(place, &return_address))
            break;
        if (rule.frame_pointer == PLACE_AT_CFA) {
            const uint64_t saved = cfa + (uint64_t)(int64_t)rule.frame_pointer_offset;
            if (saved % 8 != 0 || saved < low || saved >= high)
                break;
            if (!guarded_load_64(saved, &cursor->frame_pointer))
                break;
            cursor->frame_pointer_slot = saved;
            cursor->frame_pointer_relied_on = false;
        }
        if (arch_strip_signature(return_address) == 0)
            break;
        if (trace != NULL) {
            trace->address[trace->count] = place;
            trace->value[trace->count++] = return_address;
        }
        ip = arch_strip_signature(return_address);
        stack_pointer = cfa;
        ips[n++] = ip;
    }
    cursor->ip = ip;
    cursor->stack_pointer = stack_pointer;
    return n;
}

static enum step step(struct cursor *cursor)
{
    struct call_frame_rule rule;
    struct arch_saved saved;
    /* A call may be the last instruction of its function: the return address lies beyond. */
    const bool described = find_rule(cursor->is_call ? cursor->ip - 1 : cursor->ip, &rule);
    if ((!described || (rule.flags & CALL_FRAME_SIGNAL) != 0) &&
        is_undescribed_signal_frame(cursor, &saved))
        return step_over_signal_frame(cursor, &saved);
    if (!described)
        return step_by_frame_pointer(cursor);
    if (rule.return_address == PLACE_UNDEFINED)
        return STEP_OUTERMOST;
    const bool by_stack = rule.cfa_register == CALL_FRAME_STACK_POINTER;
    if (!by_stack && !use_frame_pointer(cursor))
        return STEP_LOST;
    uint64_t cfa = (by_stack ? cursor->stack_pointer : cursor->frame_pointer) +
                   (uint64_t)(int64_t)rule.cfa_offset;
    if ((rule.flags & CALL_FRAME_DEREFERENCE) != 0) {
        const uint64_t place = cfa;
        if (!read_word(cursor, place, &cfa))
            return STEP_LOST;
        rely_on(cursor, place, cfa, true);
        cfa += (uint64_t)(int64_t)rule.cfa_addend;
    }

    uint64_t address, return_address;
    if (saved_address(cursor, rule.return_address, rule.return_address_offset, cfa, &address)) {
        if (!read_word(cursor, address, &return_address))
            return STEP_LOST;
        rely_on(cursor, address, return_address, false);
    } else if (rule.return_address == PLACE_SAME && cursor->link_known) {
        return_address = cursor->link;
    } else {
        return STEP_LOST;
    }
    return_address = arch_strip_signature(return_address);
    if (return_address == 0)
        return STEP_OUTERMOST;

    uint64_t frame_pointer;
    if (saved_address(cursor, rule.frame_pointer, rule.frame_pointer_offset, cfa, &address)) {
        if (!read_word(cursor, address, &frame_pointer))
            return STEP_LOST;
        cursor->frame_pointer = frame_pointer;
        cursor->frame_pointer_slot = address;
        cursor->frame_pointer_relied_on = false;
    } else if (rule.frame_pointer != PLACE_SAME) {
        cursor->frame_pointer_known = false;
    }

    cursor->link_known = false;
    cursor->ip = return_address;
    if ((rule.flags & CALL_FRAME_SIGNAL) != 0) {
        leave_signal_frame(cursor, cfa);
        return STEP_DONE;
    }
    /* Stacks grow down. Only a leaf function of aarch64 may have no frame at all. */
    if (cfa < cursor->stack_pointer ||
        (cfa == cursor->stack_pointer && rule.return_address != PLACE_SAME))
        return STEP_LOST;
    cursor->is_call = true;
    cursor->stack_pointer = cfa;
    return STEP_DONE;
}

size_t unwind(const struct unwind_start *start, uint64_t *ips, size_t max,
              struct unwind_trace *trace)
{
    if (trace != NULL) {
        trace->count = 0;
        trace->complete = true;
        trace->is_address = 0;
        trace->uses_frame_pointer = false;
    }
    if (max == 0)
        return 0;
    ips[0] = start->ip;
    struct cursor cursor = {.ip = start->ip,
                            .stack_pointer = start->stack_pointer,
                            .frame_pointer = start->frame_pointer,
                            .link = start->link,
                            .is_call = start->is_call,
                            .frame_pointer_known = true,
                            .link_known = !start->is_call,
                            .stack = stack_range_around(start->stack_pointer),
                            .trace = trace};
    if (max > UNWIND_FRAMES_MAX)
        max = UNWIND_FRAMES_MAX;
    size_t n = 1;
    enum step outcome = STEP_DONE;
    for (;;) {
        if (cursor.is_call)
            n = step_plain(&cursor, ips, n, max);
        if (n == max || (outcome = step(&cursor)) != STEP_DONE)
            break;
        ips[n++] = cursor.ip;
    }
    if (outcome == STEP_LOST)
        atomic_fetch_add_explicit(&truncated_walks, 1, memory_order_relaxed);
    stack_range_remember(&cursor.stack);
    return n;
}

struct unwind_start unwind_start_of_signal(const ucontext_t *context)
{
    return (struct unwind_start){.ip = arch_ip(context),
                                 .stack_pointer = arch_stack_pointer(context),
                                 .frame_pointer = arch_frame_pointer(context),
                                 .link = arch_link(context)};
}
