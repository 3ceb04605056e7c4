/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the program's CPU time is divided between its own code and the kernel. The clock that begins
 * bursts ends in the program's code alone, and so weighs that; everything else that the runtime
 * reads is CPU time with the kernel's part. docs/estimators.md, section 1.
 */
#ifndef REUSE_ANALYSIS_KERNEL_TIME_H
#define REUSE_ANALYSIS_KERNEL_TIME_H

#include "analysis/rates/rate_fit.h"
#include "profile/reader.h"

/* Of all threads of a profile, without what profiling took, ns. Both 0: the profile does not say.
 */
struct kernel_time {
    double own_ns, kernel_ns;
};

struct kernel_time kernel_time_of(const struct profile *);

/* What the code of a group of loops asks of the kernel. */
struct kernel_demand {
    double calls, accesses; /* system calls, in so many accesses */
    double fault_ns;        /* in page faults, as far as bursts of it followed them */
    double access_fault_ns; /* that its own accesses take, each, about; 0: none, or not known */
    double faults;          /* share of its CPU time in them shortly before bursts, 0 to 1 */
};

/* Of the CPU time of a group. */
struct kernel_parts {
    double own;           /* share in its own code, above 0 and at most 1 */
    double code;          /* of that, the share that no fault takes, above 0 and at most 1 */
    double access_faults; /* share in page faults of its accesses, 0 to 1 */
};

/*
 * Page faults take what they are known to cost: first those of accesses, as bursts have seen them,
 * the others where bursts followed them. The rest of the kernel's time goes to where n system calls
 * were seen, each as much as another, and 1 part in n + 1 to faults, which may cost more than they
 * are known to. What faults of accesses cost beyond the kernel's time is in that of the code: under
 * a hypervisor they go on below the kernel. Where the profile does not say how long the kernel
 * worked: by `faults` alone. shares: of the groups in the time of their own code; log_rates: of
 * their accesses in that time.
 */
void kernel_time_divide(const struct kernel_time *, uint32_t groups, const double *shares,
                        const double *log_rates, const struct kernel_demand *,
                        struct kernel_parts *);

#endif
