/* Requires root privileges: without them it fails and says so. */
#include "sys/overlay.h"

#include <errno.h>
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

/* In a child: 0 on success, else the number of the check that failed. */
static int inside(const char *directory, const char *kept)
{
    Arena arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Overlay *overlay;
    OverlayChanges changes;
    Error err;
    if (!overlay_enter(&arena, &(OverlaySettings){ .directory = directory }, &overlay, &err)) {
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

static bool is_read_only(const char *path)
{
    return access(path, W_OK) != 0 && errno == EROFS;
}

/* The kernel's own file systems belong to the machine: what is written there would stay. */
static int inside_of_the_kernels(const char *directory, const char *kept)
{
    Arena arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Overlay *overlay;
    Error err;
    if (!overlay_enter(&arena, &(OverlaySettings){ .directory = directory }, &overlay, &err)) {
        return 1;
    }
    return is_read_only("/dev") && is_read_only("/proc/sys/vm/swappiness") &&
                   is_read_only("/sys") && write_file("/dev/null", "x") &&
                   write_file("/dev/shm/eden-overlay", "x")
               ? 0
               : 2;
}

/* A directory that is removed and recreated. */
static int recreate_inside(const char *directory, const char *kept)
{
    Arena arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Overlay *overlay;
    OverlayChanges changes;
    Error err;
    char gone[128], stays[128];
    snprintf(gone, sizeof gone, "%s/gone", kept);
    snprintf(stays, sizeof stays, "%s/stays", kept);
    if (!overlay_enter(&arena, &(OverlaySettings){ .directory = directory }, &overlay, &err)) {
        return 1;
    }
    if (unlink(gone) != 0 || unlink(stays) != 0 || rmdir(kept) != 0 || mkdir(kept, 0700) != 0 ||
        !write_file(stays, "other") || !overlay_changes(overlay, &arena, &changes, &err)) {
        return 2;
    }
    const OverlayChange *removed = find(&changes, gone), *changed = find(&changes, stays);
    if (removed == NULL || removed->kind != OVERLAY_REMOVED) {
        return 3;
    }
    return changed != NULL && changed->kind == OVERLAY_CHANGED && find(&changes, kept) == NULL ? 0
                                                                                               : 4;
}

/* The result of `function` in a separate process, with a directory for its mounts. */
static int in_child(int (*function)(const char *directory, const char *kept), const char *kept)
{
    char directory[] = "/tmp/eden-overlay-XXXXXX";
    assert_non_null(mkdtemp(directory));
    pid_t child = fork();
    if (child == 0) {
        _exit(function(directory, kept));
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(rmdir(directory), 0); /* so nothing is left in it */
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void changes_inside_are_listed_and_discarded(void **state)
{
    char kept[] = "/tmp/eden-kept-XXXXXX";
    int file = mkstemp(kept);
    assert_true(file >= 0);
    close(file);
    int answer = in_child(inside, kept);
    struct stat info;
    assert_int_equal(stat(kept, &info), 0);
    unlink(kept);
    assert_int_equal(answer, 0);
    assert_int_equal(info.st_size, 0);
    assert_int_equal(access("/etc/os-release", R_OK), 0);
}

static void kernel_settings_cannot_be_changed(void **state)
{
    assert_int_equal(in_child(inside_of_the_kernels, NULL), 0);
    assert_int_not_equal(access("/dev/shm/eden-overlay", F_OK), 0);
}

static void the_content_of_a_recreated_directory_is_listed(void **state)
{
    char kept[] = "/tmp/eden-kept-XXXXXX", name[128];
    static const char *const names[] = { "gone", "stays" };
    assert_non_null(mkdtemp(kept));
    for (size_t i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "%s/%s", kept, names[i]);
        assert_true(write_file(name, "old"));
    }
    int answer = in_child(recreate_inside, kept);
    for (size_t i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "%s/%s", kept, names[i]);
        assert_int_equal(unlink(name), 0);
    }
    assert_int_equal(rmdir(kept), 0);
    assert_int_equal(answer, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_inside_are_listed_and_discarded),
        cmocka_unit_test(kernel_settings_cannot_be_changed),
        cmocka_unit_test(the_content_of_a_recreated_directory_is_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
