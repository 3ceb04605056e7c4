/* SPDX-License-Identifier: BSD-3-Clause */
/* See refusal.h. Signal-safe but for what the caller's read function does. */
#include "pmu/refusal.h"

#include <errno.h>

#include "pmu/reason.h"

#include "signal_safe.h"

static unsigned take_number(const char **text)
{
    unsigned number = 0;

    while (**text >= '0' && **text <= '9' && number < 10000)
        number = number * 10 + (unsigned)(*(*text)++ - '0');
    return number;
}

unsigned kernel_version(const char *release)
{
    unsigned major = take_number(&release);

    if (major == 0 || *release++ != '.')
        return 0;
    return major << 16 | take_number(&release);
}

bool kernel_lacks_sigtrap(int error, unsigned kernel)
{
    return (error == E2BIG || error == EINVAL) && kernel < KERNEL_SIGTRAP;
}

const char kernel_without_sigtrap[] =
    "events bring SIGTRAP from Linux 5.13 on (RHEL 9 has it, RHEL 8 not): use such a kernel";

#if defined(__x86_64__)
const char kernel_needs_no_events[] = ", or reuse-run -e exact, which needs no events";
#else
const char kernel_needs_no_events[] = "";
#endif

/* "; this is 6.1" */
static void append_kernel(char *text, unsigned kernel)
{
    if (kernel == 0)
        return;
    reason_append(text, PMU_REASON_MAX, "; this is ");
    reason_append_number(text, PMU_REASON_MAX, kernel >> 16);
    reason_append(text, PMU_REASON_MAX, ".");
    reason_append_number(text, PMU_REASON_MAX, kernel & 0xffff);
}

bool pmu_explain_ibs(const struct pmu_choice *choice, int error, unsigned kernel, char *reason,
                     const char **remedy)
{
    bool older = kernel != 0 && kernel < KERNEL_IBS_OF_THREADS;
    bool denied = (error == EACCES || error == EPERM) && choice->needs_privilege;

    if (choice->unit != PMU_IBS || !(denied || (error == EINVAL && (older || kernel == 0))))
        return false;
    if (!denied) {
        reason_append(reason, PMU_REASON_MAX,
                      "the kernel samples no single threads with IBS (from Linux 6.2 on");
        *remedy = "use a newer kernel; from 6.14 on it needs no privilege";
    } else if (older) {
        reason_append(reason, PMU_REASON_MAX,
                      "the kernel neither samples single threads with IBS (from Linux 6.2 on) nor "
                      "gives it to unprivileged users (6.14");
        *remedy = "use a newer kernel; CAP_PERFMON does not help here";
    } else {
        reason_append(reason, PMU_REASON_MAX,
                      "the kernel cannot keep its own samples out of IBS (ibs_op/format/swfilt, "
                      "from Linux 6.14 on");
        *remedy = "use such a kernel, or run with CAP_PERFMON";
    }
    append_kernel(reason, kernel);
    reason_append(reason, PMU_REASON_MAX, ")");
    return true;
}

const char pmu_spe_remedy[] =
    "sudo modprobe arm_spe_pmu (Ubuntu: in linux-modules-extra-$(uname -r); refused: boot with "
    "kpti=off); virtual machines hide SPE: of AWS Graviton take a .metal instance";

bool pmu_lacks_spe(const struct pmu_machine *machine)
{
    char text[32];

    /* Cores whose sources of data are known have the unit that tells them. */
    return machine->processor.vendor == VENDOR_ARM &&
           spe_source_table_for(machine->processor.midr) != SPE_SOURCE_NONE &&
           !machine->read(machine->context, "arm_spe_0/type", text, sizeof text);
}
