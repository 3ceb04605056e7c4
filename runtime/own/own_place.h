/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where memory of the runtime's own goes, when it is mapped while the target runs, and in what
 * pages.
 *
 * A program that unmaps a part of what it has mapped may map it again at the same place
 * (MAP_FIXED), and without us nothing else could have come to lie there meanwhile. The kernel would
 * put ours there, as the highest gap. So ours goes far away: from half of this library's address
 * on, which leaves it as random as that is, and where neither the loader, nor the heap, nor what
 * the kernel chooses places for comes near.
 */
#ifndef REUSE_RUNTIME_OWN_PLACE_H
#define REUSE_RUNTIME_OWN_PLACE_H

#include <stddef.h>

/* Files in memory of the runtime's own have this name, by which their mappings are told from those
 * of the target. */
#define OWN_MEMORY_FILE "libreuse"

/* The address to ask mmap() for, without MAP_FIXED: a place for so many bytes that nobody else was
 * given. The kernel takes another one if it is not free. Signal-safe. */
void *own_place(size_t bytes);

/* No huge page comes to lie in that memory: most of our tables are hash tables, of which a program
 * touches a page here and there. Where the kernel gives huge pages unasked
 * (/sys/kernel/mm/transparent_hugepage/enabled: always), each of them would be 2 MiB. Keeps errno.
 * Signal-safe. */
void own_small_pages(void *memory, size_t bytes);

#endif
