/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Profiles whose records are whole but say anything at all: the report comes to an end, in every
 * form, whatever it then says.
 */
#define _GNU_SOURCE /* open_memstream */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "document/render.h"
#include "report/sections/sections.h"
#include "support/profile_builder.h"
#include "support/profile_mutator.h"
#include "support/test_seed.h"

enum { MUTANTS = 300 };

static char *report_in(const struct document *document,
                       void (*render)(const struct document *, FILE *))
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);

    assert_non_null(stream);
    render(document, stream);
    fclose(stream);
    return text;
}

static void render_page(const struct document *document, FILE *stream)
{
    render_text(document, (struct text_style){.width = PAGE_WIDTH_MIN}, stream);
}

static void check_text(const char *text)
{
    for (size_t column = 0; *text != '\0'; text++) {
        bool continues = ((unsigned char)*text & 0xc0) == 0x80; /* of a UTF-8 character */

        column = *text == '\n' ? 0 : column + !continues;
        assert_in_range(column, 0, 80);
        assert_true(*text == '\n' || (unsigned char)*text >= ' ');
    }
}

/* Every section of a profile, in every form; false if the analysis refused it. */
static bool report_everything(const unsigned char *data, size_t size)
{
    struct report_options options = {.top = 3, .sysroot = "/nonexistent", .format = FORMAT_TEXT};
    char message[1024] = "", *text;
    struct profile *profile = profile_parse(data, size, "mutant", message, sizeof(message));
    const struct profile *const profiles[] = {profile};
    struct document *document;
    struct model *model;
    json_t *root;

    if (profile == NULL)
        return false;
    model = model_create(&options, profiles, 1, message, sizeof(message));
    if (model == NULL) {
        assert_true(strlen(message) > 0);
        profile_free(profile);
        return false;
    }
    document = document_create();
    section_summary(model, document, true);
    section_histogram(model, document);
    section_mrc(model, document);
    section_threads(model, document);
    section_objects(model, document);
    section_lines(model, document);
    section_contexts(model, document);
    section_sharing(model, document);
    section_matrix(model, document, true);
    section_notes(model, document);
    text = report_in(document, render_page);
    check_text(text);
    free(text);
    free(report_in(document, render_csv));
    text = report_in(document, render_json);
    root = json_loads(text, 0, NULL);
    assert_non_null(root);
    json_decref(root);
    free(text);
    document_free(document);
    model_free(model);
    profile_free(profile);
    return true;
}

static void test_any_content_is_reported(void **state)
{
    char path[] = "/tmp/reuse-report-damage-XXXXXX";
    int descriptor = mkstemp(path);
    uint64_t seed = test_seed();
    unsigned char *data;
    struct random random;
    size_t size, reported = 0;

    (void)state;
    assert_true(descriptor >= 0);
    close(descriptor);
    write_every_record(path);
    data = read_whole_file(path, &size);
    assert_non_null(data);
    unlink(path);
    random_seed(&random, seed);
    assert_true(report_everything(data, size));
    for (int i = 0; i < MUTANTS; i++) {
        size_t changed_size;
        unsigned char *changed = mutate_profile(&random, data, size, &changed_size);

        reported += report_everything(changed, changed_size);
        free(changed);
    }
    assert_true(reported > MUTANTS / 10);
    free(data);
}

/* A record of the hardware's, at code of a module and of an object. */
static void report_served(const char *module, uint8_t object_kind)
{
    char path[] = "/tmp/reuse-report-damage-XXXXXX";
    int descriptor = mkstemp(path);
    struct profile_builder builder;
    unsigned char *data;
    size_t size;

    assert_true(descriptor >= 0);
    close(descriptor);
    profile_builder_begin(&builder, path);
    profile_builder_defaults(&builder);
    struct record_served served = {.thread_id = profile_builder_thread(&builder, 1000, "main"),
                                   .object_reference = 1,
                                   .ip = 0x401234,
                                   .object_kind = object_kind,
                                   .kind = ACCESS_LOAD,
                                   .flags = SERVED_LATENCY,
                                   .samples = 3,
                                   .weight = 3000,
                                   .latency = 900};
    uint32_t context = profile_builder_context(&builder, 0, 0x401000);
    struct record_sample sample = profile_builder_default_sample(served.thread_id, context);

    (void)profile_builder_module(&builder, module, 0x401000, 0x402000, 0);
    profile_builder_lone_burst(&builder, &sample);
    (void)profile_builder_sample(&builder, &sample);
    profile_builder_record(&builder, RECORD_SERVED, &served, sizeof(served));
    profile_builder_finish(&builder);
    data = read_whole_file(path, &size);
    unlink(path);
    assert_true(report_everything(data, size));
    free(data);
}

/* The kind that stands for no object is none of a record. */
static void test_served_of_no_object(void **state)
{
    (void)state;
    report_served("/program", 255);
}

static void test_served_by_a_long_name(void **state)
{
    (void)state;
    report_served(
        "/lib/a-name-that-would-make-the-table-wider-than-the-eighty-columns-of-a-page.so",
        OBJECT_GLOBAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_served_of_no_object),
        cmocka_unit_test(test_served_by_a_long_name),
        cmocka_unit_test(test_any_content_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
