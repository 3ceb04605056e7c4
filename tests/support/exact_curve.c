/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints the miss-ratio curve of a profile that counted every access: one line of bytes, miss ratio
 * for each of 48 sizes from 1 KiB to 64 MiB, the sizes at which engines are compared.
 *
 *     exact_curve [-l LINE_SIZE] [-t THREAD_ID] PROFILE
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "profile/reader.h"

enum { SIZES = 48 };

/* Uses with a distance of at least `lines`; a bin that the limit cuts counts in proportion. */
static double misses(const struct record_histogram *histogram, double lines)
{
    double sum = (double)histogram->cold;
    for (uint32_t i = 0; i < histogram->bin_count; i++) {
        double low = (double)histogram_bin_low(histogram->bins[i].bin);
        double high = (double)histogram_bin_low(histogram->bins[i].bin + 1);
        double share = lines <= low ? 1 : lines >= high ? 0 : (high - lines) / (high - low);
        sum += share * (double)histogram->bins[i].count;
    }
    return sum;
}

int main(int argc, char **argv)
{
    uint32_t line_size = 0, thread = 0;
    int option;
    while ((option = getopt(argc, argv, "l:t:")) != -1) {
        if (option == 'l')
            line_size = (uint32_t)strtoul(optarg, NULL, 10);
        else if (option == 't')
            thread = (uint32_t)strtoul(optarg, NULL, 10);
        else
            return 2;
    }
    if (optind != argc - 1) {
        (void)fprintf(stderr, "usage: exact_curve [-l LINE_SIZE] [-t THREAD_ID] PROFILE\n");
        return 2;
    }
    char message[512];
    struct profile *profile = profile_load(argv[optind], message, sizeof message);
    if (!profile) {
        (void)fprintf(stderr, "exact_curve: %s\n", message);
        return 1;
    }
    if (line_size == 0)
        line_size = (uint32_t)profile_run_number(profile, "line_size", 64);
    const struct record_histogram *found = NULL;
    for (size_t i = 0; i < profile->histograms.count; i++) {
        const struct record_histogram *histogram = profile->histograms.items[i];
        bool wanted = thread ? histogram->scope == SCOPE_THREAD && histogram->key == thread
                             : histogram->scope == SCOPE_PROCESS;
        if (wanted && histogram->measure == MEASURE_STACK_DISTANCE &&
            histogram->line_size == line_size)
            found = histogram;
    }
    if (!found || found->accesses == 0) {
        (void)fprintf(stderr, "exact_curve: %s: no stack distances at lines of %u bytes\n",
                      argv[optind], line_size);
        profile_free(profile);
        return 1;
    }
    (void)printf("# accesses %llu cold %llu line_size %u\n", (unsigned long long)found->accesses,
                 (unsigned long long)found->cold, line_size);
    for (int i = 0; i < SIZES; i++) {
        double bytes = 1024 * pow(65536, (double)i / (SIZES - 1));
        (void)printf("%.0f %.6f\n", bytes,
                     misses(found, bytes / line_size) / (double)found->accesses);
    }
    profile_free(profile);
    return 0;
}
