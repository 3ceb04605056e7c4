/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hold_registers COUNT PROGRAM [ARGS]: runs a program of whose threads and children COUNT debug
 * registers are taken, as by a debugger that set watchpoints. COUNT "all" takes as many as there
 * are. Exit status 99: they cannot be taken.
 */
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    enum { MORE_THAN_ANY = 64 };
    /* Near the top of the address space, where no program has anything. */
    static const uint64_t unused = UINT64_C(0x7ffffff00000);
    if (argc < 3)
        return 99;
    int wanted = strcmp(argv[1], "all") == 0 ? MORE_THAN_ANY : atoi(argv[1]);
    for (int i = 0; i < wanted; i++) {
        struct perf_event_attr attributes;
        memset(&attributes, 0, sizeof attributes);
        attributes.size = sizeof attributes;
        attributes.type = PERF_TYPE_BREAKPOINT;
        attributes.bp_type = HW_BREAKPOINT_W;
        attributes.bp_addr = unused + 64u * (unsigned)i;
        attributes.bp_len = HW_BREAKPOINT_LEN_8;
        attributes.sample_period = 1;
        attributes.inherit = 1;
        attributes.exclude_kernel = 1;
        attributes.exclude_hv = 1;
        /* The descriptor stays open across exec and keeps the register. */
        if (syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0) < 0) {
            if (errno == ENOSPC && wanted == MORE_THAN_ANY && i > 0)
                break;
            perror("hold_registers: perf_event_open");
            return 99;
        }
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 99;
}
