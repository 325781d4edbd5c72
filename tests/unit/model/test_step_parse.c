#include "model/site_fixture.h"

/* The result of a steps file named t.yaml. */
static void check_problems(const char *text, const char *expected)
{
    TestFile files[] = { { "t.yaml", text }, { 0 } };
    __attribute__((cleanup(auto_clear_TestSite))) TestSite site;
    test_site_open(&site, files);
    site.load.lint = true;
    site.ok = site_load_file(&site.load, STR("t.yaml"), &site.site);
    test_site_expand(&site);
    AUTO_CLEAR(Buf) told = buf_make(BUF_UNLIMITED);
    test_site_reported(&site, &told);
    if (!str_eq_c(buf_str(&told), expected)) {
        fail_msg("%s\ntells\n%s\nexpected\n%s", text, told.len > 0 ? buf_c(&told) : "", expected);
    }
    assert_int_equal(site.ok, site.problems.errors == 0);
}

static void all_forms_of_a_step_mean_the_same(void **state)
{
    static const char *const forms[] = {
        "steps:\n"
        "- name: start vnstat\n"
        "  action: service.ensure\n"
        "  parameters:\n"
        "    - state: started\n"
        "    - name: vnstat\n"
        "    - require:\n"
        "      - service: other\n",
        "steps:\n"
        "- name: start vnstat\n"
        "  spec:\n"
        "    action: service.ensure\n"
        "    parameters: {state: started, name: vnstat}\n"
        "    require: [{service: other}]\n",
        "metadata: {apiVersion: v1alpha, kind: Job, name: t}\n"
        "spec:\n"
        "  runOptions:\n"
        "  steps:\n"
        "  - name: start vnstat\n"
        "    service.ensure:\n"
        "      - state: started\n"
        "      - name: vnstat\n"
        "    require:\n"
        "      - service: other\n",
        "spec:\n"
        "  steps:\n"
        "  - metadata: {name: start vnstat}\n"
        "    spec:\n"
        "      service.ensure: {state: started, name: vnstat, require: [{service: other}]}\n",
    };
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        TestFile files[] = { { "t.yaml", forms[i] }, { 0 } };
        __attribute__((cleanup(auto_clear_TestSite))) TestSite site;
        test_site_steps(&site, files);
        assert_reported(&site, "");
        assert_true(site.ok);
        assert_int_equal(site.steps.count, 1);
        const Step *step = &site.steps.items[0];
        assert_str(step->id, "t#start vnstat");
        assert_string_equal(step->spec->action->name, "ensure");
        assert_str(value_str(step->values[0]), "vnstat");
        assert_str(value_str(step->values[1]), "started");
        assert_int_equal(step->id_count, 1);
        assert_str(step->ids[0], "vnstat");
        assert_int_equal(step->spec->requisite_count, 1);
        assert_int_equal(step->spec->requisites[0].kind, REQUISITE_REQUIRE);
        assert_int_equal(step->spec->requisites[0].reference, REFERENCE_MODULE);
        assert_str(step->spec->requisites[0].pattern, "other");
    }
}

static void unnamed_steps_are_called_by_action_and_id(void **state)
{
    TestFile files[] = { { "dir/t.yaml", "steps:\n"
                                         "- cmd.run: [{cmd: ls -l}]\n"
                                         "- pkg.installed: {pkgs: [a, {b: 1.10}]}\n"
                                         "- time.sleep: {time: 5}\n"
                                         "- file.managed: {name: /etc//motd}\n" },
                         { 0 } };
    __attribute__((cleanup(auto_clear_TestSite))) TestSite site;
    test_site_steps(&site, files);
    assert_reported(&site, "");
    assert_str(site.steps.items[0].id, "t#cmd.run ls -l");
    assert_str(site.steps.items[1].name, "pkg.installed a, b");
    assert_int_equal(site.steps.items[1].id_count, 2);
    assert_str(site.steps.items[1].ids[1], "b");
    assert_str(site.steps.items[2].name, "time.sleep");
    assert_int_equal(site.steps.items[2].values[0].integer, 5000);
    assert_int_equal(site.steps.items[3].id_count, 2);
    assert_str(site.steps.items[3].ids[0], "/etc/motd");
    assert_str(site.steps.items[3].ids[1], "/etc//motd");
    assert_int_equal(site.steps.items[3].values[2].integer, 0644);
    assert_str(value_str(site.steps.items[3].claims->items[0]), "path:/etc/motd");
}

static void all_fields_of_a_step_are_parsed(void **state)
{
    TestFile files[] = { { "t.yaml", "runOptions:\n"
                                     "  timeout: 1m\n"
                                     "  sync: true\n"
                                     "steps:\n"
                                     "- name: a\n"
                                     "  action: cmd.run\n"
                                     "  parameters:\n"
                                     "    cmd: [ls, -l]\n"
                                     "    order: 7\n"
                                     "    env: [{A: 1}]\n"
                                     "  conditions:\n"
                                     "    when: {condition: 1 == 1}\n"
                                     "    success:\n"
                                     "      condition: step.ExitCode == 0\n"
                                     "    continue:\n"
                                     "      condition: true\n"
                                     "      retry: {interval: 15s, limit: 20}\n"
                                     "  runOptions:\n"
                                     "    sync: false\n"
                                     "    serialize: {count: 2, failAfterAllTargetsRan: true}\n"
                                     "    target: {hosts: ['role=db', web01], limit: 1}\n"
                                     "    retry: {limit: 3, until: step.Changed}\n"
                                     "    consistency: eventual\n"
                                     "    failAfterAllTargetsRan: true\n"
                                     "  onfail_all: [{step: b}, {job: 'x*'}]\n"
                                     "  watch_in: [{cmd: c}]\n"
                                     "  require_any:\n"
                                     "- name: b\n"
                                     "  cmd.run: {cmd: true}\n"
                                     "  order: last\n"
                                     "- cmd.run: {cmd: c}\n"
                                     "  runOptions: {serialize: {percent: 25%}}\n" },
                         { 0 } };
    __attribute__((cleanup(auto_clear_TestSite))) TestSite site;
    test_site_steps(&site, files);
    assert_reported(&site, "");
    const StepSpec *a = site.steps.items[0].spec;
    assert_int_equal(a->order, ORDER_NUMBER);
    assert_int_equal(a->order_number, 7);
    assert_true(a->when->is_set && a->success->is_set && a->proceed->is_set);
    assert_int_equal(a->proceed->retry.interval_ms, 15000);
    assert_int_equal(a->proceed->retry.limit, 20);
    assert_false(a->run->sync);
    assert_true(a->run->eventual && a->run->fail_after_all_ran);
    assert_int_equal(a->run->timeout_ms, 60000);
    assert_int_equal(a->run->serialize.count, 2);
    assert_true(a->run->serialize.fail_after_all_ran);
    assert_int_equal(a->run->serialize.max_failures, -1);
    assert_int_equal(a->run->target_count, 2);
    assert_int_equal(a->run->target_limit, 1);
    assert_int_equal(a->run->retry.limit, 3);
    assert_int_equal(a->run->retry.until.kind, DYNAMIC_EXPRESSION);
    assert_int_equal(a->requisite_count, 3);
    assert_true(a->requisites[0].all);
    assert_int_equal(a->requisites[1].reference, REFERENCE_JOB);
    assert_true(a->requisites[2].in);
    assert_int_equal(a->requisites[2].kind, REQUISITE_WATCH);
    const StepSpec *b = site.steps.items[1].spec;
    assert_int_equal(b->order, ORDER_LAST);
    assert_true(b->run->sync);
    assert_str(value_str(b->values[0]), "true");
    assert_int_equal(site.steps.items[2].spec->run->serialize.percent, 25);
}

static void problems_of_a_step_have_locations(void **state)
{
    static const TestFile rows[] = {
        { "steps:\n- nme: x\n  action: cmd.run\n  parameters: {cmd: a}\n",
          "E0302 t.yaml:2:3 unknown key 'nme' in a step | did you mean 'name'?\n" },
        { "stepz: []\n",
          "E0302 t.yaml:1:1 unknown key 'stepz' in a job | did you mean 'steps'?\n" },
        { "- name: x\n", "E0303 t.yaml:1:1 a job must be a map, not a list | put the steps under "
                         "'steps:'\n" },
        { "steps: {a: b}\n", "E0303 t.yaml:1:8 'steps' must be a list, not a map | begin each item "
                             "of the list with '- '\n" },
        { "steps:\n- do it\n", "E0303 t.yaml:2:3 a step must be a map, not a string | a step is an "
                               "action with its parameters: 'cmd.run: {cmd: ...}'\n" },
        { "steps:\n- name: x\n", "E0304 t.yaml:2:3 a step requires 'action' | add a line such as "
                                 "'action: file.managed'; 'eden explain' lists all actions\n" },
        { "steps:\n- action: file.manged\n  parameters: {name: /a}\n",
          "E0305 t.yaml:2:11 unknown action 'file.manged' | did you mean 'file.managed'?\n" },
        { "steps:\n- fil.managed: {name: /a}\n",
          "E0305 t.yaml:2:3 unknown action 'fil.managed' | did you mean 'file.managed'?\n" },
        { "steps:\n- action: file\n",
          "E0305 t.yaml:2:11 'file' is a module; add the name of an action | available: "
          "file.managed, file.content\n" },
        { "steps:\n- action: pkg.instaled\n  parameters:\n  - onchages: []\n  - require: x\n",
          "E0305 t.yaml:2:11 unknown action 'pkg.instaled' | did you mean 'pkg.installed'?\n"
          "E0312 t.yaml:5:14 'require' must be a list of references, not a string | write '[{step: "
          "x}]', or '- step: x' on the next line\n" },
        { "steps:\n- cmd.run: {cmd: a, timout: 5s}\n",
          "E0306 t.yaml:2:21 'cmd.run' has no parameter 'timout' | did you mean 'timeout'?\n" },
        { "steps:\n- cmd.run:\n  - cmd: a\n  - onchages:\n    - cmd: b\n",
          "E0306 t.yaml:4:5 'cmd.run' has no parameter 'onchages' | did you mean 'onchanges'?\n" },
        { "steps:\n- file.managed:\n  - content: a\n",
          "E0307 t.yaml:2:3 'file.managed' requires the parameter 'name' | add 'name: ...' "
          "(path)\n" },
        { "steps:\n- file.managed: {name: etc/motd, mode: 999}\n",
          "E0308 t.yaml:2:24 'name' must be an absolute path, not 'etc/motd'\n"
          "E0308 t.yaml:2:40 'mode' must be a file mode in octal digits, 0 to 7, such as '0644', "
          "not "
          "999\n" },
        { "steps:\n- service.ensure: {name: a, state: runing}\n",
          "E0308 t.yaml:2:36 'state' must be 'started' or 'stopped', not 'runing'\n" },
        { "steps:\n- file.managed: {name: /a, source: motd}\n",
          "E0301 t.yaml:2:36 file 'files/motd' not found in the site\n" },
        { "steps:\n- file.managed: {name: /a, from: [{step: b}]}\n",
          "E0308 t.yaml:2:34 this must be a list of steps that publish files | write '[{file: NAME "
          "OF THE STEP}]'\n" },
        { "steps:\n- {name: a, cmd.run: {cmd: x}}\n- {name: a, cmd.run: {cmd: y}}\n",
          "E0309 t.yaml:3:10 duplicate step name 'a' in this file | the other one is on line "
          "2\n" },
        { "steps:\n- cmd.run: {cmd: x}\n- cmd.run: {cmd: x}\n",
          "E0309 t.yaml:3:3 duplicate step name 'cmd.run x' in this file | the other one is on "
          "line 2\n" },
        { "steps:\n- name: a\n  action: cmd.run\n  cmd.run: {cmd: x}\n",
          "E0310 t.yaml:4:3 a step can have only one action; this is a second one | "
          "use either 'action' and 'parameters', or this form\n"
          "E0307 t.yaml:3:11 'cmd.run' requires the parameter 'cmd' | add 'cmd: ...' (what to "
          "run)\n" },
        { "steps:\n- cmd.run:\n  - cmd: a\n  - cmd: b\n",
          "E0310 t.yaml:4:5 parameter 'cmd' is given twice | the other one is on line 3\n" },
        { "steps:\n- name: a\n  spec: {name: b, cmd.run: {cmd: x}}\n",
          "E0310 t.yaml:3:10 'name' is given twice | the other one is on line 2\n" },
        { "steps:\n- cmd.run:\n  - cmd: a\n    timeout: 5s\n",
          "E0303 t.yaml:4:5 an entry of 'parameters' must be a map with one key, not 2 | put a '-' "
          "before it\n" },
        { "steps:\n- cmd.run: ls\n", "E0303 t.yaml:2:12 parameters must be a map, or a list of "
                                     "maps with one key each, not a string | "
                                     "write '{cmd: ls}'\n" },
        { "steps:\n- cmd.run: a, b\n", "E0303 t.yaml:2:12 parameters must be a map, or a list of "
                                       "maps with one key each, not a string | "
                                       "write '{cmd: \"a, b\"}'\n" },
        { "steps:\n- name: 'a {{ b }}'\n  cmd.run: {cmd: x}\n",
          "E0315 t.yaml:2:9 'name' cannot contain a template | "
          "write a literal string; templates are allowed in parameters\n" },
        { "steps:\n- cmd.run: {cmd: '{{ 1 + }}'}\n",
          "E0201 t.yaml:2:24 unexpected 'end of template'\n" },
        { "steps:\n- cmd.run: {cmd: a}\n  order: soon\n",
          "E0303 t.yaml:3:10 'order' must be 'first', 'last' or a non-negative integer\n" },
        { "steps:\n- include: x\n  name: y\n",
          "E0302 t.yaml:2:3 an entry with 'include' cannot have other keys\n" },
        { "steps:\n- cmd.run: {cmd: a}\n  forEach: abc\n",
          "E0316 t.yaml:3:12 'forEach' requires a list or a map, not a string | write a list, such "
          "as "
          "[web, db]\n" },
        { "steps:\n- cmd.run: {cmd: a}\n  forEach: 'a {{ b }}'\n",
          "E0316 t.yaml:3:12 'forEach' requires a list or a map, not a string | a single '{{ "
          "expression "
          "}}' keeps its type\n" },
        { "steps:\n- cmd.run: {cmd: a}\n  forEach: {a: [\"{{ steps['x'].StdOut }}\"]}\n",
          "E0317 t.yaml:3:12 'forEach' must be known before the run, but this depends on the run | "
          "it can use variables, facts and macros, but not the results of steps\n" },
        { "jobs: []\nsteps: []\n",
          "E0322 t.yaml:2:1 a job contains either 'steps' or 'jobs', not both | 'jobs' is on line "
          "1; move the steps to a separate file and list it among the jobs\n" },
        { "steps: []\njobs: []\n",
          "E0322 t.yaml:2:1 a job contains either 'steps' or 'jobs', not both | 'steps' is on line "
          "1; move the steps to a separate file and list it among the jobs\n" },
        { "steps:\n- name: a\n  file.managed: {name: /a}\n  watch: [{cmd: b}]\n- cmd.run: {cmd: "
          "b}\n",
          "E0320 t.yaml:4:17 'file.managed' does not react to changes: here 'watch' is the same as "
          "'require' | write 'require'\n" },
        { "metadata: {knd: Job}\nspec: {steps: []}\nsteps: []\n",
          "E0302 t.yaml:3:1 unknown key 'steps' in a document with 'metadata' and 'spec' | "
          "allowed keys: metadata or spec\n"
          "E0302 t.yaml:1:12 unknown key 'knd' in 'metadata' | did you mean 'kind'?\n" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        check_problems(rows[i].path, rows[i].text);
    }
}

static void invalid_requisites_are_reported(void **state)
{
    static const TestFile rows[] = {
        { "{step: b}",
          "E0312 t.yaml:3:12 'require' must be a list of references, not a map | put '[' and ']' "
          "around it\n" },
        { "\n    step: b",
          "E0312 t.yaml:4:5 'require' must be a list of references, not a map | put a '-' before "
          "it\n" },
        { "b",
          "E0312 t.yaml:3:12 'require' must be a list of references, not a string | write '[{step: "
          "b}]', or '- step: b' on the next line\n" },
        { "[b]", "E0312 t.yaml:3:13 an entry of 'require' must be a map with one key, not a string "
                 "| write "
                 "'step: b'\n" },
        { "[{step: a, job: b}]", "E0312 t.yaml:3:23 an entry of 'require' must be a map with one "
                                 "key, not 2 | put a '-' before it\n" },
        { "[{}]", "E0312 t.yaml:3:13 an entry of 'require' must be a map with one key, not 0\n" },
        { "[{pgk: b}]", "E0314 t.yaml:3:14 unknown module 'pgk'; a reference is 'step: NAME', "
                        "'job: NAME' or 'MODULE: NAME' | did you mean 'pkg'?\n" },
        { "[{pkg.installed: b}]",
          "E0314 t.yaml:3:14 unknown module 'pkg.installed'; a reference is 'step: NAME', 'job: "
          "NAME' or 'MODULE: NAME' | use the module instead of the action: 'pkg: b'\n" },
        { "[{step: [b]}]",
          "E0312 t.yaml:3:20 a reference must be the name of a step, ID or job, not a list | "
          "write the name of the step that this one needs, or remove the entry\n" },
        { "[{step: ''}]",
          "E0312 t.yaml:3:20 a reference must be the name of a step, ID or job, not an empty "
          "string | write the name of the step that this one needs, or remove the entry\n" },
        { "[{step: }]",
          "E0312 t.yaml:3:14 a reference must be the name of a step, ID or job, not nothing | "
          "write the name of the step that this one needs, or remove the entry\n" },
        { "[{step: '{{ b }}'}]", "E0315 t.yaml:3:20 a reference cannot contain a template\n" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[200];
        snprintf(text, sizeof text, "steps:\n- cmd.run: {cmd: a}\n  require: %s\n", rows[i].path);
        check_problems(text, rows[i].text);
    }
}

static void invalid_conditions_and_options_are_reported(void **state)
{
    static const TestFile rows[] = {
        { "conditions: {wen: {condition: a}}",
          "E0302 t.yaml:3:16 unknown key 'wen' in 'conditions' | did you mean 'when'?\n" },
        { "conditions: {when: a == 1}",
          "E0303 t.yaml:3:22 a condition must be a map with the key 'condition' | write it as "
          "'condition: ...' on a separate line\n" },
        { "conditions: {when: {retry: {limit: 2}}}",
          "E0304 t.yaml:3:22 a condition needs 'condition'\n" },
        { "conditions: {when: {condition: '{{ a }}'}}",
          "E0318 t.yaml:3:34 braces are not needed: this is an expression already | remove the "
          "'{{' and '}}'\n" },
        { "conditions: {when: {condition: a ==}}",
          "E0201 t.yaml:3:36 unexpected 'end of template'\n" },
        { "conditions: {when: {condition: a, retry: {interval: soon, limit: -1}}}",
          "E0303 t.yaml:3:55 'interval' must be a duration in d, h, m, s or ms such as '15s' or "
          "'1h30m', not 'soon'\n"
          "E0303 t.yaml:3:68 'limit' must be a non-negative integer, not -1\n" },
        { "runOptions: {snyc: true}",
          "E0302 t.yaml:3:16 unknown key 'snyc' in 'runOptions' | did you mean 'sync'?\n" },
        { "runOptions: {sync: 1}",
          "E0303 t.yaml:3:22 'sync' must be true or false, not a number\n" },
        { "runOptions: {serialize: {}}",
          "E0304 t.yaml:3:27 'serialize' requires 'count' or 'percent'\n" },
        { "runOptions: {serialize: {count: 0}}",
          "E0303 t.yaml:3:35 'count' must be a positive integer\n" },
        { "runOptions: {serialize: {percent: 120%}}",
          "E0303 t.yaml:3:37 'percent' must be an integer from 1 to 100\n" },
        { "runOptions: {consistency: eventuall}",
          "E0303 t.yaml:3:29 'consistency' must be one of consistent|eventual, not 'eventuall' | "
          "did you mean 'eventual'?\n" },
        { "runOptions: {target: {hosts: ['(a']}}",
          "E0501 t.yaml:3:34 unmatched opening parenthesis | add ')'\n" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[200];
        snprintf(text, sizeof text, "steps:\n- cmd.run: {cmd: a}\n  %s\n", rows[i].path);
        check_problems(text, rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_forms_of_a_step_mean_the_same),
        cmocka_unit_test(unnamed_steps_are_called_by_action_and_id),
        cmocka_unit_test(all_fields_of_a_step_are_parsed),
        cmocka_unit_test(problems_of_a_step_have_locations),
        cmocka_unit_test(invalid_requisites_are_reported),
        cmocka_unit_test(invalid_conditions_and_options_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
