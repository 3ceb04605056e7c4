/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/runtime_code.h"

#include <stdlib.h>
#include <string.h>

#include "report/model/communication_view.h"

struct runtime_code {
    struct model *model;
    struct intern_table *seen; /* profile and address -> number in classes */
    ARRAY(enum code_class) classes;
};

static bool starts_with_any(const char *text, const char *const *prefixes)
{
    for (; *prefixes != NULL; prefixes++)
        if (strncmp(text, *prefixes, strlen(*prefixes)) == 0)
            return true;
    return false;
}

/* Nothing but the threading runtime is in these: GNU, LLVM, Intel and Fujitsu OpenMP, old pthread.
 */
static const char *const runtime_modules[] = {"libgomp",  "libomp.",  "libomp5",    "libomp-",
                                              "libiomp5", "libfjomp", "libpthread", NULL};

static const char *const loaders[] = {"ld-linux", "ld-musl", "ld-2", "ld64.so", NULL};
static const char *const c_libraries[] = {"libc.so", "libc-2", "libc.musl", NULL};

/* Functions of the C library, and of runtimes that are linked statically. */
static const char *const runtime_functions[] = {
    "pthread_",       "__pthread_",    "___pthread_",  "__GI___pthread_",
    "__new_sem_",     "sem_wait",      "sem_post",     "sem_trywait",
    "sem_timedwait",  "sem_clockwait", "__lll_",       "__GI___lll_",
    "lll_",           "futex_",        "__futex_",     "__GI___futex_",
    "__libc_lock_",   "mtx_",          "__mtx_",       "cnd_",
    "__cnd_",         "thrd_",         "__thrd_",      "call_once",
    "__call_once",    "start_thread",  "__ctype_init", "__rpc_thread_",
    "__clone",        "clone",         "__nptl_",      "__libc_pthread",
    "allocate_stack", "GOMP_",         "gomp_",        "omp_",
    "__kmp",          "__ompt_",       "kmp_",         NULL};

/* Of pthread: calls for which no thread waits. */
static const char *const never_waiting[] = {
    "sigmask", "kill",    "self",        "getspecific",   "setspecific", "getname",
    "setname", "getattr", "getcpuclock", "getschedparam", NULL};

bool runtime_code_is_profiler(const char *module)
{
    static const char *const own[] = {"libreuse.so",     "libreuse-guest.so", "libreuse-exact.so",
                                      "libreuse-try.so", "libreuse-place.so", NULL};

    return starts_with_any(module, own);
}

enum code_class runtime_code_class(const char *module, const char *function)
{
    if (module == NULL)
        return CODE_UNKNOWN;
    if (starts_with_any(module, runtime_modules))
        return CODE_RUNTIME;
    if (starts_with_any(module, loaders))
        return CODE_NEUTRAL;
    if (function != NULL)
        return starts_with_any(function, runtime_functions) ? CODE_RUNTIME : CODE_PROGRAM;
    return starts_with_any(module, c_libraries) ? CODE_NEUTRAL : CODE_PROGRAM;
}

/* Parts of the names of functions that take and release locks; of pthread_cond_clockwait(), say,
 * "lock" is none. */
static const char *const locks[] = {"mutex",    "spin_",       "rwlock", "lll_", "_lock",
                                    "critical", "GOMP_atomic", "unlock", "mtx_", NULL};

static bool is_lock(const char *function)
{
    for (const char *const *part = locks; *part != NULL; part++)
        if (strstr(function, *part) != NULL)
            return true;
    return false;
}

enum code_waits runtime_code_waits(const char *module, const char *function)
{
    const char *call = function != NULL ? strstr(function, "pthread_") : NULL;

    if (runtime_code_class(module, function) != CODE_RUNTIME ||
        (call != NULL && starts_with_any(call + strlen("pthread_"), never_waiting)))
        return WAITS_NOT;
    return function != NULL && is_lock(function) ? WAITS_AT_LOCK : WAITS_FOR_THREADS;
}

struct runtime_code *runtime_code_create(struct model *model)
{
    struct runtime_code *code = allocate_zeroed(1, sizeof(*code));

    code->model = model;
    code->seen = intern_table_create();
    return code;
}

void runtime_code_free(struct runtime_code *code)
{
    intern_table_free(code->seen);
    free(code->classes.items);
    free(code);
}

static enum code_class class_of(struct runtime_code *code, size_t profile,
                                const struct flow_end *end)
{
    uint64_t key[2] = {profile, end->ip};
    const struct location *location;
    const char *module;
    enum code_class class;
    uint32_t number;

    if (end->ip == 0)
        return CODE_UNKNOWN;
    number = intern_table_insert(code->seen, key, sizeof(key));
    if (number < code->classes.count)
        return code->classes.items[number];
    if (code_is_ambiguous(code->model->profiles[profile], end->ip)) {
        ARRAY_PUSH(&code->classes, CODE_UNKNOWN);
        return CODE_UNKNOWN;
    }
    location = resolver_location(code->model->resolver,
                                 resolver_code(code->model->resolver, profile, end->ip, 0, false));
    module = location->module != NULL ? symbol_module_name(location->module) : NULL;
    /* The outermost frame: what is inlined into a lock belongs to the lock. */
    class = runtime_code_class(module, location->frames.items[location->frames.count - 1].function);
    ARRAY_PUSH(&code->classes, class);
    return class;
}

bool runtime_code_made(struct runtime_code *code, const struct flow *flow)
{
    enum code_class source = class_of(code, flow->profile_index, &flow->source);
    enum code_class destination = class_of(code, flow->profile_index, &flow->destination);

    return (source == CODE_RUNTIME && destination != CODE_PROGRAM) ||
           (destination == CODE_RUNTIME && source != CODE_PROGRAM);
}
