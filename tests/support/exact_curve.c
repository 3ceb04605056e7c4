/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints the miss-ratio curve of a profile that counted every access: one line of bytes, miss ratio
 * for each of 48 sizes from 1 KiB to 64 MiB, the sizes at which engines are compared.
 *
 *     exact_curve [-l LINE_SIZE] [-t THREAD_ID | -g GROUP] [-b | -s | -p | -o | -x ADDRESS] PROFILE
 *
 * -b prints the bins of the histogram instead (smallest distance, count), -s the transfers (source,
 * destination, kind, truth, address, count, bytes within the line of the two accesses as
 * offset+width), -p the misses of an A64FX' first level (4 ways of 64
 * lines) undivided and with each followed object in 1, 2 and 3 ways of its own, -o the objects
 * (kind, reference, symbol, accesses, cold), -x the bins of a global by its link-time address.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "profile/histogram_bin.h"
#include "profile/reader.h"

enum { SIZES = 48 };

/* Uses with a distance of at least `lines`; a bin that the limit cuts counts in proportion. */
static double misses(const struct record_histogram *histogram, double lines)
{
    double sum = (double)histogram->cold;
    for (uint32_t i = 0; i < histogram->bin_count; i++) {
        double low = (double)histogram_bin_low(histogram->bins[i].bin);
        double high =
            (double)histogram_bin_low(histogram->bins[i].bin + histogram->bins[i].more + 1);
        double share = lines <= low ? 1 : lines >= high ? 0 : (high - lines) / (high - low);
        sum += share * (double)histogram->bins[i].count;
    }
    return sum;
}

static void print_curve(const struct record_histogram *histogram)
{
    (void)printf("# accesses %llu cold %llu line_size %u\n",
                 (unsigned long long)histogram->accesses, (unsigned long long)histogram->cold,
                 histogram->line_size);
    for (int i = 0; i < SIZES; i++) {
        double bytes = 1024 * pow(65536, (double)i / (SIZES - 1));
        (void)printf("%.0f %.6f\n", bytes,
                     misses(histogram, bytes / histogram->line_size) / (double)histogram->accesses);
    }
}

static void print_bins(const struct record_histogram *histogram)
{
    for (uint32_t i = 0; i < histogram->bin_count; i++)
        (void)printf("%llu %llu\n", (unsigned long long)histogram_bin_low(histogram->bins[i].bin),
                     (unsigned long long)histogram->bins[i].count);
}

static void print_transfers(const struct profile *profile)
{
    static const char *const kinds[] = {"", "RAW", "WAR", "WAW"};
    for (size_t i = 0; i < profile->transfers.count; i++) {
        const struct record_transfer *transfer = &profile->transfers.items[i];
        (void)printf("%u %u %s %s 0x%llx %.0f %u+%u %u+%u\n", transfer->source_thread,
                     transfer->destination_thread, kinds[transfer->kind & 3],
                     transfer->true_sharing ? "true" : "false",
                     (unsigned long long)transfer->object_address, transfer->transfers,
                     transfer->source_offset, transfer->source_width, transfer->destination_offset,
                     transfer->destination_width);
    }
}

static void print_objects(const struct profile *profile, uint32_t line_size)
{
    for (size_t i = 0; i < profile->histograms.count; i++) {
        const struct record_histogram *object = profile->histograms.items[i];
        if (object->scope == SCOPE_OBJECT && object->line_size == line_size &&
            object->region_id == 0)
            (void)printf("%u %u 0x%llx %llu %llu\n", (unsigned)(object->key >> 32),
                         (unsigned)object->key, (unsigned long long)object->key2,
                         (unsigned long long)object->accesses, (unsigned long long)object->cold);
    }
}

/* Of the global at an address of which the lower half is given. */
static void print_bins_of_global(const struct profile *profile, uint32_t line_size,
                                 uint32_t address)
{
    for (size_t i = 0; i < profile->histograms.count; i++) {
        const struct record_histogram *object = profile->histograms.items[i];
        if (object->scope != SCOPE_OBJECT || object->line_size != line_size ||
            object->region_id != 0 || (uint32_t)object->key2 != address)
            continue;
        (void)printf("cold %llu\n", (unsigned long long)object->cold);
        print_bins(object);
    }
}

static void print_partitions(const struct profile *profile,
                             const struct record_histogram *undivided)
{
    enum { WAYS = 4, WAY_LINES = 64 };
    (void)printf("undivided %.0f\n", misses(undivided, WAYS * WAY_LINES));
    for (size_t i = 0; i < profile->histograms.count; i++) {
        const struct record_histogram *object = profile->histograms.items[i];
        for (size_t k = 0; object->scope == SCOPE_PARTITION && k < profile->histograms.count; k++) {
            const struct record_histogram *rest = profile->histograms.items[k];
            if (rest->scope != SCOPE_PARTITION_REST || rest->key != object->key ||
                rest->key2 != object->key2)
                continue;
            (void)printf("0x%llx", (unsigned long long)object->key2);
            for (int ways = 1; ways < WAYS; ways++)
                (void)printf(" %.0f", misses(object, ways * WAY_LINES) +
                                          misses(rest, (WAYS - ways) * WAY_LINES));
            (void)printf("\n");
        }
    }
}

static const struct record_histogram *
find_histogram(const struct profile *profile, uint32_t line_size, uint32_t thread, uint32_t group)
{
    const struct record_histogram *found = NULL;
    for (size_t i = 0; i < profile->histograms.count; i++) {
        const struct record_histogram *histogram = profile->histograms.items[i];
        bool wanted = thread  ? histogram->scope == SCOPE_THREAD && histogram->key == thread
                      : group ? histogram->scope == SCOPE_SHARED && histogram->key == group
                              : histogram->scope == SCOPE_PROCESS;
        if (wanted && histogram->measure == MEASURE_STACK_DISTANCE &&
            histogram->line_size == line_size)
            found = histogram;
    }
    return found;
}

static int usage(void)
{
    (void)fprintf(stderr, "usage: exact_curve [-l LINE_SIZE] [-t THREAD_ID | -g GROUP] [-b | -s | "
                          "-p | -o] PROFILE\n");
    return 2;
}

int main(int argc, char **argv)
{
    uint32_t line_size = 0, thread = 0, group = 0, global = 0;
    bool bins = false, transfers = false, partitions = false, objects = false;
    int option;
    while ((option = getopt(argc, argv, "l:t:g:x:bspo")) != -1) {
        if (option == 'l')
            line_size = (uint32_t)strtoul(optarg, NULL, 10);
        else if (option == 't')
            thread = (uint32_t)strtoul(optarg, NULL, 10);
        else if (option == 'g')
            group = (uint32_t)strtoul(optarg, NULL, 10);
        else if (option == 'x')
            global = (uint32_t)strtoul(optarg, NULL, 16);
        else if (option == 'b')
            bins = true;
        else if (option == 's')
            transfers = true;
        else if (option == 'p')
            partitions = true;
        else if (option == 'o')
            objects = true;
        else
            return usage();
    }
    if (optind != argc - 1)
        return usage();
    char message[512];
    struct profile *profile = profile_load(argv[optind], message, sizeof message);
    if (!profile) {
        (void)fprintf(stderr, "exact_curve: %s\n", message);
        return 1;
    }
    if (line_size == 0)
        line_size = (uint32_t)profile_run_number(profile, "line_size", 64);
    const struct record_histogram *histogram = find_histogram(profile, line_size, thread, group);
    if (transfers)
        print_transfers(profile);
    else if (!histogram || histogram->accesses == 0)
        (void)fprintf(stderr, "exact_curve: %s: no stack distances at lines of %u bytes\n",
                      argv[optind], line_size);
    else if (global != 0)
        print_bins_of_global(profile, line_size, global);
    else if (bins)
        print_bins(histogram);
    else if (partitions)
        print_partitions(profile, histogram);
    else if (objects)
        print_objects(profile, line_size);
    else
        print_curve(histogram);
    bool done = transfers || (histogram && histogram->accesses > 0);
    profile_free(profile);
    return done ? 0 : 1;
}
