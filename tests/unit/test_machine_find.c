/* SPDX-License-Identifier: BSD-3-Clause */
/* Machines: built in, of a profile, of this host, from files; and what is refused. */
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
#include "support/profile_builder.h"

static bool find_text(const char *text, struct machine *machine, char *message, size_t size)
{
    char path[] = "/tmp/reuse-machine-XXXXXX";
    int descriptor = mkstemp(path);

    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, text, strlen(text)), (ssize_t)strlen(text));
    close(descriptor);
    bool good = machine_find(path, machine, message, size);
    if (!good)
        assert_non_null(strstr(message, path));
    unlink(path);
    return good;
}

static void a64fx(void **state)
{
    (void)state;
    struct machine machine;
    char message[256];
    assert_true(machine_find("a64fx", &machine, message, sizeof message));
    assert_true(machine_check(&machine, NULL, message, sizeof message));
    assert_string_equal(machine.name, "a64fx");
    assert_int_equal(machine.levels, 2);
    assert_int_equal(machine.caches[0].bytes, 65536);
    assert_int_equal(machine.caches[0].ways, 4);
    assert_int_equal(machine.caches[0].line_size, 256);
    assert_int_equal(machine.caches[1].bytes, 8388608);
    assert_int_equal(machine.caches[1].ways, 16);
    assert_int_equal(machine.caches[1].sharing_cpus, 12);
    assert_int_equal(machine.caches[0].sector_ways, 4);
    assert_int_equal(machine.caches[1].sector_ways, 14);
    assert_int_equal(machine.caches[1].content, CACHE_CONTENT_INCLUSIVE);
    assert_int_equal((int)machine.caches[1].bandwidth.group, 900);
    assert_int_equal((int)machine.memory.group, 256);
    assert_int_equal(machine.numa_domains, 4);
    assert_int_equal(machine.domain_cores, 12);
}

/* Figures that their makers publish; each name finds a description that passes its own check. */
static void built_in(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t levels;
        uint64_t last_bytes;
        uint32_t line;
    } expected[] = {
        {"a64fx", 2, 8 << 20, 256},
        {"skylake-sp", 3, 33 << 20, 64},
        {"zen4", 3, 32 << 20, 64},
        {"neoverse-n1", 3, 32 << 20, 64},
        {"neoverse-v1", 3, 32 << 20, 64},
        {"power9", 3, 10 << 20, 128},
        {"grace", 3, 114 << 20, 64},
        {"graviton4", 3, 36 << 20, 64},
        {"zen5", 3, 32 << 20, 64},
        {"sapphire-rapids", 3, 105 << 20, 64},
        {"granite-rapids", 3, 504 << 20, 64},
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        struct machine machine;
        char message[256];
        if (!machine_find(expected[i].name, &machine, message, sizeof message))
            fail_msg("%s", message);
        assert_true(machine_check(&machine, NULL, message, sizeof message));
        assert_string_equal(machine.name, expected[i].name);
        assert_int_equal(machine.levels, expected[i].levels);
        assert_int_equal(machine.caches[machine.levels - 1].bytes, expected[i].last_bytes);
        assert_int_equal(machine.caches[0].line_size, expected[i].line);
        assert_true(machine.memory.group > 0);
    }
}

static void reach_and_sharing(void **state)
{
    (void)state;
    struct machine machine;
    char message[256];
    assert_true(machine_find("zen4", &machine, message, sizeof message));
    assert_true(machine_reach(&machine, 0, 1) == 32 << 10);
    assert_true(machine_reach(&machine, 1, 20) == 1 << 20);
    /* A victim cache adds to the caches inside it that are in use: L2 of 1, 3 and all 8 cores. */
    assert_true(machine_reach(&machine, 2, 1) == 33 << 20);
    assert_true(machine_reach(&machine, 2, 3) == 35 << 20);
    assert_true(machine_reach(&machine, 2, 20) == 40 << 20);
    /* To each of three threads a third of L3 and an L2. */
    assert_true(machine_reach(&machine, 2, 3) / machine_threads_sharing(&machine, 2, 3) ==
                (32 << 20) / 3.0 + (1 << 20));
    assert_true(machine_threads_sharing(&machine, 0, 20) == 1);
    assert_true(machine_threads_sharing(&machine, 2, 20) == 8);
    assert_true(machine_threads_sharing(&machine, 2, 3) == 3);
    assert_true(machine_threads_sharing(&machine, 2, 0) == 1);
    /* Two cores, one L2, one L3: with two threads there is still one L2 to add. */
    assert_true(machine_find("power9", &machine, message, sizeof message));
    assert_true(machine_reach(&machine, 2, 2) == (10 << 20) + (512 << 10));
    /* Not a victim: nothing is added. */
    assert_true(machine_find("a64fx", &machine, message, sizeof message));
    assert_true(machine_reach(&machine, 1, 12) == 8 << 20);
}

static void host(void **state)
{
    (void)state;
    /* A made-up topology through hwloc's own means, then whatever this machine is. */
    struct machine machine;
    char message[256];
    assert_int_equal(
        setenv("HWLOC_SYNTHETIC",
               "pack:1 l3:1(size=33554432) l2:4(size=1048576) l1:1(size=32768) core:1 pu:2", 1),
        0);
    bool good = machine_find("host", &machine, message, sizeof message);
    unsetenv("HWLOC_SYNTHETIC");
    if (!good)
        fail_msg("%s", message);
    assert_int_equal(machine.levels, 3);
    assert_int_equal(machine.caches[0].bytes, 32 << 10);
    assert_int_equal(machine.caches[0].sharing_cpus, 2);
    assert_int_equal(machine.caches[1].bytes, 1 << 20);
    assert_int_equal(machine.caches[2].bytes, 32 << 20);
    assert_int_equal(machine.caches[2].sharing_cpus, 8);
    if (!machine_find("host", &machine, message, sizeof message))
        assert_non_null(strstr(message, "this host"));
    else
        assert_true(machine_check(&machine, NULL, message, sizeof message));
}

static void description(void **state)
{
    (void)state;
    struct machine machine;
    char message[256];
    const char *text = "# comment\n\nname =  my machine \ncache = 1 48K 64 12 1 # first\n"
                       "cache=2\t2MiB 64 16 2\n  cache = 3 1G 64 0 16";
    if (!find_text(text, &machine, message, sizeof message))
        fail_msg("%s", message);
    assert_string_equal(machine.name, "my machine");
    assert_int_equal(machine.levels, 3);
    assert_int_equal(machine.caches[0].bytes, 49152);
    assert_int_equal(machine.caches[1].bytes, 2 << 20);
    assert_int_equal(machine.caches[2].bytes, 1 << 30);
    assert_int_equal(machine.caches[2].ways, 0);
    assert_int_equal(machine.caches[2].sharing_cpus, 16);
    text = "sector = 1 3\nbandwidth=1 100.5 200\nbandwidth = memory 8\nlatency = 1 1.5\nlatency = "
           "memory 80\n"
           "cache = 1 48K 64 12 1 # first\ncache = 2 2M 64 16 1 victim\nnuma = 2 4\n";
    if (!find_text(text, &machine, message, sizeof message))
        fail_msg("%s", message);
    assert_int_equal(machine.caches[0].sector_ways, 3);
    assert_true(machine.caches[0].latency_ns == 1.5 && machine.caches[1].latency_ns == 0);
    assert_true(machine.memory_latency_ns == 80);
    assert_true(machine.caches[0].bandwidth.core == 100.5);
    assert_true(machine.caches[0].bandwidth.group == 200);
    assert_true(machine.caches[1].bandwidth.core == 0);
    assert_true(machine.memory.core == 8);
    assert_int_equal(machine.caches[1].content, CACHE_CONTENT_VICTIM);
    assert_int_equal(machine.numa_domains, 2);
}

static void refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *cause;
    } cases[] = {
        {"", "no cache"},
        {"name = x\n", "no cache"},
        {"nonsense\n", ":1:"},
        {"name = x\ncolour = red\n", ":2:"},
        {"cache = 1 32K 64 8\n", "sharing"},
        {"cache = 1 32K 64 8 1 7\n", "7"},
        {"cache = 1 32Q 64 8 1\n", "32Q"},
        {"cache = 1 -32 64 8 1\n", "-32"},
        {"cache = 1 99999999999999999999 64 8 1\n", "bytes"},
        {"cache = 1 18014398509481985K 64 8 1\n", "bytes"},
        {"cache = 1 32K 4294967296 8 1\n", "line"},
        {"cache = 1 32K 48 8 1\n", "power of two"},
        {"cache = 1 32K 8192 4 1\n", "power of two"},
        {"cache = 1 0 64 8 1\n", "multiple"},
        {"cache = 1 1000 64 8 1\n", "multiple"},
        {"cache = 1 32K 64 7 1\n", "ways"},
        {"cache = 1 32K 64 8 0\n", "shared"},
        {"cache = 0 32K 64 8 1\n", "level"},
        {"cache = 9 32K 64 8 1\n", "level"},
        {"cache = 1 32K 64 8 1\ncache = 1 64K 64 8 1\n", ":2: L1 after L1"},
        {"\ncache = 1 32K 64 7 1\n#\n", ":2: L1: 7 ways"},
        {"cache = 1 32K 64 8 1 inclusive 9\n", "9"},
        {"cache = 1 32K 64 8 1\nsector = 1 9\n", ":1: L1: sectors cannot divide 9 of its 8"},
        {"cache = 1 32K 64 8 1\nsector = 1 1\n", "cannot divide 1"},
        {"cache = 1 32K 64 8 1\nsector = 2 4\n", ":2: there is no cache of level 2"},
        {"cache = 1 32K 64 8 1\nsector = 1\n", ":2: sector needs"},
        {"cache = 1 32K 64 8 1\nbandwidth = 3 10\n", ":2: there is no cache of level 3"},
        {"cache = 1 32K 64 8 1\nbandwidth = 1 fast\n", ":2: bandwidth \"fast\""},
        {"cache = 1 32K 64 8 1\nbandwidth = 1 -3\n", "-3"},
        {"cache = 1 32K 64 8 1\nbandwidth = memory\n", "bandwidth needs"},
        {"cache = 1 32K 64 8 1\nlatency = 2 10\n", ":2: there is no cache of level 2"},
        {"cache = 1 32K 64 8 1\nlatency = memory slow\n", ":2: latency \"slow\""},
        {"cache = 1 32K 64 8 1\nlatency = 1\n", "latency needs"},
        {"cache = 1 32K 64 8 1\nnuma = 0 4\n", "at least one"},
        {"cache = 1 32K 64 8 1\nnuma = 4\n", "numa needs"},
        {"cache = 1 32K 64 8 1\ncache = 2 16K 64 8 1\n", "outwards"},
        {"name = x\ncache = 2 1M 64 16 1\n", ":2: cache of level 2, but none of level 1"},
        {"cache = 1 32K 64 8 1\ncache = 3 1M 64 16 1\n",
         ":2: cache of level 3, but none of level 2"},
        {"cache = 1 32K 64 8 4\ncache = 2 1M 64 8 2\n", ":2: shared by 2 CPUs, fewer than the 4"},
        {"cache = 1 1K 64 0 1\ncache = 2 2K 64 0 1\ncache = 3 4K 64 0 1\ncache = 4 8K 64 0 1\n"
         "cache = 5 16K 64 0 1\ncache = 6 32K 64 0 1\ncache = 7 64K 64 0 1\ncache = 8 128K 64 0 1\n"
         "cache = 9 256K 64 0 1\n",
         "more than"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct machine machine;
        char message[400] = "";
        if (find_text(cases[i].text, &machine, message, sizeof message))
            fail_msg("accepted: %s", cases[i].text);
        if (!strstr(message, cases[i].cause) || strchr(message, '\n'))
            fail_msg("\"%s\" does not tell of \"%s\"", message, cases[i].cause);
    }
    struct machine machine;
    char message[400], line[1000];
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    assert_false(find_text(line, &machine, message, sizeof message));
    assert_non_null(strstr(message, "longer"));
    assert_false(machine_find("no-such-machine", &machine, message, sizeof message));
    assert_non_null(strstr(message, "no-such-machine"));
    assert_non_null(strstr(message, "a64fx"));
    assert_false(machine_find("/", &machine, message, sizeof message));
}

static void of_a_profile(void **state)
{
    (void)state;
    char path[] = "/tmp/reuse-machine-XXXXXX", message[200];
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    struct profile_builder builder;
    profile_builder_begin(&builder, path);
    profile_builder_defaults(&builder);
    struct record_cache instructions = {.level = 1,
                                        .type = CACHE_INSTRUCTION,
                                        .ways = 8,
                                        .line_size = 64,
                                        .bytes = 65536,
                                        .sharing_cpus = 1};
    profile_builder_record(&builder, RECORD_CACHE, &instructions, sizeof instructions);
    profile_builder_finish(&builder);
    struct profile *profile = profile_builder_load(path);
    struct machine machine;
    assert_true(machine_of_profile(profile, &machine));
    assert_string_equal(machine.name, "testhost");
    assert_int_equal(machine.levels, 3);
    assert_int_equal(machine.caches[0].bytes, 32 << 10);
    assert_int_equal(machine.caches[2].bytes, 16 << 20);
    assert_true(machine_check(&machine, NULL, message, sizeof message));
    profile_free(profile);
    profile_builder_begin(&builder, path);
    profile_builder_finish(&builder);
    profile = profile_builder_load(path);
    assert_false(machine_of_profile(profile, &machine));
    profile_free(profile);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a64fx),
        cmocka_unit_test(host),
        cmocka_unit_test(description),
        cmocka_unit_test(refused),
        cmocka_unit_test(of_a_profile),
        cmocka_unit_test(built_in),
        cmocka_unit_test(reach_and_sharing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
