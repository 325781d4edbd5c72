#include "module_fixture.h"

static void put(Fixture *fixture, const char *path, const char *text, mode_t mode)
{
    FileWrite write = {
        .content = str_from_c(text), .mode = mode, .uid = HOST_KEEP_ID, .gid = HOST_KEEP_ID
    };
    char directory[200];
    snprintf(directory, sizeof directory, "%.*s", (int)(strrchr(path, '/') - path), path);
    assert_true(directory[0] == '\0' || host_make_directory(fixture->host, str_from_c(directory),
                                                            0755, true, &fixture->err));
    assert_true(host_write(fixture->host, str_from_c(path), &write, &fixture->err));
}

static const char *text_of(Fixture *fixture, const char *path)
{
    Str text;
    return host_read(fixture->host, &fixture->arena, str_from_c(path), 1 << 20, &text,
                     &fixture->err)
               ? arena_copy_c(&fixture->arena, text)
               : "(none)";
}

static FileInfo info_of(Fixture *fixture, const char *path)
{
    FileInfo info;
    assert_true(host_stat(fixture->host, str_from_c(path), &info, &fixture->err));
    return info;
}

static void use_file(Fixture *fixture, const char *action, const char *path)
{
    use_action(fixture, action);
    set_text(fixture, "name", path);
    if (strcmp(action, "file.absent") != 0 && strncmp(action, "file.content", 12) != 0) {
        set_param(fixture, "parents", value_bool(true));
    }
    if (strcmp(action, "file.managed") == 0) {
        set_param(fixture, "replace", value_bool(true));
    }
}

/* Runs it, and expects a change, and then none. */
static void changes_once(Fixture *fixture)
{
    if (!run(fixture)) {
        fail_msg("%s", fixture->err.text);
    }
    assert_true(fixture->outcome.changed);
    if (!check(fixture)) {
        fail_msg("%s", fixture->err.text);
    }
    assert_false(fixture->outcome.changed);
}

static Str new_of(Fixture *fixture, const char *what)
{
    assert_non_null(fixture->outcome.changes);
    const MapEntry *entry = map_find_str(fixture->outcome.changes, str_from_c(what));
    assert_non_null(entry);
    return value_str(*value_get(entry->value, STR("new")));
}

/* --- managed -------------------------------------------------------------------------------- */

static void creates_a_file_and_its_directories(void **state)
{
    Fixture *fixture = *state;
    use_file(fixture, "file.managed", "/etc/app/motd");
    set_text(fixture, "content", "hello\n");
    assert_true(plan(fixture));
    assert_true(fixture->outcome.changed);
    assert_str(fixture->outcome.diff, "--- /dev/null\n+++ /etc/app/motd\n@@ -0,0 +1 @@\n+hello\n");
    assert_int_equal(info_of(fixture, "/etc").kind, FILE_ABSENT);
    assert_int_equal(fixture->kept, 0);
    changes_once(fixture);
    assert_string_equal(text_of(fixture, "/etc/app/motd"), "hello\n");
    assert_int_equal(info_of(fixture, "/etc/app/motd").mode, 0644);
    assert_int_equal(fixture->kept, 1);
}

static void without_parents_a_missing_directory_is_a_failure(void **state)
{
    Fixture *fixture = *state;
    use_file(fixture, "file.managed", "/etc/motd");
    set_text(fixture, "content", "x");
    set_param(fixture, "parents", value_bool(false));
    assert_false(run(fixture));
    assert_false(fixture->outcome.changed);
    assert_string_equal(fixture->err.text, "/etc: No such file or directory");
}

static void a_link_to_nowhere_is_no_directory(void **state)
{
    Fixture *fixture = *state;
    char link[80];
    snprintf(link, sizeof link, "%s/link", fixture->root);
    assert_int_equal(symlink("nowhere", link), 0);
    use_file(fixture, "file.managed", "/link/motd");
    set_text(fixture, "content", "x");
    fixture->services.may_be_provided = nothing_comes;
    assert_false(plan(fixture));
    assert_string_equal(fixture->err.text, "/link is a symlink that does not point to a directory");
}

static void a_file_is_no_directory(void **state)
{
    Fixture *fixture = *state;
    put(fixture, "/motd", "hello\n", 0644);
    use_file(fixture, "file.managed", "/motd/today");
    set_text(fixture, "content", "x");
    fixture->services.may_be_provided = nothing_comes;
    assert_false(plan(fixture));
    assert_string_equal(fixture->err.text, "/motd is a file, not a directory");
}

static void changes_content_and_keeps_the_mode(void **state)
{
    Fixture *fixture = *state;
    put(fixture, "/motd", "one\ntwo\n", 0604);
    use_file(fixture, "file.managed", "/motd");
    set_text(fixture, "content", "one\nthree\n");
    assert_true(plan(fixture));
    assert_str(fixture->outcome.diff,
               "--- /motd\n+++ /motd\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n");
    changes_once(fixture);
    assert_int_equal(info_of(fixture, "/motd").mode, 0604);
}

static void private_content_is_not_shown(void **state)
{
    Fixture *fixture = *state;
    static const struct {
        int before, wanted;
        bool shown;
    } cases[] = { { 0644, 0644, true }, { 0600, 0644, false }, { 0644, 0600, false },
                  { 0640, -1, false },  { 0644, -1, true },    { -1, 0600, false },
                  { -1, 0644, true },   { -1, -1, true } };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        use_file(fixture, "file.absent", "/f");
        assert_true(run(fixture));
        if (cases[i].before >= 0) {
            put(fixture, "/f", "old\n", (mode_t)cases[i].before);
        }
        use_file(fixture, "file.managed", "/f");
        set_text(fixture, "content", "new\n");
        if (cases[i].wanted >= 0) {
            set_param(fixture, "mode", value_int(cases[i].wanted));
        }
        assert_true(plan(fixture));
        bool shown = str_find(fixture->outcome.diff, STR("+new"), 0) != STR_NOT_FOUND;
        assert_int_equal(shown, cases[i].shown);
        if (!cases[i].shown) {
            assert_str(fixture->outcome.diff, "/f: changed (private)\n");
            assert_true(fixture->outcome.observed.len > 0);
            set_param(fixture, "diff", value_bool(true));
            assert_true(plan(fixture));
            assert_int_not_equal(str_find(fixture->outcome.diff, STR("+new"), 0), STR_NOT_FOUND);
        }
    }
}

static void sets_owner_and_mode_alone(void **state)
{
    Fixture *fixture = *state;
    put(fixture, "/motd", "text", 0644);
    use_file(fixture, "file.managed", "/motd");
    set_param(fixture, "mode", value_int(0640));
    if (geteuid() == 0) {
        set_text(fixture, "owner", "1234");
        set_text(fixture, "group", "4321");
    }
    assert_true(plan(fixture));
    assert_str(new_of(fixture, "mode"), "0640");
    assert_str(fixture->outcome.diff, "");
    changes_once(fixture);
    FileInfo info = info_of(fixture, "/motd");
    assert_int_equal(info.mode, 0640);
    assert_int_equal(info.uid, geteuid() == 0 ? 1234 : geteuid());
    assert_string_equal(text_of(fixture, "/motd"), "text");
}

static void a_new_owner_leaves_the_set_id_bits(void **state)
{
    Fixture *fixture = *state;
    if (geteuid() != 0) {
        fail_msg("this test gives a file to another user, which takes root privileges");
    }
    put(fixture, "/tool", "text", 04755);
    use_file(fixture, "file.managed", "/tool");
    set_param(fixture, "mode", value_int(04755));
    set_text(fixture, "owner", "1234");
    changes_once(fixture);
    assert_int_equal(info_of(fixture, "/tool").uid, 1234);
    assert_int_equal(info_of(fixture, "/tool").mode, 04755);
}

static void a_new_owner_does_not_get_the_set_id_bits_of_the_former(void **state)
{
    Fixture *fixture = *state;
    if (geteuid() != 0) {
        fail_msg("this test gives a file to another user, which takes root privileges");
    }
    put(fixture, "/tool", "text", 06755);
    use_file(fixture, "file.managed", "/tool");
    set_text(fixture, "content", "other");
    set_text(fixture, "owner", "1234");
    changes_once(fixture);
    assert_int_equal(info_of(fixture, "/tool").uid, 1234);
    assert_int_equal(info_of(fixture, "/tool").mode, 0755);
    put(fixture, "/kept", "text", 06755);
    use_file(fixture, "file.managed", "/kept");
    set_text(fixture, "content", "other");
    changes_once(fixture);
    assert_int_equal(info_of(fixture, "/kept").mode, 06755);
}

static void an_unknown_owner_fails_but_not_in_a_plan(void **state)
{
    Fixture *fixture = *state;
    use_file(fixture, "file.managed", "/motd");
    set_text(fixture, "owner", "web");
    assert_true(plan(fixture));
    assert_true(fixture->outcome.changed);
    assert_str(new_of(fixture, "owner"), "web");
    assert_false(check(fixture));
    assert_string_equal(fixture->err.text, "user 'web' not found");
}

static void secrets_are_not_shown(void **state)
{
    Fixture *fixture = *state;
    use_file(fixture, "file.managed", "/key");
    set_param(fixture, "content", value_with_secret(value_string(STR("hunter2"))));
    assert_true(plan(fixture));
    assert_str(fixture->outcome.diff, "/key: changed (secret)\n");
    changes_once(fixture);
    assert_int_equal(info_of(fixture, "/key").mode, 0600);
    assert_string_equal(text_of(fixture, "/key"), "hunter2");
}

static void a_file_that_receives_a_secret_becomes_private(void **state)
{
    static const struct {
        int had, wanted, got;
    } rows[] = { { 0644, -1, 0640 }, { 0604, -1, 0600 },   { 0640, -1, 0640 },
                 { 0600, -1, 0600 }, { 0644, 0644, 0644 }, { 0600, 0604, 0604 } };
    Fixture *fixture = *state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        /* Even if the secret is already there. */
        for (int same = 0; same < 2; same++) {
            put(fixture, "/key", same ? "hunter2" : "old", (mode_t)rows[i].had);
            use_file(fixture, "file.managed", "/key");
            set_param(fixture, "content", value_with_secret(value_string(STR("hunter2"))));
            if (rows[i].wanted >= 0) {
                set_param(fixture, "mode", value_int(rows[i].wanted));
            }
            if (!same || rows[i].had != rows[i].got) {
                changes_once(fixture);
            }
            assert_int_equal(info_of(fixture, "/key").mode, rows[i].got);
        }
    }
}

static void binary_content_is_described_by_size_and_hash(void **state)
{
    Fixture *fixture = *state;
    put(fixture, "/a", "text", 0644);
    use_file(fixture, "file.managed", "/a");
    set_param(fixture, "content", value_string(STR("\0\1")));
    assert_true(plan(fixture));
    assert_str(
        fixture->outcome.diff,
        "/a: 4 bytes, sha256 "
        "982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1 -> 2 bytes, sha256 "
        "b413f47d13ee2fe6c845b2ee141af81de858df4ec549a58b7970bb96645bc8d2\n");
    changes_once(fixture);
}

static void a_link_is_replaced_and_other_types_are_not(void **state)
{
    Fixture *fixture = *state;
    put(fixture, "/target", "precious", 0644);
    assert_true(host_make_link(fixture->host, STR("/l"), STR("target"), &fixture->err));
    use_file(fixture, "file.managed", "/l");
    set_text(fixture, "content", "mine");
    changes_once(fixture);
    assert_string_equal(text_of(fixture, "/target"), "precious");
    assert_int_equal(info_of(fixture, "/l").kind, FILE_REGULAR);
    assert_true(host_make_directory(fixture->host, STR("/d"), 0755, false, &fixture->err));
    set_text(fixture, "name", "/d");
    assert_false(check(fixture));
    assert_string_equal(fixture->err.text, "/d is a directory, not a file");
}

static void existing_content_can_be_kept(void **state)
{
    Fixture *fixture = *state;
    use_file(fixture, "file.managed", "/a");
    set_text(fixture, "content", "initial");
    set_param(fixture, "replace", value_bool(false));
    changes_once(fixture);
    put(fixture, "/a", "edited", 0644);
    assert_true(run(fixture));
    assert_false(fixture->outcome.changed);
}

static void only_one_content_source_is_allowed(void **state)
{
    Fixture *fixture = *state;
    use_file(fixture, "file.managed", "/a");
    set_text(fixture, "content", "x");
    set_text(fixture, "source", "y");
    assert_false(check(fixture));
    assert_string_equal(fixture->err.text, "'content' and 'source' are mutually exclusive");
}

static void the_old_content_is_saved_next_to_it(void **state)
{
    Fixture *fixture = *state;
    put(fixture, "/a", "old", 0600);
    use_file(fixture, "file.managed", "/a");
    set_text(fixture, "content", "new");
    set_text(fixture, "backup", "true");
    changes_once(fixture);
    assert_string_equal(text_of(fixture, "/a.bak"), "old");
    assert_int_equal(info_of(fixture, "/a.bak").mode, 0600);
    assert_int_equal(fixture->kept, 2);
    set_text(fixture, "backup", "/x");
    assert_false(check(fixture));
}

/* Commands need a system, so this one uses the live one. */
static void a_command_validates_new_content(void **state)
{
    Fixture *fixture = *state;
    put(fixture, "/a", "old", 0644);
    Host *live;
    assert_true(host_open("/", &live, &fixture->err));
    fixture->call.host = live;
    char path[100];
    snprintf(path, sizeof path, "%s/a", fixture->root);
    use_file(fixture, "file.managed", path);
    set_text(fixture, "content", "bad");
    set_text(fixture, "validate", "grep -q good %s || { echo no good >&2; false; }");
    assert_false(run(fixture));
    assert_string_equal(
        fixture->err.text,
        "validate 'grep -q good %s || { echo no good >&2; false; }': exited with 1: no good");
    assert_false(fixture->outcome.changed);
    assert_string_equal(text_of(fixture, "/a"), "old");
    set_text(fixture, "content", "good");
    set_text(fixture, "validate", "grep -q good");
    changes_once(fixture);
    host_close(live);
}

static void a_plan_validates_new_content_in_a_temporary_file(void **state)
{
    Fixture *fixture = *state;
    Host *live;
    put(fixture, "/a", "old\n", 0644);
    assert_true(host_open("/", &live, &fixture->err));
    fixture->call.host = live;
    fixture->services.may_be_provided = nothing_comes;
    char path[100], expected[300];
    snprintf(path, sizeof path, "%s/a", fixture->root);
    use_file(fixture, "file.managed", path);
    set_text(fixture, "content", "bad\n");
    set_text(fixture, "validate", "grep -q good %s || { echo %s:1: no good; exit 3; }");
    assert_false(plan(fixture));
    snprintf(expected, sizeof expected,
             "validate 'grep -q good %%s || { echo %%s:1: no good; exit 3; }': exited with 3: "
             "%s:1: no good",
             path);
    assert_string_equal(fixture->err.text, expected);
    assert_string_equal(fixture->call.blamed, "validate");
    assert_true(fixture->outcome.keeps_diff);
    assert_true(str_find(fixture->outcome.diff, STR("-old\n+bad\n"), 0) != STR_NOT_FOUND);
    set_text(fixture, "content", "good\n");
    assert_true(plan(fixture));
    assert_true(fixture->outcome.changed);
    assert_false(fixture->outcome.unknown);
    set_text(fixture, "validate", "exit 127; : %s");
    assert_true(plan(fixture));
    assert_true(fixture->outcome.unknown);
    assert_string_equal(text_of(fixture, "/a"), "old\n");
    host_close(live);
}

static void a_plan_that_changes_something_before_does_not_trust_a_validation(void **state)
{
    Fixture *fixture = *state;
    Host *live;
    assert_true(host_open("/", &live, &fixture->err));
    fixture->call.host = live;
    char path[100];
    snprintf(path, sizeof path, "%s/a", fixture->root);
    use_file(fixture, "file.managed", path);
    set_text(fixture, "content", "bad\n");
    set_text(fixture, "validate", "false");
    assert_true(plan(fixture)); /* anything may come */
    assert_true(fixture->outcome.unknown);
    assert_str(fixture->outcome.comment, "not validated: validate 'false': exited with 1");
    fixture->call.is_prereq_check = true;
    assert_true(plan(fixture));
    assert_false(fixture->outcome.unknown);
    host_close(live);
}

/* A text is passed to /bin/sh, which does not support foreign quoting. */
static void directory_names_are_not_run_by_the_shell(void **state)
{
    Fixture *fixture = *state;
    Host *live;
    assert_true(host_open("/", &live, &fixture->err));
    fixture->call.host = live;
    char path[100];
    snprintf(path, sizeof path, "%s/x\n';exit 0 #", fixture->root);
    assert_int_equal(mkdir(path, 0755), 0);
    strcat(path, "/a");
    use_file(fixture, "file.managed", path);
    set_text(fixture, "content", "bad");
    set_text(fixture, "validate", "grep -q good %s");
    assert_false(run(fixture));
    set_text(fixture, "content", "good");
    changes_once(fixture);
    host_close(live);
}

/* --- content and from ----------------------------------------------------------------------- */

static void a_published_tree_is_placed_elsewhere(void **state)
{
    Fixture *fixture = *state;
    put(fixture, "/pki/ca.crt", "cert", 0644);
    put(fixture, "/pki/etcd/key", "very private", 0600);
    assert_true(host_make_link(fixture->host, STR("/pki/link"), STR("ca.crt"), &fixture->err));
    use_file(fixture, "file.content", "/pki");
    assert_false(check(fixture));
    set_param(fixture, "recursive", value_bool(true));
    assert_true(check(fixture));
    assert_false(fixture->outcome.changed);
    assert_int_equal(fixture->outcome.files->len, 2);
    Value files = value_list(fixture->outcome.files);
    use_file(fixture, "file.managed", "/copy");
    set_param(fixture, "from", files);
    assert_true(plan(fixture));
    assert_int_equal(str_find(fixture->outcome.diff, STR("very private"), 0), STR_NOT_FOUND);
    changes_once(fixture);
    assert_string_equal(text_of(fixture, "/copy/etcd/key"), "very private");
    assert_int_equal(info_of(fixture, "/copy/etcd/key").mode, 0600);
    assert_string_equal(text_of(fixture, "/copy/ca.crt"), "cert");
}

static void a_published_file_is_written_to_the_exact_name(void **state)
{
    Fixture *fixture = *state;
    put(fixture, "/a.crt", "cert", 0644);
    use_file(fixture, "file.content", "/a.crt");
    assert_true(check(fixture));
    Value files = value_list(fixture->outcome.files);
    use_file(fixture, "file.managed", "/b.crt");
    set_param(fixture, "from", files);
    changes_once(fixture);
    assert_string_equal(text_of(fixture, "/b.crt"), "cert");
    assert_true(host_make_directory(fixture->host, STR("/d"), 0755, false, &fixture->err));
    set_text(fixture, "name", "/d");
    changes_once(fixture);
    assert_string_equal(text_of(fixture, "/d/a.crt"), "cert");
}

static void a_published_file_has_no_set_id_bits(void **state)
{
    Fixture *fixture = *state;
    put(fixture, "/a", "program", 06755);
    use_file(fixture, "file.content", "/a");
    assert_true(check(fixture));
    Value files = value_list(fixture->outcome.files);
    use_file(fixture, "file.managed", "/b");
    set_param(fixture, "from", files);
    changes_once(fixture);
    assert_int_equal(info_of(fixture, "/b").mode, 0755);
}

static void published_files_never_lead_out(void **state)
{
    Fixture *fixture = *state;
    List *files = list_new(&fixture->arena, 1);
    Map *file = map_new(&fixture->arena, 2);
    map_set_str(&fixture->arena, file, STR("path"), value_string(STR("../../etc/passwd")));
    map_set_str(&fixture->arena, file, STR("content"), value_string(STR("x")));
    list_push(&fixture->arena, files, value_map(file));
    use_file(fixture, "file.managed", "/d");
    set_param(fixture, "from", value_list(files));
    assert_false(check(fixture));
    assert_string_equal(fixture->err.text, "from: the published value is not a file");
}

static void contents_returns_the_text(void **state)
{
    Fixture *fixture = *state;
    put(fixture, "/a", "text\n", 0644);
    put(fixture, "/key", "secret\n", 0600);
    use_file(fixture, "file.contents", "/a");
    assert_true(fixture->call.action->query(&fixture->call, &fixture->outcome, &fixture->err));
    assert_str(value_str(fixture->outcome.value), "text\n");
    assert_false(value_is_secret(fixture->outcome.value));
    set_text(fixture, "name", "/key");
    assert_true(check(fixture));
    assert_true(value_is_secret(fixture->outcome.value));
    assert_str(fixture->outcome.out, "secret\n");
    assert_true(host_make_link(fixture->host, STR("/link"), STR("key"), &fixture->err));
    set_text(fixture, "name", "/link");
    assert_true(check(fixture));
    assert_true(value_is_secret(fixture->outcome.value));
    set_text(fixture, "name", "/none");
    assert_false(check(fixture));
    assert_true(plan(fixture));
    assert_true(fixture->outcome.unknown);
}

/* --- directory ------------------------------------------------------------------------------ */

static void creates_a_directory(void **state)
{
    Fixture *fixture = *state;
    use_file(fixture, "file.directory", "/a/b");
    set_param(fixture, "mode", value_int(02750));
    if (geteuid() == 0) {
        set_text(fixture, "owner", "77");
    }
    changes_once(fixture);
    assert_int_equal(info_of(fixture, "/a/b").mode, 02750);
    set_param(fixture, "mode", value_int(0700));
    changes_once(fixture);
    put(fixture, "/f", "", 0644);
    set_text(fixture, "name", "/f");
    assert_false(check(fixture));
}

/* Another step of the plan creates the user. */
static void a_missing_owner_is_a_change_in_a_plan(void **state)
{
    static const char *const actions[] = { "file.directory", "file.managed" };
    Fixture *fixture = *state;
    put(fixture, "/file.directory/f", "", 0644);
    put(fixture, "/file.managed", "", 0644);
    for (size_t i = 0; i < COUNT_OF(actions); i++) {
        use_file(fixture, actions[i], i == 0 ? "/file.directory" : "/file.managed");
        set_text(fixture, "owner", "web");
        assert_true(plan(fixture));
        assert_true(fixture->outcome.changed);
        assert_false(check(fixture));
        assert_int_equal(fixture->err.kind, ERROR_NOT_FOUND);
    }
}

/* Hidden values show neither content nor diff, and a saved plan still recognizes them. */
static void a_private_file_is_described_by_its_digest(void **state)
{
    Fixture *fixture = *state;
    static const char *const had[] = { "a", "a", "b" }, *const gets[] = { "c", "d", "c" };
    Str observed[COUNT_OF(had)];
    for (size_t i = 0; i < COUNT_OF(had); i++) {
        put(fixture, "/f", had[i], 0600);
        use_file(fixture, "file.managed", "/f");
        set_text(fixture, "content", gets[i]);
        set_param(fixture, "mode", value_int(0600));
        assert_true(check(fixture));
        observed[i] = fixture->outcome.observed;
        assert_true(observed[i].len > 0);
        assert_str(fixture->outcome.diff, "/f: changed (private)\n");
    }
    assert_false(str_eq(observed[0], observed[1]));
    assert_false(str_eq(observed[0], observed[2]));
}

static void recursion_applies_the_same_modes(void **state)
{
    Fixture *fixture = *state;
    put(fixture, "/d/e/f", "", 0644);
    use_file(fixture, "file.directory", "/d");
    set_param(fixture, "mode", value_int(0700));
    changes_once(fixture);
    assert_int_equal(info_of(fixture, "/d/e").mode, 0755);
    set_param(fixture, "recurse", value_bool(true));
    set_param(fixture, "file_mode", value_int(0600));
    changes_once(fixture);
    assert_int_equal(info_of(fixture, "/d/e").mode, 0700);
    assert_int_equal(info_of(fixture, "/d/e/f").mode, 0600);
}

/* A user who may write to /d moves a directory away and puts a link in its place, between check and
 * change. */
static void puts_a_link_in_the_way(Fixture *fixture)
{
    char dir[128], moved[128];
    snprintf(dir, sizeof dir, "%s/d/e", fixture->root);
    snprintf(moved, sizeof moved, "%s/moved", fixture->root);
    assert_int_equal(rename(dir, moved), 0);
    assert_int_equal(symlink("/precious", dir), 0);
}

static void no_link_leads_out_of_the_directory(void **state)
{
    Fixture *fixture = *state;
    put(fixture, "/precious/f", "", 0600);
    put(fixture, "/d/e/f", "", 0644);
    use_file(fixture, "file.directory", "/d");
    set_param(fixture, "recurse", value_bool(true));
    set_param(fixture, "file_mode", value_int(0666));
    assert_true(check(fixture));
    puts_a_link_in_the_way(fixture);
    assert_false(fixture->call.action->apply(&fixture->call, &fixture->outcome, &fixture->err));
    assert_string_equal(fixture->err.text, "in '/d': /e/f: Too many levels of symbolic links");
    assert_int_equal(info_of(fixture, "/precious/f").mode, 0600);
}

static void cleaning_follows_no_link(void **state)
{
    Fixture *fixture = *state;
    put(fixture, "/precious/f", "", 0600);
    put(fixture, "/d/e/f", "", 0644);
    put(fixture, "/d/e/mine", "", 0644);
    use_file(fixture, "file.directory", "/d");
    set_param(fixture, "clean", value_bool(true));
    fixture->claim = "/d/e";
    assert_true(check(fixture));
    puts_a_link_in_the_way(fixture);
    assert_false(fixture->call.action->apply(&fixture->call, &fixture->outcome, &fixture->err));
    assert_int_equal(info_of(fixture, "/precious/f").kind, FILE_REGULAR);
}

static void cleaning_removes_unmanaged_files(void **state)
{
    Fixture *fixture = *state;
    put(fixture, "/d/mine", "", 0644);
    put(fixture, "/d/stray", "", 0644);
    put(fixture, "/d/sub/stray", "", 0644);
    put(fixture, "/d/cache/x", "", 0644);
    use_file(fixture, "file.directory", "/d");
    set_param(fixture, "clean", value_bool(true));
    List *keep = list_new(&fixture->arena, 1);
    list_push(&fixture->arena, keep, value_string(STR("ca*")));
    set_param(fixture, "keep", value_list(keep));
    fixture->claim = "/d/mine";
    assert_true(plan(fixture));
    assert_int_equal(fixture->outcome.changes->len, 2);
    assert_int_equal(info_of(fixture, "/d/stray").kind, FILE_REGULAR);
    changes_once(fixture);
    assert_int_equal(info_of(fixture, "/d/mine").kind, FILE_REGULAR);
    assert_int_equal(info_of(fixture, "/d/cache/x").kind, FILE_REGULAR);
    assert_int_equal(info_of(fixture, "/d/stray").kind, FILE_ABSENT);
    assert_int_equal(info_of(fixture, "/d/sub").kind, FILE_ABSENT);
}

/* --- symlink, absent, copy ------------------------------------------------------------------ */

static void a_link_has_the_requested_target(void **state)
{
    Fixture *fixture = *state;
    Str target;
    use_file(fixture, "file.symlink", "/a/l");
    set_text(fixture, "target", "one");
    changes_once(fixture);
    set_text(fixture, "target", "two");
    changes_once(fixture);
    assert_true(
        host_read_link(fixture->host, &fixture->arena, STR("/a/l"), &target, &fixture->err));
    assert_str(target, "two");
    put(fixture, "/a/f/inside", "", 0644);
    set_text(fixture, "name", "/a/f");
    assert_false(check(fixture));
    assert_string_equal(fixture->err.text,
                        "/a/f is a directory, not a symlink; set 'force: true' to replace it");
    set_param(fixture, "force", value_bool(true));
    changes_once(fixture);
}

static void removes_existing_files(void **state)
{
    Fixture *fixture = *state;
    put(fixture, "/d/e/f", "", 0644);
    use_file(fixture, "file.absent", "/d");
    changes_once(fixture);
    assert_str(fixture->outcome.state, "absent");
    assert_int_equal(fixture->kept, 1);
    set_text(fixture, "name", "/");
    assert_false(check(fixture));
}

static void copies_content_and_mode(void **state)
{
    Fixture *fixture = *state;
    put(fixture, "/a", "text", 0751);
    use_file(fixture, "file.copy", "/b");
    set_text(fixture, "source", "/a");
    changes_once(fixture);
    assert_string_equal(text_of(fixture, "/b"), "text");
    assert_int_equal(info_of(fixture, "/b").mode, 0751);
    put(fixture, "/a", "other", 06751); /* of a user who wants a copy that runs as root */
    changes_once(fixture);
    assert_int_equal(info_of(fixture, "/b").mode, 0751);
    set_text(fixture, "source", "/none");
    assert_true(plan(fixture));
    assert_true(fixture->outcome.unknown);
    assert_false(check(fixture));
}

/* --- line and block ------------------------------------------------------------------------- */

static void edits(Fixture *fixture, const char *before, const char *after)
{
    put(fixture, "/f", before, 0640);
    if (strcmp(before, after) == 0) {
        assert_true(run(fixture));
        assert_false(fixture->outcome.changed);
    } else {
        changes_once(fixture);
    }
    assert_string_equal(text_of(fixture, "/f"), after);
    assert_int_equal(info_of(fixture, "/f").mode, 0640);
}

static void a_line_is_put_replaced_and_removed(void **state)
{
    Fixture *fixture = *state;
    use_file(fixture, "file.line", "/f");
    set_text(fixture, "state", "present");
    set_text(fixture, "line", "Port 22");
    edits(fixture, "", "Port 22\n");
    edits(fixture, "a\nPort 22\nb\n", "a\nPort 22\nb\n");
    edits(fixture, "a\n", "a\nPort 22\n");
    edits(fixture, "a", "a\nPort 22\n");
    edits(fixture, "Port 22", "Port 22");
    set_text(fixture, "match", "^#?Port ");
    edits(fixture, "#Port 1\nx\nPort 2\ny\n", "#Port 1\nx\nPort 22\ny\n");
    set_text(fixture, "after", "^x");
    edits(fixture, "a\nx1\nx2\nb\n", "a\nx1\nx2\nPort 22\nb\n");
    edits(fixture, "a\n", "a\nPort 22\n");
    set_param(fixture, "after", value_missing());
    set_text(fixture, "before", "^x");
    edits(fixture, "a\nx1\nx2\nb\n", "a\nPort 22\nx1\nx2\nb\n");
    set_text(fixture, "state", "absent");
    edits(fixture, "a\nPort 22\n#Port 1\nb\n", "a\nb\n");
    set_param(fixture, "match", value_missing());
    edits(fixture, "Port 22\n#Port 1\nPort 22\n", "#Port 1\n");
    set_text(fixture, "line", "two\nlines");
    assert_false(check(fixture));
    set_text(fixture, "line", "x");
    set_text(fixture, "match", "(");
    assert_false(check(fixture));
    assert_int_equal(strncmp(fixture->err.text, "match: invalid pattern '('", 26), 0);
}

static void newlines_are_preserved(void **state)
{
    Fixture *fixture = *state;
    use_file(fixture, "file.line", "/f");
    set_text(fixture, "line", "b");
    edits(fixture, "a\r\nc\r\n", "a\r\nc\r\nb\r\n");
    edits(fixture, "a\r\nc", "a\r\nc\r\nb\r\n");
    edits(fixture, "a\r\nc\n", "a\r\nc\nb\n");
    edits(fixture, "a\r", "a\r\nb\n");
    put(fixture, "/f", "a\r\nb\r\nc", 0644);
    assert_true(check(fixture));
    assert_false(fixture->outcome.changed);
    set_text(fixture, "state", "absent");
    edits(fixture, "a\r\nb\r\nc\r\n", "a\r\nc\r\n");
}

static void lines_of_a_private_file_are_not_shown(void **state)
{
    Fixture *fixture = *state;
    put(fixture, "/f", "password=hush\n", 0640);
    use_file(fixture, "file.line", "/f");
    set_text(fixture, "line", "b");
    assert_true(check(fixture));
    assert_str(fixture->outcome.diff, "/f: changed (private)\n");
    changes_once(fixture);
    assert_int_equal(info_of(fixture, "/f").mode, 0640);
}

static void a_line_of_a_missing_file(void **state)
{
    Fixture *fixture = *state;
    use_file(fixture, "file.line", "/none/f");
    set_text(fixture, "line", "x");
    set_text(fixture, "state", "absent");
    assert_true(run(fixture));
    assert_false(fixture->outcome.changed);
    set_text(fixture, "state", "present");
    assert_true(plan(fixture));
    assert_true(fixture->outcome.unknown);
    assert_false(run(fixture));
    set_param(fixture, "create", value_bool(true));
    changes_once(fixture);
    assert_string_equal(text_of(fixture, "/none/f"), "x\n");
}

static void a_block_is_written_between_its_markers(void **state)
{
    Fixture *fixture = *state;
    use_file(fixture, "file.block", "/f");
    set_text(fixture, "state", "present");
    set_text(fixture, "marker", "# {mark} ours");
    set_text(fixture, "content", "one\n\ntwo\n");
    edits(fixture, "a\n", "a\n# BEGIN ours\none\n\ntwo\n# END ours\n");
    edits(fixture, "a\n# BEGIN ours\nold\n# END ours\nb\n",
          "a\n# BEGIN ours\none\n\ntwo\n# END ours\nb\n");
    set_text(fixture, "before", "^a");
    edits(fixture, "a\n", "# BEGIN ours\none\n\ntwo\n# END ours\na\n");
    set_text(fixture, "content", "");
    edits(fixture, "# BEGIN ours\nold\n# END ours\na\n", "# BEGIN ours\n# END ours\na\n");
    set_text(fixture, "state", "absent");
    edits(fixture, "a\n# BEGIN ours\nold\n# END ours\nb\n", "a\nb\n");
    put(fixture, "/f", "# BEGIN ours\nold\n", 0640);
    assert_false(check(fixture));
    assert_string_equal(fixture->err.text,
                        "/f contains the line '# BEGIN ours' without its counterpart");
    set_text(fixture, "marker", "# ours");
    assert_false(check(fixture));
}

static void claims_list_what_it_manages_and_needs(void **state)
{
    Fixture *fixture = *state;
    List *claims = list_new(&fixture->arena, 4);
    use_file(fixture, "file.managed", "/etc/motd");
    set_text(fixture, "owner", "web");
    set_text(fixture, "group", "www");
    fixture->call.action->claims(&fixture->arena, fixture->params, claims);
    assert_int_equal(claims->len, 3);
    assert_str(value_str(claims->items[0]), "path:/etc/motd");
    assert_str(value_str(claims->items[1]), "needs:user:web");
    assert_str(value_str(claims->items[2]), "needs:group:www");
    use_file(fixture, "file.absent", "/x");
    fixture->call.action->claims(&fixture->arena, fixture->params, claims);
    assert_str(value_str(claims->items[3]), "drops:path:/x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_ROOT(creates_a_file_and_its_directories),
        IN_ROOT(without_parents_a_missing_directory_is_a_failure),
        IN_ROOT(a_link_to_nowhere_is_no_directory),
        IN_ROOT(a_file_is_no_directory),
        IN_ROOT(changes_content_and_keeps_the_mode),
        IN_ROOT(private_content_is_not_shown),
        IN_ROOT(sets_owner_and_mode_alone),
        IN_ROOT(a_new_owner_leaves_the_set_id_bits),
        IN_ROOT(a_new_owner_does_not_get_the_set_id_bits_of_the_former),
        IN_ROOT(an_unknown_owner_fails_but_not_in_a_plan),
        IN_ROOT(secrets_are_not_shown),
        IN_ROOT(a_file_that_receives_a_secret_becomes_private),
        IN_ROOT(binary_content_is_described_by_size_and_hash),
        IN_ROOT(a_link_is_replaced_and_other_types_are_not),
        IN_ROOT(existing_content_can_be_kept),
        IN_ROOT(only_one_content_source_is_allowed),
        IN_ROOT(the_old_content_is_saved_next_to_it),
        IN_ROOT(a_command_validates_new_content),
        IN_ROOT(a_plan_validates_new_content_in_a_temporary_file),
        IN_ROOT(a_plan_that_changes_something_before_does_not_trust_a_validation),
        IN_ROOT(directory_names_are_not_run_by_the_shell),
        IN_ROOT(a_published_tree_is_placed_elsewhere),
        IN_ROOT(a_published_file_is_written_to_the_exact_name),
        IN_ROOT(a_published_file_has_no_set_id_bits),
        IN_ROOT(published_files_never_lead_out),
        IN_ROOT(contents_returns_the_text),
        IN_ROOT(creates_a_directory),
        IN_ROOT(a_missing_owner_is_a_change_in_a_plan),
        IN_ROOT(a_private_file_is_described_by_its_digest),
        IN_ROOT(recursion_applies_the_same_modes),
        IN_ROOT(no_link_leads_out_of_the_directory),
        IN_ROOT(cleaning_follows_no_link),
        IN_ROOT(cleaning_removes_unmanaged_files),
        IN_ROOT(a_link_has_the_requested_target),
        IN_ROOT(removes_existing_files),
        IN_ROOT(copies_content_and_mode),
        IN_ROOT(a_line_is_put_replaced_and_removed),
        IN_ROOT(newlines_are_preserved),
        IN_ROOT(lines_of_a_private_file_are_not_shown),
        IN_ROOT(a_line_of_a_missing_file),
        IN_ROOT(a_block_is_written_between_its_markers),
        IN_ROOT(claims_list_what_it_manages_and_needs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
