/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. See kernel_use.h. */
#include "process/kernel_use.h"

#include <stddef.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "output/output.h"
#include "own/raw_call.h"
#include "own/small_file.h"
#include "own/text.h"
#include "process/process_internal.h"
#include "recording/tape.h"

#include "signal_safe.h"

/* proc(5): the most that was resident; what the peak does not hold: huge pages of hugetlbfs, and
 * what is swapped out. */
static const char *const fields[] = {"VmHWM:", "VmSwap:", "HugetlbPages:"};

/* 0: not known. */
static uint64_t peak_bytes(void)
{
    char status[4096];
    uint64_t sum = 0;

    small_file_read("/proc/self/status", status, sizeof status);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        uint64_t kilobytes = small_file_number(small_file_field(status, fields[i]));

        if (i == 0 && kilobytes == 0)
            return 0;
        sum += kilobytes * 1024;
    }
    return sum;
}

static char *put_pair(char *to, const char *key, uint64_t value)
{
    return put_number(put_text(to, key) + 1, value) + 1;
}

/* proc(5), of the process; ours are among them. */
static char *put_input_output(char *to)
{
    static const struct {
        const char *field, *key;
    } counts[] = {{"syscr:", "read_calls"},
                  {"rchar:", "read_bytes"},
                  {"syscw:", "write_calls"},
                  {"wchar:", "write_bytes"}};
    char text[256];

    if (small_file_read("/proc/self/io", text, sizeof text) == 0)
        return to;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        to =
            put_pair(to, counts[i].key, small_file_number(small_file_field(text, counts[i].field)));
    return to;
}

void kernel_use_write(void)
{
    struct rusage usage = {0};
    char pairs[256], *end;
    uint64_t bytes, faults;

    if (tape_mode != TAPE_OFF || output_path()[0] == '\0')
        return;
    bytes = peak_bytes();
    if (bytes == 0 || raw_call(SYS_getrusage, RUSAGE_SELF, (long)&usage, 0, 0, 0, 0) != 0)
        return;
    end = put_pair(pairs, "peak_memory_bytes", bytes);
    faults = (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
    end = put_pair(end, "page_faults",
                   faults > process_former.process_faults ? faults - process_former.process_faults
                                                          : 0);
    end = put_input_output(end);
    output_append(RECORD_RUN, pairs, (size_t)(end - pairs), NULL, 0);
}
