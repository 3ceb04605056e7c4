/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "watches/register_state.h"

#include "sampling/pursuit.h"

#include "signal_safe.h"

static const struct {
    const char *name, *cause, *way_out;
} states[] = {
    [REGISTERS_TRAP] = {"trap", "", ""},
    [REGISTERS_TAKEN] = {"taken", "no debug register is free (a debugger?)",
                         "free them (reuse-doctor says how), or count with reuse-run -e exact"},
    [REGISTERS_ABSENT] = {"absent", "there are no debug registers here",
                          "count with reuse-run -e exact, or use another machine"},
    [REGISTERS_SILENT] = {"silent",
                          "debug registers can be armed, but never trap (a virtual machine?)",
                          "count with reuse-run -e exact, or use another machine"},
    [REGISTERS_UNWANTED] = {"unwanted", "no debug register is to be used (--registers 0)",
                            "leave out --registers, or count with reuse-run -e exact"},
};

const char *register_state_name(enum register_state state)
{
    return states[state].name;
}

void register_state_line(enum register_state state, struct line *line)
{
    line_begin(line);
    line_text(line, states[state].cause);
    line_text(line, ": reuses beyond the look-ahead (");
    line_number(line, BURST_ACCESSES);
    line_text(line, " accesses, at times ");
    line_number(line, (uint64_t)BURST_ACCESSES << PURSUIT_DOUBLINGS);
    line_text(line, ") are not observed, and sharing between threads is modelled; ");
    line_text(line, states[state].way_out);
}
