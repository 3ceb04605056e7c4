/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbols/nameless_starts.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/call_sites.h"

/* Code of a section, and the sections that hold what is looked for. */
struct scan {
    const struct elf_image *image;
    const unsigned char *code;
    size_t size;
    uint64_t address;
    uint64_t low, high; /* all of it lies between; most numbers that are no addresses do not */
    bool of_code;
    nameless_starts *starts;
};

static bool is_data(const GElf_Shdr *header)
{
    return (header->sh_flags & SHF_ALLOC) != 0 && (header->sh_flags & SHF_WRITE) != 0 &&
           (header->sh_flags & (SHF_EXECINSTR | SHF_TLS)) == 0;
}

static bool is_code(const GElf_Shdr *header)
{
    return (header->sh_flags & SHF_EXECINSTR) != 0;
}

static void add_start(const struct scan *scan, uint64_t target)
{
    if (target >= scan->low && target < scan->high)
        ARRAY_PUSH(scan->starts, target);
}

/* REX.W, with or without REX.R; lea; a register and [rip + 4 bytes]. The instruction may begin at
 * any byte; that these three and a displacement into the data come together by chance is rare. */
static void scan_x86(const struct scan *scan)
{
    enum { LENGTH = 7 };

    for (size_t i = 0; i + LENGTH <= scan->size; i++) {
        const unsigned char *at = scan->code + i;
        int32_t displacement;

        if ((at[0] & 0xfb) != 0x48 || at[1] != 0x8d || (at[2] & 0xc7) != 0x05)
            continue;
        memcpy(&displacement, at + 3, sizeof(displacement));
        add_start(scan, scan->address + i + LENGTH + (uint64_t)(int64_t)displacement);
    }
}

/* adrp: 21 bits of pages from its own page on. */
static uint64_t page_of_adrp(uint32_t word, uint64_t address)
{
    uint64_t pages = ((uint64_t)(word >> 5 & 0x7ffff) << 2) | (word >> 29 & 3);

    pages = (pages ^ (1u << 20)) - (1u << 20);
    return (address & ~(uint64_t)0xfff) + (pages << 12);
}

/* adrp xN, PAGE; later add xM, xN, #OFFSET. Straight through: where code jumps in between, the
 * register rarely holds another page. */
static void scan_a64(const struct scan *scan)
{
    uint64_t pages[32] = {0};

    for (size_t i = 0; i + 4 <= scan->size; i += 4) {
        uint32_t word, from;

        memcpy(&word, scan->code + i, sizeof(word));
        from = word >> 5 & 31;
        if ((word & 0x9f000000) == 0x90000000)
            pages[word & 31] = page_of_adrp(word, scan->address + i);
        else if ((word & 0xffc00000) == 0x91000000 && pages[from] != 0)
            add_start(scan, pages[from] + (word >> 10 & 0xfff));
    }
}

static void add_calls(const struct scan *scan)
{
    call_sites calls = {0};

    call_sites_find(scan->image, scan->address, scan->address + scan->size, 0, &calls);
    for (size_t i = 0; i < calls.count; i++)
        add_start(scan, calls.items[i].target);
    free(calls.items);
}

static void scan_section(struct scan *scan, Elf_Scn *section, const GElf_Shdr *header)
{
    Elf_Data *data;

    if (!is_code(header) || header->sh_type == SHT_NOBITS)
        return;
    data = elf_getdata(section, NULL);
    if (data == NULL || data->d_buf == NULL)
        return;
    scan->code = data->d_buf;
    scan->size = data->d_size;
    scan->address = header->sh_addr;
    if (scan->of_code)
        add_calls(scan);
    if (scan->image->machine == EM_X86_64)
        scan_x86(scan);
    else if (scan->image->machine == EM_AARCH64)
        scan_a64(scan);
}

static int compare_addresses(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

static void sort_once_each(nameless_starts *starts)
{
    size_t kept = 0;

    if (starts->count == 0)
        return;
    qsort(starts->items, starts->count, sizeof(*starts->items), compare_addresses);
    for (size_t i = 0; i < starts->count; i++)
        if (kept == 0 || starts->items[kept - 1] != starts->items[i])
            starts->items[kept++] = starts->items[i];
    starts->count = kept;
}

/* Pointers to functions in data: the loader adds where the file is to what stands here. */
static void add_relocated(const struct scan *scan, Elf_Scn *section, const GElf_Shdr *header)
{
    const uint32_t relative =
        scan->image->machine == EM_AARCH64 ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE;
    Elf_Data *data = elf_getdata(section, NULL);
    GElf_Rela relocation;

    if (header->sh_type != SHT_RELA || header->sh_entsize == 0 || data == NULL)
        return;
    for (size_t i = 0; i < header->sh_size / header->sh_entsize; i++)
        if (gelf_getrela(data, (int)i, &relocation) != NULL &&
            GELF_R_TYPE(relocation.r_info) == relative)
            add_start(scan, (uint64_t)relocation.r_addend);
}

static void find_starts(const struct elf_image *image, bool of_code, nameless_starts *starts)
{
    struct scan scan = {.image = image, .low = UINT64_MAX, .of_code = of_code, .starts = starts};
    Elf_Scn *section = NULL;
    GElf_Shdr header;

    while ((section = elf_nextscn(image->elf, section)) != NULL)
        if (gelf_getshdr(section, &header) != NULL &&
            (of_code ? is_code(&header) : is_data(&header))) {
            scan.low = header.sh_addr < scan.low ? header.sh_addr : scan.low;
            scan.high = header.sh_addr + header.sh_size > scan.high
                            ? header.sh_addr + header.sh_size
                            : scan.high;
        }
    while ((section = elf_nextscn(image->elf, section)) != NULL) {
        if (gelf_getshdr(section, &header) == NULL)
            continue;
        scan_section(&scan, section, &header);
        if (of_code)
            add_relocated(&scan, section, &header);
    }
    sort_once_each(starts);
}

void data_starts_find(const struct elf_image *image, nameless_starts *starts)
{
    find_starts(image, false, starts);
}

void code_starts_find(const struct elf_image *image, nameless_starts *starts)
{
    find_starts(image, true, starts);
}

bool nameless_starts_before(const nameless_starts *starts, uint64_t low, uint64_t address,
                            uint64_t *start)
{
    size_t first = 0, end = starts->count;

    while (first < end) {
        size_t middle = first + (end - first) / 2;

        if (starts->items[middle] <= address)
            first = middle + 1;
        else
            end = middle;
    }
    if (first == 0 || starts->items[first - 1] < low)
        return false;
    *start = starts->items[first - 1];
    return true;
}
