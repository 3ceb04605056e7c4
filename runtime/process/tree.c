/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The variable reads PID:DESCRIPTOR:KEY:START_NS:FILTERS: process PID has the page open under that
 * number, and the page begins with that key, so that neither an old variable nor a number used
 * again leads to another page. FILTERS is how many seccomp filters were found harmless.
 */
#include "process/tree.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "interposition/descriptors.h"
#include "own/own_place.h"
#include "own/text.h"
#include "perf_events/timebase.h"
#include "process/environment.h"
#include "process/handed_down.h"
#include "process/tree_ancestor.h"

static const char name[] = "REUSE_TREE";

enum { PAGE_BYTES = 4096, FORMERS = 32 };

/* Of a process whose program is being replaced, until the next one has begun. A process has its
 * place by its number; where another one is there, it loses it, and is told more time than it took.
 */
struct former {
    _Atomic uint64_t pid; /* 0: free; written last */
    struct tree_former counts;
};

struct page {
    _Atomic uint64_t key; /* written last, and read from the page where no variable has it */
    uint64_t started_ns;
    _Atomic uint64_t processes, running, profiles, samples, app_ns, overhead_ns;
    _Atomic uint64_t failed[TREE_WANTS];
    _Atomic uint64_t begun; /* processes and programs, one after the other */
    _Atomic bool governed;  /* what follows is in use */
    struct governor_process governor;
    struct former formers[FORMERS];
};

_Static_assert(sizeof(struct page) <= PAGE_BYTES, "it is one page");

/* Where no memory can be shared. */
static struct page own_page;

static struct page *page = &own_page;
static pid_t first;         /* of the tree that is joined */
static uint64_t started_ns; /* of the run */
static int descriptor = -1; /* of the page, in the first process */
static bool counted;        /* this process, as running */
static uint64_t number;     /* this one's among all that have begun */
static uint64_t filters;    /* of seccomp, harmless to this process and those that it starts */

/* What of this process is in the page. */
static struct {
    uint64_t app_ns, overhead_ns;
} reported;

static void count_this(void)
{
    counted = true;
    number = atomic_fetch_add(&page->begun, 1);
    memset(&reported, 0, sizeof reported);
    atomic_fetch_add(&page->processes, 1);
    atomic_fetch_add(&page->running, 1);
}

/* ---- joining ---- */

/* What the environment says. */
struct place {
    long pid;
    int descriptor;
    uint64_t key, started_ns, filters;
};

static bool read_place(struct place *place)
{
    const char *text = getenv(name);
    uint64_t pid, handed;

    if (!text || !handed_down_number(&text, ':', &pid) || pid > INT32_MAX ||
        !handed_down_number(&text, ':', &handed) || handed > INT32_MAX ||
        !handed_down_number(&text, ':', &place->key) ||
        !handed_down_number(&text, ':', &place->started_ns) ||
        !handed_down_number(&text, '\0', &place->filters))
        return false;
    place->pid = (long)pid;
    place->descriptor = (int)handed;
    return true;
}

static struct page *map_page(int opened)
{
    struct stat status;
    void *memory;

    if (fstat(opened, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size != PAGE_BYTES)
        return NULL;
    memory =
        (void *)syscall(SYS_mmap, NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, opened, 0L);
    return memory == MAP_FAILED ? NULL : memory;
}

static bool join(const struct place *place)
{
    char path[64];
    struct page *found;
    int opened;

    put_number(put_text(put_number(put_text(path, "/proc/"), (uint64_t)place->pid), "/fd/"),
               (uint64_t)place->descriptor);
    /* O_NONBLOCK: should it be something else, it is not waited for. */
    opened = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (opened < 0)
        return false;
    found = map_page(opened);
    syscall(SYS_close, opened);
    if (!found)
        return false;
    if (found->key == 0 || (place->key != 0 && found->key != place->key)) {
        syscall(SYS_munmap, found, PAGE_BYTES);
        return false;
    }
    page = found;
    first = (pid_t)place->pid;
    if (place->key == 0)
        started_ns = page->started_ns;
    return true;
}

/* The first process has replaced its program, and left its descriptor open for this one. */
static void take_descriptor(int left)
{
    syscall(SYS_fcntl, left, F_SETFD, FD_CLOEXEC);
    descriptor_adopt(left, &descriptor);
}

/* ---- beginning ---- */

/* Nobody who has the descriptor can make the page shorter under the others. */
static int create_page(void)
{
    struct rlimit limit;
    int created;

    /* Beyond the limit of files' sizes there would be a signal. */
    if (syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) != 0 || limit.rlim_cur < PAGE_BYTES)
        return -1;
    created = (int)syscall(SYS_memfd_create, OWN_MEMORY_FILE, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (created < 0)
        return created;
    if (syscall(SYS_ftruncate, created, (long)PAGE_BYTES) == 0 &&
        syscall(SYS_fcntl, created, F_ADD_SEALS, TREE_SEALS) == 0)
        return created;
    syscall(SYS_close, created);
    return -1;
}

static void create(void)
{
    int created = create_page();
    struct page *memory = created >= 0 ? map_page(created) : NULL;
    uint64_t key;

    first = getpid();
    started_ns = clock_ns(CLOCK_REALTIME);
    descriptor = -1;
    if (memory) {
        descriptor_adopt(created, &descriptor);
        page = memory;
    } else {
        if (created >= 0)
            syscall(SYS_close, created);
        memory = (struct page *)syscall(SYS_mmap, NULL, PAGE_BYTES, PROT_READ | PROT_WRITE,
                                        MAP_SHARED | MAP_ANONYMOUS, -1, 0L);
        page = memory == MAP_FAILED ? &own_page : memory;
    }
    page->started_ns = started_ns;
    if (getrandom(&key, sizeof key, GRND_NONBLOCK) != sizeof key)
        key = monotonic_ns();
    page->key = key | 1;
}

/* Where the variable has not been handed on. */
static bool join_ancestor(void)
{
    struct place place = {0};

    return tree_ancestor_find(&place.pid, &place.descriptor) && join(&place);
}

bool tree_begin(bool named)
{
    struct place place;
    bool known = read_place(&place);

    if (known && named && place.pid != getpid())
        known = false;
    if (!known && (named || !join_ancestor())) {
        create();
    } else if (known) {
        started_ns = place.started_ns;
        if (join(&place) && first == getpid())
            take_descriptor(place.descriptor);
    }
    count_this();
    return first == getpid();
}

bool tree_is_inherited(void)
{
    struct place place;

    return read_place(&place);
}

uint64_t tree_harmless_filters(void)
{
    struct place place;

    return read_place(&place) ? place.filters : 0;
}

void tree_found_harmless(uint64_t count)
{
    filters = count;
}

void tree_leave(void)
{
    struct place place;
    char text[128];

    if (descriptor >= 0)
        place = (struct place){first, descriptor, page->key, started_ns, 0};
    else if (!read_place(&place) || place.filters == filters)
        return;
    snprintf(text, sizeof text, "%ld:%d:%" PRIu64 ":%" PRIu64 ":%" PRIu64, place.pid,
             place.descriptor, place.key, place.started_ns, filters);
    environment_set(name, text);
}

/* ---- later ---- */

void tree_after_fork(void)
{
    descriptor = -1; /* closed with the others of the parent's */
    count_this();
}

void tree_forget(void)
{
    descriptor = -1;
    counted = false;
    memset(&own_page, 0, sizeof own_page);
    page = &own_page;
}

struct governor_process *tree_governor(bool *is_new)
{
    *is_new = !atomic_exchange(&page->governed, true);
    return &page->governor;
}

uint64_t tree_number(void)
{
    return number;
}

uint64_t tree_start_ns(void)
{
    return started_ns;
}

void tree_count_profile(bool has)
{
    if (has)
        atomic_fetch_add(&page->profiles, 1);
    else
        atomic_fetch_sub(&page->profiles, 1);
}

bool tree_first_failure(enum tree_want want)
{
    return atomic_fetch_add(&page->failed[want], 1) == 0;
}

static void add(_Atomic uint64_t *sum, uint64_t *before, uint64_t now)
{
    if (now > *before) {
        atomic_fetch_add(sum, now - *before);
        *before = now;
    }
}

void tree_count_sample(void)
{
    atomic_fetch_add_explicit(&page->samples, 1, memory_order_relaxed);
}

void tree_report(uint64_t app_ns, uint64_t overhead_ns)
{
    add(&page->app_ns, &reported.app_ns, app_ns);
    add(&page->overhead_ns, &reported.overhead_ns, overhead_ns);
}

static struct former *former_of(pid_t pid)
{
    return &page->formers[(uint64_t)pid % FORMERS];
}

static void leave_former(const struct tree_former *counts)
{
    pid_t pid = getpid();
    struct former *former = former_of(pid);

    atomic_store(&former->pid, 0);
    former->counts = *counts;
    atomic_store(&former->pid, (uint64_t)pid);
}

struct tree_former tree_take_former(void)
{
    pid_t pid = getpid();
    struct former *former = former_of(pid);
    uint64_t expected = (uint64_t)pid;
    struct tree_former counts = former->counts;

    if (!atomic_compare_exchange_strong(&former->pid, &expected, 0))
        return (struct tree_former){0};
    /* A process that had this number before, and whose next program was not followed. */
    if (counts.cpu_ns > clock_ns(CLOCK_THREAD_CPUTIME_ID) ||
        counts.process_ns > clock_ns(CLOCK_PROCESS_CPUTIME_ID))
        return (struct tree_former){0};
    return counts;
}

void tree_before_exec(const struct tree_former *former)
{
    leave_former(former);
    if (!counted)
        return;
    counted = false;
    atomic_fetch_sub(&page->processes, 1);
    atomic_fetch_sub(&page->running, 1);
    if (descriptor >= 0 && first == getpid())
        syscall(SYS_fcntl, descriptor, F_SETFD, 0);
}

void tree_end(struct tree_sums *sums)
{
    uint64_t pid = (uint64_t)getpid();

    /* Another process may get the number. */
    atomic_compare_exchange_strong(&former_of((pid_t)pid)->pid, &pid, 0);
    if (counted)
        atomic_fetch_sub(&page->running, 1);
    else /* exec has failed */
        atomic_fetch_add(&page->processes, 1);
    counted = true;
    *sums = (struct tree_sums){
        .processes = atomic_load(&page->processes),
        .running = atomic_load(&page->running),
        .profiles = atomic_load(&page->profiles),
        .wants_memory = atomic_load(&page->failed[TREE_WANTS_MEMORY]),
        .failed = atomic_load(&page->failed[TREE_WANTS_FILE]),
        .samples = atomic_load(&page->samples),
        .app_ns = atomic_load(&page->app_ns),
        .overhead_ns = atomic_load(&page->overhead_ns),
    };
}
