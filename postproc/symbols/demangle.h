/* SPDX-License-Identifier: BSD-3-Clause */
/* Names as the programmer wrote them, from C++, Rust and D linkage names (libiberty). */
#ifndef REUSE_POSTPROC_DEMANGLE_H
#define REUSE_POSTPROC_DEMANGLE_H

/* The readable name without parameters, what a compiler made of a function as "f [omp 4]"; NULL if
 * the name is readable as it is. The caller frees it. */
char *demangle(const char *linkage_name);

#endif
