/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The exact engine as a QEMU plugin: connects QEMU's callbacks with the access stream, and the
 * stream with its consumers. Runs in the guest's process, on the guest's threads; the guest's
 * memory is never written.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "elf_image.h"
#include "guest_memory.h"
#include "heap.h"
#include "instructions.h"
#include "locality.h"
#include "modules.h"
#include "objects.h"
#include "output.h"
#include "output_run.h"
#include "partition_groups.h"
#include "partitions.h"
#include "process_sharing.h"
#include "qemu_api.h"
#include "regions.h"
#include "say.h"
#include "settings.h"
#include "shared_cache.h"
#include "sharing.h"
#include "simulate/simulate.h"
#include "stream.h"
#include "syscalls.h"

enum { INTERFACE_VERSION = 1 };

int qemu_plugin_version = INTERFACE_VERSION;

const char *qemu_plugin_path_to_binary(void); /* the guest's program; newly allocated */

static struct settings settings; /* written by qemu_plugin_install alone */

/* The guest's program is in memory by now, and nothing of it has run. */
static void program_loaded(void)
{
    const char *path = qemu_plugin_path_to_binary();
    output_run_set_program(path != NULL ? path : "unknown");
    modules_find_program(guest_memory_base());
    struct elf_image image;
    if (settings.guest_library[0] != '\0' && path != NULL && elf_image_read(path, &image) &&
        !image.has_interpreter)
        output_note("%s is statically linked: its heap blocks have no names", path);
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)id;
    pthread_once(&once, program_loaded);
    size_t count = qemu_plugin_tb_n_insns(block);
    bool counted = !modules_in_guest_library(qemu_plugin_tb_vaddr(block));
    bool calls = regions_follow_calls();
    for (size_t i = 0; i < count; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(block, i);
        uint64_t address = qemu_plugin_insn_vaddr(insn);
        uint32_t region = calls && counted ? regions_entered_at(address) : 0;
        if (region != 0)
            qemu_plugin_register_vcpu_insn_exec_cb(insn, stream_on_entry, QEMU_PLUGIN_CB_NO_REGS,
                                                   (void *)(uintptr_t)region);
        uint32_t number =
            instruction_number(address, qemu_plugin_insn_data(insn), qemu_plugin_insn_size(insn));
        if (number == INSTRUCTION_NONE)
            continue;
        /*
         * Of those that are not counted only calls matter. But where an instruction has no
         * callback, QEMU 7.2 gives its atomic accesses to the last one before that had one and left
         * its block: our library's tables would be the data of whoever called it.
         */
        if (!counted) {
            qemu_plugin_register_vcpu_mem_cb(insn, stream_on_uncounted, QEMU_PLUGIN_CB_NO_REGS,
                                             QEMU_PLUGIN_MEM_RW, stream_userdata(number));
            continue;
        }
        bool in_pieces = instruction_at(number)->operand_bytes > 0;
        bool sampled = settings.rate_denominator > 1;
        qemu_plugin_register_vcpu_mem_cb(
            insn,
            in_pieces ? sampled ? stream_on_sampled_pieces : stream_on_pieces
            : sampled ? stream_on_sampled_access
                      : stream_on_access,
            QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, stream_userdata(number));
    }
}

static void on_vcpu_start(qemu_plugin_id_t id, unsigned vcpu)
{
    (void)id;
    stream_vcpu_started(vcpu);
}

static void on_vcpu_end(qemu_plugin_id_t id, unsigned vcpu)
{
    (void)id;
    stream_vcpu_ended(vcpu);
}

/* The guest exits in order; its other threads stand still. */
static void on_exit_of_guest(qemu_plugin_id_t id, void *context)
{
    (void)id;
    (void)context;
    for (struct guest_thread *thread = stream_all_threads(); thread != NULL;
         thread = thread->following)
        stream_drain(thread);
    output_finish(syscalls_exit_status());
}

static void after_fork_in_child(void)
{
    bool go_on = (settings.options.follow & FOLLOW_FORK) != 0;
    stream_after_fork(go_on);
    sharing_after_fork();
    process_sharing_after_fork();
    simulate_after_fork();
    shared_cache_after_fork();
    instructions_after_fork();
    objects_after_fork();
    heap_after_fork();
    regions_after_fork();
    modules_after_fork();
    locality_after_fork();
    output_after_fork(go_on);
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    char message[OPTIONS_MESSAGE_MAX];
    if (info->system_emulation) {
        say("needs qemu-user (qemu-x86_64), not a system emulator");
        return 1;
    }
    if (!syscalls_know(info->target_name)) {
        say("programs for %s cannot be analysed: their operands are not known here; build the "
            "program for x86-64",
            info->target_name);
        return 1;
    }
    if (!stream_check_encoding()) {
        say("this QEMU describes accesses in another way (interface "
            "version %d); use QEMU 7.2",
            info->version.cur);
        return 1;
    }
    if (!settings_read(&settings, argc, argv, message, sizeof message)) {
        say("%s", message);
        return 1;
    }
    locality_set_line_sizes(settings.line_sizes, settings.line_size_count);
    if (settings.rate_denominator > 1) {
        locality_set_rate(settings.rate_denominator);
        stream_set_rate(settings.rate_denominator, (unsigned)__builtin_ctz(settings.line_sizes[0]));
    }
    partitions_set_wanted(settings.options.partitions);
    partition_groups_choose(settings.options.partition_groups);
    if (settings.options.engine == ENGINE_EXACT)
        regions_choose(settings.options.regions);
    if (regions_follow_calls())
        stream_follow_calls();
    stream_add_consumer(&locality_consumer);
    if (settings.options.sharing && settings.options.shared_cache) {
        shared_cache_start(stream_add_consumer(&shared_cache_consumer));
        stream_become_parallel = shared_cache_become_parallel;
    }
    say_engine(engine_names[settings.options.engine]);
    if (settings.options.engine == ENGINE_SIMULATE)
        simulate_start(&settings, stream_add_consumer(&simulate_consumer));
    if (settings.options.sharing && !sharing_start(settings.line_sizes[0])) {
        say("out of memory");
        return 1;
    }
    if (settings.options.sharing && settings.options.engine == ENGINE_EXACT)
        process_sharing_start(settings.shared_descriptor, settings.line_sizes[0]);
    say_start();
    modules_set_guest_library(settings.guest_library[0] != '\0' ? settings.guest_library : NULL);
    modules_note_own_mappings();
    output_start(&settings);
    syscalls_start(&settings);
    pthread_atfork(NULL, NULL, after_fork_in_child);
    qemu_plugin_register_vcpu_init_cb(id, on_vcpu_start);
    qemu_plugin_register_vcpu_exit_cb(id, on_vcpu_end);
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_vcpu_syscall_cb(id, syscalls_on_entry);
    qemu_plugin_register_vcpu_syscall_ret_cb(id, syscalls_on_return);
    qemu_plugin_register_atexit_cb(id, on_exit_of_guest, NULL);
    return 0;
}
