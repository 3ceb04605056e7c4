/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Matrices of communication against sums over the transfers that were written, in every form; the
 * room that parting takes against what the compiler makes of alignas; which code counts as
 * threading runtime.
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

#include "machine/machine.h"
#include "report/model/parting.h"
#include "report/model/runtime_code.h"
#include "report/placement/cpu_distance.h"
#include "report/sharing/sharing_matrix.h"
#include "support/profile_builder.h"
#include "support/test_seed.h"

enum { THREADS_MAX = 300, TRANSFERS = 400 };

/* A profile of random transfers, and what they add up to. */
struct random_run {
    size_t threads;
    struct profile *profile;
    struct analysis *analysis;
    struct communication *communication;
    double *sums[MATRIX_KINDS];
    uint32_t *from, *to, *place;
};

/* Sums of whole numbers: equal up to rounding. */
static void assert_same(double a, double b)
{
    if (!(a - b < 1e-3 && b - a < 1e-3))
        fail_msg("%.17g instead of %.17g", a, b);
}

static void add_to(struct random_run *run, const struct record_transfer *transfer)
{
    size_t cell = (transfer->source_thread - 1) * run->threads + transfer->destination_thread - 1;
    enum matrix_kind kind = transfer->kind == TRANSFER_RAW   ? MATRIX_RAW
                            : transfer->kind == TRANSFER_WAR ? MATRIX_WAR
                                                             : MATRIX_WAW;

    run->sums[MATRIX_ALL][cell] += transfer->transfers;
    run->sums[transfer->true_sharing ? MATRIX_TRUE : MATRIX_FALSE][cell] += transfer->transfers;
    run->sums[kind][cell] += transfer->transfers;
}

static void write_profile(struct random_run *run, const char *path)
{
    struct record_histogram histogram = {.scope = SCOPE_PROCESS,
                                         .measure = MEASURE_STACK_DISTANCE,
                                         .line_size = 64,
                                         .accesses = 10,
                                         .cold = 10,
                                         .rate_denominator = 1};
    struct profile_builder builder;

    profile_builder_begin(&builder, path);
    profile_builder_defaults(&builder);
    for (size_t i = 0; i < run->threads; i++)
        profile_builder_thread(&builder, (int32_t)(1000 + i), "one");
    profile_builder_histogram(&builder, &histogram, NULL);
    for (uint64_t i = 0; i < TRANSFERS && run->threads > 1; i++) {
        uint32_t source = (uint32_t)rand() % (uint32_t)run->threads;
        uint32_t distance = 1 + (uint32_t)rand() % (uint32_t)(run->threads - 1);
        struct record_transfer transfer = {.source_thread = source + 1,
                                           .destination_thread =
                                               (source + distance) % (uint32_t)run->threads + 1,
                                           .kind = (uint8_t)(1 + rand() % 3),
                                           .true_sharing = rand() % 2,
                                           .line_size = 64,
                                           .object_address = 0x10000 + 64 * i,
                                           .transfers = 1 + rand() % 100000};

        profile_builder_record(&builder, RECORD_TRANSFER, &transfer, sizeof(transfer));
        add_to(run, &transfer);
    }
    profile_builder_finish(&builder);
}

static void begin_run(struct random_run *run, size_t threads)
{
    char path[] = "/tmp/reuse-matrix-XXXXXX", message[256];
    int descriptor = mkstemp(path);
    size_t flows;

    memset(run, 0, sizeof(*run));
    run->threads = threads;
    assert_true(descriptor >= 0);
    close(descriptor);
    for (size_t kind = 0; kind < MATRIX_KINDS; kind++)
        run->sums[kind] = calloc(threads * threads, sizeof(double));
    write_profile(run, path);
    run->profile = profile_builder_load(path);
    unlink(path);
    run->analysis = analysis_create((const struct profile *const *)&run->profile, 1, NULL, message,
                                    sizeof(message));
    assert_non_null(run->analysis);
    run->communication = communication_create(run->analysis, 0, message, sizeof(message));
    assert_non_null(run->communication);
    flows = communication_flow_count(run->communication);
    run->from = calloc(flows + 1, sizeof(uint32_t));
    run->to = calloc(flows + 1, sizeof(uint32_t));
    run->place = calloc(flows + 1, sizeof(uint32_t));
    for (size_t i = 0; i < flows; i++) {
        run->from[i] = communication_flow(run->communication, i)->source.thread_id - 1;
        run->to[i] = communication_flow(run->communication, i)->destination.thread_id - 1;
    }
}

static void end_run(struct random_run *run)
{
    for (size_t kind = 0; kind < MATRIX_KINDS; kind++)
        free(run->sums[kind]);
    free(run->from);
    free(run->to);
    free(run->place);
    communication_free(run->communication);
    analysis_free(run->analysis);
    profile_free(run->profile);
}

static struct sharing_matrix *matrix_of(struct random_run *run)
{
    return sharing_matrix_create(run->communication, run->threads, run->from, run->to, run->place,
                                 0);
}

static const size_t thread_counts[] = {1, 2, 7, 8, 32, 33, 64, 65, 200, THREADS_MAX};
enum { THREAD_COUNTS = sizeof(thread_counts) / sizeof(*thread_counts) };

static void test_sums(void **state)
{
    (void)state;
    for (size_t c = 0; c < THREAD_COUNTS; c++) {
        struct random_run run;
        struct sharing_matrix *matrix;

        begin_run(&run, thread_counts[c]);
        matrix = matrix_of(&run);
        for (size_t kind = 0; kind < MATRIX_KINDS; kind++) {
            double *dense = sharing_matrix_dense(matrix, (enum matrix_kind)kind), total = 0;

            for (size_t i = 0; i < run.threads * run.threads; i++) {
                assert_same(dense[i], run.sums[kind][i]);
                total += run.sums[kind][i];
            }
            assert_same(matrix->total.of[kind].value, total);
            free(dense);
        }
        for (size_t i = 1; i < matrix->count; i++)
            assert_true(matrix->pairs[i - 1].transfers.of[MATRIX_ALL].value >=
                        matrix->pairs[i].transfers.of[MATRIX_ALL].value);
        sharing_matrix_free(matrix);
        end_run(&run);
    }
}

/* Flows of another place, and of threads that are not known, are in no cell; the total has the
 * latter. */
static void test_what_is_left_out(void **state)
{
    struct random_run run;
    struct sharing_matrix *matrix, *other;
    const struct flow *flow;
    double all;

    (void)state;
    begin_run(&run, 5);
    matrix = matrix_of(&run);
    all = matrix->total.of[MATRIX_ALL].value;
    sharing_matrix_free(matrix);
    run.place[0] = 1;
    run.from[1] = UINT32_MAX;
    flow = communication_flow(run.communication, 0);
    matrix = matrix_of(&run);
    assert_same(matrix->total.of[MATRIX_ALL].value, all - flow->transfers);
    other = sharing_matrix_create(run.communication, run.threads, run.from, run.to, run.place, 1);
    assert_int_equal(other->count, 1);
    assert_same(other->total.of[MATRIX_ALL].value, flow->transfers);
    all = 0;
    for (size_t i = 0; i < matrix->count; i++)
        all += matrix->pairs[i].transfers.of[MATRIX_ALL].value;
    assert_same(matrix->total.of[MATRIX_ALL].value - all,
                communication_flow(run.communication, 1)->transfers);
    sharing_matrix_free(other);
    sharing_matrix_free(matrix);
    end_run(&run);
}

/* Reads the layout as its convention says: lines from the last thread to the first. */
static void test_eagermap(void **state)
{
    (void)state;
    for (size_t c = 0; c < THREAD_COUNTS; c++) {
        struct random_run run;
        struct sharing_matrix *matrix;
        char *text = NULL, *next;
        size_t size = 0, n = thread_counts[c];
        FILE *stream = open_memstream(&text, &size);

        begin_run(&run, n);
        matrix = matrix_of(&run);
        sharing_matrix_eagermap(matrix, MATRIX_FALSE, stream);
        fclose(stream);
        next = text;
        for (size_t row = n; row-- > 0;) {
            for (size_t column = 0; column < n; column++) {
                double value = strtod(next, &next);
                double expected = run.sums[MATRIX_FALSE][row * n + column] +
                                  run.sums[MATRIX_FALSE][column * n + row];

                assert_same(value, row == column ? 0 : expected);
                assert_int_equal(*next++, column + 1 < n ? ',' : '\n');
            }
        }
        assert_int_equal(*next, '\0');
        free(text);
        sharing_matrix_free(matrix);
        end_run(&run);
    }
}

/* Position in the scale of shades; larger is darker. */
static int darkness(char shade)
{
    const char *found = strchr(" .:-=+*#%@", shade);

    assert_non_null(found);
    return (int)(found - " .:-=+*#%@");
}

static void check_shades(const struct random_run *run, const char *text, size_t block, size_t side)
{
    size_t width = side <= 32 ? 2 : 1;
    double largest = 0, sums[64 * 64] = {0};

    for (size_t i = 0; i < run->threads * run->threads; i++)
        sums[i / run->threads / block * side + i % run->threads / block] +=
            run->sums[MATRIX_ALL][i];
    for (size_t i = 0; i < side * side; i++)
        largest = sums[i] > largest ? sums[i] : largest;
    for (size_t row = 0; row < side; row++) {
        const char *bar;

        text = strchr(text, '\n') + 1;
        while ((bar = strchr(text, '|')) == NULL || bar > strchr(text, '\n'))
            text = strchr(text, '\n') + 1;
        for (size_t column = 0; column < side; column++) {
            double value = sums[row * side + column];
            int shade = darkness(bar[1 + column * width]);

            if (value == 0)
                assert_int_equal(shade, 0);
            else if (value > largest / 3)
                assert_int_equal(shade, 9);
            else
                assert_in_range(shade, 1, 8);
            /* A shade says how large the value is, to a factor of three. */
            for (int step = 2; step < 9; step++) {
                double upper = largest;

                for (int i = step; i < 9; i++)
                    upper /= 3;
                if (value > 0 && shade == step)
                    assert_true(value <= upper * 1.0001 && value >= upper / 3 * 0.9999);
            }
        }
        assert_int_equal(bar[1 + side * width], '|');
    }
}

static void test_grid(void **state)
{
    (void)state;
    for (size_t c = 0; c < THREAD_COUNTS; c++) {
        struct random_run run;
        struct sharing_matrix *matrix;
        size_t n = thread_counts[c], block = (n + 63) / 64, lines = 0;
        char *text;

        begin_run(&run, n);
        matrix = matrix_of(&run);
        text = sharing_matrix_grid(matrix, MATRIX_ALL);
        for (const char *line = text; *line != '\0'; line = strchr(line, '\n') + 1, lines++)
            assert_in_range(strcspn(line, "\n"), 0, 79);
        if (n <= 7)
            assert_int_equal(lines, n + 2);
        else
            check_shades(&run, text, block, (n + block - 1) / block);
        assert_int_equal(strstr(text, "Each cell is a block") != NULL, block > 1);
        free(text);
        sharing_matrix_free(matrix);
        end_run(&run);
    }
}

/* What the compiler makes of the same change. */
struct two_first {
    uint64_t first;
    _Alignas(64) uint64_t second;
    uint64_t rest[6];
};
struct two_first_256 {
    uint64_t first;
    _Alignas(256) uint64_t second;
    uint64_t rest[6];
};
struct late {
    char start[70];
    _Alignas(64) char late[60];
};
struct element {
    _Alignas(64) uint64_t value[9];
};

static struct false_sharing members(uint64_t first, uint64_t second, uint64_t size)
{
    return (struct false_sharing){
        .collision = COLLISION_MEMBERS,
        .type = "struct s",
        .type_size = size,
        .begins = {{.offset = second, .member = ".second"}},
        .begin_count = 1,
        .sides = {{.member = ".first", .offset = 640 + first, .instance_offset = 640},
                  {.member = ".second", .offset = 640 + second, .instance_offset = 640}}};
}

static void check_trial(const struct false_sharing *finding, const data_objects *objects,
                        const char *expected)
{
    char *text = parting_trial(finding, objects, 64);

    assert_non_null(strstr(text, expected));
    free(text);
}

/* Whole lines for each block part blocks, not what lies within one. */
static void test_trial(void **state)
{
    struct data_object of[] = {{.name = "a", .kind = "heap", .try_places = "app+0x12,app+0x34"},
                               {.name = "b", .kind = "heap", .try_places = "lib.so+0x56"},
                               {.name = "c", .kind = "global"}};
    data_objects objects = {.items = of, .count = 3};
    struct false_sharing finding = {.collision = COLLISION_OBJECTS};
    const char *none = "No trial from outside";

    (void)state;
    check_trial(&finding, &objects, " --try align:app+0x12=64,align:app+0x34=64 PROGRAM");
    finding.sides[1].object = 1;
    check_trial(&finding, &objects,
                " --try align:app+0x12=64,align:app+0x34=64,align:lib.so+0x56=64 PROGRAM");
    finding.sides[0].object = 2;
    check_trial(&finding, &objects, " --try align:lib.so+0x56=64 PROGRAM");
    finding.sides[1].object = 2;
    check_trial(&finding, &objects, none);
    finding = (struct false_sharing){.collision = COLLISION_ELEMENTS, .type_size = 64};
    check_trial(&finding, &objects, " --try align:app+0x12=64,align:app+0x34=64 PROGRAM");
    finding.type_size = 72;
    check_trial(&finding, &objects, none);
    finding = members(60, 64, 128);
    check_trial(&finding, &objects, " --try align:app+0x12=64,");
    finding = members(0, 8, 64);
    check_trial(&finding, &objects, none);
}

static void check_hint(struct symbol_module *module, bool expected)
{
    struct data_object of[] = {{.name = "a", .kind = "global", .owner = module}};
    data_objects objects = {.items = of, .count = 1};
    struct false_sharing finding = {.collision = COLLISION_BYTES};
    char *text = parting_text(&finding, &objects, 64);

    assert_int_equal(strstr(text, "(-g)") != NULL, expected);
    free(text);
}

/* -g is asked for only where it may help. */
static void test_debug_information_is_asked_for(void **state)
{
    const struct file_search search = {.sysroot = ""};
    struct intern_table *strings = intern_table_create();
    struct symbols *symbols = symbols_create(&search, strings);
    char directory[] = "/tmp/reuse-parting-XXXXXX", file[sizeof(directory) + 8], *command;

    (void)state;
    assert_non_null(mkdtemp(directory));
    snprintf(file, sizeof(file), "%s/lib.so", directory);
    assert_true(asprintf(&command, "echo 'int x = 1;' | gcc -g -shared -x c - -o %s", file) > 0);
    assert_int_equal(system(command), 0);
    check_hint(symbols_module(symbols, file, NULL, 0), false);
    check_hint(symbols_module(symbols, "/no/such/file", NULL, 0), true);
    check_hint(NULL, false);
    symbols_free(symbols);
    intern_table_free(strings);
    unlink(file);
    rmdir(directory);
    free(command);
}

static void test_parting(void **state)
{
    struct false_sharing finding = members(0, 8, 64);
    data_objects objects = {0};
    char *text;

    (void)state;
    assert_int_equal(parting_for(&finding, 64).new_size, sizeof(struct two_first));
    assert_int_equal(parting_for(&finding, 64).padding, sizeof(struct two_first) - 64);
    assert_int_equal(parting_for(&finding, 256).new_size, sizeof(struct two_first_256));
    text = parting_text(&finding, &objects, 64);
    assert_non_null(strstr(text, "second: alignas(64), struct s grows from 64 to 128 bytes"));
    free(text);
    finding = members(64, 70, 130);
    assert_int_equal(parting_for(&finding, 64).new_size, sizeof(struct late));
    finding = members(60, 64, 128);
    text = parting_text(&finding, &objects, 64);
    assert_non_null(strstr(text, "Align struct s to 64 bytes"));
    free(text);
    finding = members(0, 8, 64);
    finding.begins[0].between = "rest";
    finding.begins[1] = (struct line_begin){.offset = 24, .member = ".third"};
    finding.begin_count = 2;
    text = parting_text(&finding, &objects, 64);
    assert_non_null(strstr(text, "Begin a line with second (or rest before it, if the same thread "
                                 "uses that) and third: alignas(64), struct s grows from 64 to "
                                 "192 bytes"));
    free(text);
    finding.begin_count = FALSE_SHARING_BEGINS_MAX + 1;
    text = parting_text(&finding, &objects, 64);
    assert_non_null(strstr(text, "begin a line with each group"));
    assert_int_equal(parting_for(&finding, 64).new_size, 0);
    free(text);

    finding = (struct false_sharing){.collision = COLLISION_ELEMENTS, .type_size = 72};
    assert_int_equal(parting_for(&finding, 64).new_size, sizeof(struct element));
    finding.type_size = 64;
    assert_int_equal(parting_for(&finding, 64).padding, 0);
    text = parting_text(&finding, &objects, 64);
    assert_non_null(strstr(text, "Align the array to 64 bytes"));
    free(text);
    finding.type_size = 8;
    finding.parts = true;
    text = parting_text(&finding, &objects, 64);
    assert_non_null(strstr(text, "part begin at a multiple of 64 bytes (8 elements)"));
    free(text);
}

static struct false_sharing with_transfers(double value, double lo, size_t lines)
{
    struct false_sharing finding = {.lines = lines};

    finding.transfers.of[MATRIX_ALL] = (struct estimate){value, lo, 2 * value - lo};
    return finding;
}

static void test_worth(void **state)
{
    struct false_sharing finding = with_transfers(1000, 1000, 1);

    (void)state;
    assert_int_equal(worth_of(&finding, 9.9e6), PARTING_WORTHY);
    assert_int_equal(worth_of(&finding, 1.1e7), PARTING_WORTHLESS);
    finding = with_transfers(1000, 0, 1);
    assert_int_equal(worth_of(&finding, 1000), PARTING_UNCERTAIN);
    assert_int_equal(worth_of(&finding, 2.1e7), PARTING_WORTHLESS);
    finding = with_transfers(1000, 10, 1);
    assert_int_equal(worth_of(&finding, 1.1e7), PARTING_UNCERTAIN);
    finding = with_transfers(1000, 1000, 126);
    assert_int_equal(worth_of(&finding, 1000), PARTING_WORTHLESS);
    /* Where the threads' CPU time is known, 1 % of it counts, at 100 ns a transfer. */
    finding = with_transfers(1000, 10, 1);
    finding.transfers.of[MATRIX_ALL].hi = 1e6;
    finding.cost.cpu_ns = 9e6;
    assert_int_equal(worth_of(&finding, 1e12), PARTING_WORTHY);
    finding.cost.cpu_ns = 1.1e7;
    assert_int_equal(worth_of(&finding, 1e12), PARTING_UNCERTAIN);
    finding.cost.cpu_ns = 1.1e10;
    assert_int_equal(worth_of(&finding, 1e12), PARTING_WORTHLESS);
}

static void test_runtime_code(void **state)
{
    static const struct {
        const char *module, *function;
        enum code_class class;
    } examples[] = {
        {"libgomp.so.1.0.0", "gomp_team_barrier_wait_end", CODE_RUNTIME},
        {"libgomp.so.1.0.0", NULL, CODE_RUNTIME},
        {"libomp.so.5", "__kmp_wait_template", CODE_RUNTIME},
        {"libiomp5.so", NULL, CODE_RUNTIME},
        {"libpthread-2.31.so", "anything", CODE_RUNTIME},
        {"libc.so.6", "pthread_mutex_lock", CODE_RUNTIME},
        {"libc.so.6", "__lll_lock_wait", CODE_RUNTIME},
        {"libc.so.6", "__pthread_sigmask", CODE_RUNTIME},
        {"libc.so.6", "memcpy", CODE_PROGRAM},
        {"libc.so.6", "qsort", CODE_PROGRAM},
        {"libc.so.6", NULL, CODE_NEUTRAL},
        {"ld-linux-x86-64.so.2", NULL, CODE_NEUTRAL},
        {"ld-linux-x86-64.so.2", "_dl_relocate_object", CODE_NEUTRAL},
        {"libc.so.6", "__ctype_init", CODE_RUNTIME},
        {"app", "main", CODE_PROGRAM},
        {"app", NULL, CODE_PROGRAM},
        {"app", "GOMP_barrier", CODE_RUNTIME},
        {"app", "pthread_barrier_wait", CODE_RUNTIME},
        {"libcompute.so", NULL, CODE_PROGRAM},
        {"libomptarget_user.so", "f", CODE_PROGRAM},
        {NULL, NULL, CODE_UNKNOWN},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++)
        if (runtime_code_class(examples[i].module, examples[i].function) != examples[i].class)
            fail_msg("%s in %s", examples[i].function ? examples[i].function : "no name",
                     examples[i].module ? examples[i].module : "no module");
    assert_true(runtime_code_is_profiler("libreuse.so"));
    assert_true(runtime_code_is_profiler("libreuse-guest.so"));
    assert_false(runtime_code_is_profiler("libreusable.so"));
    assert_int_equal(runtime_code_waits("libc.so.6", "__pthread_sigmask"), WAITS_NOT);
    assert_int_equal(runtime_code_waits("libc.so.6", "pthread_getspecific"), WAITS_NOT);
    assert_int_equal(runtime_code_waits("libc.so.6", "__pthread_mutex_unlock_usercnt"),
                     WAITS_AT_LOCK);
    assert_int_equal(runtime_code_waits("libc.so.6", "__lll_lock_wait"), WAITS_AT_LOCK);
    assert_int_equal(runtime_code_waits("libgomp.so.1", "GOMP_critical_start"), WAITS_AT_LOCK);
    assert_int_equal(runtime_code_waits("libc.so.6", "pthread_cond_clockwait"), WAITS_FOR_THREADS);
    assert_int_equal(runtime_code_waits("libgomp.so.1", "gomp_team_barrier_wait_end"),
                     WAITS_FOR_THREADS);
    assert_int_equal(runtime_code_waits("libgomp.so.1.0.0", NULL), WAITS_FOR_THREADS);
    assert_int_equal(runtime_code_waits("app", "main"), WAITS_NOT);
}

/* Two NUMA domains of two caches of two cores of two hardware threads. */
static void test_cpu_distances(void **state)
{
    static const struct {
        unsigned a, b;
        enum cpu_distance distance;
    } examples[] = {
        {3, 3, DISTANCE_SAME_CPU}, {0, 1, DISTANCE_CORE},     {6, 7, DISTANCE_CORE},
        {0, 2, DISTANCE_CACHE},    {0, 4, DISTANCE_DOMAIN},   {7, 1, DISTANCE_DOMAIN},
        {0, 8, DISTANCE_MACHINE},  {15, 4, DISTANCE_MACHINE}, {0, 99, DISTANCE_MACHINE}};
    struct cpu_distances *distances;
    char message[512];

    (void)state;
    unsetenv("HWLOC_SYNTHETIC");
    unsetenv("HWLOC_XMLFILE");
    assert_null(cpu_distances_create("somewhere.else", message, sizeof(message)));
    assert_non_null(strstr(message, "somewhere.else"));
    setenv("HWLOC_SYNTHETIC", "node:2 l3:2 core:2 pu:2", 1);
    distances = cpu_distances_create("somewhere.else", message, sizeof(message));
    assert_non_null(distances);
    for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++) {
        assert_int_equal(cpu_distance_of(distances, examples[i].a, examples[i].b),
                         examples[i].distance);
        assert_int_equal(cpu_distance_of(distances, examples[i].b, examples[i].a),
                         examples[i].distance);
    }
    cpu_distances_free(distances);
    unsetenv("HWLOC_SYNTHETIC");
}

/* Four core memory groups of 12 cores, each with an L2 cache of its own. */
static void test_distances_of_machine(void **state)
{
    (void)state;
    static const struct machine groups = {
        .levels = 2,
        .caches = {{.level = 1, .sharing_cpus = 1}, {.level = 2, .sharing_cpus = 12}},
        .numa_domains = 4,
        .domain_cores = 12};
    static const struct machine pairs = {.levels = 1,
                                         .caches = {{.level = 1, .sharing_cpus = 2}},
                                         .numa_domains = 2,
                                         .domain_cores = 4};
    static const struct machine unknown = {.levels = 1,
                                           .caches = {{.level = 1, .sharing_cpus = 1}}};
    struct cpu_distances *distances = cpu_distances_of_machine(&groups);

    assert_int_equal(cpu_distance_of(distances, 3, 3), DISTANCE_SAME_CPU);
    assert_int_equal(cpu_distance_of(distances, 0, 11), DISTANCE_CACHE);
    assert_int_equal(cpu_distance_of(distances, 11, 12), DISTANCE_MACHINE);
    assert_int_equal(cpu_distance_of(distances, 1, 49), DISTANCE_SAME_CPU); /* starts again */
    cpu_distances_free(distances);
    distances = cpu_distances_of_machine(&pairs);
    assert_int_equal(cpu_distance_of(distances, 2, 3), DISTANCE_CACHE);
    assert_int_equal(cpu_distance_of(distances, 1, 2), DISTANCE_DOMAIN);
    assert_int_equal(cpu_distance_of(distances, 3, 4), DISTANCE_MACHINE);
    cpu_distances_free(distances);
    distances = cpu_distances_of_machine(&unknown);
    assert_int_equal(cpu_distance_of(distances, 0, 1000), DISTANCE_DOMAIN);
    cpu_distances_free(distances);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sums),
                                       cmocka_unit_test(test_what_is_left_out),
                                       cmocka_unit_test(test_eagermap),
                                       cmocka_unit_test(test_grid),
                                       cmocka_unit_test(test_debug_information_is_asked_for),
                                       cmocka_unit_test(test_parting),
                                       cmocka_unit_test(test_trial),
                                       cmocka_unit_test(test_worth),
                                       cmocka_unit_test(test_runtime_code),
                                       cmocka_unit_test(test_cpu_distances),
                                       cmocka_unit_test(test_distances_of_machine)};

    srand((unsigned)test_seed());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
