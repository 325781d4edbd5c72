/* The minimum work of any program for the sites of bench/apply: the physical limit.
 *
 *     bare_apply check DIRECTORY COUNT      each file: open, stat, read, close
 *     bare_apply write DIRECTORY COUNT      each file: temporary file, owner, mode, rename
 *     bare_apply flush DIRECTORY COUNT      the same, with fsync before the rename and of the
 *                                           directory
 *     bare_apply spawn COUNT                /bin/true through /bin/sh, each of which is waited for
 *
 * Files are DIRECTORY/f0000 and so on, with the content that bench/apply gives them. */
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MODE = 0640,
    TEXT_MAX = 4096
};

static _Noreturn void fail(const char *what)
{
    perror(what);
    exit(1);
}

static size_t content(char *text, size_t size, int number)
{
    return (size_t)snprintf(text, size, "# managed\nname = f%04d\nnumber = %d\nend = yes\n", number,
                            number);
}

static void check(int directory, int number)
{
    char name[32], wanted[TEXT_MAX], found[TEXT_MAX];
    snprintf(name, sizeof name, "f%04d", number);
    int file = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    struct stat info;
    if (file < 0 || fstat(file, &info) != 0) {
        fail(name);
    }
    ssize_t got = read(file, found, sizeof found);
    close(file);
    size_t size = content(wanted, sizeof wanted, number);
    if (got != (ssize_t)size || memcmp(found, wanted, size) != 0 ||
        (info.st_mode & 07777) != MODE) {
        fail("not as wanted");
    }
}

static void write_file(int directory, int number, bool flush)
{
    char name[32], temporary[48], text[TEXT_MAX];
    snprintf(name, sizeof name, "f%04d", number);
    snprintf(temporary, sizeof temporary, ".f%04d.new", number);
    size_t size = content(text, sizeof text, number);
    int file = openat(directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0 || write(file, text, size) != (ssize_t)size || fchown(file, 0, 0) != 0 ||
        fchmod(file, MODE) != 0 || (flush && fsync(file) != 0) || close(file) != 0 ||
        renameat(directory, temporary, directory, name) != 0 || (flush && fsync(directory) != 0)) {
        fail(name);
    }
}

static void spawn(void)
{
    char shell[] = "/bin/sh", option[] = "-c", command[] = "true", path[] = "PATH=/usr/bin:/bin";
    char *argv[] = { shell, option, command, NULL };
    char *envp[] = { path, NULL };
    pid_t pid;
    int status;
    if (posix_spawn(&pid, argv[0], NULL, NULL, argv, envp) != 0 ||
        waitpid(pid, &status, 0) != pid || status != 0) {
        fail("spawn");
    }
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "spawn") == 0) {
        for (int i = 0; i < atoi(argv[2]); i++) {
            spawn();
        }
        return 0;
    }
    if (argc != 4) {
        return 64;
    }
    int directory = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) {
        fail(argv[2]);
    }
    bool checks = strcmp(argv[1], "check") == 0, flushes = strcmp(argv[1], "flush") == 0;
    for (int i = 0; i < atoi(argv[3]); i++) {
        if (checks) {
            check(directory, i);
        } else {
            write_file(directory, i, flushes);
        }
    }
    return 0;
}
