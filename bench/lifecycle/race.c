/* race N INPUT A B -- WORDS: runs `A WORDS` and `B WORDS` in turn, N times each, with INPUT on standard input, and
   prints the fastest, the 10th percentile and the median of each in ms, and how much faster A is. */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static double now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

static int ascending(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static double run(char *input, char *program, char **words)
{
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, input, O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    words[0] = program;
    pid_t child;
    int status;
    double began = now_ms();
    if (posix_spawn(&child, program, &files, NULL, words, environ) != 0)
        exit(2);
    waitpid(child, &status, 0);
    double took = now_ms() - began;
    posix_spawn_file_actions_destroy(&files);
    if (status != 0) {
        fprintf(stderr, "%s failed\n", program);
        exit(1);
    }
    return took;
}

int main(int count, char **words)
{
    if (count < 6)
        return 2;
    int rounds = atoi(words[1]);
    double *took[2] = { malloc(rounds * sizeof(double)), malloc(rounds * sizeof(double)) };
    for (int round = 0; round < rounds; round++)
        for (int side = 0; side < 2; side++)
            took[side][round] = run(words[2], words[3 + side], words + 5);
    for (int side = 0; side < 2; side++) {
        qsort(took[side], rounds, sizeof(double), ascending);
        printf("%6.2f %6.2f %6.2f   ", took[side][0], took[side][rounds / 10], took[side][rounds / 2]);
    }
    printf("%5.2fx %5.2fx %5.2fx\n", took[1][0] / took[0][0], took[1][rounds / 10] / took[0][rounds / 10],
           took[1][rounds / 2] / took[0][rounds / 2]);
    return 0;
}
