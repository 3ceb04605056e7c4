/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the parts of an installation, or of a build tree, lie relative to the running program. */
#ifndef REUSE_LAUNCHER_LIBRARY_H
#define REUSE_LAUNCHER_LIBRARY_H

#include <limits.h>

/*
 * Finds libreuse.so: in the build tree that the running program belongs to, then in lib, lib64 and
 * the multiarch folder beside its bin folder (an installation may be moved as a whole), then in the
 * libdir of configure. Returns 0 and an absolute path, or -1.
 */
int library_find(char path[PATH_MAX]);

/* The same for libreuse-exact.so, the plugin that QEMU loads; in libreuse/ below those folders. */
int library_find_plugin(char path[PATH_MAX]);

/* And for libreuse-guest.so, which is preloaded into programs inside QEMU. */
int library_find_guest(char path[PATH_MAX]);

/* The same for libreuse-place.so, which binds threads; in libreuse/ as well. */
int library_find_placement(char path[PATH_MAX]);

/* The same for libreuse-try.so, which aligns heap blocks. */
int library_find_remedy(char path[PATH_MAX]);

#endif
