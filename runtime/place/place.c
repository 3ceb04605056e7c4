/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libreuse-place.so: binds the threads of the program that it is preloaded into as the file in
 * $REUSE_PLACE says (placement_file.h). It knows nothing of profiling and works beside libreuse.so
 * or alone, so that a program can be timed bound and unbound.
 *
 * A thread's number is how many pthread_create() calls came before the one that made it; the main
 * thread is 0. Each thread binds itself before its first instruction. The main thread is bound when
 * the first other thread is made, not before: OpenMP and others count the CPUs that the main thread
 * may use to choose how many threads to start. Runs in the target's normal code.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output/say.h"
#include "own/c_library.h"
#include "path_name.h"
#include "placement_file.h"

#define INTERPOSED __attribute__((visibility("default")))

enum {
    STARTS_MAX = 1024, /* threads that have been created but not yet begun to run */
    SET_BITS = PLACEMENT_CPU_MAX + 1,
};

/* A set of CPUs as the kernel takes it, with room for any number that a file can name. */
struct cpu_bits {
    unsigned long words[SET_BITS / (8 * sizeof(unsigned long))];
};

/* Written by the constructor, before there is a second thread. */
static struct placement_file mapping;
static struct cpu_bits allowed; /* when the process began */
static _Atomic bool active;     /* there is a mapping, and this process is the one that it is for */

static _Atomic uint32_t created;     /* calls of pthread_create(), failed ones included */
static _Atomic bool main_is_bound;   /* or being bound */
static _Atomic bool surplus_is_told; /* that there are threads without a line */

struct start {
    _Atomic bool taken;
    int32_t number;
    void *(*routine)(void *);
    void *argument;
};
static struct start starts[STARTS_MAX];

static void set_bit(struct cpu_bits *set, uint32_t cpu)
{
    set->words[cpu / (8 * sizeof(unsigned long))] |= 1UL << cpu % (8 * sizeof(unsigned long));
}

static bool has_bit(const struct cpu_bits *set, uint32_t cpu)
{
    return set->words[cpu / (8 * sizeof(unsigned long))] >> cpu % (8 * sizeof(unsigned long)) & 1;
}

static void tell_unbound(const char *why)
{
    struct line line;

    line_begin(&line);
    line_text(&line, "threads are not bound: ");
    line_text(&line, why);
    say_error(&line);
}

/* ---- binding ---- */

/* Binds the calling thread. A number without a line goes where `others` go, or stays free. */
static void bind_current(int32_t number)
{
    struct cpu_bits set = {0};
    struct line line;
    bool found = false, any = true;

    for (int pass = 0; pass < 2 && !found; pass++) {
        int32_t wanted = pass == 0 ? number : PLACEMENT_OTHERS;

        for (size_t i = 0; i < mapping.count; i++) {
            const struct placement_entry *entry = &mapping.entries[i];

            if (entry->thread != wanted)
                continue;
            found = true;
            for (uint32_t cpu = entry->first; cpu <= entry->last; cpu++) {
                set_bit(&set, cpu);
                any = false;
            }
        }
    }
    if (any)
        set = allowed; /* not that of the thread's maker, which is bound */
    if (!found && !atomic_exchange(&surplus_is_told, true)) {
        line_begin(&line);
        line_text(&line, "thread ");
        line_number(&line, (uint64_t)number);
        line_text(&line, " has no line in the mapping (nor may later ones): it stays free");
        say(&line);
    }
    if (sched_setaffinity(0, sizeof set, (const cpu_set_t *)&set) != 0) {
        line_begin(&line);
        line_text(&line, "thread ");
        line_number(&line, (uint64_t)number);
        line_text(&line, " could not be bound (");
        line_error(&line, errno);
        line_text(&line, "): it stays free");
        say_error(&line);
    }
}

static void bind_main(void)
{
    if (!atomic_exchange(&main_is_bound, true))
        bind_current(0);
}

/* A child that fork() makes is another process: free again, and not numbered. */
static void after_fork_child(void)
{
    if (atomic_exchange(&active, false))
        sched_setaffinity(0, sizeof allowed, (const cpu_set_t *)&allowed);
}

/* ---- threads ---- */

static struct start *take_start(void)
{
    for (size_t i = 0; i < STARTS_MAX; i++)
        if (!atomic_exchange(&starts[i].taken, true))
            return &starts[i];
    return NULL;
}

static void *run(void *argument)
{
    struct start *start = argument;
    void *(*routine)(void *) = start->routine;
    void *routine_argument = start->argument;
    int32_t number = start->number;

    atomic_store(&start->taken, false);
    if (atomic_load(&active))
        bind_current(number);
    return routine(routine_argument);
}

INTERPOSED int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                              void *(*routine)(void *), void *argument)
{
    typedef int create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    static create *_Atomic next;
    struct start *start;
    int result;

    if (!atomic_load(&next))
        atomic_store(&next, (create *)dlsym(RTLD_NEXT, "pthread_create"));
    if (!atomic_load(&active))
        return atomic_load(&next)(thread, attributes, routine, argument);
    bind_main();
    start = take_start();
    if (!start) {
        atomic_fetch_add(&created, 1);
        tell_unbound("more than 1024 threads are about to start at once, one of them stays free");
        return atomic_load(&next)(thread, attributes, routine, argument);
    }
    start->number = (int32_t)(atomic_fetch_add(&created, 1) + 1);
    start->routine = routine;
    start->argument = argument;
    result = atomic_load(&next)(thread, attributes, run, start);
    if (result != 0)
        atomic_store(&start->taken, false);
    return result;
}

/* ---- start ---- */

/* The file's text, mapped; NULL with a line on stderr. */
static const char *map_file(const char *path, size_t *size)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    const char *text = NULL;
    struct line line;

    if (descriptor >= 0 && fstat(descriptor, &status) == 0 && status.st_size > 0) {
        text = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        *size = (size_t)status.st_size;
        if (text == MAP_FAILED)
            text = NULL;
    }
    if (text == NULL) {
        line_begin(&line);
        line_text(&line, "threads are not bound: cannot read the mapping ");
        line_text(&line, path);
        line_text(&line, " (");
        line_error(&line, descriptor >= 0 ? EINVAL : errno);
        line_text(&line, ")");
        say_error(&line);
    }
    if (descriptor >= 0)
        close(descriptor);
    return text;
}

/* Reads the mapping into memory of its own. */
static bool read_mapping(const char *path)
{
    char message[256];
    struct line line;
    size_t size = 0, bytes;
    const char *text = map_file(path, &size);
    int result;

    if (text == NULL)
        return false;
    result = placement_file_read(text, size, &mapping, message, sizeof message);
    if (result == 0) {
        bytes = mapping.count * sizeof mapping.entries[0];
        mapping.capacity = mapping.count;
        mapping.entries =
            mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mapping.entries == MAP_FAILED)
            result = -1;
        else
            result = placement_file_read(text, size, &mapping, message, sizeof message);
    }
    munmap((void *)(uintptr_t)text, size);
    if (result == 0)
        return true;
    line_begin(&line);
    line_text(&line, "threads are not bound: ");
    line_text(&line, path);
    line_text(&line, ": ");
    line_text(&line, message);
    say_error(&line);
    return false;
}

/* Whether this process runs the program that the mapping is for. */
static bool is_for_us(void)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);

    if (mapping.program[0] == '\0' || length <= 0)
        return true;
    path[length] = '\0';
    return strcmp(path_name(path), mapping.program) == 0;
}

/* The kernel would bind to what is left of a set; half a mapping is none. */
static bool all_cpus_are_allowed(const char *path)
{
    struct line line;

    if (sched_getaffinity(0, sizeof allowed, (cpu_set_t *)&allowed) != 0) {
        tell_unbound("the kernel does not tell which CPUs are allowed");
        return false;
    }
    for (size_t i = 0; i < mapping.count; i++)
        for (uint32_t cpu = mapping.entries[i].first; cpu <= mapping.entries[i].last; cpu++) {
            if (has_bit(&allowed, cpu))
                continue;
            line_begin(&line);
            line_text(&line, "threads are not bound: CPU ");
            line_number(&line, cpu);
            line_text(&line, " of ");
            line_text(&line, path);
            line_text(&line, " is not here, offline or not allowed to this process: make the "
                             "mapping for this machine (taskset -p $$ shows what is allowed)");
            say_error(&line);
            return false;
        }
    return true;
}

static bool is_on(const char *variable)
{
    const char *value = getenv(variable);

    return value && strcmp(value, "1") == 0;
}

static void __attribute__((constructor)) start(void)
{
    const char *path = getenv("REUSE_PLACE");
    bool only_main = true;

    if (!path || *path == '\0' || !c_library_is_known())
        return;
    say_begin(is_on("REUSE_QUIET"), is_on("REUSE_VERBOSE"), true);
    if (!read_mapping(path) || !is_for_us() || !all_cpus_are_allowed(path))
        return;
    for (size_t i = 0; i < mapping.count; i++)
        only_main &= mapping.entries[i].thread == 0;
    c_library_at_fork(NULL, NULL, after_fork_child);
    atomic_store(&active, true);
    if (only_main)
        bind_main();
}
