#include "model/names.h"

#include "model/expand.h"
#include "model/site_fixture.h"

#define TEST_SITE __attribute__((cleanup(auto_clear_TestSite))) TestSite

/* The problems of a site with one step whose command is `cmd`. */
static void check_command(const char *cmd, const char *more, const char *expected)
{
    char job[500];
    snprintf(job, sizeof job, "steps:\n- name: a\n  cmd.run: {cmd: \"%s\"}\n%s", cmd, more);
    const TestFile files[] = {
        { "jobs/base.yaml", "jobs: {'*': [{name: web}]}\n" },
        { "jobs/web.yaml", job },
        { "variables/all.yaml", "company: Example\n" },
        { "macros/all.yaml", "url: {args: [host], expression: host}\n" },
        { 0 },
    };
    TEST_SITE site;
    test_site_open(&site, files);
    assert_true(site_load(&site.load, &site.site));
    bool ok = site_check_all(site.site);
    assert_int_equal(ok, expected[0] == '\0');
    assert_reported(&site, expected);
}

static void existing_names_are_accepted(void **state)
{
    check_command("{{ server.os }} {{ vars.x }} {{ eden.node }} {{ macros['url']('a') }}", "", "");
    check_command("{{ macros.url('a') }} {{ macros.items() }} {{ Server.Spec.FQDN }}", "", "");
    check_command("{{ range(3) | list }} {{ steps['b'].StdOut }}", "", "");
    check_command("{% for x in vars.l %}{{ x }}{{ loop.index }}{% endfor %}", "", "");
    check_command("{% set grains = {} %}{{ grains.id }}", "", "");
    check_command("{% macro m(a) %}{{ a }}{{ varargs }}{% endmacro %}{{ m(1) }}", "", "");
    check_command("{{ item }}", "  forEach: [1]\n", "");
    check_command("x", "  conditions: {success: {condition: step.ExitCode == 0}}\n", "");
}

static void guarded_names_are_accepted(void **state)
{
    check_command("{{ grains is defined }} {{ ansible_fqdn | default('x') }}", "", "");
    check_command("{% if grains is defined %}{{ grains.id }}{% endif %}", "", "");
    check_command("{{ macros['nope'] is defined }}", "", "");
}

static void unknown_names_are_reported(void **state)
{
    check_command("{{ company }}", "",
                  "E0204 jobs/web.yaml:3:22 'company' is undefined | did you mean "
                  "'vars.company'?\n");
    check_command("{{ sever.os }}", "",
                  "E0204 jobs/web.yaml:3:22 'sever' is undefined | did you mean 'server'?\n");
    check_command("{{ ansible_facts['fqdn'] }}", "",
                  "E0204 jobs/web.yaml:3:22 'ansible_facts['fqdn']' is undefined | write "
                  "'server.fqdn'\n");
    check_command("{{ macros['ulr']('a') }}", "",
                  "E0204 jobs/web.yaml:3:29 macro 'ulr' is not defined | did you mean 'url'?\n");
    check_command("{{ item }}", "",
                  "E0204 jobs/web.yaml:3:22 'item' is undefined: add 'forEach: [...]' to this "
                  "step\n");
    check_command("x", "  runOptions: {retry: {until: macros.nothing_alike}}\n",
                  "E0204 jobs/web.yaml:4:38 macro 'nothing_alike' is not defined\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(existing_names_are_accepted),
        cmocka_unit_test(guarded_names_are_accepted),
        cmocka_unit_test(unknown_names_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
