/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A profile as a multiset of texts that hold no identifiers: who, where in which module, which
 * object, what. Two profiles of one content have the same, whatever the numbers and the order of
 * their records. A cmocka test fails where something cannot be described.
 */
#ifndef REUSE_TESTS_PROFILE_DESCRIPTION_H
#define REUSE_TESTS_PROFILE_DESCRIPTION_H

#include "profile/reader.h"

struct fact {
    char *text;
    uint64_t count;
};

struct description {
    struct fact *facts;
    size_t count;
};

/* Adds what the profile holds to a description, which is zeroed at first. */
void profile_describe(struct description *, const struct profile *);

/* Both are sorted, and what is the same in one is added up. */
void profile_assert_same(struct description *, struct description *);

void profile_description_free(struct description *);

#endif
