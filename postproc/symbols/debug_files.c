/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbols/debug_files.h"
#include "symbols/named_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

char *file_under_sysroot(const struct file_search *search, const char *path)
{
    return format_string("%s%s", search->sysroot, path);
}

/* Every DIR in turn, then NULL; the caller frees what it gets. */
static char *debug_directory(const struct file_search *search, size_t index)
{
    if (index < search->debug_directory_count)
        return copy_string(search->debug_directories[index]);
    if (index == search->debug_directory_count)
        return file_under_sysroot(search, "/usr/lib/debug");
    return NULL;
}

static void append_hexadecimal(char *text, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        sprintf(text + 2 * i, "%02x", bytes[i]);
}

static bool has_build_id(const struct elf_image *image, const uint8_t *build_id, size_t size)
{
    return image->build_id_size == size && memcmp(image->build_id, build_id, size) == 0;
}

/* Opens path, unless it is of another build; frees the path. */
static struct elf_image *open_if_of_build(char *path, const uint8_t *build_id, size_t size)
{
    char message[128];
    struct elf_image *image = elf_image_open(path, message, sizeof(message));

    free(path);
    if (image == NULL || has_build_id(image, build_id, size))
        return image;
    elf_image_close(image);
    return NULL;
}

/* debuginfod-find(1), CACHE; the caller frees it. NULL: there is none. */
static char *fetched_folder(void)
{
    const char *own = getenv("DEBUGINFOD_CACHE_PATH"), *cache = getenv("XDG_CACHE_HOME"),
               *home = getenv("HOME");

    if (own != NULL && *own != '\0')
        return copy_string(own);
    if (cache != NULL && *cache != '\0')
        return format_string("%s/debuginfod_client", cache);
    return home != NULL && *home != '\0' ? format_string("%s/.cache/debuginfod_client", home)
                                         : NULL;
}

static struct elf_image *fetched_file(const uint8_t *build_id, size_t size)
{
    char name[2 * BUILD_ID_MAX + 1], *folder = fetched_folder();
    struct elf_image *image;

    if (folder == NULL)
        return NULL;
    append_hexadecimal(name, build_id, size);
    image = open_if_of_build(format_string("%s/%s/debuginfo", folder, name), build_id, size);
    free(folder);
    return image;
}

struct elf_image *debug_file_by_build_id(const struct file_search *search, const uint8_t *build_id,
                                         size_t build_id_size)
{
    char rest[2 * BUILD_ID_MAX + 1], *directory;
    struct elf_image *image = NULL;

    if (build_id_size < 2 || build_id_size > BUILD_ID_MAX)
        return NULL;
    append_hexadecimal(rest, build_id + 1, build_id_size - 1);
    for (size_t i = 0; image == NULL && (directory = debug_directory(search, i)) != NULL; i++) {
        image = open_if_of_build(
            format_string("%s/.build-id/%02x/%s.debug", directory, build_id[0], rest), build_id,
            build_id_size);
        free(directory);
    }
    return image != NULL ? image : fetched_file(build_id, build_id_size);
}

/* CRC-32 as in zlib, over the whole file (GDB manual, same section). */
static bool checksum_matches(const char *path, uint32_t expected)
{
    unsigned char buffer[65536];
    uLong checksum = crc32(0, NULL, 0);
    ssize_t got;
    int descriptor = named_file_open(path);

    if (descriptor < 0)
        return false;
    while ((got = read(descriptor, buffer, sizeof(buffer))) > 0)
        checksum = crc32(checksum, buffer, (uInt)got);
    close(descriptor);
    return got == 0 && checksum == expected;
}

/* Equal build-ids prove the pair and cost nothing; without them the checksum must be computed. */
static struct elf_image *open_if_matching(const char *path, const struct elf_image *module,
                                          uint32_t checksum)
{
    char message[128];
    struct elf_image *image = elf_image_open(path, message, sizeof(message));
    bool matching;

    if (image == NULL)
        return NULL;
    if (module->build_id_size > 0 && image->build_id_size > 0)
        matching = module->build_id_size == image->build_id_size &&
                   memcmp(module->build_id, image->build_id, image->build_id_size) == 0;
    else
        matching = checksum_matches(path, checksum);
    if (!matching) {
        elf_image_close(image);
        return NULL;
    }
    return image;
}

struct elf_image *debug_file_by_link(const struct file_search *search,
                                     const struct elf_image *module, const char *module_path)
{
    size_t size;
    const unsigned char *data = elf_image_section_data(module, ".gnu_debuglink", &size);
    const char *name = (const char *)data, *slash = strrchr(module_path, '/');
    char *folder, *beside, *path, *directory;
    struct elf_image *image;
    uint32_t checksum;
    size_t length;

    if (data == NULL || (length = strnlen(name, size)) == size || length == 0)
        return NULL;
    length = (length + 4) & ~(size_t)3; /* the checksum follows, aligned to 4 bytes */
    if (length + 4 > size)
        return NULL;
    memcpy(&checksum, data + length, sizeof(checksum));

    folder = copy_string(module_path);
    folder[slash != NULL ? slash - module_path : 0] = '\0';
    beside = file_under_sysroot(search, folder);
    path = format_string("%s/%s", beside, name);
    image = open_if_matching(path, module, checksum);
    free(path);
    if (image == NULL) {
        path = format_string("%s/.debug/%s", beside, name);
        image = open_if_matching(path, module, checksum);
        free(path);
    }
    for (size_t i = 0; image == NULL && (directory = debug_directory(search, i)) != NULL; i++) {
        path = format_string("%s%s/%s", directory, folder, name);
        image = open_if_matching(path, module, checksum);
        free(path);
        if (image == NULL) {
            path = format_string("%s/%s", directory, name);
            image = open_if_matching(path, module, checksum);
            free(path);
        }
        free(directory);
    }
    free(beside);
    free(folder);
    return image;
}

char *debug_file_alternate(const struct file_search *search, const struct elf_image *image)
{
    size_t size, length;
    const unsigned char *data = elf_image_section_data(image, ".gnu_debugaltlink", &size);
    const char *name = (const char *)data, *slash = strrchr(image->path, '/');
    struct elf_image *found;
    char *path;

    if (data == NULL || (length = strnlen(name, size)) == size)
        return NULL;
    /* A relative name is relative to the file that holds the link. */
    if (*name == '/')
        path = file_under_sysroot(search, name);
    else
        path = format_string("%.*s%s", slash != NULL ? (int)(slash - image->path) + 1 : 0,
                             image->path, name);
    if (access(path, R_OK) == 0)
        return path;
    free(path);
    found = debug_file_by_build_id(search, data + length + 1, size - length - 1);
    if (found == NULL)
        return NULL;
    path = copy_string(found->path);
    elf_image_close(found);
    return path;
}
