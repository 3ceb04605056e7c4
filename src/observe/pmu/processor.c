/* SPDX-License-Identifier: BSD-3-Clause */
/* The running machine for pmu_choose(). See choose.h. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pmu/choose.h"
#include "pmu/format_terms.h"

#if defined __x86_64__
#include <cpuid.h>

/* Under a hypervisor each leaf costs microseconds, so none is asked for twice. */
static void ask(struct processor *processor)
{
    unsigned eax, ebx, ecx, edx;
    char vendor[12];

    __cpuid(0, eax, ebx, ecx, edx);
    memcpy(vendor, &ebx, 4);
    memcpy(vendor + 4, &edx, 4);
    memcpy(vendor + 8, &ecx, 4);
    processor->vendor = memcmp(vendor, "GenuineIntel", 12) == 0   ? VENDOR_INTEL
                        : memcmp(vendor, "AuthenticAMD", 12) == 0 ? VENDOR_AMD
                        : memcmp(vendor, "HygonGenuine", 12) == 0 ? VENDOR_AMD
                                                                  : VENDOR_UNKNOWN;
    __cpuid(1, eax, ebx, ecx, edx);
    /* The extended fields count for these families only, as both manuals say. */
    processor->family = eax >> 8 & 15;
    processor->model = eax >> 4 & 15;
    if (processor->family == 6 || processor->family == 15)
        processor->model |= eax >> 12 & 0xf0;
    if (processor->family == 15)
        processor->family += eax >> 20 & 0xff;
    if (processor->vendor == VENDOR_AMD && __get_cpuid(0x8000001b, &eax, &ebx, &ecx, &edx))
        processor->ibs_capabilities = eax;
}

void processor_here(struct processor *processor)
{
    static struct processor known; /* written at start-up */

    if (known.family == 0)
        ask(&known);
    *processor = known;
}
#else
void processor_here(struct processor *processor)
{
    static const char path[] = "/sys/devices/system/cpu/cpu0/regs/identification/midr_el1";
    char text[32];
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size;

    memset(processor, 0, sizeof *processor);
    processor->vendor = VENDOR_ARM;
    if (descriptor < 0)
        return;
    size = read(descriptor, text, sizeof text - 1);
    close(descriptor);
    if (size <= 0)
        return;
    text[size] = '\0';
    text[strcspn(text, "\n")] = '\0';
    format_number(text, &processor->midr);
}
#endif

bool pmu_read_sysfs(void *context, const char *path, char *text, size_t size)
{
    const char *root = context ? context : "/sys/bus/event_source/devices";
    char full[512];
    int descriptor;
    ssize_t got;

    if ((size_t)snprintf(full, sizeof full, "%s/%s", root, path) >= sizeof full)
        return false;
    descriptor = open(full, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return false;
    got = read(descriptor, text, size - 1);
    close(descriptor);
    if (got <= 0)
        return false;
    text[got] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return true;
}

uint64_t pmu_max_sample_rate(const char *folder)
{
    uint64_t rate;
    char text[32];

    if (!pmu_read_sysfs((void *)(uintptr_t)(folder ? folder : "/proc/sys/kernel"),
                        "perf_event_max_sample_rate", text, sizeof text) ||
        !format_number(text, &rate))
        return 0;
    return rate;
}

bool processor_of_folder(const char *folder, struct processor *processor)
{
    unsigned family, model;
    unsigned long long midr;
    char text[64];

    if (!pmu_read_sysfs((void *)(uintptr_t)folder, "processor", text, sizeof text))
        return false;
    if (sscanf(text, "intel %u %u", &family, &model) == 2)
        *processor = (struct processor){.vendor = VENDOR_INTEL, .family = family, .model = model};
    else if (sscanf(text, "amd %u %u", &family, &model) == 2)
        *processor = (struct processor){.vendor = VENDOR_AMD, .family = family, .model = model};
    else if (sscanf(text, "arm %llx", &midr) == 1)
        *processor = (struct processor){.vendor = VENDOR_ARM, .midr = midr};
    else
        return false;
    return true;
}
