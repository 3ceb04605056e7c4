/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs that start others: target_processes
 * fork|threads-fork|exec|exec-fails|vfork|spawn|system| daemon|directory|quick-exit
 */
#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn.h"

extern char **environ;

static const char *self; /* argv[0] */

static int wait_for(pid_t child)
{
    int status;
    if (waitpid(child, &status, 0) != child)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* Child and parent both work; the child's child, too. */
static int run_fork(void)
{
    burn(50);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        burn(BURN_MS);
        pid_t grandchild = fork();
        if (grandchild == 0) {
            burn(BURN_MS);
            _exit(5);
        }
        printf("child: grandchild left with %d\n", wait_for(grandchild));
        exit(6);
    }
    burn(BURN_MS);
    printf("parent: child left with %d\n", wait_for(child));
    return 7;
}

static void *allocate_and_free(void *argument)
{
    (void)argument;
    for (int i = 0; i < 50; i++)
        burn(4);
    return NULL;
}

/* fork while other threads allocate: the child must not inherit a lock that nobody will open. */
static int run_threads_fork(void)
{
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        if (pthread_create(&threads[i], NULL, allocate_and_free, NULL) != 0)
            return 1;
    }
    int good = 0;
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) {
            burn(2);
            _exit(i);
        }
        good += wait_for(child) == i;
    }
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    printf("%d children\n", good);
    return 0;
}

/* The program is replaced by itself with another argument. */
static int run_exec(void)
{
    burn(BURN_MS);
    printf("before exec\n");
    fflush(stdout);
    execl(self, self, "executed", (char *)NULL);
    return 1;
}

/* exec of something that is not there: the program goes on. */
static int run_exec_fails(void)
{
    burn(BURN_MS);
    execl("/nonexistent/program", "program", (char *)NULL);
    printf("exec: %s\n", strerror(errno));
    burn(BURN_MS);
    return 3;
}

__attribute__((noinline)) static pid_t vfork_shell(void)
{
    pid_t child = vfork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "exit 9", (char *)NULL);
        _exit(127);
    }
    return child;
}

static int run_vfork(void)
{
    int good = 0;
    for (int i = 0; i < 20; i++) {
        good += wait_for(vfork_shell()) == 9;
        burn(8);
    }
    printf("%d children\n", good);
    return 0;
}

static int run_spawn(void)
{
    char *arguments[] = {(char *)"sh", (char *)"-c", (char *)"echo spawned; exit 4", NULL};
    burn(BURN_MS);
    for (int i = 0; i < 5; i++) {
        pid_t child;
        int error = posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ);
        if (error != 0) {
            printf("spawn: %s\n", strerror(error));
            return 1;
        }
        printf("left with %d\n", wait_for(child));
        fflush(stdout);
    }
    return 0;
}

static int run_system(void)
{
    burn(BURN_MS);
    fflush(stdout);
    printf("system: %d\n", WEXITSTATUS(system("echo from the shell; exit 12")));
    FILE *pipe = popen("echo through the pipe; exit 13", "r");
    char line[64] = "";
    if (pipe == NULL || fgets(line, sizeof line, pipe) == NULL)
        return 1;
    printf("%s", line);
    printf("pclose: %d\n", WEXITSTATUS(pclose(pipe)));
    return 0;
}

/* As a server starts: two forks, a session of its own, root directory, no descriptors. */
static int run_daemon(void)
{
    int channel[2];
    if (pipe(channel) != 0)
        return 1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        setsid();
        if (fork() != 0)
            _exit(0);
        if (chdir("/") != 0)
            _exit(1);
        umask(0);
        if (channel[1] != 9)
            dup2(channel[1], 9);
        for (int i = 0; i < 9; i++)
            close(i);
        burn(BURN_MS);
        char message[] = "daemon at work\n";
        if (write(9, message, sizeof message - 1) < 0)
            _exit(2);
        _exit(0);
    }
    close(channel[1]);
    printf("first child left with %d\n", wait_for(child));
    char buffer[64];
    ssize_t length = read(channel[0], buffer, sizeof buffer);
    printf("%.*s", (int)length, buffer);
    length = read(channel[0], buffer, sizeof buffer);
    printf("end of file: %d\n", length == 0);
    return 0;
}

/* Somewhere else at the end than at the beginning, and the place of the beginning renamed. */
static int run_directory(void)
{
    char path[4096];
    burn(BURN_MS);
    if (mkdir("sub", 0755) != 0 || chdir("sub") != 0 || getcwd(path, sizeof path) == NULL)
        return 1;
    printf("%s\n", strrchr(path, '/'));
    if (chdir("/") != 0 || getcwd(path, sizeof path) == NULL)
        return 1;
    printf("%s\n", path);
    burn(50);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    self = argv[0];
    if (strcmp(what, "fork") == 0)
        return run_fork();
    if (strcmp(what, "threads-fork") == 0)
        return run_threads_fork();
    if (strcmp(what, "exec") == 0)
        return run_exec();
    if (strcmp(what, "exec-fails") == 0)
        return run_exec_fails();
    if (strcmp(what, "vfork") == 0)
        return run_vfork();
    if (strcmp(what, "spawn") == 0)
        return run_spawn();
    if (strcmp(what, "system") == 0)
        return run_system();
    if (strcmp(what, "daemon") == 0)
        return run_daemon();
    if (strcmp(what, "directory") == 0)
        return run_directory();
    if (strcmp(what, "executed") == 0 || strcmp(what, "quick-exit") == 0) {
        burn(BURN_MS);
        printf("%s\n", what);
        fflush(stdout);
        if (what[0] == 'q')
            _exit(21);
        return 22;
    }
    return 64;
}
