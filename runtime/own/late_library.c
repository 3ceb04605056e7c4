/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The steps are those of any loader (System V ABI, chapters 4 and 5; AMD64 supplement): map the
 * segments, relocate them, protect what is constant from then on. What is not understood is
 * refused. Signal-safe.
 */
#include "own/late_library.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "own/own_place.h"
#include "own/raw_call.h"

#include "signal_safe.h"

enum { PAGE = 4096, SEGMENTS_MAX = 16 };

struct file {
    long descriptor;
    Elf64_Ehdr header;
    Elf64_Phdr segments[SEGMENTS_MAX];
};

/* Of the dynamic section; addresses in memory. */
struct dynamic {
    const Elf64_Rela *tables[2];
    uint64_t table_bytes[2];
};

static uint64_t page_down(uint64_t address)
{
    return address & -(uint64_t)PAGE;
}

static uint64_t page_up(uint64_t address)
{
    return page_down(address + PAGE - 1);
}

static bool read_at(long descriptor, void *buffer, size_t bytes, uint64_t offset)
{
    return raw_call(SYS_pread64, descriptor, (long)buffer, (long)bytes, (long)offset, 0, 0) ==
           (long)bytes;
}

static bool read_headers(struct file *file)
{
    const Elf64_Ehdr *header = &file->header;
    return read_at(file->descriptor, &file->header, sizeof file->header, 0) &&
           memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
           header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_type == ET_DYN &&
           header->e_machine == EM_X86_64 && header->e_phentsize == sizeof file->segments[0] &&
           header->e_phnum <= SEGMENTS_MAX &&
           read_at(file->descriptor, file->segments, header->e_phnum * sizeof file->segments[0],
                   header->e_phoff);
}

static uint64_t span_of(const struct file *file)
{
    uint64_t end = 0;
    for (unsigned i = 0; i < file->header.e_phnum; i++) {
        const Elf64_Phdr *segment = &file->segments[i];
        if (segment->p_type == PT_LOAD && segment->p_vaddr + segment->p_memsz > end)
            end = segment->p_vaddr + segment->p_memsz;
    }
    return page_up(end);
}

static bool map_at(uint64_t address, uint64_t bytes, int protection, long descriptor,
                   uint64_t offset)
{
    const long flags = MAP_PRIVATE | MAP_FIXED | (descriptor < 0 ? MAP_ANONYMOUS : 0);
    return raw_call(SYS_mmap, (long)address, (long)bytes, protection, flags, descriptor,
                    (long)offset) == (long)address;
}

static bool map_segment(const struct late_library *library, const struct file *file,
                        const Elf64_Phdr *segment)
{
    const uint64_t begin = library->base + segment->p_vaddr;
    const uint64_t file_end = begin + segment->p_filesz, end = begin + segment->p_memsz;
    const int protection = (segment->p_flags & PF_R ? PROT_READ : 0) |
                           (segment->p_flags & PF_W ? PROT_WRITE : 0) |
                           (segment->p_flags & PF_X ? PROT_EXEC : 0);
    if (segment->p_filesz == 0 || (begin - segment->p_offset) % PAGE != 0 ||
        !map_at(page_down(begin), page_up(file_end) - page_down(begin), protection,
                file->descriptor, page_down(segment->p_offset)))
        return false;
    if (end == file_end)
        return true;
    memset((void *)file_end, 0, page_up(file_end) - file_end);
    return page_up(end) == page_up(file_end) ||
           map_at(page_up(file_end), page_up(end) - page_up(file_end), protection, -1, 0);
}

static bool map_all(struct late_library *library, const struct file *file)
{
    library->bytes = span_of(file);
    const long memory = raw_call(SYS_mmap, (long)own_place(library->bytes), (long)library->bytes,
                                 PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (library->bytes == 0 || memory < 0)
        return false;
    library->base = (uint64_t)memory;
    for (unsigned i = 0; i < file->header.e_phnum; i++) {
        const Elf64_Phdr *segment = &file->segments[i];
        if (segment->p_type == PT_TLS ||
            (segment->p_type == PT_LOAD && !map_segment(library, file, segment)))
            return false;
    }
    return true;
}

/* What linking needs of the headers. */
static void note_segments(struct late_library *library, const struct file *file)
{
    for (unsigned i = 0; i < file->header.e_phnum; i++) {
        const Elf64_Phdr *segment = &file->segments[i];
        const uint64_t begin = library->base + segment->p_vaddr;
        if (segment->p_type == PT_DYNAMIC) {
            library->dynamic = begin;
        } else if (segment->p_type == PT_GNU_RELRO) {
            library->constant = page_down(begin);
            library->constant_bytes = page_down(begin + segment->p_memsz) - library->constant;
        }
    }
}

static bool read_dynamic(struct late_library *library, struct dynamic *dynamic)
{
    const Elf64_Dyn *first = (const Elf64_Dyn *)library->dynamic;
    for (const Elf64_Dyn *entry = first; entry != NULL && entry->d_tag != DT_NULL; entry++) {
        const uint64_t value = entry->d_un.d_val;
        if (entry->d_tag == DT_RELA)
            dynamic->tables[0] = (const Elf64_Rela *)(library->base + value);
        else if (entry->d_tag == DT_RELASZ)
            dynamic->table_bytes[0] = value;
        else if (entry->d_tag == DT_JMPREL)
            dynamic->tables[1] = (const Elf64_Rela *)(library->base + value);
        else if (entry->d_tag == DT_PLTRELSZ)
            dynamic->table_bytes[1] = value;
    }
    return first != NULL && loaded_symbols_read(&library->symbols, first, library->base);
}

/* Address of a symbol that a relocation names; 0 is right for a weak one that nobody has. */
static bool resolve(const struct late_library *library, const Elf64_Sym *symbol,
                    const struct late_import *imports, size_t import_count, uint64_t *address)
{
    *address = 0;
    if (symbol->st_shndx != SHN_UNDEF) {
        *address = library->base + symbol->st_value;
        return ELF64_ST_TYPE(symbol->st_info) != STT_GNU_IFUNC;
    }
    for (size_t i = 0; i < import_count; i++) {
        if (strcmp(imports[i].name, library->symbols.names + symbol->st_name) == 0) {
            *address = (uint64_t)(uintptr_t)imports[i].function;
            return true;
        }
    }
    return ELF64_ST_BIND(symbol->st_info) == STB_WEAK;
}

/* Places to relocate need not be aligned: tables of the decoder are packed. */
struct word {
    uint64_t address;
} __attribute__((packed));

static bool relocate(const struct late_library *library, const struct dynamic *dynamic,
                     const struct late_import *imports, size_t import_count)
{
    for (unsigned table = 0; table < 2; table++) {
        const Elf64_Rela *relocation = dynamic->tables[table];
        const uint64_t count = dynamic->table_bytes[table] / sizeof *relocation;
        for (uint64_t i = 0; i < count; i++, relocation++) {
            const Elf64_Sym *symbol = &library->symbols.symbols[ELF64_R_SYM(relocation->r_info)];
            struct word *place = (struct word *)(library->base + relocation->r_offset);
            uint64_t address;
            switch (ELF64_R_TYPE(relocation->r_info)) {
            case R_X86_64_RELATIVE:
                address = library->base + (uint64_t)relocation->r_addend;
                break;
            case R_X86_64_64:
            case R_X86_64_GLOB_DAT:
            case R_X86_64_JUMP_SLOT:
                if (!resolve(library, symbol, imports, import_count, &address))
                    return false;
                address += (uint64_t)relocation->r_addend;
                break;
            default:
                return false;
            }
            place->address = address;
        }
    }
    return true;
}

static void leave(struct late_library *library)
{
    if (library->base != 0)
        raw_call(SYS_munmap, (long)library->base, (long)library->bytes, 0, 0, 0, 0);
    *library = (struct late_library){0};
}

bool late_library_map(struct late_library *library, const char *path)
{
    struct file file;
    *library = (struct late_library){0};
    file.descriptor = raw_call(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
    if (file.descriptor < 0)
        return false;
    const bool is_mapped = read_headers(&file) && map_all(library, &file);
    raw_call(SYS_close, file.descriptor, 0, 0, 0, 0, 0);
    if (is_mapped)
        note_segments(library, &file);
    else
        leave(library);
    return is_mapped;
}

bool late_library_link(struct late_library *library, const struct late_import *imports,
                       size_t import_count)
{
    struct dynamic dynamic = {0};
    /* To relocate twice changes nothing, but its constants may be protected by now. */
    if (__atomic_load_n(&library->linked, __ATOMIC_ACQUIRE))
        return true;
    if (!read_dynamic(library, &dynamic) || !relocate(library, &dynamic, imports, import_count)) {
        leave(library);
        return false;
    }
    __atomic_store_n(&library->linked, true, __ATOMIC_RELEASE);
    if (library->constant_bytes > 0)
        raw_call(SYS_mprotect, (long)library->constant, (long)library->constant_bytes, PROT_READ, 0,
                 0, 0);
    return true;
}

void *late_library_function(const struct late_library *library, const char *name)
{
    return loaded_symbols_find(&library->symbols, name);
}
