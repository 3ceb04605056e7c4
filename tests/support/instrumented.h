/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REUSE_TESTS_INSTRUMENTED_H
#define REUSE_TESTS_INSTRUMENTED_H

/*
 * Whether a test runs under a sanitizer, which looks for what it does to memory: one seed shows
 * that as well as twenty and takes long enough. What holds for many seeds together is for the same
 * test without.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define INSTRUMENTED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define INSTRUMENTED 1
#endif
#endif
#ifndef INSTRUMENTED
#define INSTRUMENTED 0
#endif

/* How many seeds to run of those that a statement on averages needs. */
#define SEEDS_OF(count) (INSTRUMENTED ? 1 : (count))

/* For cmocka: a statement on averages over all seeds. */
#define assert_on_average(condition) assert_true(INSTRUMENTED || (condition))

#endif
