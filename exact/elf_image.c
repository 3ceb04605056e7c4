/* SPDX-License-Identifier: BSD-3-Clause */
/* See elf_image.h. */
#include "elf_image.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static Elf *open_elf(const char *path, int *descriptor)
{
    elf_version(EV_CURRENT);
    *descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (*descriptor < 0)
        return NULL;
    Elf *elf = elf_begin(*descriptor, ELF_C_READ, NULL);
    if (elf != NULL && elf_kind(elf) == ELF_K_ELF)
        return elf;
    elf_end(elf);
    close(*descriptor);
    return NULL;
}

/* The GNU build identifier, if this note segment has it. */
static void read_build_id(Elf *elf, const GElf_Phdr *header, struct elf_image *image)
{
    Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)header->p_offset, header->p_filesz,
                                          header->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
    if (data == NULL)
        return;
    GElf_Nhdr note;
    size_t name, description, next = 0;
    while ((next = gelf_getnote(data, next, &note, &name, &description)) > 0) {
        const char *bytes = data->d_buf;
        bool is_build_id = note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof "GNU" &&
                           memcmp(bytes + name, "GNU", sizeof "GNU") == 0;
        if (is_build_id && note.n_descsz <= 20) {
            memcpy(image->build_id, bytes + description, note.n_descsz);
            image->build_id_size = note.n_descsz;
        }
    }
}

bool elf_image_read(const char *path, struct elf_image *image)
{
    memset(image, 0, sizeof *image);
    int descriptor;
    Elf *elf = open_elf(path, &descriptor);
    if (elf == NULL)
        return false;
    size_t count = 0;
    GElf_Phdr header;
    if (elf_getphdrnum(elf, &count) != 0)
        count = 0;
    for (size_t i = 0; i < count && gelf_getphdr(elf, (int)i, &header) != NULL; i++) {
        size_t most = sizeof image->segments / sizeof image->segments[0];
        if (header.p_type == PT_LOAD && image->segment_count < most)
            image->segments[image->segment_count++] = (struct elf_segment){
                header.p_vaddr, header.p_offset, header.p_memsz, (header.p_flags & PF_X) != 0};
        else if (header.p_type == PT_INTERP)
            image->has_interpreter = true;
        else if (header.p_type == PT_NOTE && image->build_id_size == 0)
            read_build_id(elf, &header, image);
    }
    elf_end(elf);
    close(descriptor);
    return image->segment_count > 0;
}

static int by_address(const void *a, const void *b)
{
    const struct elf_symbol *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return (x->size > y->size) - (x->size < y->size);
}

/* The section of a type; NULL if there is none. */
static Elf_Scn *find_section(Elf *elf, GElf_Word type, GElf_Shdr *header)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;)
        if (gelf_getshdr(section, header) != NULL && header->sh_type == type)
            return section;
    return NULL;
}

/* The symbol table, or the dynamic one if that was stripped; NULL without symbols. */
static Elf_Data *find_symbols(Elf *elf, GElf_Shdr *header, size_t *total)
{
    Elf_Scn *section = find_section(elf, SHT_SYMTAB, header);
    if (section == NULL)
        section = find_section(elf, SHT_DYNSYM, header);
    Elf_Data *data = section != NULL ? elf_getdata(section, NULL) : NULL;
    *total = data != NULL && header->sh_entsize > 0 ? header->sh_size / header->sh_entsize : 0;
    return data;
}

void elf_image_functions(const char *path,
                         void (*visit)(void *context, const char *name, uint64_t address),
                         void *context)
{
    int descriptor;
    Elf *elf = open_elf(path, &descriptor);
    if (elf == NULL)
        return;
    GElf_Shdr header;
    GElf_Sym symbol;
    size_t total;
    Elf_Data *data = find_symbols(elf, &header, &total);
    for (size_t i = 0; i < total && gelf_getsym(data, (int)i, &symbol); i++) {
        if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF)
            continue;
        const char *name = elf_strptr(elf, header.sh_link, symbol.st_name);
        if (name != NULL && name[0] != '\0')
            visit(context, name, symbol.st_value);
    }
    elf_end(elf);
    close(descriptor);
}

size_t elf_image_variables(const char *path, struct elf_symbol **symbols)
{
    *symbols = NULL;
    int descriptor;
    Elf *elf = open_elf(path, &descriptor);
    if (elf == NULL)
        return 0;
    size_t count = 0, total;
    GElf_Shdr header;
    Elf_Data *data = find_symbols(elf, &header, &total);
    struct elf_symbol *found = total > 0 ? calloc(total, sizeof *found) : NULL;
    GElf_Sym symbol;
    for (size_t i = 0; found != NULL && i < total && gelf_getsym(data, (int)i, &symbol); i++)
        if (GELF_ST_TYPE(symbol.st_info) == STT_OBJECT && symbol.st_size > 0 &&
            symbol.st_shndx != SHN_UNDEF)
            found[count++] = (struct elf_symbol){symbol.st_value, symbol.st_size};
    elf_end(elf);
    close(descriptor);
    if (found == NULL)
        return 0;

    qsort(found, count, sizeof *found, by_address);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct elf_symbol *before = kept > 0 ? &found[kept - 1] : NULL;
        if (before != NULL && found[i].address == before->address)
            before->size = found[i].size; /* aliases: the largest */
        else if (before == NULL || found[i].address >= before->address + before->size)
            found[kept++] = found[i];
    }
    *symbols = found;
    return kept;
}
