/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbols/call_sites.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

const char *const call_site_allocators[] = {
    "malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc", "memalign", NULL};

/*
 * call with a 4-byte displacement (opcode E8, Intel SDM vol. 2). The byte may be part of another
 * instruction: what then looks like a target is where no function begins, but by rare chance.
 */
static void find_x86(const unsigned char *code, uint64_t size, struct call_site site,
                     call_sites *out)
{
    enum { LENGTH = 5 };
    const uint64_t low = site.address;

    site.length = LENGTH;
    for (uint64_t i = 0; i + LENGTH <= size; i++) {
        int32_t displacement;

        if (code[i] != 0xe8)
            continue;
        memcpy(&displacement, code + i + 1, sizeof(displacement));
        site.address = low + i;
        site.target = site.address + LENGTH + (uint64_t)(int64_t)displacement;
        ARRAY_PUSH(out, site);
    }
}

/* bl: 26 bits of words from its own address on (Arm ARM, C6.2). */
static void find_a64(const unsigned char *code, uint64_t size, struct call_site site,
                     call_sites *out)
{
    enum { LENGTH = 4 };
    const uint64_t low = site.address, sign = 1u << 25;

    site.length = LENGTH;
    for (uint64_t i = 0; i + LENGTH <= size; i += LENGTH) {
        uint32_t word;
        uint64_t words;

        memcpy(&word, code + i, sizeof(word));
        if (word >> 26 != 0x25)
            continue;
        words = ((word & 0x3ffffff) ^ sign) - sign;
        site.address = low + i;
        site.target = site.address + words * LENGTH;
        ARRAY_PUSH(out, site);
    }
}

void call_sites_find(const struct elf_image *image, uint64_t low, uint64_t high, uint32_t column,
                     call_sites *out)
{
    struct call_site site = {.address = low, .column = column};
    const unsigned char *code;
    const char *section;
    uint64_t start;
    size_t size;

    section = elf_image_section(image, low, &start);
    code = section != NULL ? elf_image_section_data(image, section, &size) : NULL;
    if (code == NULL || high <= low || high - start > size)
        return;
    if (image->machine == EM_X86_64)
        find_x86(code + (low - start), high - low, site, out);
    else if (image->machine == EM_AARCH64)
        find_a64(code + (low - start), high - low, site, out);
}

bool call_site_allocates(struct elf_image *image, const struct call_site *site)
{
    char *stub = elf_image_plt_name(image, site->target);
    const struct elf_symbol *symbol = stub == NULL ? elf_image_function(image, site->target) : NULL;
    const char *name = stub != NULL ? stub : symbol != NULL ? symbol->name : "";
    size_t length = strcspn(name, "@");
    bool found = false;

    if (stub == NULL && symbol != NULL && symbol->address != site->target)
        return false;
    for (const char *const *one = call_site_allocators; *one != NULL; one++)
        found |= strlen(*one) == length && strncmp(name, *one, length) == 0;
    free(stub);
    return found;
}
