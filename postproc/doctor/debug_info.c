/* SPDX-License-Identifier: BSD-3-Clause */
/* See debug_info.h. Separate files: by build-id, then by path, as gdb looks for them. */
#include "doctor/debug_info.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void read_build_id(Elf_Scn *section, char build_id[41])
{
    Elf_Data *data = elf_getdata(section, NULL);
    GElf_Nhdr note;
    size_t name, description, offset = 0;
    while (data && (offset = gelf_getnote(data, offset, &note, &name, &description)) > 0) {
        const unsigned char *bytes = (const unsigned char *)data->d_buf + description;
        if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof ELF_NOTE_GNU ||
            memcmp((const char *)data->d_buf + name, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) != 0 ||
            note.n_descsz > 20)
            continue;
        for (size_t i = 0; i < note.n_descsz; i++)
            sprintf(build_id + 2 * i, "%02x", bytes[i]);
        return;
    }
}

static void read_sections(Elf *elf, struct debug_info *information)
{
    size_t names;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return;
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section; section = elf_nextscn(elf, section)) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header))
            continue;
        const char *name = elf_strptr(elf, names, header.sh_name);
        if (header.sh_type == SHT_NOTE)
            read_build_id(section, information->build_id);
        else if (header.sh_type == SHT_SYMTAB)
            information->symbols = true;
        else if (name && (strcmp(name, ".debug_info") == 0 || strcmp(name, ".zdebug_info") == 0))
            information->dwarf = true;
    }
}

static void find_separate(const char *path, struct debug_info *information)
{
    char *separate = information->separate;
    if (information->build_id[0]) {
        snprintf(separate, PATH_MAX, "/usr/lib/debug/.build-id/%.2s/%s.debug",
                 information->build_id, information->build_id + 2);
        if (access(separate, R_OK) == 0)
            return;
    }
    int length = snprintf(separate, PATH_MAX, "/usr/lib/debug%s.debug", path);
    if (path[0] == '/' && length < PATH_MAX && access(separate, R_OK) == 0)
        return;
    separate[0] = '\0';
}

void debug_info_read(const char *path, struct debug_info *information)
{
    memset(information, 0, sizeof *information);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(file, ELF_C_READ, NULL);
    if (elf && elf_kind(elf) == ELF_K_ELF) {
        information->readable = true;
        read_sections(elf, information);
        find_separate(path, information);
    }
    elf_end(elf);
    close(file);
}
