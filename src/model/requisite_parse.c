#include "base/enum_names.h"
#include "model/foreign.h"
#include "model/parse.h"

static const char *const kind_names[REQUISITE_KINDS] = {
    [REQUISITE_REQUIRE] = "require", [REQUISITE_WATCH] = "watch",
    [REQUISITE_PREREQ] = "prereq",   [REQUISITE_ONCHANGES] = "onchanges",
    [REQUISITE_ONFAIL] = "onfail",   [REQUISITE_LISTEN] = "listen",
    [REQUISITE_USE] = "use",         [REQUISITE_ORDER] = "order",
};

const char *requisite_kind_name(RequisiteKind kind)
{
    return enum_names_get(kind_names, COUNT_OF(kind_names), (size_t)kind, "RequisiteKind");
}

typedef struct RequisiteKey {
    const char *name;
    RequisiteKind kind;
    bool any, all, in;
    StepKey documentation; /* documentation of the plain forms */
} RequisiteKey;

static const RequisiteKey keys[] = {
    { "require", REQUISITE_REQUIRE,
      .documentation = { .help = "Run after the target, and only if it succeeded.",
                         .text = "If the target failed or is blocked, this step is blocked. If it "
                                 "is ok,\n"
                                 "changed or skipped, this step runs. If there are several "
                                 "targets, all\n"
                                 "of them must allow it; with require_any, one is enough.\n",
                         .example = "- name: the settings\n"
                                    "  file.managed: [{name: /etc/web.conf}, {content: x}]\n"
                                    "- name: the server\n"
                                    "  cmd.run: [{cmd: systemctl reload web}]\n"
                                    "  require:\n"
                                    "    - step: the settings\n" } },
    { "require_any", REQUISITE_REQUIRE, .any = true },
    { "require_in", REQUISITE_REQUIRE, .in = true },
    { "watch", REQUISITE_WATCH,
      .documentation = { .help = "Like require, and react if the target changed.",
                         .text =
                             "The reaction depends on the action: a command runs again, without "
                             "evaluating its guards. For an\n"
                             "action without a reaction, watch is the same as require.\n",
                         .example = "- name: the settings\n"
                                    "  file.managed: [{name: /etc/web.conf}, {content: x}]\n"
                                    "- name: the server\n"
                                    "  cmd.run: [{cmd: systemctl reload web}]\n"
                                    "  watch:\n"
                                    "    - step: the settings\n" } },
    { "watch_any", REQUISITE_WATCH, .any = true },
    { "watch_in", REQUISITE_WATCH, .in = true },
    { "prereq", REQUISITE_PREREQ,
      .documentation = { .help = "Run before the target, and only if the target will change.",
                         .text = "The target is checked first; if it will change, this step runs "
                                 "and then "
                                 "the target. If this\n"
                                 "step fails, the target is blocked.\n",
                         .example = "- name: stop taking orders\n"
                                    "  cmd.run: [{cmd: touch /run/closed}]\n"
                                    "  prereq:\n"
                                    "    - step: the settings\n"
                                    "- name: the settings\n"
                                    "  file.managed: [{name: /etc/web.conf}, {content: x}]\n" } },
    { "prereq_in", REQUISITE_PREREQ, .in = true },
    { "onchanges", REQUISITE_ONCHANGES,
      .documentation = { .help = "Run only if the target changed.",
                         .text = "If the target is ok, failed or blocked, this step is skipped. If "
                                 "there\n"
                                 "are several targets, one change is enough.\n",
                         .example = "- name: the settings\n"
                                    "  file.managed: [{name: /etc/web.conf}, {content: x}]\n"
                                    "- name: the server\n"
                                    "  cmd.run: [{cmd: systemctl reload web}]\n"
                                    "  onchanges:\n"
                                    "    - step: the settings\n" } },
    { "onchanges_any", REQUISITE_ONCHANGES, .any = true },
    { "onchanges_in", REQUISITE_ONCHANGES, .in = true },
    { "onfail", REQUISITE_ONFAIL,
      .documentation = { .help = "Run only if the target failed.",
                         .text =
                             "If the target is ok, changed or blocked, this step is skipped. If\n"
                             "there are several targets, one failure is enough; with onfail_all, "
                             "all\n"
                             "of them must have failed.\n",
                         .example = "- name: the new release\n"
                                    "  cmd.run: [{cmd: install-release 1.4}]\n"
                                    "- name: the old release\n"
                                    "  cmd.run: [{cmd: install-release 1.3}]\n"
                                    "  onfail:\n"
                                    "    - step: the new release\n" } },
    { "onfail_any", REQUISITE_ONFAIL, .any = true },
    { "onfail_all", REQUISITE_ONFAIL, .all = true },
    { "onfail_in", REQUISITE_ONFAIL, .in = true },
    { "listen", REQUISITE_LISTEN,
      .documentation = { .help = "React once at the end of the run if the target changed.",
                         .text =
                             "This does not imply an order between the two steps. The step reacts "
                             "only once, even if several targets changed.\n",
                         .example = "- name: the settings\n"
                                    "  file.managed: [{name: /etc/web.conf}, {content: x}]\n"
                                    "- name: the server\n"
                                    "  cmd.run: [{cmd: systemctl reload web}]\n"
                                    "  listen:\n"
                                    "    - step: the settings\n" } },
    { "listen_in", REQUISITE_LISTEN, .in = true },
    { "use", REQUISITE_USE,
      .documentation = { .help = "Copy parameters that this step does not set from another step.",
                         .text = "Nothing else is copied, and the order is not affected.\n",
                         .example =
                             "- name: the settings\n"
                             "  file.managed: [{name: /etc/web.conf}, {content: x}, {mode: 0640}]\n"
                             "- name: more settings\n"
                             "  file.managed: [{name: /etc/more.conf}]\n"
                             "  use:\n"
                             "    - step: the settings\n" } },
    { "use_in", REQUISITE_USE, .in = true },
};

bool requisite_key_at(uint32_t index, StepKey *out)
{
    if (index >= COUNT_OF(keys)) {
        return false;
    }
    const RequisiteKey *key = &keys[index], *plain = key;
    while (plain->documentation.help == NULL) {
        plain--; /* the plain form of the kind comes first */
    }
    *out = plain->documentation;
    out->name = key->name;
    out->example = key->documentation.example;
    if (key->in) {
        out->help = "Like the form without '_in', but written on the target: names the steps that "
                    "depend on it.";
    } else if (key->any) {
        out->help =
            "Like the form without '_any', but one of several targets is enough. The step waits "
            "for all of them.";
    } else if (key->all) {
        out->help = "Like the form without '_all', but all targets must have failed.";
    }
    return true;
}

static const RequisiteKey *find_key(Str name)
{
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        if (str_eq_c(name, keys[i].name)) {
            return &keys[i];
        }
    }
    return NULL;
}

bool requisite_key_is(Str key)
{
    return find_key(key) != NULL;
}

void requisite_keys_suggest(Suggest *suggest)
{
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        suggest_offer(suggest, str_from_c(keys[i].name));
    }
}

/* The module in `module.action: id`, whether or not the action exists. */
static const Module *module_before_dot(const SiteLoad *load, Str name)
{
    size_t dot = str_find(name, STR("."), 0);
    return dot == STR_NOT_FOUND ? NULL
                                : module_table_find_module(load->modules, str_slice(name, 0, dot));
}

static void unknown_module(const SiteLoad *load, const MapEntry *entry, Str name)
{
    Problem *problem = site_problem(load, "E0314", entry->key,
                                    "unknown module '%" STR_FMT "'; a reference is 'step: NAME', "
                                    "'job: NAME' or 'MODULE: NAME'",
                                    STR_ARG(str_slice(name, 0, 100)));
    Suggest suggest = suggest_make(name);
    suggest_offer(&suggest, STR("step"));
    suggest_offer(&suggest, STR("job"));
    for (ModuleTable table = load->modules; *table != NULL; table++) {
        suggest_offer(&suggest, str_from_c((*table)->name));
    }
    const Module *module = module_before_dot(load, name);
    if (module != NULL) {
        Str id = STR("NAME");
        (void)site_text(load, entry->value, &id);
        problem->hint = arena_format(load->problems->arena,
                                     "use the module instead of the action: '%s: %" STR_FMT "'",
                                     module->name, STR_ARG(str_slice(id, 0, 100)));
        return;
    }
    problem->hint = foreign_word(load->modules, FOREIGN_REFERENCE, STR_EMPTY, name);
    if (problem->hint.len > 0) {
        site_fix(load, problem, entry->key, hint_replacement(problem->hint));
    } else {
        site_suggest_for(load, problem, entry->key, &suggest);
    }
}

static bool reference_parse(const SiteLoad *load, const MapEntry *entry, Requisite *out)
{
    Str kind;
    if (!site_text(load, entry->key, &kind)) {
        site_problem(load, "E0312", entry->key,
                     "the key of a reference must be 'step', 'job' or a module");
        return false;
    }
    if (str_eq(kind, STR("step"))) {
        out->reference = REFERENCE_STEP;
    } else if (str_eq(kind, STR("job"))) {
        out->reference = REFERENCE_JOB;
    } else if (module_table_find_module(load->modules, kind) != NULL) {
        out->reference = REFERENCE_MODULE;
        out->module = kind;
    } else {
        unknown_module(load, entry, kind);
        return false;
    }
    out->location = entry->value;
    if (!site_text(load, entry->value, &out->pattern) || out->pattern.len == 0) {
        bool absent = entry->value.kind == VALUE_NULL;
        bool empty = value_is_string(entry->value);
        site_problem(load, "E0312", absent ? entry->key : entry->value,
                     "a reference must be the name of a step, ID or job, not %s",
                     empty ? "an empty string" : site_kind_name(entry->value))
            ->hint = STR("write the name of the step that this one needs, or remove the entry");
        return false;
    }
    if (site_has_template(out->pattern)) {
        site_problem(load, "E0315", entry->value, "a reference cannot contain a template");
        return false;
    }
    return true;
}

static bool item_parse(const SiteLoad *load, const RequisiteKey *key, Value item, Requisites *out)
{
    if (item.kind != VALUE_MAP) {
        Problem *problem =
            site_problem(load, "E0312", item, "an entry of '%s' must be a map with one key, not %s",
                         key->name, site_kind_name(item));
        site_hint_entry(load, problem, "step", item, true);
        return false;
    }
    if (item.map->len != 1) {
        Problem *problem = site_problem(
            load, "E0312", item.map->len > 1 ? item.map->entries[1].key : item,
            "an entry of '%s' must be a map with one key, not %u", key->name, item.map->len);
        if (item.map->len > 1) {
            problem->hint = STR("put a '-' before it");
        }
        return false;
    }
    Requisite requisite = { .kind = key->kind, .any = key->any, .all = key->all, .in = key->in };
    if (!reference_parse(load, &item.map->entries[0], &requisite)) {
        return false;
    }
    VEC_PUSH(load->arena, out, requisite);
    return true;
}

bool requisite_parse(const SiteLoad *load, const MapEntry *entry, Requisites *out)
{
    Str name = STR_EMPTY;
    (void)site_text(load, entry->key, &name);
    const RequisiteKey *key = find_key(name);
    BUG_IF(key == NULL);
    if (entry->value.kind == VALUE_NULL) {
        return true;
    }
    if (entry->value.kind != VALUE_LIST) {
        Problem *problem =
            site_problem(load, "E0312", entry->value, "'%s' must be a list of references, not %s",
                         key->name, site_kind_name(entry->value));
        site_hint_entry(load, problem, "step", entry->value, false);
        return false;
    }
    bool ok = true;
    for (uint32_t i = 0; i < entry->value.list->len; i++) {
        ok = item_parse(load, key, entry->value.list->items[i], out) && ok;
    }
    return ok;
}
