/* Whether and how etcd is started on a server, as a table of situations. */
#include "datastore/start_plan.h"
#include "unit.h"

#define CLUSTER "00000000000000c1"
#define OTHER   "00000000000000c2"
#define OWN_URL "https://10.0.0.1:2380"

enum {
    LISTED_MAX = 3
};

static const EtcdMember own = { .id = 0xa1, .name = STR("web1"), .peer_url = STR(OWN_URL) };
static const EtcdMember added = { .id = 0xa2, .peer_url = STR(OWN_URL), .is_learner = true };
static const EtcdMember other = { .id = 0xb1,
                                  .name = STR("web2"),
                                  .peer_url = STR("https://10.0.0.2:2380") };

#define MARKED(what, cluster, member)           \
    {                                           \
        what, "web1", cluster, member, "3.4.23" \
    }

typedef struct Case {
    const char *name;
    bool has_marker;
    Marker marker;
    bool has_data, is_new_cluster, lacks_log;
    const EtcdMember *listed[LISTED_MAX]; /* none: no member has responded */
    StartAction action;
    const char *why;
} Case;

static const Case cases[] = {
    { "the first server creates a cluster", .is_new_cluster = true, .action = START_CREATE },
    { "another server waits for a member that responds", .action = START_WAIT,
      .why = "no member of the datastore is responding" },
    { "it waits until it was added", .listed = { &other }, .action = START_WAIT,
      .why = "this server is not a member of the datastore yet" },
    { "it does not create a second cluster", .is_new_cluster = true, .listed = { &other },
      .action = START_WAIT, .why = "this server is not a member of the datastore yet" },
    { "it joins once it was added", .listed = { &other, &added }, .action = START_JOIN },
    { "a member that had data is not started without", .listed = { &other, &own },
      .action = START_WAIT,
      .why = "the data of this server's member is lost; the member must be replaced first" },
    { "data of somebody else is left alone", .has_data = true, .is_new_cluster = true,
      .action = START_REFUSE,
      .why = "the data directory of etcd is not empty, and was not written by this server" },
    { "data of another node is left alone",
      true,
      { MARKER_MEMBER, "web9", CLUSTER, "00000000000000a1", "3.4.23" },
      true,
      .action = START_REFUSE,
      .why = "the data of etcd belongs to node 'web9'" },
    { "a member starts again", true, MARKED(MARKER_MEMBER, CLUSTER, "00000000000000a1"), true,
      .listed = { &own, &other }, .action = START_EXISTING },
    { "after an outage of all members, each starts again", true,
      MARKED(MARKER_MEMBER, CLUSTER, "00000000000000a1"), true, .action = START_EXISTING },
    { "a removed member is archived", true, MARKED(MARKER_MEMBER, CLUSTER, "00000000000000a9"),
      true, .listed = { &own, &other }, .action = START_ARCHIVE },
    { "a removed member stays removed", true, MARKED(MARKER_REMOVED, CLUSTER, "00000000000000a1"),
      true, .action = START_ARCHIVE },
    { "what is left of a removed member is forgotten", true,
      MARKED(MARKER_REMOVED, CLUSTER, "00000000000000a1"), .action = START_REMOVE_MARKER },
    { "data of another cluster is left alone", true,
      MARKED(MARKER_MEMBER, OTHER, "00000000000000a1"), true, .listed = { &own },
      .action = START_REFUSE,
      .why = "the data belongs to the etcd cluster " OTHER ", not to " CLUSTER },
    { "data of a newer etcd is left alone",
      true,
      { MARKER_MEMBER, "web1", CLUSTER, "00000000000000a1", "3.5.0" },
      true,
      .listed = { &own },
      .action = START_REFUSE,
      .why =
          "the data was last used by etcd 3.5.0, which is newer than the installed etcd 3.4.30" },
    { "a later patch level is not newer",
      true,
      { MARKER_MEMBER, "web1", CLUSTER, "00000000000000a1", "3.4.99" },
      true,
      .listed = { &own },
      .action = START_EXISTING },
    { "a member that has lost its data is forgotten", true,
      MARKED(MARKER_MEMBER, CLUSTER, "00000000000000a1"), .listed = { &own },
      .action = START_REMOVE_MARKER },
    { "it is forgotten even if nobody responds", true,
      MARKED(MARKER_MEMBER, CLUSTER, "00000000000000a1"), .action = START_REMOVE_MARKER },
    { "an interrupted join is repeated", true, MARKED(MARKER_JOINING, CLUSTER, "00000000000000a2"),
      .listed = { &other, &added }, .action = START_JOIN },
    { "it waits for a member that responds", true,
      MARKED(MARKER_JOINING, CLUSTER, "00000000000000a2"), .action = START_WAIT,
      .why = "no member of the datastore is responding" },
    { "it is not repeated by a member that has been started", true,
      MARKED(MARKER_JOINING, CLUSTER, "00000000000000a1"), .listed = { &own },
      .action = START_REMOVE_MARKER },
    { "a join that was taken back is forgotten", true,
      MARKED(MARKER_JOINING, CLUSTER, "00000000000000a2"), .listed = { &other },
      .action = START_REMOVE_MARKER },
    { "a join that has written data goes on", true,
      MARKED(MARKER_JOINING, CLUSTER, "00000000000000a2"), true, .listed = { &other, &added },
      .action = START_EXISTING },
    { "a join that was interrupted before there was a log is repeated", true,
      MARKED(MARKER_JOINING, CLUSTER, "00000000000000a2"), true, .lacks_log = true,
      .listed = { &other, &added }, .action = START_JOIN },
    { "a member whose log is lost is archived", true,
      MARKED(MARKER_MEMBER, CLUSTER, "00000000000000a1"), true, .lacks_log = true,
      .listed = { &own, &other }, .action = START_ARCHIVE },
    { "a creation that was interrupted before there was a log is repeated",
      true,
      { MARKER_CREATING, "web1", "", "", "3.4.23" },
      true,
      .lacks_log = true,
      .is_new_cluster = true,
      .action = START_CREATE },
    { "an interrupted creation is repeated",
      true,
      { MARKER_CREATING, "web1", "", "", "3.4.23" },
      .is_new_cluster = true,
      .action = START_CREATE },
    { "a creation that has written data goes on",
      true,
      { MARKER_CREATING, "web1", "", "", "3.4.23" },
      true,
      .is_new_cluster = true,
      .action = START_EXISTING },
};

static void situations_lead_to_these_steps(void **state)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const Case *test = &cases[i];
        EtcdMember items[LISTED_MAX];
        EtcdMembers members = { items, 0 };
        while (members.count < LISTED_MAX && test->listed[members.count] != NULL) {
            items[members.count] = *test->listed[members.count];
            members.count++;
        }
        StartView view = { .node = STR("web1"),
                           .peer_url = STR(OWN_URL),
                           .version = STR("3.4.30"),
                           .is_new_cluster = test->is_new_cluster,
                           .has_data = test->has_data,
                           .has_wal = test->has_data && !test->lacks_log,
                           .marker = test->has_marker ? &test->marker : NULL,
                           .members = members.count == 0 ? NULL : &members,
                           .cluster_id = 0xc1 };
        StartStep step;
        start_plan(&view, &step);
        if (step.action != test->action ||
            strcmp(step.why, test->why == NULL ? "" : test->why) != 0) {
            fail_msg("%s: got action %d, \"%s\"", test->name, (int)step.action, step.why);
        }
        assert_true(step.action != START_JOIN || step.member == 0xa2);
    }
}

static void markers_are_read_as_they_were_written(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    const Marker marker = MARKED(MARKER_JOINING, CLUSTER, "00000000000000a1");
    Marker read;
    Error err;
    marker_print(&marker, &text);
    assert_true(marker_read(&arena, buf_str(&text), &read, &err));
    assert_int_equal(read.state, MARKER_JOINING);
    assert_string_equal(read.node, "web1");
    assert_string_equal(read.cluster_id, CLUSTER);
    assert_string_equal(read.member_id, "00000000000000a1");
    assert_string_equal(read.version, "3.4.23");
    static const char *const invalid[] = {
        "",
        "{\"format\":\"eden.datastore/1\",\"state\":\"member\",\"node\":\"a\",\"version\":\"3.4\"}",
        "{\"format\":\"eden.datastore/1\",\"state\":\"lost\",\"node\":\"a\",\"version\":\"3.4\"}",
        "{\"format\":\"eden.datastore/1\",\"state\":\"member\",\"node\":\"a\",\"version\":\"3.4\","
        "\"clusterId\":\"1\",\"memberId\":\"" CLUSTER "\"}",
    };
    for (size_t i = 0; i < COUNT_OF(invalid); i++) {
        if (marker_read(&arena, str_from_c(invalid[i]), &read, &err)) {
            fail_msg("%s", invalid[i]);
        }
    }
}

static void versions_from_3_4_on_are_supported(void **state)
{
    static const struct {
        const char *output, *version, *why;
    } rows[] = {
        { "etcd Version: 3.4.23\nGit SHA: Not provided\n", "3.4.23", NULL },
        { "warning\netcd Version: 3.5.0-rc.1\n", "3.5.0-rc.1", NULL },
        { "etcd Version: 3.3.27\n", NULL, "etcd 3.3.27 is not supported" },
        { "etcd Version: 4.0.0\n", NULL, "etcd 4.0.0 is not supported" },
        { "etcd Version: 3\n", NULL, "cannot determine the version" },
        { "etcd Version: x.y.z\n", NULL, "cannot determine the version" },
        { "", NULL, "cannot determine the version" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char version[ETCD_VERSION_MAX + 1];
        Error err;
        bool ok = etcd_version_parse(str_from_c(rows[i].output), version, &err);
        assert_int_equal(ok, rows[i].version != NULL);
        if (ok) {
            assert_string_equal(version, rows[i].version);
        } else {
            assert_true(strstr(err.text, rows[i].why) != NULL);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(situations_lead_to_these_steps),
        cmocka_unit_test(markers_are_read_as_they_were_written),
        cmocka_unit_test(versions_from_3_4_on_are_supported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
