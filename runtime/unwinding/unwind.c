/* SPDX-License-Identifier: BSD-3-Clause */
/* Walks a thread's stack with cached rules. Signal-safe. */
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
#include "unwinding/rule_cache.h"
#include "unwinding/unwind_stack.h"

#include "signal_safe.h"

enum { UPWARD_PROBES = 16384 /* frames of more than 64 MiB end the walk */ };

/* Calls of dlopen and dlclose under way. */
static __thread unsigned loader_depth __attribute__((tls_model("initial-exec")));

static _Atomic uint64_t truncated_walks;

void unwind_loader_enter(void)
{
    loader_depth++;
}

void unwind_loader_leave(bool unloaded)
{
    loader_depth--;
    if (unloaded)
        rule_cache_forget();
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

/* The rule for the instruction at ip; false when there is none. */
static bool find_rule(uint64_t ip, struct call_frame_rule *rule)
{
    if (rule_cache_find(ip, rule))
        return true;
    const void *header = exception_header(ip);
    if (header == NULL || !call_frame_find(header, ip, rule))
        return false;
    rule_cache_add(ip, rule);
    return true;
}

/* No word: the frame pointer is still in the register of the start. */
enum { IN_REGISTER = -1 };

/* One frame. */
struct cursor {
    uint64_t ip, stack_pointer, frame_pointer, link;
    bool frame_pointer_known;
    bool is_call;
    bool link_known;
    struct stack_range stack;
    struct walk *walk;            /* what the walk rests on is noted there; NULL: nowhere */
    unsigned frame;               /* number of this one */
    int frame_pointer_word;       /* of the walk: where it was read */
    unsigned frame_pointer_since; /* the first frame that had it */
};

/* Notes a word; its index, or IN_REGISTER when it is not noted. */
static int rely_on(struct cursor *cursor, uint64_t address, uint64_t value)
{
    struct walk *walk = cursor->walk;
    if (walk == NULL)
        return IN_REGISTER;
    if (walk->words == WALK_WORDS_MAX) {
        walk->is_complete = false;
        return IN_REGISTER;
    }
    walk->word[walk->words] =
        (struct walk_word){.address = address, .value = value, .is_relied_on = true};
    return (int)walk->words++;
}

/* The caller's frame pointer was read there. It counts only once it is used: in most code the
 * register holds anything. */
static void take_frame_pointer(struct cursor *cursor, uint64_t address, uint64_t value)
{
    cursor->frame_pointer = value;
    cursor->frame_pointer_word = rely_on(cursor, address, value);
    cursor->frame_pointer_since = cursor->frame + 1;
    if (cursor->frame_pointer_word != IN_REGISTER)
        cursor->walk->word[cursor->frame_pointer_word].is_relied_on = false;
}

static void cannot_be_remembered(struct cursor *cursor)
{
    if (cursor->walk != NULL)
        cursor->walk->is_complete = false;
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
    struct walk *walk = cursor->walk;
    if (!cursor->frame_pointer_known) {
        cannot_be_remembered(cursor);
        return false;
    }
    if (walk == NULL)
        return true;
    if (cursor->frame_pointer_word != IN_REGISTER)
        walk->word[cursor->frame_pointer_word].is_relied_on = true;
    for (unsigned i = cursor->frame_pointer_since; i <= cursor->frame; i++) {
        walk->frame[i].needs_frame_pointer = true;
        walk->frame[i].frame_pointer = cursor->frame_pointer;
    }
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
    cannot_be_remembered(cursor);
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
    if (ip == 0)
        return STEP_OUTERMOST;
    cursor->ip = ip;
    cursor->frame_pointer = frame_pointer;
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
    rely_on(cursor, frame + 8, return_address);
    return_address = arch_strip_signature(return_address);
    if (return_address < PAGE_BYTES || return_address >> 48 != 0)
        return STEP_LOST;
    cursor->ip = return_address;
    cursor->is_call = true;
    cursor->link_known = false;
    cursor->stack_pointer = frame + 16;
    take_frame_pointer(cursor, frame, caller_frame);
    return STEP_DONE;
}

/* To the caller of an ordinary frame, with a known rule, on memory known to be readable; false, and
 * nothing done, where it is not that. */
UNWIND_READS_FRAMES static inline bool step_plain(struct cursor *cursor)
{
    struct call_frame_rule rule;
    const uint64_t low = cursor->stack.low, high = cursor->stack.high;
    if (!cursor->is_call || !rule_cache_find(cursor->ip - 1, &rule) ||
        (rule.flags & CALL_FRAME_PLAIN) == 0)
        return false;
    const uint64_t cfa = cursor->stack_pointer + (uint32_t)rule.cfa_offset;
    const uint64_t place = cfa + (uint64_t)(int64_t)rule.return_address_offset;
    uint64_t return_address;
    if (place % 8 != 0 || place < low || place >= high ||
        !guarded_load_64(place, &return_address) || arch_strip_signature(return_address) == 0)
        return false;
    if (rule.frame_pointer == PLACE_AT_CFA) {
        const uint64_t saved = cfa + (uint64_t)(int64_t)rule.frame_pointer_offset;
        uint64_t frame_pointer;
        if (saved % 8 != 0 || saved < low || saved >= high ||
            !guarded_load_64(saved, &frame_pointer))
            return false;
        take_frame_pointer(cursor, saved, frame_pointer);
    }
    rely_on(cursor, place, return_address);
    cursor->ip = arch_strip_signature(return_address);
    cursor->stack_pointer = cfa;
    return true;
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
        rely_on(cursor, place, cfa);
        cfa += (uint64_t)(int64_t)rule.cfa_addend;
    }

    uint64_t address, return_address;
    if (saved_address(cursor, rule.return_address, rule.return_address_offset, cfa, &address)) {
        if (!read_word(cursor, address, &return_address))
            return STEP_LOST;
        rely_on(cursor, address, return_address);
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
        take_frame_pointer(cursor, address, frame_pointer);
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

/* Notes the frame that the walk has come to. */
static const struct walk_frame *note_frame(struct cursor *cursor)
{
    struct walk *walk = cursor->walk;
    walk->frame[cursor->frame] =
        (struct walk_frame){.ip = cursor->ip,
                            .stack_pointer = cursor->stack_pointer,
                            .frame_pointer = cursor->frame_pointer,
                            .first_word = (uint8_t)walk->words,
                            .frame_pointer_word = (int8_t)cursor->frame_pointer_word,
                            .frame_pointer_since = (uint8_t)cursor->frame_pointer_since,
                            .frame_pointer_known = cursor->frame_pointer_known};
    walk->frames = cursor->frame + 1;
    return &walk->frame[cursor->frame];
}

/* The frame and all beyond it are those of the walk before: the cursor goes to the last of them,
 * where that walk may have stopped at the limit. */
static void go_on_as(struct cursor *cursor, const struct walk *old, unsigned at)
{
    struct walk *walk = cursor->walk;
    if (old->frame[at].needs_frame_pointer)
        use_frame_pointer(cursor);
    walk_append(walk, old, at);
    const struct walk_frame *last = &walk->frame[walk->frames - 1];
    cursor->frame = walk->frames - 1;
    cursor->ip = last->ip;
    cursor->stack_pointer = last->stack_pointer;
    cursor->frame_pointer = last->frame_pointer;
    cursor->frame_pointer_known = last->frame_pointer_known;
    cursor->frame_pointer_word = last->frame_pointer_word;
    cursor->frame_pointer_since = last->frame_pointer_since;
    cursor->is_call = true;
    cursor->link_known = false;
    if (walk->is_ended || last->frame_pointer_word < 0)
        return;
    /* Nobody has compared it unless that walk used it. */
    struct walk_word *word = &walk->word[last->frame_pointer_word];
    cursor->frame_pointer_known =
        last->frame_pointer_known && read_word(cursor, word->address, &word->value);
    cursor->frame_pointer = word->value;
}

static struct cursor cursor_at(const struct unwind_start *start, struct walk *walk)
{
    return (struct cursor){.ip = start->ip,
                           .stack_pointer = start->stack_pointer,
                           .frame_pointer = start->frame_pointer,
                           .link = start->link,
                           .is_call = start->is_call,
                           .frame_pointer_known = true,
                           .link_known = !start->is_call,
                           .stack = stack_range_around(start->stack_pointer),
                           .walk = walk,
                           .frame_pointer_word = IN_REGISTER};
}

static void end_walk(const struct cursor *cursor, enum step outcome)
{
    if (outcome == STEP_LOST)
        atomic_fetch_add_explicit(&truncated_walks, 1, memory_order_relaxed);
    stack_range_remember(&cursor->stack);
}

size_t unwind(const struct unwind_start *start, uint64_t *ips, size_t max)
{
    struct cursor cursor = cursor_at(start, NULL);
    enum step outcome = STEP_DONE;
    if (max == 0)
        return 0;
    if (max > UNWIND_FRAMES_MAX)
        max = UNWIND_FRAMES_MAX;
    for (;;) {
        ips[cursor.frame] = cursor.ip;
        if (cursor.frame + 1 == max)
            break;
        if (!step_plain(&cursor) && (outcome = step(&cursor)) != STEP_DONE)
            break;
        cursor.frame++;
    }
    end_walk(&cursor, outcome);
    return cursor.frame + 1;
}

struct walk *unwind_again(const struct unwind_start *start, struct walk_memory *memory)
{
    const struct walk *old = &memory->walks[memory->last];
    struct walk *walk = &memory->walks[1 - memory->last];
    struct cursor cursor = cursor_at(start, walk);
    enum step outcome = STEP_DONE;
    unsigned at = 0, known = 0;

    walk->words = 0;
    walk->is_complete = start->is_call && loader_depth == 0;
    walk->is_ended = false;
    walk->epoch = rule_cache_epoch();
    if (!old->is_complete || old->epoch != walk->epoch)
        at = old->frames;
    for (;;) {
        if (walk_goes_on_as(old, &at, note_frame(&cursor), &cursor.stack)) {
            known = old->frames - at;
            go_on_as(&cursor, old, at);
            at = old->frames;
        }
        if (walk->is_ended || cursor.frame + 1 == UNWIND_FRAMES_MAX)
            break;
        walk->is_ended = !step_plain(&cursor) && (outcome = step(&cursor)) != STEP_DONE;
        if (walk->is_ended)
            break;
        cursor.frame++;
    }
    end_walk(&cursor, outcome);
    memory->walked = walk->frames > known ? walk->frames - known : 1;
    if (walk->is_complete) {
        atomic_signal_fence(memory_order_seq_cst);
        memory->last = 1 - memory->last;
    }
    return walk;
}

struct unwind_start unwind_start_of_signal(const ucontext_t *context)
{
    return (struct unwind_start){.ip = arch_ip(context),
                                 .stack_pointer = arch_stack_pointer(context),
                                 .frame_pointer = arch_frame_pointer(context),
                                 .link = arch_link(context)};
}
