/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Variables that the runtime leaves in the environment of its process, for the programs that this
 * one starts. They and the list that names them are in memory of ours: setenv(3) would take them
 * from the target's heap, and everything that the target allocates would lie elsewhere than
 * without us. (A database of 4 KiB pages took a tenth longer for it, or not, with the number of its
 * variables.) Not signal-safe; before the target has threads.
 */
#ifndef REUSE_RUNTIME_ENVIRONMENT_H
#define REUSE_RUNTIME_ENVIRONMENT_H

/* The C library knows its environment once it has begun, and functions in .preinit_array come
 * before: then the environment is set here. */
void environment_begin(void);

/* As setenv(3) that overwrites; nothing happens when there is no memory. Keeps errno. */
void environment_set(const char *name, const char *value);

#endif
