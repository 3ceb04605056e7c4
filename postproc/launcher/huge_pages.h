/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether this machine gives huge pages to programs that ask for them. */
#ifndef REUSE_LAUNCHER_HUGE_PAGES_H
#define REUSE_LAUNCHER_HUGE_PAGES_H

enum huge_pages {
    HUGE_PAGES_UNKNOWN, /* a kernel without them, or a setting that is not known here */
    HUGE_PAGES_NEVER,
    HUGE_PAGES_ON_DEMAND, /* to who asks: madvise(MADV_HUGEPAGE) */
    HUGE_PAGES_ALWAYS,    /* to everybody, asked or not */
};

/* What a file like /sys/kernel/mm/transparent_hugepage/enabled says: "always [madvise] never". */
enum huge_pages huge_pages_setting(const char *path);

#endif
