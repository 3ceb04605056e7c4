/* SPDX-License-Identifier: BSD-3-Clause */
/* For a turn of waiting in a loop: leaves the core to its other threads for a moment. Signal-safe.
 */
#ifndef REUSE_SPIN_HINT_H
#define REUSE_SPIN_HINT_H

static inline void spin_hint(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
