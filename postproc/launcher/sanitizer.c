/* SPDX-License-Identifier: BSD-3-Clause */
/* See sanitizer.h. Reads the dynamic section (elf(5)); whatever makes no sense has no sanitizer. */
#include "launcher/sanitizer.h"

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

static const char *const sanitizers[] = {"libasan.so", "liblsan.so"};

static bool read_at(int descriptor, uint64_t offset, void *to, size_t size)
{
    return offset <= INT64_MAX && pread(descriptor, to, size, (off_t)offset) == (ssize_t)size;
}

static bool segment_at(int descriptor, const Elf64_Ehdr *header, unsigned i, Elf64_Phdr *segment)
{
    return header->e_phentsize == sizeof *segment &&
           read_at(descriptor, header->e_phoff + (uint64_t)i * sizeof *segment, segment,
                   sizeof *segment);
}

/* Where in the file that address is loaded from. */
static bool file_offset(int descriptor, const Elf64_Ehdr *header, uint64_t address,
                        uint64_t *offset)
{
    Elf64_Phdr segment;

    for (unsigned i = 0; i < header->e_phnum; i++) {
        if (!segment_at(descriptor, header, i, &segment))
            return false;
        if (segment.p_type == PT_LOAD && address - segment.p_vaddr < segment.p_filesz) {
            *offset = segment.p_offset + (address - segment.p_vaddr);
            return true;
        }
    }
    return false;
}

/* The n-th entry of that kind in the dynamic section. */
static bool dynamic_entry(int descriptor, const Elf64_Phdr *section, int64_t tag, unsigned n,
                          uint64_t *value)
{
    Elf64_Dyn entry;

    for (uint64_t at = 0; at + sizeof entry <= section->p_filesz; at += sizeof entry) {
        if (!read_at(descriptor, section->p_offset + at, &entry, sizeof entry) ||
            entry.d_tag == DT_NULL)
            return false;
        if (entry.d_tag == tag && n-- == 0) {
            *value = entry.d_un.d_val;
            return true;
        }
    }
    return false;
}

static bool is_sanitizer(const char *name)
{
    for (size_t i = 0; i < sizeof sanitizers / sizeof *sanitizers; i++)
        if (strncmp(name, sanitizers[i], strlen(sanitizers[i])) == 0)
            return true;
    return false;
}

static bool find(int descriptor, char *name, size_t size)
{
    Elf64_Ehdr header;
    Elf64_Phdr section = {0};
    uint64_t strings, offset, needed;

    if (!read_at(descriptor, 0, &header, sizeof header))
        return false;
    for (unsigned i = 0; i < header.e_phnum && section.p_type != PT_DYNAMIC; i++)
        if (!segment_at(descriptor, &header, i, &section))
            return false;
    if (section.p_type != PT_DYNAMIC ||
        !dynamic_entry(descriptor, &section, DT_STRTAB, 0, &strings) ||
        !file_offset(descriptor, &header, strings, &offset))
        return false;
    for (unsigned n = 0; dynamic_entry(descriptor, &section, DT_NEEDED, n, &needed); n++) {
        if (needed > INT64_MAX - offset)
            continue;
        ssize_t length = pread(descriptor, name, size - 1, (off_t)(offset + needed));
        name[length > 0 ? length : 0] = '\0';
        if (is_sanitizer(name))
            return true;
    }
    return false;
}

bool sanitizer_library(const char *binary, char *name, size_t size)
{
    int descriptor = open(binary, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool found = descriptor >= 0 && find(descriptor, name, size);

    if (descriptor >= 0)
        close(descriptor);
    return found;
}
