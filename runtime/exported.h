/* SPDX-License-Identifier: BSD-3-Clause */
/* The library is built with hidden visibility; this marks the few symbols that it exports. */
#ifndef REUSE_RUNTIME_EXPORTED_H
#define REUSE_RUNTIME_EXPORTED_H

#define EXPORTED __attribute__((visibility("default")))

#endif
