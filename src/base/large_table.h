/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For a static table of 1 KiB and more that start-up leaves alone, but for its beginning: it lies
 * behind all other static memory, so that what start-up touches is close together: in few pages,
 * and in one table of the page tables. Both compilers know the name as one of memory that is not in
 * the file.
 */
#ifndef REUSE_LARGE_TABLE_H
#define REUSE_LARGE_TABLE_H

#define LARGE_TABLE __attribute__((section(".sbss.large")))

#endif
