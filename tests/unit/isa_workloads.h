/* SPDX-License-Identifier: BSD-3-Clause */
/* Small programs to interpret: the same ones, compiled at several levels. */
#ifndef REUSE_TESTS_ISA_WORKLOADS_H
#define REUSE_TESTS_ISA_WORKLOADS_H

struct isa_workload {
    const char *name; /* NULL ends a table */
    void (*run)(void);
};

extern const struct isa_workload isa_workloads_O0[], isa_workloads_O2[], isa_workloads_O3[];

#endif
