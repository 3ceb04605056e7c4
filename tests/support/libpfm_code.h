/* SPDX-License-Identifier: BSD-3-Clause */
/* What libpfm4 says of events, for tests built with cmocka. */
#ifndef TESTS_SUPPORT_LIBPFM_CODE_H
#define TESTS_SUPPORT_LIBPFM_CODE_H

/* Event select and unit mask that libpfm4 makes of `event` on the forced PMU; -1: it does not know
 * it. In a process of its own, as the library reads LIBPFM_FORCE_PMU once. */
long libpfm_code(const char *pmu, const char *event);

#endif
