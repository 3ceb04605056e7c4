/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Surviving debug information that crashes the library that reads it: the program starts itself
 * again and leaves that module's debug information out. It costs nothing until a crash, which a
 * child that reads first would not. Process-wide state; not thread-safe.
 */
#ifndef REUSE_POSTPROC_CRASH_RETRY_H
#define REUSE_POSTPROC_CRASH_RETRY_H

#include <stdbool.h>

/*
 * From here on a crash starts the program again with these arguments, which must stay valid. For a
 * program that has written nothing yet to its output.
 */
void crash_retry_begin(char **arguments);

/* Debug information of the module is being read, until crash_retry_done(). The path must stay. */
void crash_retry_reading(const char *path);
void crash_retry_done(void);

/* True if reading this module's debug information has crashed before. */
bool crash_retry_distrusts(const char *path);

/* Output begins: a crash from now on is one as in any program. */
void crash_retry_end(void);

/* All is written and only freeing is left: a crash from now on ends with this exit status. */
void crash_retry_written(int status);

#endif
