/* SPDX-License-Identifier: BSD-3-Clause */
/* See interpose_loader.c. */
#ifndef REUSE_RUNTIME_INTERPOSE_LOADER_H
#define REUSE_RUNTIME_INTERPOSE_LOADER_H

/* Records objects that were loaded since the last call. Cheap when none was; keeps errno. */
void loader_refresh(void);

#endif
