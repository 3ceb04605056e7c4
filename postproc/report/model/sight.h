/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the engine could not see at all. "Nothing came" is no answer from who could not look:
 * verdicts ask here before they say that there is nothing to gain.
 */
#ifndef REUSE_POSTPROC_SIGHT_H
#define REUSE_POSTPROC_SIGHT_H

#include "report/model/model.h"

struct sight {
    bool
        misses_long_uses; /* next uses beyond looking ahead, and some level's misses hang on them */
    bool misses_sharing;  /* several threads, and nothing is known of transfers between them */
    bool models_sharing;  /* no register watched them: they are modelled from bursts */
    bool emulates_sharing; /* threads took turns as an emulator let them */
    double busy_cpus;  /* on average, of a process with several threads; 0: not known, or several */
    const char *cause; /* "no debug register trapped"; never NULL */
    const char *way_out; /* what would show it; never NULL */
};

/* Threads hardly ran at the same time. */
bool sight_one_at_a_time(const struct sight *);

/* May compute the communication between threads. */
struct sight sight_of(struct model *);

#endif
