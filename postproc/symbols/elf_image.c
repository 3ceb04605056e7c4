/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbols/elf_image.h"
#include "symbols/named_file.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static Elf_Scn *section_named(Elf *elf, const char *name, GElf_Shdr *header)
{
    Elf_Scn *section = NULL;
    size_t names;

    if (elf_getshdrstrndx(elf, &names) != 0)
        return NULL;
    while ((section = elf_nextscn(elf, section)) != NULL) {
        const char *other;

        if (gelf_getshdr(section, header) == NULL)
            continue;
        other = elf_strptr(elf, names, header->sh_name);
        if (other != NULL && strcmp(other, name) == 0)
            return section;
    }
    return NULL;
}

static void read_build_id(struct elf_image *image)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header;

    while ((section = elf_nextscn(image->elf, section)) != NULL) {
        Elf_Data *data;
        GElf_Nhdr note;
        size_t offset = 0, name, description, next;

        if (gelf_getshdr(section, &header) == NULL || header.sh_type != SHT_NOTE)
            continue;
        data = elf_getdata(section, NULL);
        while (data != NULL &&
               (next = gelf_getnote(data, offset, &note, &name, &description)) > 0) {
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
                memcmp((const char *)data->d_buf + name, "GNU", 4) == 0) {
                image->build_id_size =
                    note.n_descsz < BUILD_ID_MAX ? note.n_descsz : (size_t)BUILD_ID_MAX;
                memcpy(image->build_id, (const char *)data->d_buf + description,
                       image->build_id_size);
                return;
            }
            offset = next;
        }
    }
}

struct elf_image *elf_image_open(const char *path, char *message, size_t message_size)
{
    struct elf_image *image;
    GElf_Ehdr header;
    GElf_Shdr ignored;
    int descriptor = named_file_open(path);

    if (descriptor < 0) {
        snprintf(message, message_size, "%s", strerror(errno));
        return NULL;
    }
    elf_version(EV_CURRENT);
    image = allocate_zeroed(1, sizeof(*image));
    image->descriptor = descriptor;
    image->path = copy_string(path);
    image->elf = elf_begin(descriptor, ELF_C_READ_MMAP, NULL);
    if (image->elf == NULL || elf_kind(image->elf) != ELF_K_ELF ||
        gelf_getehdr(image->elf, &header) == NULL) {
        snprintf(message, message_size, "not an ELF file");
        elf_image_close(image);
        return NULL;
    }
    image->machine = header.e_machine;
    read_build_id(image);
    image->has_dwarf = section_named(image->elf, ".debug_info", &ignored) != NULL;
    image->has_symbol_table =
        section_named(image->elf, ".symtab", &ignored) != NULL && ignored.sh_type == SHT_SYMTAB;
    return image;
}

void elf_image_close(struct elf_image *image)
{
    if (image == NULL)
        return;
    free(image->functions.items);
    free(image->objects.items);
    if (image->elf != NULL)
        elf_end(image->elf);
    close(image->descriptor);
    free(image->path);
    free(image);
}

/* Several names of one address: the one that a reader knows comes last, where lookups start. */
static int leading_underscores(const char *name)
{
    return (int)strspn(name, "_");
}

static int compare_symbols(const void *left, const void *right)
{
    const struct elf_symbol *a = left, *b = right;
    int underscores_a, underscores_b;

    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    if ((a->size != 0) != (b->size != 0))
        return a->size == 0 ? -1 : 1;
    if (a->global != b->global)
        return a->global ? 1 : -1;
    underscores_a = leading_underscores(a->name);
    underscores_b = leading_underscores(b->name);
    if (underscores_a != underscores_b)
        return underscores_a > underscores_b ? -1 : 1;
    return -strcmp(a->name, b->name);
}

static void load_symbol_section(struct elf_image *image, Elf_Scn *section, const GElf_Shdr *header)
{
    Elf_Data *data = elf_getdata(section, NULL);
    size_t count;

    if (data == NULL || header->sh_entsize == 0)
        return;
    count = header->sh_size / header->sh_entsize;
    for (size_t i = 0; i < count; i++) {
        GElf_Sym symbol;
        struct elf_symbol entry;
        const char *name;
        int type;

        if (gelf_getsym(data, (int)i, &symbol) == NULL || symbol.st_shndx == SHN_UNDEF)
            continue;
        type = GELF_ST_TYPE(symbol.st_info);
        if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_OBJECT && type != STT_NOTYPE)
            continue;
        name = elf_strptr(image->elf, header->sh_link, symbol.st_name);
        /* $x, $d: mapping symbols of Arm, not names. */
        if (name == NULL || *name == '\0' || *name == '$' || symbol.st_shndx == SHN_ABS)
            continue;
        entry = (struct elf_symbol){
            .address = symbol.st_value,
            .size = symbol.st_size,
            .name = name,
            .global = GELF_ST_BIND(symbol.st_info) != STB_LOCAL,
        };
        /* Labels of assembler code have no type; they name code if their section is code. */
        if (type == STT_NOTYPE) {
            GElf_Shdr home;
            Elf_Scn *scn = elf_getscn(image->elf, symbol.st_shndx);

            if (scn == NULL || gelf_getshdr(scn, &home) == NULL ||
                (home.sh_flags & SHF_EXECINSTR) == 0)
                continue;
        }
        if (type == STT_OBJECT)
            ARRAY_PUSH(&image->objects, entry);
        else
            ARRAY_PUSH(&image->functions, entry);
    }
}

static void load_symbols(struct elf_image *image)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header;

    if (image->symbols_loaded)
        return;
    image->symbols_loaded = true;
    while ((section = elf_nextscn(image->elf, section)) != NULL) {
        if (gelf_getshdr(section, &header) == NULL)
            continue;
        if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM)
            load_symbol_section(image, section, &header);
    }
    if (image->functions.count > 0)
        qsort(image->functions.items, image->functions.count, sizeof(*image->functions.items),
              compare_symbols);
    if (image->objects.count > 0)
        qsort(image->objects.items, image->objects.count, sizeof(*image->objects.items),
              compare_symbols);
}

/* Symbols rarely nest; a few steps back find the outer one behind an inner one that ended. */
enum { NESTING_MAX = 16 };

static const struct elf_symbol *find_symbol(const elf_symbols *symbols, uint64_t address,
                                            bool sizeless)
{
    size_t low = 0, high = symbols->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (symbols->items[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t steps = 0; low > 0 && steps < NESTING_MAX; steps++, low--) {
        const struct elf_symbol *symbol = &symbols->items[low - 1];

        if (address - symbol->address < symbol->size)
            return symbol;
        if (symbol->size == 0 && sizeless)
            return symbol;
    }
    return NULL;
}

const struct elf_symbol *elf_image_function(struct elf_image *image, uint64_t address)
{
    const struct elf_symbol *symbol;
    uint64_t section, section_of_symbol;

    load_symbols(image);
    symbol = find_symbol(&image->functions, address, true);
    /* A label without a size reaches to the next symbol, but not into another section. */
    if (symbol != NULL && symbol->size == 0 &&
        (elf_image_section(image, address, &section) == NULL ||
         elf_image_section(image, symbol->address, &section_of_symbol) == NULL ||
         section != section_of_symbol))
        return NULL;
    return symbol;
}

const struct elf_symbol *elf_image_object(struct elf_image *image, uint64_t address)
{
    load_symbols(image);
    return find_symbol(&image->objects, address, false);
}

const char *elf_image_section(const struct elf_image *image, uint64_t address, uint64_t *start)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    size_t names;

    if (elf_getshdrstrndx(image->elf, &names) != 0)
        return NULL;
    while ((section = elf_nextscn(image->elf, section)) != NULL) {
        if (gelf_getshdr(section, &header) == NULL || (header.sh_flags & SHF_ALLOC) == 0 ||
            (header.sh_flags & SHF_TLS) != 0)
            continue;
        if (address >= header.sh_addr && address - header.sh_addr < header.sh_size) {
            *start = header.sh_addr;
            return elf_strptr(image->elf, names, header.sh_name);
        }
    }
    return NULL;
}

const unsigned char *elf_image_section_data(const struct elf_image *image, const char *name,
                                            size_t *size)
{
    GElf_Shdr header;
    Elf_Scn *section = section_named(image->elf, name, &header);
    Elf_Data *data;

    if (section == NULL || header.sh_type == SHT_NOBITS)
        return NULL;
    if ((header.sh_flags & SHF_COMPRESSED) != 0 && elf_compress(section, 0, 0) < 0)
        return NULL;
    data = elf_getdata(section, NULL);
    if (data == NULL || data->d_buf == NULL)
        return NULL;
    *size = data->d_size;
    return data->d_buf;
}

bool elf_image_section_address(const struct elf_image *image, const char *name, uint64_t *address)
{
    GElf_Shdr header;

    if (section_named(image->elf, name, &header) == NULL)
        return false;
    *address = header.sh_addr;
    return true;
}
