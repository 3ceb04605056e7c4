/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The page of the tree (tree.c) where no variable leads to it: a program such as those of Go hands
 * on the environment that it was started with. It is open in the first process, which is an
 * ancestor. Not signal-safe.
 */
#ifndef REUSE_RUNTIME_TREE_ANCESTOR_H
#define REUSE_RUNTIME_TREE_ANCESTOR_H

#include <stdbool.h>

/* The nearest ancestor that has such a page open, and under which number. */
bool tree_ancestor_find(long *pid, int *descriptor);

/* Whether that file is one of a tree: sealed as it. */
#define TREE_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

#endif
