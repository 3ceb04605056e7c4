/* SPDX-License-Identifier: BSD-3-Clause */
/* Why a unit that is there cannot be used: kernels' documented answers, and machines of files. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "interposition/blocked_trap.h"
#include "pmu/refusal.h"
#include "support/text_files.h"

static void versions(void **state)
{
    (void)state;
    assert_int_equal(kernel_version("6.1.0-18-amd64"), 6 << 16 | 1);
    assert_int_equal(kernel_version("6.14.2"), KERNEL_IBS_WITHOUT_PRIVILEGE);
    assert_int_equal(kernel_version("5.14.0-503.el9.x86_64"), 5 << 16 | 14);
    assert_int_equal(kernel_version("10.0"), 10 << 16);
    assert_int_equal(kernel_version("7"), 0);
    assert_int_equal(kernel_version(""), 0);
    assert_int_equal(kernel_version("gVisor"), 0);
}

/* perf_event_open's answers to attr.sigtrap, by version: RHEL 8's, RHEL 9's, and others'. */
static void kernels_without_sigtrap(void **state)
{
    (void)state;
    assert_true(kernel_lacks_sigtrap(E2BIG, kernel_version("4.18.0-553.el8_10.aarch64")));
    assert_true(kernel_lacks_sigtrap(EINVAL, kernel_version("5.10.0-28-arm64")));
    assert_true(kernel_lacks_sigtrap(E2BIG, 0));
    assert_false(kernel_lacks_sigtrap(EINVAL, kernel_version("5.14.0-503.el9.aarch64")));
    assert_false(kernel_lacks_sigtrap(EACCES, kernel_version("4.18.0-553.el8_10.aarch64")));
    assert_true(kernel_version("5.14.0-503.el9.x86_64") < KERNEL_SIGTRAP_WAITS);
    assert_true(kernel_version("5.18.0") >= KERNEL_SIGTRAP_WAITS);
}

/* A kernel that kills whoever has blocked the signal of an event, and this one. */
static void dies(void)
{
    raise(SIGTRAP);
}

static void ends(void) {}

static void blocked_traps(void **state)
{
    (void)state;
    assert_int_equal(blocked_trap_of(dies), TRAP_KILLS);
    assert_int_equal(blocked_trap_of(ends), TRAP_WAITS);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
}

/* Each kernel's answer, to a user with and without CAP_PERFMON. */
static void ibs(void **state)
{
    static const struct pmu_choice without_filter = {.unit = PMU_IBS, .needs_privilege = true};
    static const struct pmu_choice with_filter = {.unit = PMU_IBS};
    static const struct pmu_choice pebs = {.unit = PMU_PEBS};
    static const struct {
        const struct pmu_choice *choice;
        const char *release;
        int error;
        const char *missing, *helps; /* NULL: nothing of IBS' own */
    } cases[] = {
        /* Debian 12: both are missing. */
        {&without_filter, "6.1.0-18-amd64", EACCES, "(6.14; this is 6.1)",
         "CAP_PERFMON does not help"},
        {&without_filter, "6.1.0-18-amd64", EINVAL, "(from Linux 6.2 on; this is 6.1)",
         "newer kernel"},
        {&without_filter, "6.8.0-45-generic", EACCES, "swfilt, from Linux 6.14 on; this is 6.8)",
         "or run with CAP_PERFMON"},
        {&without_filter, "6.8.0-45-generic", EPERM, "this is 6.8", "or run with CAP_PERFMON"},
        {&without_filter, "", EACCES, "from Linux 6.14 on)", "or run with CAP_PERFMON"},
        {&without_filter, "", EINVAL, "(from Linux 6.2 on)", "newer kernel"},
        {&without_filter, "6.8.0-45-generic", EINVAL, NULL, NULL},
        {&without_filter, "6.1.0-18-amd64", EBUSY, NULL, NULL},
        {&with_filter, "6.14.0", EACCES, NULL, NULL},
        {&pebs, "6.1.0", EACCES, NULL, NULL},
        {&pebs, "6.1.0", EINVAL, NULL, NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char reason[PMU_REASON_MAX] = "ibs_op: ";
        const char *remedy;
        bool told = pmu_explain_ibs(cases[i].choice, cases[i].error,
                                    kernel_version(cases[i].release), reason, &remedy);

        assert_int_equal(told, cases[i].missing != NULL);
        if (!told)
            continue;
        /* Whole, with room for the event's name. */
        assert_true(strlen(reason) + strlen(remedy) + strlen(": ") < PMU_REASON_MAX - 1);
        assert_non_null(strstr(reason, cases[i].missing));
        assert_non_null(strstr(remedy, cases[i].helps));
    }
}

static void spe(void **state)
{
    static const struct text_file none[] = {{"armv8_pmuv3_0/type", "8"}, {NULL, NULL}};
    static const struct text_file shown[] = {{"arm_spe_0/type", "9"}, {NULL, NULL}};
    static const struct {
        struct processor processor;
        const struct text_file *files;
        bool lacks;
    } cases[] = {
        {{VENDOR_ARM, 0, 0, 0, 0x413fd0c1}, none, true},   /* Graviton2 */
        {{VENDOR_ARM, 0, 0, 0, 0x411fd401}, none, true},   /* Graviton3 */
        {{VENDOR_ARM, 0, 0, 0, 0x410fd4f0}, none, true},   /* Graviton4, Grace */
        {{VENDOR_ARM, 0, 0, 0, 0x413fd0c1}, shown, false}, /* as metal */
        {{VENDOR_ARM, 0, 0, 0, 0x461f0010}, none, false},  /* A64FX has none */
        {{VENDOR_INTEL, 6, 0x8f, 0, 0}, none, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pmu_machine machine = {cases[i].processor, text_files_read,
                                      (void *)(uintptr_t)cases[i].files};

        assert_int_equal(pmu_lacks_spe(&machine), cases[i].lacks);
    }
    assert_non_null(strstr(pmu_spe_remedy, "sudo modprobe arm_spe_pmu"));
    assert_non_null(strstr(pmu_spe_remedy, ".metal"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions),      cmocka_unit_test(kernels_without_sigtrap),
        cmocka_unit_test(blocked_traps), cmocka_unit_test(ibs),
        cmocka_unit_test(spe),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
