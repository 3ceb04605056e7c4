/* SPDX-License-Identifier: BSD-3-Clause */
/* See libpfm_code.h. */
#include "support/libpfm_code.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>

long libpfm_code(const char *pmu, const char *event)
{
    int channel[2], status;
    long code = -1;
    pid_t child;

    assert_int_equal(pipe(channel), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        pfm_pmu_encode_arg_t encoding = {.size = sizeof encoding};

        setenv("LIBPFM_FORCE_PMU", pmu, 1);
        if (pfm_initialize() == PFM_SUCCESS &&
            pfm_get_os_event_encoding(event, PFM_PLM3, PFM_OS_NONE, &encoding) == PFM_SUCCESS &&
            encoding.count > 0)
            code = (long)(encoding.codes[0] & 0xffff);
        _exit(write(channel[1], &code, sizeof code) == sizeof code ? 0 : 1);
    }
    close(channel[1]);
    assert_int_equal(read(channel[0], &code, sizeof code), sizeof code);
    close(channel[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return code;
}
