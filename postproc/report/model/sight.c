/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/sight.h"

#include <string.h>

#include "report/model/communication_view.h"
#include "report/model/run_time.h"

static const struct {
    const char *state, *cause, *way_out;
} states[] = {
    {"silent", "debug registers never trapped: a virtual machine?", "reuse-run -e exact"},
    {"taken", "no debug register was free", "reuse-doctor (it says how to free them)"},
    {"absent", "there were no debug registers", "reuse-run -e exact"},
    {"unwanted", "debug registers were not to be used", "reuse-run without --registers"},
};

/* Of runs without registers; NULL: registers were used, or the engine needs none. */
static const char *register_state(const struct profile *profile)
{
    const char *engine = profile_run_text(profile, "engine", "");
    const char *state = profile_run_text(profile, "registers_state", "trap");

    if (strcmp(engine, "clock") != 0 && strcmp(engine, "pmu") != 0)
        return NULL;
    return strcmp(state, "trap") != 0 ? state : NULL;
}

static bool is_beyond_at_any_level(const struct model *model)
{
    for (size_t i = 0; i < model->machine.levels; i++)
        if (model->whole[model->level_size[i]].beyond)
            return true;
    return false;
}

static bool runs_threads(const struct model *model)
{
    for (size_t p = 0; p < model->profile_count; p++)
        if (profile_runs_threads(model->profiles[p]))
            return true;
    return false;
}

/* Busy CPUs: below this, threads were hardly seen to run at the same time. */
static const double one_cpu = 1.1;

bool sight_one_at_a_time(const struct sight *sight)
{
    return sight->busy_cpus > 0 && sight->busy_cpus < one_cpu;
}

static double busy_cpus(const struct model *model)
{
    double wall = model->profile_count == 1 ? (double)run_wall_ns(model->profiles[0]) : 0;

    return wall > 0 && runs_threads(model) ? run_cpu_ns(model) / wall : 0;
}

struct sight sight_of(struct model *model)
{
    struct sight sight = {.cause = "its samples do not tell", .way_out = "reuse-run -e exact"};
    const char *state = NULL;

    for (size_t p = 0; p < model->profile_count && state == NULL; p++)
        state = register_state(model->profiles[p]);
    for (size_t i = 0; state != NULL && i < sizeof(states) / sizeof(*states); i++)
        if (strcmp(states[i].state, state) == 0) {
            sight.cause = states[i].cause;
            sight.way_out = states[i].way_out;
        }
    sight.misses_long_uses = state != NULL && is_beyond_at_any_level(model);
    sight.misses_sharing =
        runs_threads(model) && communication_view_of(model)->communication == NULL;
    sight.emulates_sharing = model->exact && runs_threads(model) && !sight.misses_sharing;
    sight.busy_cpus = busy_cpus(model);
    sight.models_sharing = runs_threads(model) && !sight.misses_sharing &&
                           communication_is_modelled(communication_view_of(model)->communication);
    return sight;
}
