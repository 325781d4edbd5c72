/* Needs the rights of root: without them it fails and says so. */
#include "sys/overlay.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "unit.h"

static const OverlayChange *find(const OverlayChanges *changes, const char *path)
{
    for (uint32_t i = 0; i < changes->count; i++) {
        if (str_eq_c(changes->items[i].path, path)) {
            return &changes->items[i];
        }
    }
    return NULL;
}

static bool write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    bool ok = file != NULL && fputs(text, file) >= 0;
    return file != NULL && fclose(file) == 0 && ok;
}

/* In a child: 0 when all is as it should be, else the number of the check that failed. */
static int inside(const char *folder, const char *kept)
{
    Arena arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Overlay *overlay;
    OverlayChanges changes;
    Error err;
    if (!overlay_enter(&arena, &(OverlaySettings){ .folder = folder }, &overlay, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    char made[128];
    snprintf(made, sizeof made, "%s.new", kept);
    if (!write_file(made, "new") || !write_file(kept, "other") || unlink("/etc/os-release") != 0) {
        return 2;
    }
    if (!overlay_changes(overlay, &arena, &changes, &err)) {
        return 3;
    }
    const OverlayChange *created = find(&changes, made);
    const OverlayChange *changed = find(&changes, kept);
    const OverlayChange *removed = find(&changes, "/etc/os-release");
    if (created == NULL || created->kind != OVERLAY_CREATED) {
        return 4;
    }
    if (changed == NULL || changed->kind != OVERLAY_CHANGED) {
        return 5;
    }
    if (removed == NULL || removed->kind != OVERLAY_REMOVED) {
        return 6;
    }
    if (find(&changes, "/etc") != NULL) {
        return 7; /* only what is below it has changed */
    }
    return access("/proc/self/stat", R_OK) == 0 && access("/dev/null", W_OK) == 0 ? 0 : 8;
}

static void what_is_done_inside_is_told_and_gone(void **state)
{
    char folder[] = "/tmp/eden-overlay-XXXXXX", kept[] = "/tmp/eden-kept-XXXXXX";
    assert_non_null(mkdtemp(folder));
    int file = mkstemp(kept);
    assert_true(file >= 0);
    close(file);
    pid_t child = fork();
    if (child == 0) {
        _exit(inside(folder, kept));
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    struct stat info;
    assert_int_equal(stat(kept, &info), 0);
    off_t size = info.st_size;
    unlink(kept);
    assert_int_equal(rmdir(folder), 0); /* so nothing is left in it */
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(size, 0);
    assert_int_equal(access("/etc/os-release", R_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_done_inside_is_told_and_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
