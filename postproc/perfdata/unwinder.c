/* SPDX-License-Identifier: BSD-3-Clause */
/* See unwinder.h. */
#include "perfdata/unwinder.h"

#include <libunwind.h>
#include <stdlib.h>
#include <string.h>

#include "pmu/bytes.h"

/* libunwind has it for those who bring their own table, without a declaration in its headers. */
extern int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t, unw_word_t ip, unw_dyn_info_t *,
                                              unw_proc_info_t *, int need_unwind_info,
                                              void *context);

/* What libunwind knows of one process stays with it, and is not another's. */
struct process {
    uint32_t pid;
    unw_addr_space_t space;
};

struct unwinder {
    const struct recording *recording;
    struct loaded_files *files;
    ARRAY(struct process) processes;
    const struct recorded_sample *sample; /* that is being unwound */
};

/* ---- registers ---- */

#if defined __x86_64__
#define MACHINE "x86_64"
enum { STACK_POINTER = UNW_X86_64_RSP, INSTRUCTION = UNW_X86_64_RIP };

/* The bit of a register in the mask, by the numbers of asm/perf_regs.h; -1: not recorded. */
static int mask_bit(unw_regnum_t number)
{
    static const signed char bits[] = {
        [UNW_X86_64_RAX] = 0,  [UNW_X86_64_RBX] = 1,  [UNW_X86_64_RCX] = 2,  [UNW_X86_64_RDX] = 3,
        [UNW_X86_64_RSI] = 4,  [UNW_X86_64_RDI] = 5,  [UNW_X86_64_RBP] = 6,  [UNW_X86_64_RSP] = 7,
        [UNW_X86_64_RIP] = 8,  [UNW_X86_64_R8] = 16,  [UNW_X86_64_R9] = 17,  [UNW_X86_64_R10] = 18,
        [UNW_X86_64_R11] = 19, [UNW_X86_64_R12] = 20, [UNW_X86_64_R13] = 21, [UNW_X86_64_R14] = 22,
        [UNW_X86_64_R15] = 23,
    };

    return number >= 0 && (size_t)number < sizeof bits ? bits[number] : -1;
}
#else
#define MACHINE "aarch64"
enum { STACK_POINTER = UNW_AARCH64_SP, INSTRUCTION = UNW_AARCH64_PC };

/* The same numbers in both. */
static int mask_bit(unw_regnum_t number)
{
    return number >= UNW_AARCH64_X0 && number <= UNW_AARCH64_PC ? (int)number : -1;
}
#endif

static bool read_register(const struct recorded_stack *stack, unw_regnum_t number, uint64_t *value)
{
    int bit = mask_bit(number);
    uint64_t below;

    if (bit < 0 || !(stack->register_mask >> bit & 1))
        return false;
    below = stack->register_mask & ((UINT64_C(1) << bit) - 1);
    *value = load64(stack->registers + 8 * (size_t)__builtin_popcountll(below));
    return true;
}

bool unwinder_knows(const char *machine)
{
    return strcmp(machine, MACHINE) == 0;
}

/* ---- what libunwind asks for ---- */

static int find_procedure(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *info,
                          int need_unwind_info, void *context)
{
    struct unwinder *unwinder = context;
    const struct loaded_file *file =
        loaded_file_at(unwinder->files, unwinder->sample->pid, ip, unwinder->sample->time);
    unw_dyn_info_t table = {.format = UNW_INFO_FORMAT_REMOTE_TABLE};
    enum { AT_TABLE = 12 }; /* entries of a word each */
    uint64_t header, entries;

    if (!file || !code_image_unwind_table(file->image, &header, &entries))
        return -UNW_ENOINFO;
    table.start_ip = file->start;
    table.end_ip = file->end;
    table.u.rti.segbase = file->bias + header;
    table.u.rti.table_data = table.u.rti.segbase + AT_TABLE;
    table.u.rti.table_len = entries;
    return UNW_OBJ(dwarf_search_unwind_table)(space, ip, &table, info, need_unwind_info, context);
}

static void give_back(unw_addr_space_t space, unw_proc_info_t *info, void *context)
{
    (void)space;
    (void)info;
    (void)context;
}

static int no_dynamic_code(unw_addr_space_t space, unw_word_t *address, void *context)
{
    (void)space;
    (void)address;
    (void)context;
    return -UNW_ENOINFO;
}

/* The copy of the stack, else what the files have: code and tables. */
static int access_memory(unw_addr_space_t space, unw_word_t address, unw_word_t *value, int write,
                         void *context)
{
    struct unwinder *unwinder = context;
    const struct recorded_sample *sample = unwinder->sample;
    const struct recorded_stack *stack = &sample->stack;
    const struct loaded_file *file;
    uint64_t bottom, word;

    (void)space;
    if (write || !read_register(stack, STACK_POINTER, &bottom))
        return -UNW_EINVAL;
    if (address >= bottom && stack->size >= sizeof word &&
        address - bottom <= stack->size - sizeof word) {
        *value = load64(stack->bytes + (address - bottom));
        return 0;
    }
    file = loaded_file_at(unwinder->files, sample->pid, address, sample->time);
    if (!file || !code_image_read(file->image, address - file->bias, &word))
        return -UNW_EINVAL;
    *value = word;
    return 0;
}

static int access_register(unw_addr_space_t space, unw_regnum_t number, unw_word_t *value,
                           int write, void *context)
{
    const struct unwinder *unwinder = context;
    uint64_t word;

    (void)space;
    if (write)
        return -UNW_EREADONLYREG;
    if (!read_register(&unwinder->sample->stack, number, &word))
        return -UNW_EBADREG;
    *value = word;
    return 0;
}

static int no_vectors(unw_addr_space_t space, unw_regnum_t number, unw_fpreg_t *value, int write,
                      void *context)
{
    (void)space;
    (void)number;
    (void)value;
    (void)write;
    (void)context;
    return -UNW_EINVAL;
}

static int no_resume(unw_addr_space_t space, unw_cursor_t *cursor, void *context)
{
    (void)space;
    (void)cursor;
    (void)context;
    return -UNW_EINVAL;
}

static int no_name(unw_addr_space_t space, unw_word_t address, char *buffer, size_t size,
                   unw_word_t *offset, void *context)
{
    (void)space;
    (void)address;
    (void)buffer;
    (void)size;
    (void)offset;
    (void)context;
    return -UNW_EINVAL;
}

/* ---- walking ---- */

bool unwinder_is_built_in(void)
{
    return true;
}

struct unwinder *unwinder_create(const struct recording *recording, struct loaded_files *files)
{
    struct unwinder *unwinder = allocate_zeroed(1, sizeof *unwinder);

    unwinder->recording = recording;
    unwinder->files = files;
    return unwinder;
}

void unwinder_free(struct unwinder *unwinder)
{
    if (!unwinder)
        return;
    for (size_t i = 0; i < unwinder->processes.count; i++)
        unw_destroy_addr_space(unwinder->processes.items[i].space);
    free(unwinder->processes.items);
    free(unwinder);
}

/* Whether different files lay at one place, one after the other: nothing may be remembered then. */
static bool files_replace_each_other(const struct recording *recording, uint32_t pid)
{
    const struct recorded_map *before = NULL;

    for (size_t i = 0; i < recording->maps.count; i++) {
        const struct recorded_map *map = &recording->maps.items[i];

        if (map->pid != pid)
            continue;
        if (before && map->start < before->end && strcmp(map->path, before->path) != 0)
            return true;
        if (!before || map->end > before->end)
            before = map;
    }
    return false;
}

static unw_addr_space_t space_of(struct unwinder *unwinder, uint32_t pid)
{
    static unw_accessors_t accessors = {.find_proc_info = find_procedure,
                                        .put_unwind_info = give_back,
                                        .get_dyn_info_list_addr = no_dynamic_code,
                                        .access_mem = access_memory,
                                        .access_reg = access_register,
                                        .access_fpreg = no_vectors,
                                        .resume = no_resume,
                                        .get_proc_name = no_name};
    struct process fresh = {.pid = pid};

    for (size_t i = 0; i < unwinder->processes.count; i++)
        if (unwinder->processes.items[i].pid == pid)
            return unwinder->processes.items[i].space;
    fresh.space = or_out_of_memory(unw_create_addr_space(&accessors, 0));
    if (!files_replace_each_other(unwinder->recording, pid))
        unw_set_caching_policy(fresh.space, UNW_CACHE_GLOBAL);
    ARRAY_PUSH(&unwinder->processes, fresh);
    return fresh.space;
}

size_t unwinder_frames(struct unwinder *unwinder, const struct recorded_sample *sample,
                       uint64_t *addresses, size_t max)
{
    unw_cursor_t cursor;
    size_t count = 0;

    if (!sample->stack.registers || max == 0 ||
        !read_register(&sample->stack, INSTRUCTION, &addresses[0]))
        return 0;
    count = 1;
    unwinder->sample = sample;
    if (unw_init_remote(&cursor, space_of(unwinder, sample->pid), unwinder) != 0)
        return count;
    while (count < max && unw_step(&cursor) > 0) {
        unw_word_t ip;

        if (unw_get_reg(&cursor, UNW_REG_IP, &ip) != 0 || ip == 0)
            break;
        /* A frame that a signal interrupted has been at this very instruction. */
        addresses[count++] = unw_is_signal_frame(&cursor) > 0 ? ip : ip - 1;
    }
    return count;
}
