/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is missing where a unit is there but cannot be used, and what helps: for the engine's reason
 * and for reuse-doctor.
 *
 * IBS. Linux samples single threads with it from 6.2 on; before, the kernel answers EINVAL for an
 * event of a thread. From 6.14 on it keeps its own samples out of IBS (ibs_op/format/swfilt), which
 * unprivileged users need; before, it answers EACCES to them. Sources: the kernel's
 * arch/x86/events/amd/ibs.c and kernel/events/core.c, tools/perf/Documentation/perf-amd-ibs.txt.
 *
 * SIGTRAP. Events bring it from Linux 5.13 on (attr.sigtrap); before, the kernel answers E2BIG, as
 * the attributes have grown with it, or EINVAL. RHEL 8 has 4.18.
 *
 * SPE. Its driver is a module of many distributions, and virtual machines hide the unit.
 *
 * Pure; signal-safe.
 */
#ifndef REUSE_PMU_REFUSAL_H
#define REUSE_PMU_REFUSAL_H

#include "pmu/choose.h"

/* Version of a kernel: major << 16 | minor. 0: not known. */
enum { KERNEL_IBS_OF_THREADS = 6 << 16 | 2, KERNEL_IBS_WITHOUT_PRIVILEGE = 6 << 16 | 14 };

/* Events bring SIGTRAP from the first on; a blocked one waits, instead of killing, from the second.
 */
enum {
    KERNEL_SIGTRAP = 5 << 16 | 13,
    KERNEL_SIGTRAP_WAITS = 5 << 16 | 18,
    KERNEL_SIGTRAP_ONCE = 6 << 16 | 1, /* an event may end after its first signal */
};

/* Of uname(2)'s release, "6.1.0-18-amd64". */
unsigned kernel_version(const char *release);

/* Whether an event that wants SIGTRAP was refused because the kernel does not know that: it finds
 * the attributes too large, or a bit that it does not know. kernel 0: not known. */
bool kernel_lacks_sigtrap(int error, unsigned kernel);

/* What is possible on such a kernel. */
extern const char kernel_without_sigtrap[];

/* What follows the advice to use another kernel: what can be done without, where that is built. */
extern const char kernel_needs_no_events[];

/* Why ibs_op was refused with `error`, appended to the text in `reason` (at least PMU_REASON_MAX
 * bytes), and what helps; false, and nothing appended: the refusal is not of IBS' own kind. */
bool pmu_explain_ibs(const struct pmu_choice *, int error, unsigned kernel, char *reason,
                     const char **remedy);

/* Whether the processor has SPE, and the kernel does not show it. */
bool pmu_lacks_spe(const struct pmu_machine *);

/* What helps then, beginning with a command. */
extern const char pmu_spe_remedy[];

#endif
