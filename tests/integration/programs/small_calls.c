/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * small_calls KIND COUNT: records of 16 bytes
 *   read      from /dev/zero, with a system call each
 *   flushed   to a stream, flushed after each
 *   buffered  to a stream, which writes some KiB at a time
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECORD = 16 };

static __attribute__((noinline)) unsigned sum_records(int file, long count)
{
    unsigned char record[RECORD];
    unsigned sum = 0;

    for (long i = 0; i < count; i++)
        if (read(file, record, RECORD) == RECORD) /* mark: read */
            for (int k = 0; k < RECORD; k++)
                sum += record[k];
    return sum;
}

static __attribute__((noinline)) void put_records(FILE *stream, long count, int flush)
{
    for (long i = 0; i < count; i++) {
        fprintf(stream, "%015ld\n", i);
        if (flush)
            fflush(stream); /* mark: flush */
    }
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "read";
    long count = argc > 2 ? atol(argv[2]) : 1;
    FILE *stream = fopen("/dev/null", "w");
    int file = open("/dev/zero", O_RDONLY);

    if (stream == NULL || file < 0)
        return 1;
    if (strcmp(kind, "read") == 0)
        printf("%u\n", sum_records(file, count));
    else
        put_records(stream, count, strcmp(kind, "flushed") == 0);
    close(file);
    return fclose(stream) != 0;
}
