/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Include this header LAST in every file whose code runs inside a signal handler of the target.
 *
 * Such code may interrupt the target anywhere: inside malloc, holding any lock, with stdio half
 * updated. It must not call anything that allocates, locks, touches errno's owner or formats with
 * stdio. The identifiers below no longer compile after this point, so the build enforces the rule.
 * memcpy, memset, memcmp and memmove stay: in the C libraries that we support they take no lock.
 */
#ifndef REUSE_SIGNAL_SAFE_H
#define REUSE_SIGNAL_SAFE_H

#pragma GCC poison malloc calloc realloc free memalign posix_memalign aligned_alloc strdup strndup
#pragma GCC poison printf fprintf vprintf vfprintf sprintf snprintf vsnprintf asprintf vasprintf
#pragma GCC poison dprintf puts fputs putchar fputc fwrite fread fopen fclose fflush perror
#pragma GCC poison pthread_mutex_lock pthread_cond_wait pthread_cond_signal pthread_create
#pragma GCC poison dlopen dlsym dladdr getenv setenv exit abort strerror syslog localtime gmtime
#pragma GCC poison assert qsort
/* A thread may be cancelled there: syscall(SYS_close, ...) instead. */
#pragma GCC poison close

#endif
