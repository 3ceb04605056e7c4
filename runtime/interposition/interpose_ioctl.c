/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory whose page faults somebody serves (forbidden.h). Runs in the target's normal code. */
#include <errno.h>
#include <linux/userfaultfd.h>
#include <stdarg.h>
#include <sys/ioctl.h>

#include "interposition/interpose.h"
#include "memory/forbidden.h"
#include "process/process.h"

INTERPOSED int ioctl(int descriptor, unsigned long request, ...)
{
    static int (*next)(int, unsigned long, void *);
    va_list list;
    void *argument;
    int result;

    va_start(list, request);
    argument = va_arg(list, void *);
    va_end(list);
    if (!next)
        next = interpose_real("ioctl");
    result = next(descriptor, request, argument);
    if (result == 0 && (request == UFFDIO_REGISTER || request == UFFDIO_UNREGISTER) &&
        process_is_ours()) {
        /* The range comes first in the arguments of both. */
        const struct uffdio_range *range = argument;

        if (request == UFFDIO_REGISTER)
            forbidden_add(range->start, range->start + range->len);
        else
            forbidden_remove(range->start, range->start + range->len);
    }
    return result;
}
