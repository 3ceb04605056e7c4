/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REUSE_LAUNCHER_SANITIZER_H
#define REUSE_LAUNCHER_SANITIZER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The library of gcc's address or leak sanitizer that the program (an ELF file) is linked with, as
 * it names it: "libasan.so.8". It must come before every other library, preloaded ones too, or it
 * refuses to start or takes the loader's own memory for leaks. False: there is none.
 */
bool sanitizer_library(const char *binary, char *name, size_t size);

#endif
