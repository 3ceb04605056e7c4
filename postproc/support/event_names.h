/* SPDX-License-Identifier: BSD-3-Clause */
/* libpfm4 behind a wall: its headers define perf_event_open's structures again. */
#ifndef REUSE_SUPPORT_EVENT_NAMES_H
#define REUSE_SUPPORT_EVENT_NAMES_H

#include <stdbool.h>
#include <stdint.h>

struct encoded_event {
    uint32_t type;
    uint64_t config, config1, config2;
};

/* Encodes an event for user space by its name. False when this processor has no such event. */
bool event_encode(const char *name, struct encoded_event *);

/* The processor's PMU in libpfm4's words, or "no processor PMU". */
const char *event_processor(void);

#endif
