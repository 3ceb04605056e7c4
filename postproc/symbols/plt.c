/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names of procedure linkage table stubs. A stub jumps through a slot of the global offset table;
 * the relocation of that slot names the function. The slot's address is read from the stub's own
 * instructions (x86-64: jmp *disp32(%rip), opcode FF 25, Intel SDM vol. 2; AArch64: adrp x16 and
 * ldr x17, Arm ARM C6), so that every linker's layout works.
 */
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/elf_image.h"

enum { STUB_BYTES = 16 };

/* Address of the slot that the stub at `address` jumps through; 0 if it is no stub. */
static uint64_t slot_of_x86_stub(const unsigned char *code, size_t size, uint64_t address)
{
    for (size_t i = 0; i + 6 <= size && i < STUB_BYTES; i++) {
        if (code[i] == 0xff && code[i + 1] == 0x25) {
            int32_t displacement;

            memcpy(&displacement, code + i + 2, sizeof(displacement));
            return address + i + 6 + (uint64_t)(int64_t)displacement;
        }
    }
    return 0;
}

static uint64_t slot_of_arm_stub(const unsigned char *code, size_t size, uint64_t address)
{
    for (size_t i = 0; i + 8 <= size && i < STUB_BYTES; i += 4) {
        uint32_t adrp, ldr;

        memcpy(&adrp, code + i, 4);
        memcpy(&ldr, code + i + 4, 4);
        if ((adrp & 0x9f00001fu) == 0x90000010u && (ldr & 0xffc003ffu) == 0xf9400211u) {
            uint64_t pages = ((uint64_t)(adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3)) << 43;

            return ((address + i) & ~(uint64_t)0xfff) + (uint64_t)((int64_t)pages >> 31) +
                   ((ldr >> 10 & 0xfff) << 3);
        }
    }
    return 0;
}

static const char *symbol_of_slot(const struct elf_image *image, uint64_t slot)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header, symbol_header;

    while ((section = elf_nextscn(image->elf, section)) != NULL) {
        Elf_Data *relocations, *symbols;
        Elf_Scn *symbol_section;

        if (gelf_getshdr(section, &header) == NULL || header.sh_type != SHT_RELA ||
            header.sh_entsize == 0)
            continue;
        relocations = elf_getdata(section, NULL);
        symbol_section = elf_getscn(image->elf, header.sh_link);
        if (relocations == NULL || symbol_section == NULL ||
            gelf_getshdr(symbol_section, &symbol_header) == NULL ||
            (symbols = elf_getdata(symbol_section, NULL)) == NULL)
            continue;
        for (size_t i = 0; i < header.sh_size / header.sh_entsize; i++) {
            GElf_Rela relocation;
            GElf_Sym symbol;

            if (gelf_getrela(relocations, (int)i, &relocation) == NULL ||
                relocation.r_offset != slot)
                continue;
            if (gelf_getsym(symbols, (int)GELF_R_SYM(relocation.r_info), &symbol) == NULL)
                return NULL;
            return elf_strptr(image->elf, symbol_header.sh_link, symbol.st_name);
        }
    }
    return NULL;
}

char *elf_image_plt_name(const struct elf_image *image, uint64_t address)
{
    uint64_t start, slot, offset;
    size_t size;
    const unsigned char *code;
    const char *section = elf_image_section(image, address, &start), *name;

    if (section == NULL || strncmp(section, ".plt", 4) != 0)
        return NULL;
    code = elf_image_section_data(image, section, &size);
    if (code == NULL)
        return NULL;
    /* Stubs are 16 bytes, those of .plt.got 8 or 16: the jump at or after the aligned start. */
    offset = (address - start) & ~(uint64_t)(strcmp(section, ".plt.got") == 0 ? 7 : 15);
    if (offset >= size)
        return NULL;
    slot = image->machine == EM_AARCH64
               ? slot_of_arm_stub(code + offset, size - offset, start + offset)
               : slot_of_x86_stub(code + offset, size - offset, start + offset);
    name = slot != 0 ? symbol_of_slot(image, slot) : NULL;
    return name != NULL && *name != '\0' ? format_string("%s@plt", name) : NULL;
}
