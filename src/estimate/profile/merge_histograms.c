/* SPDX-License-Identifier: BSD-3-Clause */
/* The merge's histograms: those of the same scope, measure, line size and keys are added up. */
#include <stdlib.h>
#include <string.h>

#include "profile/merge_internal.h"
#include "support/memory.h"

struct histogram_key {
    uint64_t scope, measure, line_size, region, key, key2;
};

/* The keys of a histogram in terms of the output; see enum histogram_scope. */
static void translate_keys(const struct merge_input *input, struct record_histogram *head)
{
    uint8_t kind = (uint8_t)(head->key >> 32);
    uint32_t reference = (uint32_t)head->key;
    if (head->region_id)
        head->region_id = (uint16_t)merge_region(input, head->region_id);
    switch (head->scope) {
    case SCOPE_THREAD:
        head->key = merge_thread(input, reference);
        break;
    case SCOPE_OBJECT:
    case SCOPE_PARTITION:
    case SCOPE_PARTITION_REST:
        head->key2 = head->key2 ? head->key2 + merge_data_move(input, kind, reference) : 0;
        head->key = head->key >> HISTOGRAM_GROUP_SHIFT << HISTOGRAM_GROUP_SHIFT |
                    (uint64_t)kind << 32 | merge_reference(input, kind, reference);
        break;
    case SCOPE_LINE:
        head->key = merge_code_address(input, head->key, 0);
        break;
    case SCOPE_REGION:
        head->key = merge_region(input, reference);
        break;
    default:
        break;
    }
}

static void write_histogram(struct profile_merge *merge, const struct record_histogram *head,
                            const struct histogram_bin *bins)
{
    merge_append(merge, RECORD_HISTOGRAM, head, sizeof(*head), bins,
                 head->bin_count * sizeof(*bins));
}

/* A histogram of the same key as head, with the counts of both; sum is NULL or freed. */
static struct record_histogram *add_up(struct record_histogram *sum,
                                       const struct record_histogram *head,
                                       const struct histogram_bin *bins)
{
    uint32_t count = head->bin_count;
    uint32_t sum_count = sum ? sum->bin_count : 0;
    struct record_histogram *both =
        allocate(sizeof(*both) + ((size_t)sum_count + count) * sizeof(*bins), 1);
    *both = *head;
    uint32_t i = 0;
    uint32_t k = 0;
    uint32_t n = 0;
    while (i < sum_count || k < count) {
        if (k == count || (i < sum_count && sum->bins[i].bin < bins[k].bin)) {
            both->bins[n++] = sum->bins[i++];
        } else if (i == sum_count || bins[k].bin < sum->bins[i].bin) {
            both->bins[n++] = bins[k++];
        } else {
            both->bins[n] = sum->bins[i++];
            if (bins[k].more > both->bins[n].more)
                both->bins[n].more = bins[k].more;
            both->bins[n++].count += bins[k++].count;
        }
    }
    both->bin_count = n;
    if (sum) {
        both->accesses += sum->accesses;
        both->cold += sum->cold;
        if (sum->rate_denominator > both->rate_denominator)
            both->rate_denominator = sum->rate_denominator; /* the coarsest */
    }
    free(sum);
    return both;
}

static void add_histogram(struct histogram_sums *sums, const struct record_histogram *head,
                          const struct histogram_bin *bins)
{
    struct histogram_key key = {head->scope,     head->measure, head->line_size,
                                head->region_id, head->key,     head->key2};
    bool added;
    uint32_t number = key_map_intern(&sums->keys, &key, sizeof(key), &added);
    merge_reserve((void **)&sums->items, &sums->capacity, number,
                  sizeof(struct record_histogram *));
    sums->items[number - 1] = add_up(sums->items[number - 1], head, bins);
}

static void write_sums(struct profile_merge *merge, const struct histogram_sums *sums)
{
    for (uint32_t i = 0; i < sums->keys.count; i++)
        write_histogram(merge, sums->items[i], sums->items[i]->bins);
}

void histogram_sums_clear(struct histogram_sums *sums)
{
    for (size_t i = 0; i < sums->capacity; i++)
        free(sums->items[i]);
    free(sums->items);
    key_map_clear(&sums->keys);
    *sums = (struct histogram_sums){0};
}

/* Whether no other input can have this key, which is the output's: a thread is in one only. What
 * names a thread that is not there is of all inputs. */
static bool is_of_one_input(const struct record_histogram *head)
{
    uint8_t kind = (uint8_t)(head->key >> 32);
    switch (head->scope) {
    case SCOPE_THREAD:
        return head->key != 0;
    case SCOPE_OBJECT:
    case SCOPE_PARTITION:
    case SCOPE_PARTITION_REST:
        return kind == OBJECT_STACK && (uint32_t)head->key != 0;
    default:
        return false;
    }
}

/* Two keys of one input may have become one: its own are added up too, and kept no longer. */
void merge_histograms(struct merge_input *input)
{
    struct profile_merge *merge = input->merge;
    for (size_t i = 0; i < input->profile->histograms.count; i++) {
        const struct record_histogram *histogram = input->profile->histograms.items[i];
        struct record_histogram head = *histogram;
        translate_keys(input, &head);
        add_histogram(is_of_one_input(&head) ? &merge->own_sums : &merge->sums, &head,
                      histogram->bins);
    }
    write_sums(merge, &merge->own_sums);
    histogram_sums_clear(&merge->own_sums);
}

void merge_write_sums(struct profile_merge *merge)
{
    write_sums(merge, &merge->sums);
    for (uint32_t i = 0; i < merge->site_capacity && i < merge->sites.count; i++) {
        if (merge->site_totals[i].site_id)
            merge_append(merge, RECORD_SITE_TOTALS, &merge->site_totals[i],
                         sizeof(merge->site_totals[i]), NULL, 0);
    }
}
