#include "model/foreign.h"

#include "base/glob.h"

typedef struct ForeignRow {
    ForeignKind kind;
    const char *context;     /* patterns; NULL: anywhere */
    const char *patterns;    /* "loop|with_items": patterns */
    const char *replacement; /* what to write instead */
    const char *action;      /* an action that the hint mentions, which must exist; NULL: none */
} ForeignRow;

#define STEP "a step"

static const ForeignRow rows[] = {
    /* Keys of a step. In Ansible, module names are such keys too. */
    { FOREIGN_KEY, STEP, "depends_on|depends|dependencies|needs|after",
      "write 'require: [{step: NAME}]'" },
    { FOREIGN_KEY, STEP, "before|required_by", "write 'require_in: [{step: NAME}]'" },
    { FOREIGN_KEY, STEP, "rescue", "write another step with 'onfail: [{step: NAME}]'" },
    { FOREIGN_KEY, STEP, "always", "a step without requisites runs even if others have failed" },
    { FOREIGN_KEY, STEP, "description|comment", "write a comment: '# ...'" },
    { FOREIGN_KEY, STEP, "when|if|only_if|run_if",
      "write 'conditions: {when: {condition: EXPRESSION}}'" },
    { FOREIGN_KEY, STEP, "unless|onlyif|creates|check_cmd",
      "only commands have guards: write 'conditions: {when: {condition: EXPRESSION}}'" },
    { FOREIGN_KEY, STEP, "register",
      "not needed: use steps['NAME'].StdOut and similar attributes" },
    { FOREIGN_KEY, STEP, "loop|with_*|foreach|for_each",
      "write 'forEach: [..]' and use {{ item }}" },
    { FOREIGN_KEY, STEP, "names", "write 'forEach: [..]' and 'name: {{ item }}'" },
    { FOREIGN_KEY, STEP, "notify",
      "the step that should follow refers to this one with 'onchanges', 'watch' or 'listen'" },
    { FOREIGN_KEY, STEP, "become|become_*|sudo|remote_user|runas",
      "steps run as the user who runs eden; commands have the parameter 'user'" },
    { FOREIGN_KEY, STEP, "tags", "put such steps into a separate job and run it with '--job'" },
    { FOREIGN_KEY, STEP, "ignore_errors|failhard",
      "a failure only blocks the steps that require this one" },
    { FOREIGN_KEY, STEP, "changed_when",
      "a command that ran counts as changed; use 'creates', 'unless' or 'onlyif' to prevent it "
      "from running" },
    { FOREIGN_KEY, STEP, "failed_when",
      "write 'conditions: {success: {condition: EXPRESSION}}', which is true on success" },
    { FOREIGN_KEY, STEP, "until|retries|delay|retry",
      "write 'runOptions: {retry: {interval: 5s, limit: 3, until: EXPRESSION}}'" },
    { FOREIGN_KEY, STEP, "async|poll|timeout", "write 'runOptions: {timeout: 5m}'" },
    { FOREIGN_KEY, STEP, "environment", "commands have the parameter 'env'" },
    { FOREIGN_KEY, STEP, "vars|defaults",
      "variables are in variables/; templates have the parameter 'context'" },
    { FOREIGN_KEY, STEP, "import_*|include_*|block",
      "put the steps into a separate job and list it under 'include'" },
    { FOREIGN_KEY, STEP, "args", "write them as parameters of the action: 'cwd', 'creates'" },
    { FOREIGN_KEY, STEP, "delegate_to|run_once|local_action|delegate_facts|connection",
      "eden acts on the machine that it runs on" },
    { FOREIGN_KEY, STEP, "no_log|sensitive|hide_output", "write 'secret'" },
    { FOREIGN_KEY, STEP, "check_mode|noop|diff", "remove it: 'eden plan' changes nothing" },
    { FOREIGN_KEY, STEP, "subscribe", "write 'watch: [{step: NAME}]'" },
    { FOREIGN_KEY, STEP, "refreshonly", "write 'onchanges: [{step: NAME}]'" },
    { FOREIGN_KEY, STEP, "loop_control|with_sequence",
      "remove it: 'item' is the item, and instances are called 'NAME[ITEM]'" },
    { FOREIGN_KEY, STEP, "any_errors_fatal|max_fail_percentage",
      "write 'runOptions: {serialize: {maxFailures: 1}}' in the job" },
    { FOREIGN_KEY, STEP, "throttle|serial",
      "write 'runOptions: {serialize: {count: 1}}' in the job" },
    { FOREIGN_KEY, STEP, "collections|module_defaults|debugger|ignore_unreachable|loglevel|audit",
      "remove it" },
    { FOREIGN_KEY, STEP, "ensure", "it is a parameter or part of the action: see 'eden explain'" },

    /* Ansible modules. */
    { FOREIGN_TASK, NULL, "copy", "write 'file.managed' with 'source' or 'content'" },
    { FOREIGN_TASK, NULL, "template", "write 'file.managed' with 'template'" },
    { FOREIGN_TASK, NULL, "file",
      "write 'file.managed', 'file.directory', 'file.symlink' or 'file.absent'" },
    { FOREIGN_TASK, NULL, "shell|command|raw|exec", "write 'cmd.run' with 'cmd'" },
    { FOREIGN_TASK, NULL, "script", "write 'cmd.script' with 'source'" },
    { FOREIGN_TASK, NULL, "lineinfile|replace", "write 'file.line' with 'match' and 'line'" },
    { FOREIGN_TASK, NULL, "blockinfile", "write 'file.block' with 'content'" },
    { FOREIGN_TASK, NULL, "set_fact|debug", "write 'template.expression', or a variable" },
    { FOREIGN_TASK, NULL, "assert", "write 'conditions: {success: {condition: EXPRESSION}}'" },
    { FOREIGN_TASK, NULL, "fail", "write 'test.failed' with 'message'" },
    { FOREIGN_TASK, NULL, "slurp|fetch", "write 'file.content'" },
    { FOREIGN_TASK, NULL, "wait_for|uri", "write 'net.wait_for'" },
    { FOREIGN_TASK, NULL, "pause", "write 'time.sleep'" },
    { FOREIGN_TASK, NULL, "package|apt|yum|dnf|zypper|pacman",
      "write 'pkg.installed', 'pkg.latest' or 'pkg.removed'", .action = "pkg.installed" },
    { FOREIGN_TASK, NULL, "dpkg_selections", "write 'pkg.held'", .action = "pkg.held" },
    { FOREIGN_TASK, NULL,
      "apt_repository|deb822_repository|yum_repository|zypper_repository|apt_key|rpm_key",
      "write 'pkgrepo.managed' with 'uris' and 'key_file'", .action = "pkgrepo.managed" },
    { FOREIGN_TASK, NULL, "service|systemd|systemd_service", "write 'service.ensure'",
      .action = "service.ensure" },
    { FOREIGN_TASK, NULL, "user", "write 'user.present'", .action = "user.present" },
    { FOREIGN_TASK, NULL, "group", "write 'group.present'", .action = "group.present" },
    { FOREIGN_TASK, NULL, "authorized_key", "write 'ssh.authorized_key'",
      .action = "ssh.authorized_key" },
    { FOREIGN_TASK, NULL, "known_hosts", "write 'ssh.known_host'", .action = "ssh.known_host" },
    { FOREIGN_TASK, NULL, "cron", "write 'cron.present' with 'cmd'", .action = "cron.present" },
    { FOREIGN_TASK, NULL, "mount", "write 'mount.mounted'", .action = "mount.mounted" },
    { FOREIGN_TASK, NULL, "sysctl", "write 'sysctl.present'", .action = "sysctl.present" },
    { FOREIGN_TASK, NULL, "pam_limits", "write 'limits.present'", .action = "limits.present" },
    { FOREIGN_TASK, NULL, "modprobe", "write 'kmod.loaded'", .action = "kmod.loaded" },
    { FOREIGN_TASK, NULL, "ufw|iptables|firewalld|nftables", "write 'firewall.rules'",
      .action = "firewall.rules" },
    { FOREIGN_TASK, NULL, "hostname", "write 'hostname.set'", .action = "hostname.set" },
    { FOREIGN_TASK, NULL, "timezone", "write 'timezone.set'", .action = "timezone.set" },
    { FOREIGN_TASK, NULL, "locale_gen", "write 'locale.present'", .action = "locale.present" },
    { FOREIGN_TASK, NULL, "alternatives", "write 'alternatives.set'",
      .action = "alternatives.set" },
    { FOREIGN_TASK, NULL, "ini_file", "write 'ini.option'", .action = "ini.option" },
    { FOREIGN_TASK, NULL, "git", "write 'git.cloned' with 'repo' and 'rev'",
      .action = "git.cloned" },
    { FOREIGN_TASK, NULL, "unarchive", "write 'archive.extracted'", .action = "archive.extracted" },
    { FOREIGN_TASK, NULL, "reboot", "write 'machine.reboot' with 'allow: true'",
      .action = "machine.reboot" },
    { FOREIGN_TASK, NULL, "file_line", "write 'file.line' with 'match' and 'line'" },
    { FOREIGN_TASK, NULL, "augeas", "write 'ini.option', 'json.value' or 'file.line'" },
    { FOREIGN_TASK, NULL, "ini_setting", "write 'ini.option'", .action = "ini.option" },
    { FOREIGN_TASK, NULL, "concat|assemble",
      "write 'file.managed' with a template that includes the parts" },
    { FOREIGN_TASK, NULL, "vcsrepo|subversion|hg", "write 'git.cloned' with 'repo' and 'rev'",
      .action = "git.cloned" },
    { FOREIGN_TASK, NULL, "ssh_authorized_key", "write 'ssh.authorized_key'",
      .action = "ssh.authorized_key" },
    { FOREIGN_TASK, NULL, "host", "write 'host.entry'", .action = "host.entry" },
    { FOREIGN_TASK, NULL, "yumrepo", "write 'pkgrepo.managed'", .action = "pkgrepo.managed" },
    { FOREIGN_TASK, NULL, "setup|gather_facts|ping",
      "remove it: facts are always known, see 'eden facts'" },
    { FOREIGN_TASK, NULL, "meta", "remove it: steps run when their requisites have run" },
    { FOREIGN_TASK, NULL, "include_vars", "variables are in variables/" },
    { FOREIGN_TASK, NULL, "stat|find|getent|service_facts|package_facts",
      "use a macro to query the machine, or 'creates', 'unless' and 'onlyif' of commands" },
    { FOREIGN_TASK, NULL, "synchronize", "write 'cmd.run' with rsync, or 'git.cloned'" },
    { FOREIGN_TASK, NULL,
      "pip|npm|gem|cpanm|composer|docker_*|podman_*|mysql_*|postgresql_*|lvol|lvg|filesystem|"
      "parted|acl|seboolean|selinux|xml|htpasswd|openssl_*|make|expect|supervisorctl",
      "write 'cmd.run' with 'creates', 'unless' or 'onlyif'" },
    { FOREIGN_TASK, NULL, "get_url", "write 'http.download' with 'url' and 'digest'",
      .action = "http.download" },

    /* Keys of other documents. */
    { FOREIGN_KEY, "variables/base.yaml", "variables|vars|pillar|base", "write 'files'" },
    { FOREIGN_KEY, "macros/base.yaml", "files|base", "write 'macros'" },
    { FOREIGN_KEY, "jobs/base.yaml", "files|base|steps", "write 'jobs'" },
    { FOREIGN_KEY, "a job", "tasks|states", "write 'steps'" },
    { FOREIGN_KEY, "a job", "hosts", "jobs/base.yaml assigns jobs to nodes" },
    { FOREIGN_KEY, "a job", "handlers",
      "a handler is an ordinary step with 'listen' or 'onchanges'" },
    { FOREIGN_KEY, "a job", "roles|imports|includes", "write 'include: [JOB]'" },
    { FOREIGN_KEY, "a job", "vars", "variables are in variables/" },
    { FOREIGN_KEY, "a job", "pre_tasks|post_tasks",
      "move them into 'steps', before or after the others" },
    { FOREIGN_KEY, "a job", "vars_files", "list the files in variables/base.yaml" },
    { FOREIGN_KEY, "a job", "vars_prompt", "pass the value with '-D NAME=VALUE' or '-v FILE'" },
    { FOREIGN_KEY, "a job", "serial", "write 'runOptions: {serialize: {count: 1}}'" },
    { FOREIGN_KEY, "a job", "any_errors_fatal|max_fail_percentage",
      "write 'runOptions: {serialize: {maxFailures: 1}}'" },
    { FOREIGN_KEY, "a job", "strategy", "use the option '--order'" },
    { FOREIGN_KEY, "a job", "environment", "commands have the parameter 'env'" },
    { FOREIGN_KEY, "a job", "exclude|extend", "change the step where it is defined" },
    { FOREIGN_KEY, "a job",
      "become|become_*|gather_facts|remote_user|connection|collections|force_handlers|"
      "module_defaults|any_errors|tags",
      "remove it" },
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
    { FOREIGN_ACTION, NULL, "pkg.purged", "write 'pkg.removed' with 'purge: true'",
      .action = "pkg.removed" },
    { FOREIGN_ACTION, NULL, "pkg.absent", "write 'pkg.removed'", .action = "pkg.removed" },
    { FOREIGN_ACTION, NULL, "pkgrepo.present|aptpkg.*", "write 'pkgrepo.managed'",
      .action = "pkgrepo.managed" },
    { FOREIGN_ACTION, NULL, "service.running|service.started|service.start",
      "write 'service.ensure' with 'state: started'", .action = "service.ensure" },
    { FOREIGN_ACTION, NULL, "service.dead|service.stopped|service.stop",
      "write 'service.ensure' with 'state: stopped'", .action = "service.ensure" },
    { FOREIGN_ACTION, NULL, "service.enabled|service.disabled",
      "write 'service.ensure' with 'enabled'", .action = "service.ensure" },
    { FOREIGN_ACTION, NULL, "service.masked|service.unmasked",
      "write 'service.ensure' with 'masked'", .action = "service.ensure" },
    { FOREIGN_ACTION, NULL, "service.restarted|service.restart",
      "let 'service.ensure' watch its dependencies, or write 'state: restarted'",
      .action = "service.ensure" },
    { FOREIGN_ACTION, NULL, "ssh_auth.*|ssh_key.*|authorized_key.*",
      "write 'ssh.authorized_key', with 'state: absent' to remove a key",
      .action = "ssh.authorized_key" },
    { FOREIGN_ACTION, NULL, "ssh_known_hosts.*|known_hosts.*", "write 'ssh.known_host'",
      .action = "ssh.known_host" },
    { FOREIGN_ACTION, NULL, "host.present|host.absent|host.only", "write 'host.entry'",
      .action = "host.entry" },
    { FOREIGN_ACTION, NULL, "ini.*", "write 'ini.option', one step per option",
      .action = "ini.option" },
    { FOREIGN_ACTION, NULL, "timezone.system", "write 'timezone.set'", .action = "timezone.set" },
    { FOREIGN_ACTION, NULL, "locale.system", "write 'locale.present' with 'default: true'",
      .action = "locale.present" },
    { FOREIGN_ACTION, NULL, "network.system", "write 'hostname.set'", .action = "hostname.set" },
    { FOREIGN_ACTION, NULL, "mount.swap|swap.present", "write 'swap.on'", .action = "swap.on" },
    { FOREIGN_ACTION, NULL, "swap.off|swap.absent",
      "write 'cmd.run' with swapoff, and remove the line from /etc/fstab with 'file.line'" },
    { FOREIGN_ACTION, NULL, "kmod.present", "write 'kmod.loaded'", .action = "kmod.loaded" },
    { FOREIGN_ACTION, NULL, "iptables.*|nftables.*|firewalld.*|ufw.*", "write 'firewall.rules'",
      .action = "firewall.rules" },
    { FOREIGN_ACTION, NULL, "system.reboot", "write 'machine.reboot' with 'allow: true'",
      .action = "machine.reboot" },
    { FOREIGN_ACTION, NULL, "cron.file", "write 'cron.present', one step per job",
      .action = "cron.present" },
    { FOREIGN_ACTION, NULL, "file.serialize",
      "write 'file.managed' with 'content: \"{{ DATA | to_json }}\"', or to_yaml" },
    { FOREIGN_ACTION, NULL, "file.download", "write 'http.download' with 'url' and 'digest'",
      .action = "http.download" },

    { FOREIGN_PARAMETER, "pkg.*", "names|packages", "write 'pkgs'" },
    { FOREIGN_PARAMETER, "pkg.*", "update_cache|cache_valid_time", "write 'refresh'" },
    { FOREIGN_PARAMETER, "pkg.*", "state|ensure",
      "use the action instead: 'pkg.installed', 'pkg.latest' or 'pkg.removed'" },
    { FOREIGN_PARAMETER, "pkg.*", "hold", "write a separate step 'pkg.held'" },
    { FOREIGN_PARAMETER, "pkg.*", "install_recommends", "write 'recommends'" },
    { FOREIGN_PARAMETER, "pkg.*", "sources|deb",
      "packages come from a repository: configure it with 'pkgrepo.managed'" },
    { FOREIGN_PARAMETER, "pkg.*", "skip_verify|allow_unauthenticated",
      "'pkgrepo.managed' has 'key_file', and 'trusted' for an unsigned one" },
    { FOREIGN_PARAMETER, "pkgrepo.*", "humanname", "write 'description'" },
    { FOREIGN_PARAMETER, "pkgrepo.*", "key_url|gpgkey|signed_by|keyid|keyserver",
      "put the key in the site's files/ and write 'key_file'" },
    { FOREIGN_PARAMETER, "pkgrepo.*", "baseurl|url|repo", "write 'uris'" },
    { FOREIGN_PARAMETER, "pkgrepo.*", "dist", "write 'suites'" },
    { FOREIGN_PARAMETER, "pkgrepo.*", "comps", "write 'components'" },
    { FOREIGN_PARAMETER, "pkgrepo.*", "disabled", "write 'enabled'" },
    { FOREIGN_PARAMETER, "pkgrepo.*", "file|filename",
      "remove it: the file is named after 'name'" },
    { FOREIGN_PARAMETER, "user.*", "home_dir|homedir", "write 'home'" },
    { FOREIGN_PARAMETER, "user.*", "optional_groups", "write 'groups'" },
    { FOREIGN_PARAMETER, "user.*", "gid|usergroup|gid_from_name", "write 'group'" },
    { FOREIGN_PARAMETER, "user.*", "comment|gecos", "write 'fullname'" },
    { FOREIGN_PARAMETER, "user.*", "append",
      "remove it: groups are only added, unless 'remove_groups: true'" },
    { FOREIGN_PARAMETER, "user.*", "state|ensure",
      "use the action instead: 'user.present', 'user.absent'" },
    { FOREIGN_PARAMETER, "user.*", "managehome|createhome", "write 'create_home'" },
    { FOREIGN_PARAMETER, "user.*", "remove|force|force_remove_home", "write 'purge'" },
    { FOREIGN_PARAMETER, "group.*", "addusers|delusers",
      "for single users write 'groups' in 'user.present'; 'members' is the complete list" },
    { FOREIGN_PARAMETER, "group.*", "state|ensure",
      "use the action instead: 'group.present', 'group.absent'" },
    { FOREIGN_PARAMETER, "cron.*", "job|command", "write 'cmd'" },
    { FOREIGN_PARAMETER, "cron.*", "identifier|comment", "write 'name'" },
    { FOREIGN_PARAMETER, "cron.*", "special|special_time", "write 'every'" },
    { FOREIGN_PARAMETER, "cron.*", "dayweek|dow", "write 'weekday'" },
    { FOREIGN_PARAMETER, "cron.*", "daymonth|dom", "write 'day'" },
    { FOREIGN_PARAMETER, "cron.*", "state|ensure",
      "use the action instead: 'cron.present', 'cron.absent'" },
    { FOREIGN_PARAMETER, "cron.*", "cron_file", "remove it: each job has its own file" },
    { FOREIGN_PARAMETER, "mount.*", "opts", "write 'options'" },
    { FOREIGN_PARAMETER, "mount.*", "fstype", "write 'type'" },
    { FOREIGN_PARAMETER, "mount.*", "src", "write 'device'" },
    { FOREIGN_PARAMETER, "mount.*", "path", "write 'name'" },
    { FOREIGN_PARAMETER, "mount.*", "pass_num|passno", "write 'pass'" },
    { FOREIGN_PARAMETER, "mount.*", "mkmnt", "remove it: the directory is created automatically" },
    { FOREIGN_PARAMETER, "mount.*", "state|ensure",
      "use the action instead: 'mount.mounted', 'mount.unmounted'" },
    { FOREIGN_PARAMETER, "sysctl.*", "config|sysctl_file", "write 'file'" },
    { FOREIGN_PARAMETER, "sysctl.*", "sysctl_set|reload",
      "remove it: the setting takes effect immediately" },
    { FOREIGN_PARAMETER, "git.*", "dest|target", "write 'name'" },
    { FOREIGN_PARAMETER, "git.*", "version|branch|revision", "write 'rev'" },
    { FOREIGN_PARAMETER, "git.*", "key_file|identity", "write 'key'" },
    { FOREIGN_PARAMETER, "git.*", "accept_hostkey", "write a separate step 'ssh.known_host'" },
    { FOREIGN_PARAMETER, "archive.*", "dest", "write 'name'" },
    { FOREIGN_PARAMETER, "archive.*", "src", "write 'source'" },
    { FOREIGN_PARAMETER, "archive.*", "strip_components", "write 'strip'" },
    { FOREIGN_PARAMETER, "archive.*", "source_hash|checksum", "write 'digest'" },
    { FOREIGN_PARAMETER, "archive.*", "remote_src", "remove it" },
    { FOREIGN_PARAMETER, "service.*", "daemon_reload",
      "remove it: this happens automatically when needed" },
    { FOREIGN_PARAMETER, "ssh.authorized_key", "enc", "write 'type'" },
    { FOREIGN_PARAMETER, "ssh.authorized_key", "source|keyfile",
      "write 'key', with the content of the file" },
    { FOREIGN_PARAMETER, "ini.*", "dest|path", "write 'name'" },

    { FOREIGN_VALUE, "service.ensure.state", "running|present|enabled|up|start",
      "write 'started'; 'enabled: true' is for the next boot" },
    { FOREIGN_VALUE, NULL, "salt://*|puppet://*", "write only the path in files/ or templates/" },
    { FOREIGN_VALUE, NULL, "http://*|https://*",
      "download it with 'http.download' in an earlier step, and use the path of that file here",
      .action = "http.download" },
    { FOREIGN_VALUE, NULL, "ftp://*",
      "download it in an earlier step, 'cmd.run' with curl and 'creates', and use the path of that "
      "file here" },
    { FOREIGN_VALUE, "templates", "jinja|mako|genshi|wempy",
      "templates are always Jinja: write the path of the file here instead of under 'source'" },
    { FOREIGN_VALUE, "user.present.shell", "nologin", "write '/usr/sbin/nologin'" },
    { FOREIGN_VALUE, "user.present.shell", "bash", "write '/bin/bash'" },
    { FOREIGN_VALUE, "user.present.shell", "sh", "write '/bin/sh'" },
    { FOREIGN_VALUE, "user.present.shell", "zsh", "write '/usr/bin/zsh'" },
    { FOREIGN_VALUE, "swap.on.size", "*[kKmMgGtTbB]", "write the size in MiB, such as 1024" },
    { FOREIGN_VALUE, "service.ensure.state", "dead|absent|down|stop", "write 'stopped'" },
    { FOREIGN_VALUE, "archive.extracted.site_file", "/*",
      "for a file on the machine write 'source' instead of 'site_file'" },
    { FOREIGN_VALUE, "archive.extracted.source", "*",
      "for a file in the site write 'site_file' instead of 'source'" },
    { FOREIGN_VALUE, "file.copy.source", "*",
      "for a file in the site write 'file.managed' instead of 'file.copy'" },
    { FOREIGN_VALUE, "file.managed.source", "/*",
      "for a file on the machine write 'file.copy' instead of 'file.managed'",
      .action = "file.copy" },

    { FOREIGN_PARAMETER, "file.*", "user|uid", "write 'owner'" },
    { FOREIGN_PARAMETER, "file.*", "gid", "write 'group'" },
    { FOREIGN_PARAMETER, "file.directory", "dir_mode", "write 'mode'" },
    { FOREIGN_PARAMETER, "file.*", "dir_mode",
      "directories are separate steps: 'file.directory' with 'mode'" },
    { FOREIGN_PARAMETER, "file.*", "makedirs", "write 'parents', which defaults to true" },
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
    { FOREIGN_PARAMETER, "cmd.run", "command|argv|_raw_params", "write 'cmd'" },
    { FOREIGN_PARAMETER, "cmd.*", "path", "set PATH in 'env'" },
    { FOREIGN_PARAMETER, "cmd.*", "refreshonly",
      "write 'onchanges: [{step: NAME}]' in the step instead" },
    { FOREIGN_PARAMETER, "cmd.*", "returns|success_retcodes", "write 'success_codes'" },
    { FOREIGN_PARAMETER, "cmd.*", "tries|try_sleep",
      "write 'runOptions: {retry: {interval: 5s, limit: 3}}' in the step" },
    { FOREIGN_PARAMETER, "cmd.*", "removes", "write 'onlyif: test -e PATH'" },
    { FOREIGN_PARAMETER, "cmd.*", "hide_output|output_loglevel|no_log|logoutput",
      "write 'secret: true' in the step" },
    { FOREIGN_PARAMETER, "cmd.*", "warn|stdin_add_newline|strip_empty_ends|use_vt|bg",
      "remove it" },
    { FOREIGN_PARAMETER, "service.*", "hasstatus|hasrestart|pattern|provider|use", "remove it" },
    { FOREIGN_PARAMETER, "service.*", "ensure", "write 'state'" },
    { FOREIGN_PARAMETER, "file.managed|file.copy|file.directory|file.symlink|file.absent",
      "state|ensure",
      "use the action instead: 'file.managed', 'file.directory', 'file.symlink' or 'file.absent'" },
    { FOREIGN_PARAMETER,
      "file.line|file.block|ini.*|json.*|yaml.*|host.*|ssh.*|limits.*|sysctl.*|firewall.*",
      "ensure", "write 'state'" },
    { FOREIGN_PARAMETER, "http.*", "dest|path", "write 'name'" },
    { FOREIGN_PARAMETER, "http.*", "checksum|source_hash|hash", "write 'digest'" },
    { FOREIGN_PARAMETER, NULL, "names",
      "write 'forEach: [..]' in the step, and 'name: {{ item }}'" },

    /* Keys of requisites. */
    { FOREIGN_REFERENCE, NULL, "id|task|handler|name|state|steps", "write 'step'" },
    { FOREIGN_REFERENCE, NULL, "sls|role|include|class|jobs", "write 'job'" },
    { FOREIGN_REFERENCE, NULL, "Exec|command", "write 'cmd'" },
    { FOREIGN_REFERENCE, NULL, "File|path|directory", "write 'file'" },
    { FOREIGN_REFERENCE, NULL, "Package|package|apt|yum", "write 'pkg'" },
    { FOREIGN_REFERENCE, NULL, "Service|systemd", "write 'service'" },
    { FOREIGN_REFERENCE, NULL, "User", "write 'user'" },
    { FOREIGN_REFERENCE, NULL, "Group", "write 'group'" },

    /* Variables from other tools. */
    { FOREIGN_NAME, NULL, "inventory_hostname|ansible_host|grains.id|opts.id|trusted.certname",
      "write 'eden.node'" },
    { FOREIGN_NAME, NULL,
      "ansible_hostname|ansible_nodename|inventory_hostname_short|grains.host|grains.nodename|"
      "grains.localhost|facts.hostname|facts.networking.hostname",
      "write 'server.name'" },
    { FOREIGN_NAME, NULL, "ansible_fqdn|grains.fqdn|facts.fqdn", "write 'server.fqdn'" },
    { FOREIGN_NAME, NULL, "ansible_distribution|grains.os|facts.operatingsystem",
      "write 'server.os'" },
    { FOREIGN_NAME, NULL, "ansible_os_family|grains.os_family|facts.osfamily",
      "write 'server.os_family'" },
    { FOREIGN_NAME, NULL,
      "ansible_distribution_version|ansible_distribution_major_version|grains.osrelease|"
      "grains.osmajorrelease|facts.operatingsystemrelease",
      "write 'server.os_version'" },
    { FOREIGN_NAME, NULL,
      "ansible_architecture|ansible_machine|grains.cpuarch|grains.osarch|facts.architecture",
      "write 'server.arch'" },
    { FOREIGN_NAME, NULL, "ansible_kernel|grains.kernelrelease|facts.kernelrelease",
      "write 'server.kernel'" },
    { FOREIGN_NAME, NULL,
      "ansible_processor_vcpus|ansible_processor_count|ansible_processor_cores|"
      "ansible_processor_nproc|grains.num_cpus|facts.processorcount",
      "write 'server.cpus'" },
    { FOREIGN_NAME, NULL, "ansible_memtotal_mb|grains.mem_total|facts.memorysize_mb",
      "write 'server.memory.total // 1048576'" },
    { FOREIGN_NAME, NULL, "ansible_interfaces|grains.ip4_interfaces|grains.ip_interfaces",
      "write 'server.interfaces'" },
    { FOREIGN_NAME, NULL,
      "ansible_default_ipv4*|ansible_default_ipv4.*|ansible_all_ipv4_addresses|grains.ipv4|"
      "facts.ipaddress",
      "write 'server.interfaces[server.default_interface].ipv4[0].address'" },
    { FOREIGN_NAME, NULL, "ansible_pkg_mgr", "write 'server.package_manager'" },
    { FOREIGN_NAME, NULL, "ansible_service_mgr|grains.init", "write 'server.init_system'" },
    { FOREIGN_NAME, NULL, "ansible_virtualization_type|grains.virtual|facts.virtual",
      "write 'server.virtualization'" },
    { FOREIGN_NAME, NULL, "ansible_machine_id|grains.machine_id", "write 'server.machine_id'" },
    { FOREIGN_NAME, NULL, "hostvars|ansible_play_hosts|play_hosts", "write 'servervars'" },
    { FOREIGN_NAME, NULL, "group_names|grains.role|grains.roles", "write 'server.labels'" },
    { FOREIGN_NAME, NULL, "groups|groups.*",
      "nodes are found by label: \"eden.servers_get_by_label('role=web')\"" },
    { FOREIGN_NAME, NULL, "ansible_*|ansible_facts|grains|grains.*|facts|facts.*|trusted",
      "facts are in 'server'; 'eden facts' lists them" },
    { FOREIGN_NAME, NULL, "pillar|Values", "write 'vars'" },
    { FOREIGN_NAME, NULL, "salt|salt.*|__salt__|__salt__.*",
      "variables are in 'vars'; a macro in macros/ can query the machine" },
    { FOREIGN_NAME, NULL, "lookup|query|q",
      "use a macro to query the machine; refer to files in the site with 'source' and 'template'" },
    { FOREIGN_NAME, NULL, "omit",
      "a parameter without a value counts as absent: write '{{ NAME | default(none) }}'" },
    { FOREIGN_NAME, NULL, "playbook_dir|role_path|role_name|sls|slspath|tpldir|saltenv",
      "paths of files in the site are relative to files/ and templates/" },
    { FOREIGN_NAME, NULL, "Release|Release.*|Chart|Chart.*|Capabilities|Capabilities.*",
      "variables are in 'vars', facts in 'server'" },

    { FOREIGN_OPTION, NULL, "check|dry-run|dryrun|noop|test|simulate|what-if", "use 'eden plan'" },
    { FOREIGN_OPTION, NULL, "syntax-check", "use 'eden validate'" },
    { FOREIGN_OPTION, NULL, "list-tasks", "use 'eden graph'" },
    { FOREIGN_OPTION, NULL, "tags|step|start-at-task|only", "use '--job' to run one job" },
    { FOREIGN_OPTION, NULL, "extra-vars", "write '-D KEY=VALUE' or '-v FILE'" },
    { FOREIGN_OPTION, NULL, "forks", "write '--workers'" },
    { FOREIGN_OPTION, NULL, "become", "steps run as the user who runs eden" },
    { FOREIGN_OPTION, NULL, "inventory|limit",
      "eden acts on this machine: use '--node' and '--label'" },
};

static bool matches_any(const char *patterns, Str text)
{
    Str rest = str_from_c(patterns), pattern;
    while (str_split_next(&rest, '|', &pattern)) {
        if (glob_match(pattern, text)) {
            return true;
        }
    }
    return false;
}

static bool matches(const ForeignRow *row, ForeignKind location, Str context, Str word)
{
    return row->kind == location && (row->context == NULL || matches_any(row->context, context)) &&
           matches_any(row->patterns, word);
}

Str foreign_word(ModuleTable table, ForeignKind location, Str context, Str word)
{
    const Module *module;
    const Action *action;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (matches(&rows[i], location, context, word) &&
            (rows[i].action == NULL || table == NULL ||
             module_table_find(table, str_from_c(rows[i].action), &module, &action))) {
            return str_from_c(rows[i].replacement);
        }
    }
    return STR_EMPTY;
}

Str hint_replacement(Str hint)
{
    Str lead = STR("write '");
    size_t end = str_find(hint, STR("'"), lead.len);
    return str_starts(hint, lead) && end != STR_NOT_FOUND && end + 1 == hint.len
               ? str_slice(hint, lead.len, end)
               : STR_EMPTY;
}

/* Whether it has the form MODULE.ACTION, such as "pkg.installed". */
static bool is_function(Str key)
{
    size_t dot = str_find(key, STR("."), 0);
    return dot != STR_NOT_FOUND && dot > 0 && dot + 1 < key.len &&
           str_find(key, STR("/"), 0) == STR_NOT_FOUND;
}

/* Matches {nginx: {pkg.installed: []}}. */
static bool is_state(Value value)
{
    for (uint32_t i = 0; value.kind == VALUE_MAP && i < value.map->len; i++) {
        Value key = value.map->entries[i].key, input = value.map->entries[i].value;
        if (value_is_string(key) && is_function(value_str(key)) &&
            (input.kind == VALUE_LIST || input.kind == VALUE_NULL)) {
            return true;
        }
    }
    return false;
}

static bool is_task(Value value)
{
    for (uint32_t i = 0; value.kind == VALUE_MAP && i < value.map->len; i++) {
        Value key = value.map->entries[i].key;
        if (value_is_string(key) &&
            (str_starts(value_str(key), STR("ansible.")) ||
             str_starts(value_str(key), STR("import_")) ||
             str_starts(value_str(key), STR("include_")) ||
             foreign_word(NULL, FOREIGN_TASK, STR_EMPTY, value_str(key)).len > 0)) {
            return true;
        }
    }
    return false;
}

Str foreign_document(Value document)
{
    if (document.kind == VALUE_LIST && document.list->len > 0) {
        Value first = document.list->items[0];
        if (value_get(first, STR("hosts")) != NULL ||
            value_get(first, STR("import_playbook")) != NULL) {
            return STR("this is a playbook: put its tasks under 'steps:', or run it unchanged with "
                       "a step 'ansible.playbook'");
        }
        return is_task(first) ? STR("these are Ansible tasks: put them under 'steps:'") : STR_EMPTY;
    }
    for (uint32_t i = 0; document.kind == VALUE_MAP && i < document.map->len; i++) {
        if (is_state(document.map->entries[i].value)) {
            return STR("these are Salt states: write '- name: ID' and the function below it, under "
                       "'steps:'");
        }
    }
    return STR_EMPTY;
}
