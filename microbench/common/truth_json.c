/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the truth as JSON (schema: docs/microbench.md) and derives the miss-ratio curves. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "truth_data.h"

enum { LIST_MAX = 512 }; /* longer lists of distances are put into bins */

struct writer {
    const struct truth *truth;
    const struct truth_outcome *outcome;
    FILE *out;
    double *weight; /* per thread: iterations that it did, 1 if none did any */
};

/* How many cache lines a cache of so many bytes holds; the sizes are powers computed in floating
 * point, so a whole number may have come out a little low. */
static uint64_t cache_lines(double bytes, uint32_t line_size)
{
    return (uint64_t)floor(bytes / line_size * (1 + 1e-12));
}

/* Accesses of an atom that miss in a cache of `lines` lines: those at distance lines or more. */
static double misses_of(const struct atom *atom, uint64_t lines)
{
    if (atom->last < lines)
        return 0;
    if (atom->first >= lines)
        return atom->count;
    return atom->count * (double)(atom->last - lines + 1) / (double)(atom->last - atom->first + 1);
}

static double sum_counts(const struct distribution *d)
{
    double sum = 0;
    for (size_t i = 0; i < d->count; i++)
        sum += d->atoms[i].count;
    return sum;
}

/* A whole number, though a model may have divided it up. */
static double iteration_accesses(const struct truth *t, size_t thread)
{
    return round(sum_counts(&t->threads[thread].distances[0]));
}

enum { ALL_OBJECTS = -1 };

/* Accesses of all iterations of all threads, of one object or all. */
static double accesses_of(const struct writer *w, int object)
{
    double sum = 0;
    for (size_t thread = 0; thread < w->truth->thread_count; thread++) {
        const struct distribution *d = &w->truth->threads[thread].distances[0];
        for (size_t i = 0; i < d->count; i++) {
            if (object == ALL_OBJECTS || d->atoms[i].object == (uint32_t)object)
                sum += w->weight[thread] * d->atoms[i].count;
        }
    }
    return sum;
}

/* Miss ratios at the 48 sizes, of one object's accesses or of all. */
static void miss_ratios(const struct writer *w, size_t line_size_index, int object,
                        double ratios[TRUTH_CURVE_SIZES])
{
    double bytes[TRUTH_CURVE_SIZES], accesses = accesses_of(w, object);
    truth_curve_sizes(bytes);
    for (int k = 0; k < TRUTH_CURVE_SIZES; k++) {
        uint64_t lines = cache_lines(bytes[k], truth_line_sizes[line_size_index]);
        double misses = 0;
        for (size_t thread = 0; thread < w->truth->thread_count; thread++) {
            const struct distribution *d = &w->truth->threads[thread].distances[line_size_index];
            for (size_t i = 0; i < d->count; i++) {
                if (object == ALL_OBJECTS || d->atoms[i].object == (uint32_t)object)
                    misses += w->weight[thread] * misses_of(&d->atoms[i], lines);
            }
        }
        ratios[k] = accesses > 0 ? misses / accesses : 0;
    }
}

static int compare_atoms(const void *a, const void *b)
{
    const struct atom *x = a, *y = b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return (x->last > y->last) - (x->last < y->last);
}

/* Joins neighbours in a sorted list: equal ranges, or all that share a bin when `binned`. */
static void merge_atoms(struct distribution *d, bool binned)
{
    size_t kept = 0;
    for (size_t i = 0; i < d->count; i++) {
        struct atom *previous = kept > 0 ? &d->atoms[kept - 1] : NULL;
        bool same = previous != NULL && previous->first == d->atoms[i].first &&
                    previous->last == d->atoms[i].last;
        if (binned && previous != NULL && log_bin(previous->first) == log_bin(d->atoms[i].last))
            same = true;
        if (same) {
            previous->count += d->atoms[i].count;
            if (d->atoms[i].last > previous->last)
                previous->last = d->atoms[i].last;
        } else {
            d->atoms[kept++] = d->atoms[i];
        }
    }
    d->count = kept;
}

/* The distribution of all threads and objects together, sorted; the caller frees its atoms. */
static struct distribution all_threads(const struct writer *w, size_t line_size_index, bool times)
{
    struct distribution all = {0};
    for (size_t thread = 0; thread < w->truth->thread_count; thread++) {
        const struct truth_thread *part = &w->truth->threads[thread];
        const struct distribution *d =
            times ? &part->times[line_size_index] : &part->distances[line_size_index];
        for (size_t i = 0; i < d->count; i++) {
            struct atom atom = d->atoms[i];
            atom.count *= w->weight[thread];
            distribution_add(&all, atom);
        }
    }
    if (all.count > 0)
        qsort(all.atoms, all.count, sizeof *all.atoms, compare_atoms);
    merge_atoms(&all, false);
    if (all.count > LIST_MAX)
        merge_atoms(&all, true);
    return all;
}

static void write_distribution(const struct writer *w, size_t line_size_index, const char *key,
                               const char *value_name, bool times)
{
    struct distribution all = all_threads(w, line_size_index, times);
    double total = sum_counts(&all);
    fprintf(w->out, "     \"%s\": [", key);
    for (size_t i = 0; i < all.count; i++) {
        const struct atom *atom = &all.atoms[i];
        fprintf(w->out, "%s\n      {\"%s\": %llu", i ? "," : "", value_name,
                (unsigned long long)atom->first);
        if (atom->last > atom->first)
            fprintf(w->out, ", \"through\": %llu", (unsigned long long)atom->last);
        fprintf(w->out, ", \"share\": %.12g}", atom->count / total);
    }
    fprintf(w->out, "],\n");
    free(all.atoms);
}

static void write_curve(const struct writer *w, size_t line_size_index)
{
    double bytes[TRUTH_CURVE_SIZES], ratios[TRUTH_CURVE_SIZES];
    truth_curve_sizes(bytes);
    miss_ratios(w, line_size_index, ALL_OBJECTS, ratios);
    fprintf(w->out, "     \"mrc\": [");
    for (int k = 0; k < TRUTH_CURVE_SIZES; k++)
        fprintf(w->out, "%s\n      {\"bytes\": %.10g, \"miss_ratio\": %.12g}", k ? "," : "",
                bytes[k], ratios[k]);
    fprintf(w->out, "],\n     \"objects\": [");
    double accesses = accesses_of(w, ALL_OBJECTS);
    for (size_t object = 0; object < w->truth->object_count; object++) {
        miss_ratios(w, line_size_index, (int)object, ratios);
        fprintf(w->out, "%s\n      {\"name\": \"%s\", \"accesses_share\": %.12g, \"miss_ratio\": [",
                object ? "," : "", w->truth->objects[object].name,
                accesses > 0 ? accesses_of(w, (int)object) / accesses : 0);
        for (int k = 0; k < TRUTH_CURVE_SIZES; k++)
            fprintf(w->out, "%s%.9g", k ? ", " : "", ratios[k]);
        fprintf(w->out, "]}");
    }
    fprintf(w->out, "]}");
}

static void write_accesses(const struct writer *w)
{
    const struct truth *t = w->truth;
    double total = t->setup_known ? (double)t->setup : 0, one_of_each = 0;
    for (size_t i = 0; i < t->thread_count; i++) {
        one_of_each += iteration_accesses(t, i);
        total += iteration_accesses(t, i) * (double)w->outcome->done[i];
    }
    fprintf(w->out, " \"accesses\": {\"setup\": ");
    if (t->setup_known)
        fprintf(w->out, "%llu", (unsigned long long)t->setup);
    else
        fprintf(w->out, "null");
    fprintf(w->out, ", \"per_iteration\": %.17g, \"total\": %.17g},\n", one_of_each, total);
    fprintf(w->out, " \"threads\": [");
    for (size_t i = 0; i < t->thread_count; i++)
        fprintf(w->out,
                "%s\n  {\"thread\": %zu, \"iterations\": %llu, \"per_iteration\": %.17g, "
                "\"accesses\": %.17g, \"marker\": %llu}",
                i ? "," : "", i, (unsigned long long)w->outcome->done[i], iteration_accesses(t, i),
                iteration_accesses(t, i) * (double)w->outcome->done[i],
                (unsigned long long)(uintptr_t)w->outcome->markers[i]);
    fprintf(w->out, "],\n");
}

bool truth_write_json(const void *context, FILE *stream)
{
    const struct truth_outcome *outcome = context;
    const struct truth *t = outcome->truth;
    struct writer w = {t, outcome, stream, calloc(t->thread_count, sizeof(double))};
    check_allocation(w.weight, "the truth", t->thread_count * sizeof(double));
    uint64_t done = 0;
    for (size_t i = 0; i < t->thread_count; i++)
        done += outcome->done[i];
    for (size_t i = 0; i < t->thread_count; i++)
        w.weight[i] = done > 0 ? (double)outcome->done[i] : 1;

    fprintf(w.out, "{\"schema\": \"libreuse-truth/1\",\n \"program\": \"%s\",\n ",
            t->command->name);
    truth_parameters_write(&t->parameters, w.out);
    fprintf(w.out, ",\n \"checksum\": %.17g,\n", outcome->checksum);
    write_accesses(&w);
    fprintf(w.out, " \"objects\": [");
    for (size_t i = 0; i < t->object_count; i++)
        fprintf(w.out, "%s\n  {\"name\": \"%s\", \"bytes\": %zu, \"address\": %llu}", i ? "," : "",
                t->objects[i].name, t->objects[i].bytes,
                (unsigned long long)(uintptr_t)t->objects[i].address);
    fprintf(w.out, "],\n \"line_sizes\": [");
    for (size_t i = 0; i < TRUTH_LINE_SIZES; i++) {
        double total = accesses_of(&w, ALL_OBJECTS) + (double)t->setup;
        fprintf(w.out,
                "%s\n    {\"line_size\": %u, \"method\": \"%s\",\n     \"footprint_lines\": %llu, "
                "\"cold_share\": %.9g,\n",
                i ? "," : "", truth_line_sizes[i], t->method[i],
                (unsigned long long)t->footprint[i], (double)t->footprint[i] / total);
        write_distribution(&w, i, "stack_distance", "stack_distance_lines", false);
        write_distribution(&w, i, "reuse_time", "reuse_time", true);
        write_curve(&w, i);
    }
    fprintf(w.out, "]}\n");
    free(w.weight);
    return !ferror(w.out);
}
