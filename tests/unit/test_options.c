/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of options: values at and beyond every limit, defaults, messages, output patterns. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "access.h"
#include "job.h"
#include "options.h"

static struct options options;
static char message[OPTIONS_MESSAGE_MAX];

static int set(enum option_id id, const char *value)
{
    return options_set(&options, id, value, message, sizeof message);
}

static void defaults(void **state)
{
    (void)state;
    memset(&options, 0xa5, sizeof options);
    assert_int_equal(options_parse(NULL, &options, message, sizeof message), 0);
    assert_int_equal(options.engine, ENGINE_AUTO);
    assert_true(options.budget_percent == 2.0);
    assert_int_equal(options.period, 0);
    assert_int_equal(options.line_size, LINE_SIZE_DEFAULT);
    assert_string_equal(options.output, "reuse.%e.%p.rprof");
    assert_int_equal(options.follow, FOLLOW_FORK | FOLLOW_EXEC);
    assert_string_equal(options.event, "");
    assert_true(options.duration == 0.0);
    assert_true(options.sharing);
    assert_false(options.quiet);
    assert_false(options.verbose);
    assert_false(options.seed_given);
    assert_int_equal(options.line_size_count, 1);
    assert_int_equal(options.line_sizes[0], 256);
    assert_string_equal(options.regions, "");
    assert_true(options.rate == 1);
    assert_int_equal(options.partitions, 0);
    assert_true(options.shared_cache);
    assert_string_equal(message, "");
}

static void line_size_lists(void **state)
{
    (void)state;
    options_default(&options);
    assert_int_equal(set(OPTION_LINE_SIZES, "32,4096,32"), 0);
    assert_int_equal(options.line_size_count, 2);
    assert_int_equal(options.line_sizes[0], 32);
    assert_int_equal(options.line_sizes[1], 4096);
    static const char *const bad[] = {
        "100", "64,", ",64", "64,,128", "16", "64 128", "32,64,128,256,512", "99999999964"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(set(OPTION_LINE_SIZES, bad[i]), -1);
        assert_int_equal(options.line_size_count, 2);
    }
    assert_int_equal(set(OPTION_LINE_SIZES, ""), 0);
    assert_int_equal(options.line_sizes[0], 256);
}

static void exact_settings(void **state)
{
    (void)state;
    options_default(&options);
    assert_int_equal(set(OPTION_RATE, "0.001"), 0);
    assert_int_equal(set(OPTION_RATE, "0.0009"), -1);
    assert_int_equal(set(OPTION_RATE, "1.01"), -1);
    assert_true(options.rate == 0.001);
    assert_int_equal(set(OPTION_PARTITIONS, "8"), 0);
    assert_int_equal(set(OPTION_PARTITIONS, "9"), -1);
    assert_int_equal(options.partitions, 8);
    assert_int_equal(set(OPTION_PARTITION_GROUPS, "a:00c0ffee+ns::b:12345678,c:0000000f"), 0);
    assert_string_equal(options.partition_groups, "a:00c0ffee+ns::b:12345678,c:0000000f");
    assert_int_equal(set(OPTION_PARTITION_GROUPS, ""), 0);
    assert_int_equal(set(OPTION_PARTITION_GROUPS, "a"), -1);
    assert_int_equal(set(OPTION_PARTITION_GROUPS, "a:1234567"), -1);
    assert_int_equal(set(OPTION_PARTITION_GROUPS, "a:1234567g"), -1);
    assert_int_equal(set(OPTION_PARTITION_GROUPS, "a:12345678+"), -1);
    assert_int_equal(set(OPTION_PARTITION_GROUPS, "a:12345678,,b:12345678"), -1);
    assert_int_equal(set(OPTION_REGIONS, "main,ns::f*"), 0);
    assert_string_equal(options.regions, "main,ns::f*");
    assert_int_equal(set(OPTION_REGIONS, ""), 0);
    assert_string_equal(options.regions, "");
    assert_int_equal(set(OPTION_SHARED_CACHE, "0"), 0);
    assert_false(options.shared_cache);
}

/* What documents an option must be what parses it. */
static void table_agrees_with_parser(void **state)
{
    (void)state;
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_description *option = &option_table[i];
        options_default(&options);
        assert_int_equal(strncmp(option->variable, "REUSE_", 6), 0);
        assert_true(strlen(option->help) > 0 && strlen(option->help) <= 54);
        assert_true(!option->argument != !option->given);
        if (option->given)
            assert_int_equal(set((enum option_id)i, option->given), 0);
        if (*option->fallback)
            assert_int_equal(set((enum option_id)i, option->fallback), 0);
        for (int other = 0; other < i; other++) {
            assert_string_not_equal(option->variable, option_table[other].variable);
            assert_string_not_equal(option->name, option_table[other].name);
            assert_true(!option->letter || option->letter != option_table[other].letter);
        }
    }
}

static void accepts_limits(void **state)
{
    (void)state;
    options_default(&options);
    assert_int_equal(set(OPTION_BUDGET, "0.1"), 0);
    assert_true(options.budget_percent > 0.0999 && options.budget_percent < 0.1001);
    assert_int_equal(set(OPTION_BUDGET, "50"), 0);
    assert_int_equal(set(OPTION_BUDGET, "12.5"), 0);
    assert_true(options.budget_percent == 12.5);
    assert_int_equal(set(OPTION_PERIOD, "1"), 0);
    assert_int_equal(set(OPTION_PERIOD, "1000000000000"), 0);
    assert_true(options.period == OPTIONS_PERIOD_MAX);
    assert_int_equal(set(OPTION_LINE_SIZE, "32"), 0);
    assert_int_equal(set(OPTION_LINE_SIZE, "4096"), 0);
    assert_int_equal(options.line_size, 4096);
    assert_int_equal(set(OPTION_REGISTERS, "0"), 0);
    assert_int_equal(options.registers, 0);
    assert_int_equal(set(OPTION_REGISTERS, "4"), 0);
    assert_int_equal(options.registers, 4);
    assert_int_equal(set(OPTION_SEED, "18446744073709551615"), 0);
    assert_true(options.seed == UINT64_MAX && options.seed_given);
    assert_int_equal(set(OPTION_SEED, "0"), 0);
    assert_true(options.seed == 0 && options.seed_given);
    assert_int_equal(set(OPTION_DURATION, ".5"), 0);
    assert_true(options.duration == 0.5);
    assert_int_equal(set(OPTION_FOLLOW, "exec"), 0);
    assert_int_equal(options.follow, FOLLOW_EXEC);
    assert_int_equal(set(OPTION_FOLLOW, "exec,fork"), 0);
    assert_int_equal(options.follow, FOLLOW_EXEC | FOLLOW_FORK);
    assert_int_equal(set(OPTION_FOLLOW, "none"), 0);
    assert_int_equal(options.follow, 0);
    for (int engine = 0; engine < ENGINE_COUNT; engine++) {
        assert_int_equal(set(OPTION_ENGINE, engine_names[engine]), 0);
        assert_int_equal(options.engine, engine);
    }
}

static void refuses_what_is_beyond(void **state)
{
    static const struct {
        enum option_id id;
        const char *value;
    } bad[] = {
        {OPTION_ENGINE, "pin"},
        {OPTION_ENGINE, "Clock"},
        {OPTION_ENGINE, "clock "},
        {OPTION_BUDGET, "0"},
        {OPTION_BUDGET, "0.09"},
        {OPTION_BUDGET, "50.1"},
        {OPTION_BUDGET, "-4"},
        {OPTION_BUDGET, "4%%"},
        {OPTION_BUDGET, "4,5"},
        {OPTION_BUDGET, "nan"},
        {OPTION_BUDGET, "."},
        {OPTION_BUDGET, "1.2.3"},
        {OPTION_BUDGET, "1e1"},
        {OPTION_BUDGET, "99999999999999999999999999999999999"},
        {OPTION_BUDGET, "4.00000000000000000000000000000000"},
        {OPTION_PERIOD, "0"},
        {OPTION_PERIOD, "1000000000001"},
        {OPTION_PERIOD, "+1"},
        {OPTION_PERIOD, " 1"},
        {OPTION_PERIOD, "0x10"},
        {OPTION_PERIOD, "4ms"},
        {OPTION_LINE_SIZE, "0"},
        {OPTION_LINE_SIZE, "16"},
        {OPTION_LINE_SIZE, "48"},
        {OPTION_LINE_SIZE, "8192"},
        {OPTION_LINE_SIZE, "4294967360"}, /* 2^32 + 64 */
        {OPTION_FOLLOW, "forks"},
        {OPTION_FOLLOW, "fork,"},
        {OPTION_FOLLOW, ",exec"},
        {OPTION_FOLLOW, "fork exec"},
        {OPTION_FOLLOW, "none,fork"},
        {OPTION_DURATION, "-1"},
        {OPTION_DURATION, "1000000001"},
        {OPTION_DURATION, "forever"},
        {OPTION_SEED, "18446744073709551616"},
        {OPTION_SEED, "-1"},
        {OPTION_REGISTERS, "5"},
        {OPTION_REGISTERS, "all"},
        {OPTION_SHARING, "yes"},
        {OPTION_SHARING, "01"},
        {OPTION_QUIET, "2"},
        {OPTION_VERBOSE, "1 "},
        {OPTION_OUTPUT, "x%"},
        {OPTION_OUTPUT, "%d"},
        {OPTION_OUTPUT, "%%%"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        static struct options before;
        options_default(&options);
        before = options;
        if (set(bad[i].id, bad[i].value) != -1)
            fail_msg("%s accepted '%s'", option_table[bad[i].id].variable, bad[i].value);
        assert_memory_equal(&options, &before, sizeof options);
        assert_non_null(strstr(message, bad[i].value));
        assert_non_null(strstr(message, option_table[bad[i].id].values));
    }
}

static void text_length_is_bounded(void **state)
{
    static char text[OPTIONS_OUTPUT_MAX + 1];
    (void)state;
    options_default(&options);
    memset(text, 'x', OPTIONS_OUTPUT_MAX);
    assert_int_equal(set(OPTION_OUTPUT, text), -1);
    assert_string_equal(options.output, "reuse.%e.%p.rprof");
    assert_true(strlen(message) < 300); /* quotes a part of the value only */
    text[OPTIONS_OUTPUT_MAX - 1] = '\0';
    assert_int_equal(set(OPTION_OUTPUT, text), 0);
    assert_string_equal(options.output, text);
    text[OPTIONS_EVENT_MAX] = '\0';
    assert_int_equal(set(OPTION_EVENT, text), -1);
    text[OPTIONS_EVENT_MAX - 1] = '\0';
    assert_int_equal(set(OPTION_EVENT, text), 0);
    assert_string_equal(options.event, text);
}

static void messages_stay_on_one_line_and_in_bounds(void **state)
{
    char small[8];
    (void)state;
    options_default(&options);
    assert_int_equal(set(OPTION_ENGINE, "a\nb\x1b[31m"), -1);
    assert_null(strchr(message, '\n'));
    assert_null(strchr(message, '\x1b'));
    memset(small, '#', sizeof small);
    assert_int_equal(options_set(&options, OPTION_ENGINE, "abcdefghij", small, 4), -1);
    assert_string_equal(small, "'ab");
    assert_int_equal(small[4], '#');
    assert_int_equal(options_set(&options, OPTION_ENGINE, "abcdefghij", NULL, 0), -1);
}

static void parses_environments(void **state)
{
    static const char *const environment[] = {
        "PATH=/bin",       "REUSE_ENGINE=clock",  "REUSE_BUDGET=",   "REUSE_LINE_SIZE=256",
        "REUSE_UNKNOWN=1", "REUSE_OUTPUTS=wrong", "REUSE_SHARING=0", "REUSE_OUTPUT=a b.%h",
        "REUSE_QUIET",     "REUSE_ENGINE=exact",  "REUSE_VERBOSE=1", NULL};
    (void)state;
    assert_int_equal(options_parse(environment, &options, message, sizeof message), 0);
    assert_int_equal(options.engine, ENGINE_CLOCK); /* as getenv: the first one counts */
    assert_true(options.budget_percent == 2.0);
    assert_int_equal(options.line_size, 256);
    assert_string_equal(options.output, "a b.%h");
    assert_false(options.sharing);
    assert_false(options.quiet);
    assert_true(options.verbose);
}

static void takes_a_percent_sign(void **state)
{
    static const char *const environment[] = {"REUSE_BUDGET=7.5%", NULL};
    static const char *const wrong[] = {"REUSE_BUDGET=%", NULL};

    (void)state;
    assert_int_equal(options_parse(environment, &options, message, sizeof message), 0);
    assert_true(options.budget_percent == 7.5);
    assert_int_equal(options_parse(wrong, &options, message, sizeof message), -1);
    assert_string_equal(message, "REUSE_BUDGET: '%' is not a percentage from 0.1 to 50");
}

static void names_the_first_bad_variable(void **state)
{
    static const char *const environment[] = {"REUSE_LINE_SIZE=100", "REUSE_BUDGET=90",
                                              "REUSE_ENGINE=exact", NULL};
    (void)state;
    assert_int_equal(options_parse(environment, &options, message, sizeof message), -1);
    assert_string_equal(message, "REUSE_BUDGET: '90' is not a percentage from 0.1 to 50");
    assert_int_equal(options.engine, ENGINE_EXACT);
    assert_true(options.budget_percent == 2.0);
    assert_int_equal(options.line_size, 64);
}

static const struct output_names names = {1234, "node/7", NULL, "15", "/opt/bin/app.x"};
static char path[64], reason[OPTIONS_MESSAGE_MAX];

static int expand(const char *pattern, const struct output_names *from)
{
    return options_expand_output(pattern, from, path, sizeof path, reason, sizeof reason);
}

static void expands_patterns(void **state)
{
    static const struct output_names nothing = {0, NULL, NULL, NULL, NULL};
    static const struct output_names lowest = {INT64_MIN, "", NULL, "", "dir/"};
    (void)state;
    assert_int_equal(expand("reuse.%e.%p.rprof", &names), 0);
    assert_string_equal(path, "reuse.app.x.1234.rprof");
    assert_int_equal(expand("out/%h/%r-%p%%%p", &names), 0);
    assert_string_equal(path, "out/node_7/15-1234%1234");
    assert_int_equal(expand("%h.%r.%e.%p", &nothing), 0);
    assert_string_equal(path, "unknown.0.unknown.0");
    assert_int_equal(expand("%e%p", &lowest), 0);
    assert_string_equal(path, "dir_-9223372036854775808");
}

static void refuses_bad_patterns(void **state)
{
    char exact[6];
    (void)state;
    assert_int_equal(expand("%s", &names), -1);
    assert_non_null(strstr(reason, "'%s' is not a file name"));
    assert_int_equal(expand("", &names), -1);
    assert_int_equal(expand("%h", &(struct output_names){1, "", NULL, NULL, NULL}), -1);
    assert_non_null(strstr(reason, "names no file"));
    assert_int_equal(
        expand("%p/0123456789012345678901234567890123456789012345678901234567890", &names), -1);
    assert_non_null(strstr(reason, "longer than a path can be"));
    assert_string_equal(path, "");
    /* The last byte that fits, and one more. */
    assert_int_equal(options_expand_output("x%p", &names, exact, 6, reason, sizeof reason), 0);
    assert_string_equal(exact, "x1234");
    assert_int_equal(options_expand_output("x%p", &names, exact, 5, reason, sizeof reason), -1);
    assert_int_equal(options_expand_output("x%p", &names, NULL, 0, NULL, 0), -1);
}

/* Of a program's name there is as much as a file system takes with the rest. */
static void shortens_programs(void **state)
{
    char program[NAME_MAX + 1], expanded[2 * NAME_MAX];
    const struct output_names long_name = {77, "", NULL, "", program};

    (void)state;
    memset(program, 'a', NAME_MAX);
    program[NAME_MAX] = '\0';
    assert_int_equal(options_expand_output("out/reuse.%e.%p.rprof", &long_name, expanded,
                                           sizeof expanded, reason, sizeof reason),
                     0);
    assert_int_equal(strlen(expanded), strlen("out/") + NAME_MAX - 12);
    assert_non_null(strstr(expanded, "out/reuse.aaa"));
    assert_non_null(strstr(expanded, "aaa.77.rprof"));
    /* Characters stay whole. */
    for (size_t i = 0; i + 1 < NAME_MAX; i += 2)
        memcpy(program + i, "\xc3\xa9", 2);
    assert_int_equal(options_expand_output("%e.%p", &long_name, expanded, sizeof expanded, reason,
                                           sizeof reason),
                     0);
    assert_non_null(strstr(expanded, "\xc3\xa9.77"));
}

static void finds_jobs(void **state)
{
    static const char *const open_mpi[] = {"SLURM_PROCID=9", "OMPI_COMM_WORLD_RANK=3", NULL};
    static const char *const slurm[] = {"SLURM_PROCID=9", "SLURM_NTASKS=16", NULL};
    static const char *const slurm_serial[] = {"SLURM_PROCID=0", "SLURM_NTASKS=1", NULL};
    static const char *const none[] = {"PMI_RANK=", "PMI_RANKS=4", "REUSE_JOB=x", NULL};
    static const char *const mpich[] = {"PMI_SIZE=4", "PMI_RANK=0", NULL};
    static const char *const named[] = {"PMIX_NAMESPACE=7", "PMIX_RANK=1", "REUSE_JOB=a b/c", NULL};
    static const char *const step[] = {"SLURM_PROCID=2", "SLURM_NTASKS=3", "SLURM_JOB_ID=41",
                                       "SLURM_STEP_ID=0", NULL};
    static const char *const batch[] = {"SLURM_PROCID=0", "SLURM_NTASKS=3", "SLURM_JOB_ID=41",
                                        NULL};
    static const char *const many[] = {
        "OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=99999999999999999999999",
        "PMIX_NAMESPACE="
        "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff0123456789",
        NULL};
    struct job job;
    (void)state;
    job_find(open_mpi, &job);
    assert_string_equal(job.rank, "3");
    assert_string_equal(job.id, "");
    assert_int_equal(job.size, 0);
    assert_false(job_speaks(&job));
    job_find(slurm, &job);
    assert_string_equal(job.rank, "9");
    assert_int_equal(job.size, 16);
    job_find(slurm_serial, &job);
    assert_string_equal(job.rank, "");
    assert_true(job_speaks(&job));
    job_find(none, &job);
    assert_string_equal(job.rank, "");
    assert_string_equal(job.id, "");
    job_find(NULL, &job);
    assert_string_equal(job.rank, "");
    job_find(mpich, &job);
    assert_int_equal(job.size, 4);
    assert_string_equal(job.id, "");
    assert_true(job_speaks(&job));
    job_find(named, &job);
    assert_string_equal(job.id, "a_b_c");
    job_find(step, &job);
    assert_string_equal(job.id, "41.0");
    job_find(batch, &job);
    assert_string_equal(job.id, "");
    job_find(many, &job);
    assert_int_equal(job.size, 0);
    assert_string_equal(job.id, "aaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff0123456789");
}

static void names_profiles_of_jobs(void **state)
{
    static const char *const rank[] = {"PMIX_NAMESPACE=7", "PMIX_RANK=1", NULL};
    static const char *const asked[] = {"PMIX_NAMESPACE=7", "PMIX_RANK=1", "REUSE_OUTPUT=x", NULL};
    static const char *const unnamed[] = {"PMI_RANK=1", NULL};
    static const struct output_names job = {.pid = 1, .job = "7.0", .rank = "12"};
    (void)state;
    assert_int_equal(options_parse(rank, &options, message, sizeof message), 0);
    assert_string_equal(options.output, OPTIONS_OUTPUT_OF_JOB);
    assert_int_equal(expand(options.output, &job), 0);
    assert_string_equal(path, "reuse.7.0.12.rprof");
    assert_int_equal(options_parse(asked, &options, message, sizeof message), 0);
    assert_string_equal(options.output, "x");
    assert_int_equal(options_parse(unnamed, &options, message, sizeof message), 0);
    assert_string_equal(options.output, "reuse.%e.%p.rprof");
}

static void takes_a_folder(void **state)
{
    static const struct {
        const char *environment[4], *output;
    } cases[] = {
        {{"REUSE_OUTPUT=/tmp", NULL}, "/tmp/reuse.%e.%p.rprof"},
        {{"REUSE_OUTPUT=/tmp/", NULL}, "/tmp/reuse.%e.%p.rprof"},
        {{"REUSE_OUTPUT=/not/there/%h/", NULL}, "/not/there/%h/reuse.%e.%p.rprof"},
        {{"REUSE_OUTPUT=/not/there", NULL}, "/not/there"},
        {{"REUSE_OUTPUT=/dev/null", NULL}, "/dev/null"},
        {{"PMIX_NAMESPACE=7", "PMIX_RANK=1", "REUSE_OUTPUT=/tmp/", NULL},
         "/tmp/" OPTIONS_OUTPUT_OF_JOB},
    };
    char longest[OPTIONS_OUTPUT_MAX + 16] = "REUSE_OUTPUT=";
    const char *const full[] = {longest, NULL};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(options_parse(cases[i].environment, &options, message, sizeof message), 0);
        assert_string_equal(options.output, cases[i].output);
    }
    /* No room for a name: left as it is, and refused by the kernel. */
    memset(longest + strlen(longest), '/', OPTIONS_OUTPUT_MAX - 1);
    assert_int_equal(options_parse(full, &options, message, sizeof message), 0);
    assert_int_equal(strlen(options.output), OPTIONS_OUTPUT_MAX - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_a_folder),
        cmocka_unit_test(defaults),
        cmocka_unit_test(line_size_lists),
        cmocka_unit_test(exact_settings),
        cmocka_unit_test(table_agrees_with_parser),
        cmocka_unit_test(accepts_limits),
        cmocka_unit_test(refuses_what_is_beyond),
        cmocka_unit_test(text_length_is_bounded),
        cmocka_unit_test(messages_stay_on_one_line_and_in_bounds),
        cmocka_unit_test(parses_environments),
        cmocka_unit_test(takes_a_percent_sign),
        cmocka_unit_test(names_the_first_bad_variable),
        cmocka_unit_test(expands_patterns),
        cmocka_unit_test(shortens_programs),
        cmocka_unit_test(refuses_bad_patterns),
        cmocka_unit_test(finds_jobs),
        cmocka_unit_test(names_profiles_of_jobs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
