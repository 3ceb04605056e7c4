/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The probes. Each fills in one finding and runs in a child process of its own, because a probe may
 * meet what kills or hangs it: a seccomp filter that answers with SIGSYS, a trap that never ends, a
 * hypervisor that mistreats debug registers.
 */
#ifndef REUSE_DOCTOR_PROBE_H
#define REUSE_DOCTOR_PROBE_H

#include "doctor/finding.h"

enum { PROBE_SECONDS_MAX = 10 };

/*
 * Runs a probe in a child. `finding` must lie in memory shared with children. When the child is
 * killed, or takes more than PROBE_SECONDS_MAX, the result says so. Returns nothing: a probe that
 * cannot be started is itself a finding.
 */
void probe_run(void (*probe)(struct finding *), struct finding *finding);

void probe_system(struct finding *);
void probe_permission(struct finding *);
void probe_paranoid(struct finding *);
void probe_capability(struct finding *);
void probe_seccomp(struct finding *);
void probe_descriptors(struct finding *);
void probe_clock(struct finding *);
void probe_registers(struct finding *);
void probe_trap(struct finding *);
/* What so many traps after so many watched stores mean; cost_us: of each, microseconds. */
void judge_traps(struct finding *, unsigned traps, unsigned stores, double cost_us);
void probe_inherited(struct finding *);
void probe_counting(struct finding *);
void probe_precise(struct finding *);
void probe_qemu(struct finding *);
void probe_libc(struct finding *);

/* Not in a child by itself: takes the program's name as the user gave it. */
void probe_program(struct finding *, const char *name);

#endif
