/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long a line takes from the cache of one core to another's: two threads, each on a CPU of its
 * own, take turns at one word (ping-pong). A transfer is the time of a turn.
 */
#ifndef REUSE_DOCTOR_LINE_TRANSFER_H
#define REUSE_DOCTOR_LINE_TRANSFER_H

/* ns, the median of some pairs of the CPUs that this process may run on; 0: it may run on one
 * alone, or they never run at the same time. Takes a second at most. */
double line_transfer_measure(void);

#endif
