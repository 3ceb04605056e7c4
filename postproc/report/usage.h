/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REUSE_POSTPROC_REPORT_USAGE_H
#define REUSE_POSTPROC_REPORT_USAGE_H

/* What reuse-report --help prints: 80 columns at most. */
extern const char report_usage[];

#endif
