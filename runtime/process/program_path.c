/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. See program_path.h. */
#include "process/program_path.h"

#include <limits.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "large_table.h"

#include "signal_safe.h"

const char *program_path(void)
{
    static LARGE_TABLE char path[PATH_MAX];
    const char *called = (const char *)getauxval(AT_EXECFN);

    if (path[0] == '\0') {
        ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);

        path[length > 0 ? length : 0] = '\0';
    }
    if (path[0] == '\0' && called && strlen(called) < sizeof path)
        memcpy(path, called, strlen(called) + 1);
    return path;
}
