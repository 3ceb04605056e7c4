/* SPDX-License-Identifier: BSD-3-Clause */
/* See syscalls.h. Entry and return of a call are seen on the same host thread. */
#include "syscalls.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "exec.h"
#include "guest_memory.h"
#include "heap.h"
#include "locality.h"
#include "modules.h"
#include "objects.h"
#include "objects/doorbell.h"
#include "output.h"
#include "process_sharing.h"
#include "regions.h"
#include "shared_cache.h"
#include "stream.h"

struct syscall_numbers {
    const char *target;
    int64_t mmap, munmap, mremap, shmat, shmdt, execve, execveat, exit, exit_group;
};

/* Linux' tables, of the architectures whose operands we know. */
static const struct syscall_numbers tables[] = {
    {"x86_64", 9, 11, 25, 30, 67, 59, 322, 60, 231},
};

static const struct syscall_numbers *numbers; /* set before the guest runs */
static const struct settings *settings;       /* likewise */

/* Arguments of the calling thread's call. */
static __thread uint64_t arguments[6];

static int exit_status; /* of the last thread that exited; read when the run is over */

bool syscalls_know(const char *target_name)
{
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        if (strcmp(tables[i].target, target_name) == 0)
            numbers = &tables[i];
    return numbers != NULL;
}

void syscalls_start(const struct settings *given)
{
    settings = given;
}

/*
 * The guest replaces its program. If that succeeds nothing of this engine is left, so everything is
 * written before; then we become the new program under QEMU ourselves.
 */
static void before_exec(uint64_t path, uint64_t program_arguments, uint64_t environment,
                        bool is_plain)
{
    char reason[512] = "a file given by descriptor is started outside of QEMU and not analysed";
    bool follow = (settings->options.follow & FOLLOW_EXEC) != 0;
    bool carry =
        follow && is_plain &&
        exec_prepare(path, program_arguments, environment, settings->program_index,
                     settings->generation + 1, settings->guest_library, reason, sizeof reason);
    if (follow && reason[0] != '\0')
        output_note("%s", reason);
    if (carry || !follow || reason[0] != '\0')
        output_before_exec();
    if (carry)
        exec_carry_over();
}

/* A message of objects/doorbell.h. What the thread did before it is analysed as it was then. */
static void take_message(unsigned vcpu, uint64_t operation, uint64_t a, uint64_t b, uint64_t c,
                         uint64_t d, uint64_t e)
{
    struct guest_thread *thread = stream_thread(vcpu);
    if (thread != NULL)
        stream_drain(thread);
    if (operation == DOORBELL_SITE) {
        heap_site(a, b, c, d, e);
    } else if (operation == DOORBELL_INSERTED && d <= BLOCK_SITE_MAX) {
        heap_inserted(a, &(struct block){.base = b, .size = c, .site = (uint32_t)d}, e != 0);
    } else if (operation == DOORBELL_REMOVED) {
        heap_removed(a, b);
    } else if (operation == DOORBELL_STACK && thread != NULL && a < b) {
        thread->stack_low = a;
        thread->stack_high = b;
        objects_add_stack(thread->thread_id, a, b);
    } else if ((operation == DOORBELL_REGION_BEGIN || operation == DOORBELL_REGION_END) &&
               thread != NULL) {
        char name[DOORBELL_NAME_MAX];
        bool begins = operation == DOORBELL_REGION_BEGIN;
        uint32_t region =
            begins && guest_memory_text(a, name, sizeof name) ? regions_named(name) : 0;
        pthread_mutex_lock(&thread->lock);
        if (!begins || region != 0)
            locality_region(thread->consumer[LOCALITY_CONSUMER], region);
        pthread_mutex_unlock(&thread->lock);
    } else if (operation == DOORBELL_PAUSE || operation == DOORBELL_RESUME) {
        stream_pause(operation == DOORBELL_PAUSE);
    }
}

void syscalls_on_entry(qemu_plugin_id_t id, unsigned vcpu, int64_t number, uint64_t a1, uint64_t a2,
                       uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8)
{
    (void)id;
    (void)a7;
    (void)a8;
    memcpy(arguments, (uint64_t[]){a1, a2, a3, a4, a5, a6}, sizeof arguments);
    if (number != DOORBELL_NUMBER)
        shared_cache_pause(stream_thread(vcpu), true);
    if (number == DOORBELL_NUMBER) {
        take_message(vcpu, a1, a2, a3, a4, a5, a6);
    } else if (number == numbers->exit || number == numbers->exit_group) {
        exit_status = (int)(a1 & 0xff);
    } else if (number == numbers->execve || number == numbers->execveat) {
        bool at = number == numbers->execveat;
        before_exec(at ? a2 : a1, at ? a3 : a2, at ? a4 : a3, !at || (int)a1 == AT_FDCWD);
    }
}

/* Memory that is shared came, or anything may have gone that was. */
static bool changes_shared_memory(int64_t number)
{
    enum { FLAGS = 3, KINDS = 15 };
    bool came = number == numbers->shmat ||
                (number == numbers->mmap && (arguments[FLAGS] & KINDS) != MAP_PRIVATE);
    bool went = number == numbers->mmap || number == numbers->munmap || number == numbers->mremap ||
                number == numbers->shmdt;

    return came || (went && process_sharing_on);
}

void syscalls_on_return(qemu_plugin_id_t id, unsigned vcpu, int64_t number, int64_t result)
{
    (void)id;
    if (number != DOORBELL_NUMBER)
        shared_cache_pause(stream_thread(vcpu), false);
    bool failed = result < 0 && result > -4096;
    if (failed)
        return;
    if (number == numbers->mmap) {
        enum { PROTECTION = 2, FLAGS = 3, DESCRIPTOR = 4, OFFSET = 5 };
        if (arguments[FLAGS] & MAP_FIXED)
            modules_unmapped((uint64_t)result, arguments[1]);
        if ((arguments[PROTECTION] & PROT_EXEC) && !(arguments[FLAGS] & MAP_ANONYMOUS))
            modules_mapped((uint64_t)result, (int)arguments[DESCRIPTOR], arguments[OFFSET]);
    } else if (number == numbers->munmap) {
        modules_unmapped(arguments[0], arguments[1]);
    }
    if (changes_shared_memory(number))
        process_sharing_look(stream_thread(vcpu));
}

int syscalls_exit_status(void)
{
    return exit_status;
}
