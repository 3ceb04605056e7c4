/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reuse-doctor: tries what the engines need on this machine, as this user, and says what each
 * result means and what would change it. Nothing is taken from a list that can be tried. Exit
 * status: 0 if at least one engine can be used, 1 if none, 2 wrong usage.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "config.h"
#include "doctor/finding.h"
#include "doctor/latencies.h"
#include "doctor/output.h"
#include "doctor/probe.h"
#include "doctor/silicon_test.h"
#include "launcher/engine_qemu.h"

static void (*const probes[FINDING_PROGRAM])(struct finding *) = {
    [FINDING_SYSTEM] = probe_system,     [FINDING_PERMISSION] = probe_permission,
    [FINDING_PARANOID] = probe_paranoid, [FINDING_CAPABILITY] = probe_capability,
    [FINDING_SECCOMP] = probe_seccomp,   [FINDING_DESCRIPTORS] = probe_descriptors,
    [FINDING_CLOCK] = probe_clock,       [FINDING_REGISTERS] = probe_registers,
    [FINDING_TRAP] = probe_trap,         [FINDING_INHERITED] = probe_inherited,
    [FINDING_COUNTING] = probe_counting, [FINDING_PRECISE] = probe_precise,
    [FINDING_QEMU] = probe_qemu,         [FINDING_LIBC] = probe_libc,
};

enum { ENGINES = 3 };

static void conclude(const struct finding *findings, struct verdict verdicts[ENGINES])
{
    enum finding_state clock = findings[FINDING_CLOCK].state, trap = findings[FINDING_TRAP].state;

    verdicts[0] =
        (struct verdict){"clock", clock, "bursts by CPU time, watchpoints for long reuses"};
    if (clock == FINDING_MISSING)
        verdicts[0].reason = "no bursts, see: Sampling by CPU time";
    else if (trap != FINDING_WORKS)
        verdicts[0] = (struct verdict){"clock", FINDING_LIMITED,
                                       "reuse after the end of a burst is not observed"};
    else if (findings[FINDING_INHERITED].state != FINDING_WORKS)
        verdicts[0] =
            (struct verdict){"clock", FINDING_LIMITED, "sharing between threads is modelled"};

    verdicts[1] = (struct verdict){"pmu", findings[FINDING_PRECISE].state,
                                   "bursts by hardware counters, which count accesses"};
    if (verdicts[1].state == FINDING_MISSING)
        verdicts[1].reason = "no hardware samples with addresses";

    verdicts[2] = (struct verdict){"exact", findings[FINDING_QEMU].state,
                                   "every access, under qemu-user (also: simulate)"};
    if (!qemu_engines_present())
        verdicts[2] = (struct verdict){"exact", FINDING_MISSING, "not part of this build"};
    else if (findings[FINDING_QEMU].state == FINDING_MISSING)
        verdicts[2].reason = "qemu-user is missing or too old (also: simulate)";
}

static int usage_error(const char *problem, const char *word)
{
    fprintf(stderr, "reuse-doctor: %s '%s'; reuse-doctor --help lists the options\n", problem,
            word);
    return 2;
}

static void print_usage(void)
{
    puts("Usage: reuse-doctor [--format text|json] [PROGRAM]\n"
         "Tries what profiling needs on this machine, and says what would enable more;\n"
         "with PROGRAM, also whether that program can be profiled.\n\n"
         "      --format NAME   text (default) or json\n"
         "      --latencies     measure how long loads wait for each cache and for memory,\n"
         "                      some three seconds, and keep it for reports on this host\n"
         "      --silicon-test  run programs of known truth under the engine pmu, some\n"
         "                      fifteen minutes, and write how far it is from the truth\n"
         "      --engine NAME   ... under pmu (default), clock or simulate\n"
         "      --cases LIST    ... some of the programs only\n"
         "  -o, --output FILE   ... there (default reuse-silicon-test.json)\n"
         "  -h, --help          this text\n"
         "  -V, --version       the version\n\n"
         "Exit status: 0 if at least one engine works, 1 if none does, 2 for wrong usage.");
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"format", required_argument, NULL, 'f'},
        {"silicon-test", no_argument, NULL, 's'},
        {"latencies", no_argument, NULL, 'l'},
        {"engine", required_argument, NULL, 'e'},
        {"cases", required_argument, NULL, 'c'},
        {"output", required_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},
        {NULL, 0, NULL, 0},
    };
    struct silicon_options silicon = {.engine = "pmu", .output = "reuse-silicon-test.json"};
    struct verdict verdicts[ENGINES];
    bool json = false, silicon_wanted = false, latencies_wanted = false;
    int option;

    opterr = 0;
    while ((option = getopt_long(argc, argv, ":hVo:", options, NULL)) != -1) {
        switch (option) {
        case 'f':
            json = strcmp(optarg, "json") == 0;
            if (!json && strcmp(optarg, "text") != 0)
                return usage_error("--format is text or json, not", optarg);
            break;
        case 's':
            silicon_wanted = true;
            break;
        case 'l':
            latencies_wanted = true;
            break;
        case 'e':
            silicon.engine = optarg;
            if (strcmp(optarg, "pmu") != 0 && strcmp(optarg, "clock") != 0 &&
                strcmp(optarg, "simulate") != 0)
                return usage_error("--engine is pmu, clock or simulate, not", optarg);
            break;
        case 'c':
            silicon.cases = optarg;
            break;
        case 'o':
            silicon.output = optarg;
            break;
        case 'h':
            print_usage();
            return 0;
        case 'V':
            puts("reuse-doctor " PACKAGE_VERSION);
            return 0;
        case ':':
            return usage_error("a value is missing after", argv[optind - 1]);
        default:
            return usage_error("unknown option", argv[optind - 1]);
        }
    }
    if (latencies_wanted)
        return latencies_measure();
    if (silicon_wanted)
        return silicon_test(&silicon);
    if (argc - optind > 1)
        return usage_error("only one program can be looked at, not also", argv[optind + 1]);

    struct finding *findings = mmap(NULL, FINDING_COUNT * sizeof *findings, PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (findings == MAP_FAILED) {
        fprintf(stderr, "reuse-doctor: no memory: %s\n", strerror(errno));
        return 1;
    }
    for (int id = 0; id < FINDING_PROGRAM; id++)
        probe_run(probes[id], &findings[id]);
    int count = FINDING_PROGRAM;
    if (optind < argc) {
        probe_program(&findings[FINDING_PROGRAM], argv[optind]);
        count = FINDING_COUNT;
    }
    conclude(findings, verdicts);

    bool written = true;
    if (json)
        written = output_json(stdout, findings, count, verdicts, ENGINES);
    else
        output_text(stdout, findings, count, verdicts, ENGINES);
    if (fflush(stdout) != 0 || ferror(stdout) || !written) {
        fprintf(stderr, "reuse-doctor: the output cannot be written: %s\n", strerror(errno));
        return 1;
    }
    for (int i = 0; i < ENGINES; i++) {
        if (verdicts[i].state != FINDING_MISSING)
            return 0;
    }
    return 1;
}
