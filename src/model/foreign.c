#include "model/foreign.h"

#include "base/glob.h"

typedef struct ForeignRow {
    ForeignPlace place;
    const char *within;  /* a pattern; NULL: anywhere */
    const char *words;   /* "loop|with_items": patterns */
    const char *instead; /* what to do */
    const char *action;  /* which the hint is about: it must exist; NULL: none */
} ForeignRow;

#define STEP "a step"

static const ForeignRow rows[] = {
    /* Keys of a step. Ansible names a module by such a key too. */
    { FOREIGN_KEY, STEP, "when", "write 'conditions: {when: {condition: EXPRESSION}}'" },
    { FOREIGN_KEY, STEP, "unless|onlyif|creates|check_cmd",
      "only commands have guards: write 'conditions: {when: {condition: EXPRESSION}}'" },
    { FOREIGN_KEY, STEP, "register", "no need: steps['NAME'].StdOut and the like are there" },
    { FOREIGN_KEY, STEP, "loop|with_*|foreach|for_each",
      "write 'forEach: [..]' and use {{ item }}" },
    { FOREIGN_KEY, STEP, "names", "write 'forEach: [..]' and 'name: {{ item }}'" },
    { FOREIGN_KEY, STEP, "notify",
      "the step that shall follow names this one: 'onchanges', 'watch' or 'listen'" },
    { FOREIGN_KEY, STEP, "become|become_*|sudo|remote_user|runas",
      "steps act as whoever runs eden; a command has the parameter 'user'" },
    { FOREIGN_KEY, STEP, "tags", "put such steps into a job of their own and run it by '--job'" },
    { FOREIGN_KEY, STEP, "ignore_errors|failhard",
      "a failure stops nothing but the steps that require this one" },
    { FOREIGN_KEY, STEP, "changed_when",
      "a command that ran is changed; 'creates', 'unless' and 'onlyif' keep it from running" },
    { FOREIGN_KEY, STEP, "failed_when",
      "write 'conditions: {success: {condition: EXPRESSION}}', true when all is well" },
    { FOREIGN_KEY, STEP, "until|retries|delay|retry",
      "write 'runOptions: {retry: {interval: 5s, limit: 3, until: EXPRESSION}}'" },
    { FOREIGN_KEY, STEP, "async|poll|timeout", "write 'runOptions: {timeout: 5m}'" },
    { FOREIGN_KEY, STEP, "environment", "a command has the parameter 'env'" },
    { FOREIGN_KEY, STEP, "vars|defaults",
      "variables stand in variables/; a template has the parameter 'context'" },
    { FOREIGN_KEY, STEP, "import_*|include_*|block",
      "put the steps into a job of their own and name it under 'include'" },
    { FOREIGN_KEY, STEP, "copy", "write 'file.managed' with 'source' or 'content'" },
    { FOREIGN_KEY, STEP, "template", "write 'file.managed' with 'template'" },
    { FOREIGN_KEY, STEP, "file", "write 'file.directory', 'file.symlink' or 'file.absent'" },
    { FOREIGN_KEY, STEP, "shell|command|raw", "write 'cmd.run' with 'cmd'" },
    { FOREIGN_KEY, STEP, "script", "write 'cmd.script' with 'source'" },
    { FOREIGN_KEY, STEP, "lineinfile|replace", "write 'file.line' with 'match' and 'line'" },
    { FOREIGN_KEY, STEP, "blockinfile", "write 'file.block' with 'content'" },
    { FOREIGN_KEY, STEP, "set_fact", "write 'template.expression', or a variable" },
    { FOREIGN_KEY, STEP, "wait_for|uri", "write 'net.wait_for'" },
    { FOREIGN_KEY, STEP, "pause", "write 'time.sleep'" },
    { FOREIGN_KEY, STEP, "package|apt|yum|dnf|zypper|pacman", "write 'pkg.installed'",
      .action = "pkg.installed" },
    { FOREIGN_KEY, STEP, "service|systemd|systemd_service", "write 'service.ensure'",
      .action = "service.ensure" },
    { FOREIGN_KEY, STEP, "user", "write 'user.present'", .action = "user.present" },
    { FOREIGN_KEY, STEP, "group", "write 'group.present'", .action = "group.present" },
    { FOREIGN_KEY, STEP, "get_url", "write 'http.download'", .action = "http.download" },
    { FOREIGN_KEY, STEP, "unarchive", "write 'archive.extracted'", .action = "archive.extracted" },

    /* Keys of other documents. */
    { FOREIGN_KEY, "a job", "tasks|states", "write 'steps'" },
    { FOREIGN_KEY, "a job", "hosts", "jobs/base.yaml says which nodes do a job" },
    { FOREIGN_KEY, "a job", "handlers",
      "a handler is a step with 'listen' or 'onchanges' and stands among the others" },
    { FOREIGN_KEY, "a job", "roles|imports|includes", "write 'include: [JOB]'" },
    { FOREIGN_KEY, "a job", "vars", "variables stand in variables/" },
    { FOREIGN_KEY, "a job", "become|gather_facts", "leave it out" },
    { FOREIGN_KEY, "'retry'", "retries|count|attempts|times", "write 'limit'" },
    { FOREIGN_KEY, "'retry'", "delay|wait", "write 'interval'" },
    { FOREIGN_KEY, "'conditions'", "onlyif|if", "write 'when: {condition: EXPRESSION}'" },
    { FOREIGN_KEY, "'conditions'", "unless", "write 'when: {condition: not (EXPRESSION)}'" },

    { FOREIGN_ACTION, NULL, "file.append|file.prepend",
      "write 'file.line' for one line, 'file.block' for several" },
    { FOREIGN_ACTION, NULL, "file.replace|file.comment|file.uncomment",
      "write 'file.line' with 'match' and 'line'" },
    { FOREIGN_ACTION, NULL, "file.blockreplace|file.accumulated", "write 'file.block'" },
    { FOREIGN_ACTION, NULL, "file.recurse",
      "write 'file.managed' with 'source: {{ item }}' and a list of files under 'forEach'" },
    { FOREIGN_ACTION, NULL, "file.touch|file.exists", "write 'file.managed' without a content" },
    { FOREIGN_ACTION, NULL, "file.missing|file.remove|file.delete", "write 'file.absent'" },
    { FOREIGN_ACTION, NULL, "file.link|file.hard_link", "write 'file.symlink'" },
    { FOREIGN_ACTION, NULL, "file.rename|file.move", "write 'file.copy', then 'file.absent'" },
    { FOREIGN_ACTION, NULL, "file.template|file.file|file.present", "write 'file.managed'" },
    { FOREIGN_ACTION, NULL, "cmd.wait", "write 'cmd.run' with 'onchanges'" },
    { FOREIGN_ACTION, NULL, "cmd.wait_script", "write 'cmd.script' with 'onchanges'" },
    { FOREIGN_ACTION, NULL, "cmd.shell|cmd.exec|cmd.command|module.run", "write 'cmd.run'" },
    { FOREIGN_ACTION, NULL, "test.nop|test.succeed*|test.ping", "write 'test.ok'" },
    { FOREIGN_ACTION, NULL, "test.fail_*", "write 'test.failed'" },
    { FOREIGN_ACTION, NULL, "http.query|http.wait_for*", "write 'net.wait_for'" },
    { FOREIGN_ACTION, NULL, "pkg.install|pkg.present|package.*", "write 'pkg.installed'",
      .action = "pkg.installed" },
    { FOREIGN_ACTION, NULL, "pkg.purged|pkg.absent", "write 'pkg.removed'",
      .action = "pkg.removed" },
    { FOREIGN_ACTION, NULL, "service.running|service.started|service.start",
      "write 'service.ensure' with 'state: started'", .action = "service.ensure" },
    { FOREIGN_ACTION, NULL, "service.dead|service.stopped|service.stop",
      "write 'service.ensure' with 'state: stopped'", .action = "service.ensure" },
    { FOREIGN_ACTION, NULL, "service.enabled|service.disabled",
      "write 'service.ensure' with 'enabled'", .action = "service.ensure" },
    { FOREIGN_ACTION, NULL, "service.masked|service.unmasked",
      "write 'service.ensure' with 'masked'", .action = "service.ensure" },

    { FOREIGN_PARAMETER, "file.*", "user|uid", "write 'owner'" },
    { FOREIGN_PARAMETER, "file.*", "gid", "write 'group'" },
    { FOREIGN_PARAMETER, "file.directory", "dir_mode", "write 'mode'" },
    { FOREIGN_PARAMETER, "file.*", "dir_mode",
      "directories are steps of their own: 'file.directory' with 'mode'" },
    { FOREIGN_PARAMETER, "file.*", "makedirs",
      "write 'parents', which is true unless said otherwise" },
    { FOREIGN_PARAMETER, "file.symlink", "path|dest|link", "write 'name'" },
    { FOREIGN_PARAMETER, "file.symlink", "src|source", "write 'target'" },
    { FOREIGN_PARAMETER, "file.*", "path|dest|file|filename", "write 'name'" },
    { FOREIGN_PARAMETER, "file.*", "src", "write 'source'" },
    { FOREIGN_PARAMETER, "file.*", "text", "write 'content'" },
    { FOREIGN_PARAMETER, "file.managed", "defaults|vars", "write 'context'" },
    { FOREIGN_PARAMETER, "file.line", "regexp|pattern", "write 'match'" },
    { FOREIGN_PARAMETER, "file.line", "repl|content", "write 'line'" },
    { FOREIGN_PARAMETER, "file.*", "insertafter", "write 'after'" },
    { FOREIGN_PARAMETER, "file.*", "insertbefore", "write 'before'" },
    { FOREIGN_PARAMETER, "file.block", "block", "write 'content'" },
    { FOREIGN_PARAMETER, "cmd.*", "runas|become_user", "write 'user'" },
    { FOREIGN_PARAMETER, "cmd.*", "chdir", "write 'cwd'" },
    { FOREIGN_PARAMETER, "cmd.*", "executable", "write 'shell'" },
    { FOREIGN_PARAMETER, "cmd.*", "environment", "write 'env'" },

    { FOREIGN_OPTION, NULL, "check|dry-run|noop|test|simulate|what-if", "'eden plan' does that" },
    { FOREIGN_OPTION, NULL, "syntax-check", "'eden validate' does that" },
    { FOREIGN_OPTION, NULL, "list-tasks", "'eden graph' does that" },
    { FOREIGN_OPTION, NULL, "tags", "'--job' runs one job" },
    { FOREIGN_OPTION, NULL, "extra-vars", "write '-D KEY=VALUE' or '-v FILE'" },
    { FOREIGN_OPTION, NULL, "forks", "write '--workers'" },
    { FOREIGN_OPTION, NULL, "become", "steps act as whoever runs eden" },
    { FOREIGN_OPTION, NULL, "inventory|limit", "eden acts on this machine: '--node', '--label'" },
};

static bool matches(const ForeignRow *row, ForeignPlace place, Str within, Str word)
{
    Str rest = str_from_c(row->words), pattern;
    if (row->place != place ||
        (row->within != NULL && !glob_match(str_from_c(row->within), within))) {
        return false;
    }
    while (str_split_next(&rest, '|', &pattern)) {
        if (glob_match(pattern, word)) {
            return true;
        }
    }
    return false;
}

Str foreign_word(ModuleTable table, ForeignPlace place, Str within, Str word)
{
    const Module *module;
    const Action *action;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (matches(&rows[i], place, within, word) &&
            (rows[i].action == NULL || table == NULL ||
             module_table_find(table, str_from_c(rows[i].action), &module, &action))) {
            return str_from_c(rows[i].instead);
        }
    }
    return STR_EMPTY;
}
