#include "model/expand.h"

#include "model/site_fixture.h"
#include "model/step_params.h"

#define TEST_SITE __attribute__((cleanup(auto_clear_TestSite))) TestSite

static void load_site(TestSite *site, const TestFile *files)
{
    test_site_open(site, files);
    site->ok = site_load(&site->load, &site->site);
    test_site_expand(site);
}

/* The ids of all steps, one per line. */
static void check_ids(const TestSite *site, const char *expected, int line)
{
    AUTO_CLEAR(Buf) ids = buf_make(BUF_UNLIMITED);
    for (uint32_t i = 0; i < site->steps.count; i++) {
        assert_int_equal(site->steps.items[i].index, i);
        buf_put(&ids, site->steps.items[i].id);
        buf_put_char(&ids, '\n');
    }
    check_str(buf_str(&ids), expected, __FILE__, line);
}
#define assert_ids(site, expected) check_ids((site), (expected), __LINE__)

static void jobs_are_chosen_by_selectors(void **state)
{
    static const TestFile files[] = {
        { "jobs/base.yaml", "jobs:\n"
                            "  '*':\n"
                            "    - name: timezone\n"
                            "  role=db: [{name: db}]\n"
                            "  role=web and !web02:\n"
                            "    - name: web/nginx\n"
                            "    - name: timezone\n"
                            "  \"server.kernel == 'linux'\": [{name: last}]\n"
                            "  role=nothing:\n" },
        { "jobs/timezone.yaml", "steps:\n- cmd.run: {cmd: tz}\n" },
        { "jobs/web/nginx.yaml",
          "steps:\n- cmd.run: {cmd: nginx}\n- {name: x, cmd.run: {cmd: y}}\n" },
        { "jobs/last.yaml", "" },
        { "jobs/db.yaml", "this is not even: [a job" },
        { 0 },
    };
    TEST_SITE site;
    test_site_open(&site, files);
    Map *server = map_new(&site.arena, 1);
    map_set_str(&site.arena, server, STR("kernel"), value_string(STR("linux")));
    map_set_str(&site.arena, site.scope, STR("server"), value_map(server));
    site.ok = site_load(&site.load, &site.site);
    test_site_expand(&site);
    assert_reported(&site, "");
    assert_true(site.ok);
    assert_ids(&site, "timezone#cmd.run tz\nweb/nginx#cmd.run nginx\nweb/nginx#x\n");
    assert_int_equal(site.steps.job_count, 3);
    assert_str(site.steps.jobs[2]->name, "last");
    assert_false(site_check_all(site.site));
}

static void nested_jobs_narrow_and_keep_their_conditions(void **state)
{
    static const TestFile files[] = {
        { "jobs/base.yaml", "jobs:\n"
                            "  role=web:\n"
                            "    - name: group\n"
                            "      conditions: {when: {condition: a == 1}}\n"
                            "    - name: open\n" },
        { "jobs/group.yaml",
          "jobs:\n"
          "  '*':\n"
          "    - name: one\n"
          "      conditions: {when: {condition: b == 1, retry: {interval: 15s}}}\n"
          "    - name: open\n"
          "  role=db: [{name: two}]\n" },
        { "jobs/one.yaml", "steps:\n- cmd.run: {cmd: '1'}\n" },
        { "jobs/two.yaml", "steps:\n- cmd.run: {cmd: '2'}\n" },
        { "jobs/open.yaml", "steps:\n- cmd.run: {cmd: '3'}\n" },
        { 0 },
    };
    TEST_SITE site;
    load_site(&site, files);
    assert_reported(&site, "");
    assert_ids(&site, "one#cmd.run 1\nopen#cmd.run 3\n");
    const Job *one = site.steps.items[0].spec->job;
    assert_int_equal(one->gate_count, 1);
    assert_true(one->gates[0]->when.is_set);
    assert_int_equal(one->gates[0]->when.retry.interval_ms, 15000);
    assert_non_null(one->gates[0]->outer);
    assert_null(one->gates[0]->outer->outer);
    /* Reached first under a condition and then without one: it always runs. */
    assert_int_equal(site.steps.items[1].spec->job->gate_count, 0);
    assert_int_equal(site.steps.group_count, 1);
    assert_str(site.steps.groups[0].name, "group");
    assert_int_equal(site.steps.groups[0].job_count, 2);
}

static void includes_are_expanded_in_place(void **state)
{
    static const TestFile files[] = {
        { "jobs/base.yaml", "jobs: [{name: main}]\n" },
        { "jobs/main.yaml", "include: [before]\n"
                            "steps:\n"
                            "- cmd.run: {cmd: a}\n"
                            "- include: middle\n"
                            "- cmd.run: {cmd: b}\n"
                            "- include: [middle, after]\n" },
        { "jobs/before.yaml", "steps:\n- cmd.run: {cmd: x}\n" },
        { "jobs/middle.yaml", "include: main\nsteps:\n- cmd.run: {cmd: y}\n" },
        { "jobs/after.yaml", "steps:\n- cmd.run: {cmd: z}\n" },
        { 0 },
    };
    TEST_SITE site;
    load_site(&site, files);
    assert_reported(&site, "");
    assert_ids(&site, "before#cmd.run x\nmain#cmd.run a\nmiddle#cmd.run y\nmain#cmd.run b\n"
                      "after#cmd.run z\n");
}

static void for_each_creates_a_step_per_item(void **state)
{
    static const TestFile files[] = {
        { "jobs/base.yaml", "jobs: [{name: t}]\n" },
        { "jobs/t.yaml", "steps:\n"
                         "- name: list\n"
                         "  forEach: [b, a, 7, {x: 1}]\n"
                         "  file.managed: {name: '/tmp/{{ item }}', owner: '{{ who }}'}\n"
                         "- name: map\n"
                         "  forEach: '{{ users }}'\n"
                         "  file.managed: {name: '/home/{{ item.key }}', content: '{{ item.value "
                         "}}'}\n"
                         "- name: none\n"
                         "  forEach: []\n"
                         "  cmd.run: {cmd: a}\n" },
        { 0 },
    };
    TEST_SITE site;
    test_site_open(&site, files);
    Map *users = map_new(&site.arena, 2);
    map_set_str(&site.arena, users, STR("eve"), value_int(1));
    map_set_str(&site.arena, users, STR("adam"), value_int(2));
    map_set_str(&site.arena, site.scope, STR("users"), value_map(users));
    map_set_str(&site.arena, site.scope, STR("who"), value_string(STR("web")));
    site.ok = site_load(&site.load, &site.site);
    test_site_expand(&site);
    assert_reported(&site, "");
    assert_ids(&site, "t#list[b]\nt#list[a]\nt#list[7]\nt#list[3]\nt#map[eve]\nt#map[adam]\n");
    const Step *first = &site.steps.items[0];
    assert_str(first->key, "b");
    assert_str(first->ids[0], "/tmp/b");
    assert_str(value_str(first->claims->items[0]), "path:/tmp/b");
    assert_str(value_str(first->values[3]), "web");
    const Step *eve = &site.steps.items[4];
    assert_str(eve->ids[0], "/home/eve");
    assert_true(value_is_missing(eve->values[1]));
    assert_int_equal(value_get(eve->item, STR("value"))->integer, 1);
}

static void ids_known_only_at_run_time_are_omitted(void **state)
{
    static const TestFile files[] = {
        { "jobs/base.yaml", "jobs: [{name: t}]\n" },
        { "jobs/t.yaml", "steps:\n"
                         "- name: a\n"
                         "  file.managed: {name: \"/tmp/{{ steps['b'].StdOut }}\"}\n"
                         "- name: b\n"
                         "  cmd.run: {cmd: ls}\n" },
        { 0 },
    };
    TEST_SITE site;
    load_site(&site, files);
    assert_reported(&site, "");
    assert_int_equal(site.steps.items[0].id_count, 0);
    assert_null(site.steps.items[0].claims);
}

static void errors_in_a_site_are_reported_all_at_once(void **state)
{
    static const TestFile files[] = {
        { "config.yaml", "config: {dataStore: {type: etdc}}\n"
                         "events: {triggers: {'*': [{name: updates}]}}\n" },
        { "variables/base.yaml",
          "files:\n"
          "  '*':\n"
          "    - name: comon\n"
          "    - {name: network, paths: ['{{ server.os }.yaml'], merge: al}\n"
          "    - network\n" },
        { "variables/common.yaml", "a: '{{ b'\n" },
        { "macros/base.yaml", "macro: {}\n" },
        { "macros/m.yaml", "a: {action: cmd.run}\nb: {expresion: 1}\nc: {expression: 1 +}\n"
                           "d: {cmd.run: [{cmd: ls}]}\n" },
        { "jobs/base.yaml", "jobs:\n"
                            "  'role=web':\n"
                            "    - name: wbe\n"
                            "    - name: ../etc\n"
                            "    - {name: web, conditions: {success: {condition: a}}}\n"
                            "  '(x': [{name: web}]\n" },
        { "jobs/web.yaml", "include: wep\nsteps:\n- file.managed: {name: '{{ nothing }}'}\n"
                           "- name: x\n  forEach: '{{ 7 }}'\n  cmd.run: {cmd: a}\n"
                           "- name: y\n  forEach: '{{ steps.x.items }}'\n  cmd.run: {cmd: a}\n"
                           "- name: z\n  forEach: [a, a]\n  cmd.run: {cmd: a}\n" },
        { "events/updates.yaml", "u:\n  expression: macros['pkg.uptodate']() != true\n  nme: u\n" },
        { "reactions/r.yaml", "reactions:\n"
                              "  prometheus/alert/x:\n"
                              "    reaction: {jobs: {'*': [{name: web}]}}\n"
                              "    triggerLimiter: {minOccurences: 2, reReactDealy: 5m}\n"
                              "  y: {reaction: {job: a}}\n" },
        { 0 },
    };
    TEST_SITE site;
    test_site_open(&site, files);
    site.load.lint = true;
    assert_false(site_load(&site.load, &site.site));
    test_site_expand(&site);
    assert_false(site.ok);
    assert_false(site_check_all(site.site));
    assert_reported(
        &site,
        "E0303 config.yaml:1:28 'type' must be one of etcd|sqlite, not 'etdc' | did you mean "
        "'etcd'?\n"
        "E0303 variables/base.yaml:4:62 'merge' must be one of first|all, not 'al' | did you mean "
        "'all'?\n"
        "E0201 variables/base.yaml:4:45 unexpected '}' | '{{' is closed by '}}'\n"
        "E0303 variables/base.yaml:5:7 an entry of 'files' must be a map, not a string | write "
        "'name: network'\n"
        "E0302 macros/base.yaml:1:1 unknown key 'macro' in macros/base.yaml | did you mean "
        "'macros'?\n"
        "E0303 jobs/base.yaml:4:13 a name must be the path of a file under this directory, without "
        "'.yaml'\n"
        "E0302 jobs/base.yaml:5:32 unknown key 'success' in 'conditions' of a job | allowed keys: "
        "when\n"
        "E0501 jobs/base.yaml:6:4 unmatched opening parenthesis | add ')'\n"
        "E0301 jobs/base.yaml:3:13 file 'jobs/wbe.yaml' not found | did you mean 'web'?\n"
        "E0317 jobs/web.yaml:8:12 'forEach' must be known before the run, but this depends on the "
        "run | it can use variables, facts and macros, but not the results of steps\n"
        "E0301 jobs/web.yaml:1:10 file 'jobs/wep.yaml' not found | did you mean 'web'?\n"
        "E0204 jobs/web.yaml:3:28 'nothing' is undefined\n"
        "E0316 jobs/web.yaml:5:12 'forEach' requires a list or a map, not a number | write a list, "
        "such as [web, db]\n"
        "E0316 jobs/web.yaml:11:12 'forEach' contains 'a' twice, so two steps would have the same "
        "name\n"
        "E0201 variables/common.yaml:1:8 unexpected end of template, expected 'end of print "
        "statement'.\n"
        "E0307 macros/m.yaml:1:13 'cmd.run' requires the parameter 'cmd' | add 'cmd: ...' (what to "
        "run)\n"
        "E0302 macros/m.yaml:2:5 unknown key 'expresion' in a macro | did you mean 'expression'?\n"
        "E0201 macros/m.yaml:3:19 unexpected 'end of template'\n"
        "E0302 events/updates.yaml:3:3 unknown key 'nme' in a trigger | did you mean 'name'?\n"
        "E0311 reactions/r.yaml:4:22 'minOccurences' is an old spelling of 'minOccurrences' | "
        "write 'minOccurrences'\n"
        "E0311 reactions/r.yaml:4:40 'reReactDealy' is an old spelling of 'reReactDelay' | write "
        "'reReactDelay'\n"
        "E0302 reactions/r.yaml:5:18 unknown key 'job' in 'reaction' | did you mean 'jobs'?\n"
        "E0301 variables/base.yaml:3:13 file 'variables/comon.yaml' not found | did you mean "
        "'common'?\n"
        "E0204 events/updates.yaml:2:22 macro 'pkg.uptodate' is not defined\n");
}

static void a_site_needs_jobs(void **state)
{
    static const TestFile files[] = { { "variables/base.yaml", "" }, { 0 } };
    TEST_SITE site;
    test_site_open(&site, files);
    assert_false(site_load(&site.load, &site.site));
    assert_reported(&site,
                    "E0301 jobs/base.yaml:0:0 file 'jobs/base.yaml' not found | every site has "
                    "this file, which assigns jobs to nodes:\n");
}

static void one_job_can_be_selected(void **state)
{
    static const TestFile files[] = {
        { "jobs/base.yaml", "jobs: {role=db: [{name: a}]}\n" },
        { "jobs/a.yaml", "include: b\nsteps:\n- cmd.run: {cmd: a}\n" },
        { "jobs/b.yaml", "steps:\n- cmd.run: {cmd: b}\n" },
        { 0 },
    };
    TEST_SITE site;
    test_site_open(&site, files);
    assert_true(site_load(&site.load, &site.site));
    Str only[] = { STR("a") };
    Expansion expansion = { .only_jobs = only, .only_job_count = 1 };
    assert_true(site_expand(site.site, &expansion, &site.steps));
    assert_ids(&site, "b#cmd.run b\na#cmd.run a\n");
    Str wrong[] = { STR("aa") };
    expansion.only_jobs = wrong;
    assert_false(site_expand(site.site, &expansion, &site.steps));
    assert_reported(&site, "E0301 jobs/aa.yaml:0:0 file 'jobs/aa.yaml' not found\n");
}

static void parameters_are_evaluated_for_the_module(void **state)
{
    static const TestFile files[] = {
        { "t.yaml", "steps:\n"
                    "- file.managed:\n"
                    "    name: /etc/motd\n"
                    "    content: 'hello {{ who }}'\n"
                    "    mode: '{{ mode }}'\n" },
        { 0 },
    };
    static const struct {
        const char *mode;
        DynamicOutcome outcome;
        const char *told;
    } rows[] = {
        { "0600", DYNAMIC_OK, "" },
        { "rw", DYNAMIC_FAILED,
          "E0308 t.yaml:5:11 'mode' must be a file mode in octal digits, 0 to 7, such as '0644', "
          "not "
          "'rw'\n" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        TEST_SITE site;
        test_site_open(&site, files);
        map_set_str(&site.arena, site.scope, STR("who"), value_string(STR("world")));
        map_set_str(&site.arena, site.scope, STR("mode"), value_string(str_from_c(rows[i].mode)));
        site.ok = site_load_file(&site.load, STR("t.yaml"), &site.site);
        test_site_expand(&site);
        Value params[ACTION_PARAMS_MAX];
        assert_int_equal(step_params_evaluate(&site.steps.items[0], test_evaluate_plain, &site,
                                              &site.sources, &site.arena, params, &site.problems),
                         rows[i].outcome);
        assert_reported(&site, rows[i].told);
        if (rows[i].outcome == DYNAMIC_OK) {
            assert_str(value_str(params[0]), "/etc/motd");
            assert_str(value_str(params[1]), "hello world");
            assert_int_equal(params[2].integer, 0600);
            assert_true(value_is_missing(params[3]));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_are_chosen_by_selectors),
        cmocka_unit_test(nested_jobs_narrow_and_keep_their_conditions),
        cmocka_unit_test(includes_are_expanded_in_place),
        cmocka_unit_test(for_each_creates_a_step_per_item),
        cmocka_unit_test(ids_known_only_at_run_time_are_omitted),
        cmocka_unit_test(errors_in_a_site_are_reported_all_at_once),
        cmocka_unit_test(a_site_needs_jobs),
        cmocka_unit_test(one_job_can_be_selected),
        cmocka_unit_test(parameters_are_evaluated_for_the_module),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
