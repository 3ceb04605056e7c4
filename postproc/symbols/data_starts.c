/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbols/data_starts.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

/* Code of a section, and the sections that hold data. */
struct scan {
    const struct elf_image *image;
    const unsigned char *code;
    size_t size;
    uint64_t address;
    uint64_t low, high; /* all data lies between; most numbers that are no addresses do not */
    data_starts *starts;
};

static bool is_data(const GElf_Shdr *header)
{
    return (header->sh_flags & SHF_ALLOC) != 0 && (header->sh_flags & SHF_WRITE) != 0 &&
           (header->sh_flags & (SHF_EXECINSTR | SHF_TLS)) == 0;
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

static void scan_section(struct scan *scan, Elf_Scn *section, const GElf_Shdr *header)
{
    Elf_Data *data;

    if ((header->sh_flags & SHF_EXECINSTR) == 0 || header->sh_type == SHT_NOBITS)
        return;
    data = elf_getdata(section, NULL);
    if (data == NULL || data->d_buf == NULL)
        return;
    scan->code = data->d_buf;
    scan->size = data->d_size;
    scan->address = header->sh_addr;
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

static void sort_once_each(data_starts *starts)
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

void data_starts_find(const struct elf_image *image, data_starts *starts)
{
    struct scan scan = {.image = image, .low = UINT64_MAX, .starts = starts};
    Elf_Scn *section = NULL;
    GElf_Shdr header;

    while ((section = elf_nextscn(image->elf, section)) != NULL)
        if (gelf_getshdr(section, &header) != NULL && is_data(&header)) {
            scan.low = header.sh_addr < scan.low ? header.sh_addr : scan.low;
            scan.high = header.sh_addr + header.sh_size > scan.high
                            ? header.sh_addr + header.sh_size
                            : scan.high;
        }
    while ((section = elf_nextscn(image->elf, section)) != NULL)
        if (gelf_getshdr(section, &header) != NULL)
            scan_section(&scan, section, &header);
    sort_once_each(starts);
}

bool data_starts_before(const data_starts *starts, uint64_t low, uint64_t address, uint64_t *start)
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
