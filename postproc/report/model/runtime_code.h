/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transfers that are made by waiting, not by the program's data: spinning at OpenMP barriers,
 * locks, condition variables, starting and ending threads. Recognised by module and function. And
 * the profiler's modules.
 */
#ifndef REUSE_POSTPROC_RUNTIME_CODE_H
#define REUSE_POSTPROC_RUNTIME_CODE_H

#include <stdbool.h>

#include "analysis/communication/communication.h"
#include "report/model/model.h"

enum code_class {
    CODE_PROGRAM,
    CODE_RUNTIME, /* of the threading runtime */
    CODE_NEUTRAL, /* of the loader, or of the C library in a function whose name is not known */
    CODE_UNKNOWN, /* no address, or in no module */
};

/* module: last part of the path, NULL unknown; function: as shown, NULL when it has no name. */
enum code_class runtime_code_class(const char *module, const char *function);

/* Whether a module, by the last part of its path, is one of the profiler's own. */
bool runtime_code_is_profiler(const char *module);

enum code_waits {
    WAITS_NOT,         /* pthread_sigmask(), say, or none of the threading runtime */
    WAITS_AT_LOCK,     /* takes or releases one */
    WAITS_FOR_THREADS, /* barriers, condition variables, threads that begin and end */
};

/* Where a thread may wait for another, or spin. Arguments as above. */
enum code_waits runtime_code_waits(const char *module, const char *function);

struct runtime_code;

struct runtime_code *runtime_code_create(struct model *);
void runtime_code_free(struct runtime_code *);

/*
 * True if one of the two accesses was made in the threading runtime and the other not in the
 * program: a lock beside the program's data, on one line with it, is the program's own affair.
 */
bool runtime_code_made(struct runtime_code *, const struct flow *);

#endif
