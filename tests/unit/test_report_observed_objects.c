/* SPDX-License-Identifier: BSD-3-Clause */
/* What observations say of their objects, of observations that are made up: this file stands in for
 * the analysis and for what finds objects. The oracle looks at each observation by itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <stdlib.h>

#include "report/model/object_labels.h"
#include "sampling/random.h"
#include "support/test_seed.h"

enum { OBSERVATIONS_MAX = 300, SAMPLES_MAX = 40, PROFILES = 2 };
enum { FIRST_LABEL = 1000, FIRST_OFFSET = 5000 };

static struct {
    struct analysed_probe probes[OBSERVATIONS_MAX];
    struct record_burst bursts[OBSERVATIONS_MAX]; /* of each */
    struct record_histogram histograms[OBSERVATIONS_MAX];
    size_t profiles[OBSERVATIONS_MAX];
    size_t observations;
    struct record_sample samples[SAMPLES_MAX], watches[SAMPLES_MAX];
    size_t sample_count, watch_count;
    bool splits, counts;

    struct object_reference references[OBSERVATIONS_MAX]; /* that were looked for */
    size_t reference_count;
} run;

const struct analysed_probe *analysis_probe(const struct analysis *analysis, size_t index,
                                            size_t *profile)
{
    (void)analysis;
    if (profile != NULL)
        *profile = run.profiles[index];
    return &run.probes[index];
}

const struct record_burst *analysis_probe_burst(const struct analysis *analysis, size_t index)
{
    (void)analysis;
    return &run.bursts[index];
}

const struct record_histogram *analysis_histogram(const struct analysis *analysis, size_t index,
                                                  size_t *profile)
{
    (void)analysis;
    *profile = run.profiles[index];
    return &run.histograms[index];
}

/* Samples and watches are of both profiles in turn. */
size_t analysis_sample_count(const struct analysis *analysis)
{
    (void)analysis;
    return run.sample_count;
}

const struct record_sample *analysis_sample(const struct analysis *analysis, size_t index,
                                            size_t *profile)
{
    (void)analysis;
    *profile = index % PROFILES;
    return &run.samples[index];
}

size_t analysis_watch_count(const struct analysis *analysis)
{
    (void)analysis;
    return run.watch_count;
}

const struct record_sample *analysis_watch(const struct analysis *analysis, size_t index,
                                           size_t *profile)
{
    (void)analysis;
    *profile = index % PROFILES;
    return &run.watches[index];
}

bool model_splits(const struct model *model)
{
    (void)model;
    return run.splits;
}

bool model_counts(const struct model *model, size_t profile,
                  const struct record_histogram *histogram)
{
    (void)model;
    (void)profile;
    (void)histogram;
    return run.counts;
}

/* Each reference leads to an object of its own. */
void object_labels_find(struct model *model, const struct object_reference *references,
                        size_t count, data_objects *objects, uint32_t *labels, uint64_t *offsets)
{
    (void)model;
    (void)objects;
    run.reference_count = count;
    for (size_t i = 0; i < count; i++) {
        run.references[i] = references[i];
        labels[i] = references[i].kind == OBJECT_KIND_NONE ? GROUP_NONE : FIRST_LABEL + (uint32_t)i;
        offsets[i] = references[i].kind == OBJECT_KIND_NONE ? OFFSET_UNKNOWN : FIRST_OFFSET + i;
    }
}

static bool is_by_address(uint8_t kind)
{
    return kind == OBJECT_GLOBAL || kind == OBJECT_UNKNOWN;
}

static bool is_outside(const struct model *model, size_t observation)
{
    return model->region != NULL && model->region[observation] == GROUP_NONE;
}

/* Whether two observations inside the region tell of the same thing. */
static bool are_alike(size_t a, size_t b)
{
    const struct analysed_probe *x = &run.probes[a], *y = &run.probes[b];

    return run.profiles[a] == run.profiles[b] && x->object_kind == y->object_kind &&
           x->object_reference == y->object_reference &&
           (!is_by_address(x->object_kind) || x->place == y->place);
}

static uint64_t largest_of(const struct record_sample *samples, size_t count, size_t observation)
{
    const struct analysed_probe *probe = &run.probes[observation];
    uint64_t largest = 0;

    for (size_t i = 0; i < count; i++)
        if (i % PROFILES == run.profiles[observation] &&
            samples[i].object_kind == probe->object_kind &&
            samples[i].object_reference == probe->object_reference &&
            samples[i].object_size > largest)
            largest = samples[i].object_size;
    return largest;
}

static void check_observation(const struct model *model, size_t observation)
{
    const struct analysed_probe *probe = &run.probes[observation];
    uint32_t label = model->by_object.labels[observation];
    uint64_t offset = model->object_offsets[observation];
    uint64_t samples = largest_of(run.samples, run.sample_count, observation);
    uint64_t watches = largest_of(run.watches, run.watch_count, observation);
    const struct object_reference *reference;
    size_t first = 0;

    if (is_outside(model, observation)) {
        assert_int_equal(label, GROUP_NONE);
        assert_int_equal(offset, OFFSET_UNKNOWN);
        return;
    }
    assert_true(label >= FIRST_LABEL && label - FIRST_LABEL < run.reference_count);
    reference = &run.references[label - FIRST_LABEL];
    while (is_outside(model, first) || !are_alike(first, observation))
        first++;
    assert_int_equal(reference->profile, run.profiles[observation]);
    assert_int_equal(reference->kind, probe->object_kind);
    assert_int_equal(reference->id, probe->object_reference);
    assert_int_equal(reference->address, is_by_address(probe->object_kind) ? probe->place : 0);
    assert_int_equal(reference->size, samples > watches ? samples : watches);
    assert_int_equal(reference->monotonic_ns, run.bursts[first].monotonic_ns);
    assert_int_equal(offset, is_by_address(probe->object_kind)
                                 ? FIRST_OFFSET + (label - FIRST_LABEL)
                                 : probe->place);
    /* As many references as there are different things: those alike have one label. */
    assert_int_equal(label, model->by_object.labels[first]);
    for (size_t i = 0; i < observation; i++)
        if (!is_outside(model, i) && !are_alike(i, observation))
            assert_int_not_equal(model->by_object.labels[i], label);
}

static const uint8_t kinds[] = {OBJECT_GLOBAL, OBJECT_UNKNOWN, OBJECT_HEAP, OBJECT_STACK};

static uint8_t any_kind(struct random *random)
{
    return kinds[random_below(random, sizeof kinds)];
}

static void make_up_samples(struct random *random, struct record_sample *samples, size_t *count)
{
    *count = random_below(random, SAMPLES_MAX);
    for (size_t i = 0; i < *count; i++)
        samples[i] = (struct record_sample){.object_kind = any_kind(random),
                                            .object_reference = random_below(random, 4),
                                            .object_size = random_below(random, 100)};
}

/* Few different values, so that many observations are alike. */
static void make_up(struct random *random)
{
    memset(&run, 0, sizeof run);
    run.observations = random_below(random, OBSERVATIONS_MAX);
    for (size_t i = 0; i < run.observations; i++) {
        run.probes[i] = (struct analysed_probe){.object_kind = any_kind(random),
                                                .object_reference = random_below(random, 4),
                                                .place = 64 * random_below(random, 3)};
        run.bursts[i].monotonic_ns = random_next(random);
        run.profiles[i] = random_below(random, PROFILES);
    }
    make_up_samples(random, run.samples, &run.sample_count);
    make_up_samples(random, run.watches, &run.watch_count);
}

static void observations_get_the_objects_that_they_tell_of(void **state)
{
    struct random random;

    (void)state;
    random_seed(&random, test_seed());
    for (int i = 0; i < 300; i++) {
        uint32_t labels[OBSERVATIONS_MAX], region[OBSERVATIONS_MAX];
        struct model model = {.by_object = {.labels = labels}};

        make_up(&random);
        model.observations = run.observations;
        for (size_t k = 0; k < run.observations; k++)
            region[k] = random_below(&random, 2) ? 0 : GROUP_NONE;
        if (i % 2)
            model.region = region;
        object_labels_assign(&model);
        for (size_t k = 0; k < run.observations; k++)
            check_observation(&model, k);
        free(model.object_offsets);
    }
}

/* Labels of three histograms: of an object, of the same one, and of a line. */
static void label_histograms(uint32_t labels[3])
{
    const uint64_t key = (uint64_t)OBJECT_HEAP << 32 | 7;
    struct model model = {.exact = true, .observations = 3, .by_object = {.labels = labels}};

    run.histograms[0] = run.histograms[1] =
        (struct record_histogram){.scope = SCOPE_OBJECT, .key = key, .key2 = 0x1234};
    run.histograms[2] = run.histograms[0];
    run.histograms[2].scope = SCOPE_LINE;
    object_labels_assign(&model);
    assert_null(model.object_offsets);
}

static void histograms_tell_by_their_keys(void **state)
{
    uint32_t labels[3];

    (void)state;
    memset(&run, 0, sizeof run);
    run.splits = run.counts = true;
    label_histograms(labels);
    assert_int_equal(labels[0], FIRST_LABEL);
    assert_int_equal(labels[1], FIRST_LABEL);
    assert_int_equal(labels[2], GROUP_NONE);
    assert_int_equal(run.references[0].kind, OBJECT_HEAP);
    assert_int_equal(run.references[0].id, 7);
    assert_int_equal(run.references[0].address, 0x1234);
    assert_int_equal(run.references[0].size, 0);
}

static void histograms_of_something_else_tell_nothing(void **state)
{
    uint32_t labels[3];

    (void)state;
    for (int which = 0; which < 2; which++) {
        memset(&run, 0, sizeof run);
        run.splits = which == 0;
        run.counts = which == 1;
        label_histograms(labels);
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(labels[i], GROUP_NONE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(observations_get_the_objects_that_they_tell_of),
        cmocka_unit_test(histograms_tell_by_their_keys),
        cmocka_unit_test(histograms_of_something_else_tell_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
