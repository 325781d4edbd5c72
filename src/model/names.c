#include "model/names.h"

#include "base/suggest.h"
#include "lang/template/native.h"
#include "model/document_location.h"
#include "model/foreign.h"
#include "model/step_fields.h"

static const Str global_names[] = { STR("eden"),       STR("event"),  STR("events"),
                                    STR("servervars"), STR("macros"), STR("vars"),
                                    STR("variables"),  STR("server"), STR("Server") };

static bool is_global_name(Str name)
{
    for (size_t i = 0; i < COUNT_OF(global_names); i++) {
        if (str_eq(name, global_names[i])) {
            return true;
        }
    }
    return false;
}

/* --- Reporting --------------------------------------------------------------------------------- */

/* A file is shown with its directory. */
static Str file_label(const NamesCheck *check, const Template *template, Value document)
{
    Str name = template_name(template), root = check->root;
    if (document.kind != VALUE_NULL) {
        return name;
    }
    return arena_format(check->arena, "%" STR_FMT "%stemplates/%" STR_FMT, STR_ARG(root),
                        root.len == 0 || str_ends(root, STR("/")) ? "" : "/", STR_ARG(name));
}

/* `fix` replaces the underlined text; empty: the hint is only advice. */
static void report(const NamesCheck *check, const NameUse *use, Str message, Str hint, Str fix)
{
    Fault fault = { .class = FAULT_UNDEFINED,
                    .message = message,
                    .hint = hint,
                    .fix = fix,
                    .template_name = file_label(check, use->template, use->document),
                    .template_text = template_text(use->template),
                    .offset = use->offset,
                    .span = use->span,
                    .document = value_null() };
    Source source = { .text = fault.template_text, .first_line = 1 };
    LineColumn location = source_location(&source, use->offset);
    fault.line = location.line;
    fault.column = location.column;
    Problems found;
    problems_init(&found, check->problems->arena);
    document_add_fault(&found, check->sources, &fault, use->document);
    for (uint32_t i = 0; use->variable && i < found.count; i++) {
        found.items[i].severity = SEVERITY_WARNING;
    }
    problems_merge(check->problems, &found);
}

/* For grains.id and grains['id']: the end, including the closing bracket. */
static uint32_t element_end(const TemplateUse *use, Str text)
{
    size_t end = use->element_offset + use->element_span;
    return (uint32_t)(end + (end < text.len && text.data[end] == ']'));
}

/* "ansible_fqdn" for ansible_facts.fqdn and ansible_facts['fqdn']. */
static Str foreign_name(const NamesCheck *check, const TemplateUse *use)
{
    if (str_eq(use->name, STR("ansible_facts"))) {
        return str_starts(use->element, STR("ansible_"))
                   ? use->element
                   : arena_format(check->arena, "ansible_%" STR_FMT, STR_ARG(use->element));
    }
    return arena_format(check->arena, "%" STR_FMT ".%" STR_FMT, STR_ARG(use->name),
                        STR_ARG(use->element));
}

/* Whether the name belongs to another tool; if so, reports it with the equivalent. */
static bool report_foreign(const NamesCheck *check, const Template *template, Value document,
                           const TemplateUse *use)
{
    Str hint = STR_EMPTY;
    uint32_t span = use->span;
    if (use->literal) {
        hint = foreign_word(NULL, FOREIGN_NAME, STR_EMPTY, foreign_name(check, use));
        span = hint.len > 0 ? element_end(use, template_text(template)) - use->offset : span;
    }
    if (hint.len == 0) {
        hint = foreign_word(NULL, FOREIGN_NAME, STR_EMPTY, use->name);
    }
    if (hint.len == 0) {
        return false;
    }
    Str shown = span > use->span
                    ? str_slice(template_text(template), use->offset, use->offset + span)
                    : use->name;
    NameUse location = {
        .offset = use->offset, .span = span, .template = template, .document = document
    };
    report(check, &location,
           arena_format(check->arena, "'%" STR_FMT "' is undefined", STR_ARG(shown)), hint,
           hint_replacement(hint));
    return true;
}

/* --- Elements ---------------------------------------------------------------------------------- */

/* What other tools call the fields of a result. */
static const struct {
    const char *names, *replacement;
} foreign_fields[] = {
    { "rc|retcode|returncode|exit_status|exitstatus|exit", "ExitCode" },
    { "output|out|results_file", "StdOut" },
    { "err|errors", "StdErr" },
    { "msg|comment|message", "Reason" },
    { "changes|is_changed", "Changed" },
    { "status|outcome", "Result" },
    { "results|instances", "Items" },
    { "stdout_lines", "StdOut.splitlines()" },
    { "stderr_lines", "StdErr.splitlines()" },
    { "failed|is_failed", "Result == 'failed'" },
    { "succeeded|success|is_success|succeeds|ok", "Result != 'failed'" },
    { "skipped|is_skipped", "Result == 'skipped'" },
};

static Str foreign_field(Str name)
{
    for (size_t i = 0; i < COUNT_OF(foreign_fields); i++) {
        Str rest = str_from_c(foreign_fields[i].names), word;
        while (str_split_next(&rest, '|', &word)) {
            if (str_eq(word, name)) {
                return str_from_c(foreign_fields[i].replacement);
            }
        }
    }
    return STR_EMPTY;
}

static bool is_map_method(Str name)
{
    static const Str methods[] = { STR("items"), STR("keys"), STR("values"), STR("get") };
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        if (str_eq(name, methods[i])) {
            return true;
        }
    }
    return false;
}

static bool is_identifier(Str name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (!ascii_is_name(name.data[i])) {
            return false;
        }
    }
    return name.len > 0 && !ascii_is_digit(name.data[0]);
}

/* The field of a result: steps['x'].FIELD. `span` includes the quotes, if there are any. */
static bool check_field(const NamesCheck *check, const Template *template, Value document,
                        Str field, uint32_t offset, uint32_t span)
{
    if (step_field_find(field) < FIELD_COUNT || is_map_method(field)) {
        return true;
    }
    Str instead = foreign_field(field), hint, fix = STR_EMPTY;
    Suggest suggest = suggest_make(field);
    for (StepField i = 0; i < FIELD_COUNT; i++) {
        suggest_offer(&suggest, str_from_c(step_field_names[i]));
    }
    if (instead.len > 0) {
        hint =
            arena_format(check->arena,
                         str_find(instead, STR("'"), 0) == STR_NOT_FOUND ? "write '%" STR_FMT "'"
                                                                         : "write \"%" STR_FMT "\"",
                         STR_ARG(instead));
        fix = is_identifier(instead) || span == field.len ? instead : STR_EMPTY;
    } else if (suggest_found(&suggest, &instead)) {
        hint = arena_format(check->arena, "did you mean '%" STR_FMT "'?", STR_ARG(instead));
        fix = instead;
    } else {
        hint = STR("write 'Result', 'Changed', 'ExitCode', 'StdOut', 'StdErr', 'Value' or 'Files'");
    }
    NameUse location = {
        .offset = offset, .span = span, .template = template, .document = document
    };
    report(check, &location,
           arena_format(check->arena, "the result of a step has no '%" STR_FMT "'", STR_ARG(field)),
           hint, fix);
    return false;
}

/* What `server` has besides facts (run/node.c). */
static const char *const server_names[] = { "name", "fqdn",           "labels",   "Spec",
                                            "spec", "ObjectMetadata", "metadata", NULL };
static const char *const eden_names[] = { "version", "node", "run", "servers_get_by_label", NULL };

static bool find_name(const char *const *names, Str name, Suggest *suggest)
{
    for (; *names != NULL; names++) {
        if (str_eq_c(name, *names)) {
            return true;
        }
        suggest_offer(suggest, str_from_c(*names));
    }
    return false;
}

/* The equivalent of a fact from another tool: "os" for server.distribution. */
static Str foreign_fact(const NamesCheck *check, Str name)
{
    static const char *const forms[] = { "", "ansible_", "grains.", "facts." };
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        Str foreign = arena_format(check->arena, "%s%" STR_FMT, forms[i], STR_ARG(name));
        Str fix = hint_replacement(foreign_word(NULL, FOREIGN_NAME, STR_EMPTY, foreign));
        if (str_starts(fix, STR("server."))) {
            return str_from_offset(fix, strlen("server."));
        }
    }
    return STR_EMPTY;
}

/* server.FACT, eden.NAME */
static bool check_element(const NamesCheck *check, const Template *template, Value document,
                          const TemplateUse *use)
{
    bool is_eden = str_eq(use->name, STR("eden"));
    bool is_server = str_eq(use->name, STR("server")) || str_eq(use->name, STR("Server"));
    Suggest suggest = suggest_make(use->element);
    if (!use->literal || (is_server && check->facts == NULL) || (!is_eden && !is_server) ||
        is_map_method(use->element) ||
        find_name(is_eden ? eden_names : server_names, use->element, &suggest) ||
        (is_server && find_name(check->facts, use->element, &suggest))) {
        return true;
    }
    Str fix = is_server ? foreign_fact(check, use->element) : STR_EMPTY, hint;
    if (fix.len > 0) {
        hint = arena_format(check->arena, "write 'server.%" STR_FMT "'", STR_ARG(fix));
    } else if (suggest_found(&suggest, &fix)) {
        hint = arena_format(check->arena, "did you mean '%" STR_FMT "'?", STR_ARG(fix));
    } else {
        hint = is_eden ? STR("write 'eden.node', 'eden.run' or 'eden.version'")
                       : STR("'eden facts' lists all facts; labels are in 'server.labels'");
    }
    NameUse location = { .offset = use->element_offset,
                         .span = use->element_span,
                         .template = template,
                         .document = document };
    bool is_quoted = use->element_span > use->element.len;
    report(check, &location,
           arena_format(check->arena,
                        is_eden ? "'eden' has no '%" STR_FMT "'" : "unknown fact '%" STR_FMT "'",
                        STR_ARG(use->element)),
           hint, is_identifier(fix) || !is_quoted ? fix : STR_EMPTY);
    return false;
}

/* --- Checking ---------------------------------------------------------------------------------- */

/* Whether the template tests anywhere whether the name is defined. */
static bool is_guarded(const TemplateUses *uses, const TemplateUse *use)
{
    for (uint32_t i = 0; i < uses->count; i++) {
        const TemplateUse *other = &uses->items[i];
        if (other->guarded && str_eq(other->name, use->name) &&
            (!other->literal || (use->literal && str_eq(other->element, use->element)))) {
            return true;
        }
    }
    return false;
}

static void record_use(const NamesCheck *check, const Template *template, Value document,
                       NameUse use)
{
    use.template = template;
    use.document = document;
    use.names = *check->names;
    if (check->open != NULL) {
        VEC_PUSH(check->arena, check->open, use);
    }
}

/* macros['x'], vars.x */
static void record_member_use(const NamesCheck *check, const Template *template, Value document,
                              const TemplateUse *use)
{
    bool called = use->method.len > 0 && !is_map_method(use->method);
    if (str_eq(use->name, STR("macros")) && (use->literal || called)) {
        record_use(check, template, document,
                   (NameUse){ .macro = true,
                              .name = use->literal ? use->element : use->method,
                              .offset = use->element_offset,
                              .span = use->element_span });
    }
    if (use->literal && (str_eq(use->name, STR("vars")) || str_eq(use->name, STR("variables")))) {
        record_use(check, template, document,
                   (NameUse){ .variable = true,
                              .name = use->element,
                              .offset = use->element_offset,
                              .span = use->element_span });
    }
}

/* Whether it is available here in particular, rather than everywhere. */
static bool is_in_scope(const SiteNames *names, Str name)
{
    return (names->steps && str_eq(name, STR("steps"))) ||
           (names->step && str_eq(name, STR("step"))) ||
           (names->item && str_eq(name, STR("item"))) || global_find(name) != NULL;
}

/* Reports names that are available elsewhere, but not here. */
static bool report_out_of_scope(const NamesCheck *check, const Template *template, Value document,
                                const TemplateUse *use)
{
    Str message = STR_EMPTY;
    if (str_eq(use->name, STR("item"))) {
        message = STR("'item' is undefined: add 'forEach: [...]' to this step");
    } else if (str_eq(use->name, STR("steps")) && check->names->context_name != NULL) {
        message = arena_format(check->arena, "%s cannot use the results of steps",
                               check->names->context_name);
    } else if (str_eq(use->name, STR("step")) && check->names->steps) {
        message = STR("'step' is undefined: only 'success', 'continue' and 'until' can use the "
                      "result of their own step");
    }
    if (message.len > 0) {
        NameUse location = {
            .offset = use->offset, .span = use->span, .template = template, .document = document
        };
        report(check, &location, message, STR_EMPTY, STR_EMPTY);
    }
    return message.len > 0;
}

/* steps['x'].FIELD, step.FIELD */
static bool check_result(const NamesCheck *check, const Template *template, Value document,
                         const TemplateUse *use)
{
    if (str_eq(use->name, STR("steps")) && use->member.len > 0) {
        return check_field(check, template, document, use->member, use->member_offset,
                           use->member_span);
    }
    return !str_eq(use->name, STR("step")) || !use->literal ||
           check_field(check, template, document, use->element, use->element_offset,
                       use->element_span);
}

static bool check_use(const NamesCheck *check, const Template *template, Value document,
                      const TemplateUse *use)
{
    if (is_global_name(use->name)) {
        record_member_use(check, template, document, use);
        return check_element(check, template, document, use);
    }
    if (is_in_scope(check->names, use->name)) {
        return check_result(check, template, document, use);
    }
    bool forbidden = check->names->context_name != NULL && str_eq(use->name, STR("steps"));
    if (!forbidden && report_foreign(check, template, document, use)) {
        return false;
    }
    if (check->names->open && !forbidden) {
        return true;
    }
    if (report_out_of_scope(check, template, document, use)) {
        return false;
    }
    record_use(check, template, document,
               (NameUse){ .name = use->name, .offset = use->offset, .span = use->span });
    return true;
}

bool names_check(const NamesCheck *check, const Dynamic *dynamic)
{
    bool ok = true;
    const TemplateUses *uses = dynamic->template == NULL ? NULL : template_uses(dynamic->template);
    for (uint32_t i = 0; uses != NULL && i < uses->count; i++) {
        const TemplateUse *use = &uses->items[i];
        if (!use->own && !is_guarded(uses, use)) {
            ok = check_use(check, dynamic->template, dynamic->value, use) && ok;
        }
    }
    for (uint32_t i = 0; i < dynamic_child_count(dynamic); i++) {
        ok = names_check(check, &dynamic->children[i]) && ok;
    }
    return ok;
}

static Str did_you_mean(const NamesCheck *check, Str name)
{
    return arena_format(check->arena, "did you mean '%" STR_FMT "'?", STR_ARG(name));
}

/* steps['nobody']; an instance of forEach is 'name[item]'. */
static bool check_step(const NamesCheck *check, const Template *template, const TemplateUse *use,
                       const FileNames *names)
{
    const StrMap *steps = &names->steps;
    Str name = str_slice(use->element, 0, str_find(use->element, STR("["), 0)), nearest;
    if (!use->literal || !names->steps_known || str_map_has(steps, name)) {
        return true;
    }
    Suggest suggest = suggest_make(use->element);
    uint32_t pos = 0;
    for (StrMapEntry *entry; (entry = str_map_next(steps, &pos)) != NULL;) {
        suggest_offer(&suggest, entry->key);
    }
    bool found = suggest_found(&suggest, &nearest);
    bool is_quoted = use->element_span > use->element.len; /* steps.NAME cannot contain spaces */
    NameUse location = { .offset = use->element_offset,
                         .span = use->element_span,
                         .template = template,
                         .document = value_null() };
    report(check, &location,
           arena_format(check->arena, "step '%" STR_FMT "' not found", STR_ARG(use->element)),
           found ? did_you_mean(check, nearest) : STR_EMPTY,
           found && (is_quoted || is_identifier(nearest)) ? nearest : STR_EMPTY);
    return false;
}

static bool check_in_file(const NamesCheck *check, const Template *template, const TemplateUse *use,
                          const FileNames *names)
{
    if (is_global_name(use->name)) {
        record_member_use(check, template, value_null(), use);
        return check_element(check, template, value_null(), use);
    }
    if (str_map_has(&names->passed, use->name)) {
        return true;
    }
    if (str_eq(use->name, STR("steps"))) {
        bool ok = check_step(check, template, use, names);
        return check_result(check, template, value_null(), use) && ok;
    }
    if (report_foreign(check, template, value_null(), use)) {
        return false;
    }
    if (str_map_has(&names->reachable, template_name(template)) &&
        !is_in_scope(check->names, use->name) && !str_map_has(&names->assigned, use->name)) {
        record_use(check, template, value_null(),
                   (NameUse){ .name = use->name, .offset = use->offset, .span = use->span });
    }
    return true;
}

bool names_check_file(const NamesCheck *check, const Template *template, const FileNames *names)
{
    bool ok = true;
    const TemplateUses *uses = template_uses(template);
    for (uint32_t i = 0; i < uses->count; i++) {
        const TemplateUse *use = &uses->items[i];
        if (!use->own && !is_guarded(uses, use) && global_find(use->name) == NULL) {
            ok = check_in_file(check, template, use, names) && ok;
        }
    }
    return ok;
}

/* --- After the whole site is read -------------------------------------------------------------- */

bool names_is_builtin_macro(ModuleTable modules, Str name)
{
    const Module *module;
    const Action *action;
    return str_eq(name, STR("servers_get_by_label")) ||
           (module_table_find(modules, name, &module, &action) && action->query != NULL);
}

static void suggest_macros(const NamesCheck *check, ModuleTable modules, const StrMap *macros,
                           Suggest *suggest)
{
    uint32_t pos = 0;
    for (StrMapEntry *entry; (entry = str_map_next(macros, &pos)) != NULL;) {
        suggest_offer(suggest, entry->key);
    }
    suggest_offer(suggest, STR("servers_get_by_label"));
    for (ModuleTable module = modules; module != NULL && *module != NULL; module++) {
        for (const Action *action = (*module)->actions; action->name != NULL; action++) {
            if (action->query != NULL) {
                suggest_offer(suggest,
                              arena_format(check->arena, "%s.%s", (*module)->name, action->name));
            }
        }
    }
}

static void suggest_names(const SiteNames *names, Suggest *suggest)
{
    for (size_t i = 0; i < COUNT_OF(global_names); i++) {
        suggest_offer(suggest, global_names[i]);
    }
    const Str here[] = { names->steps ? STR("steps") : STR_EMPTY,
                         names->step ? STR("step") : STR_EMPTY,
                         names->item ? STR("item") : STR_EMPTY };
    for (size_t i = 0; i < COUNT_OF(here); i++) {
        suggest_offer(suggest, here[i]);
    }
    for (const Native *const *table = global_tables; *table != NULL; table++) {
        for (const Native *row = *table; row->name != NULL; row++) {
            suggest_offer(suggest, str_from_c(row->name));
        }
    }
}

static void report_macro(const NamesCheck *check, const NameUse *use, const Suggest *suggest)
{
    Str nearest, hint = STR_EMPTY, fix = STR_EMPTY;
    if (suggest_found(suggest, &nearest)) {
        hint = did_you_mean(check, nearest);
        fix = nearest;
    }
    report(check, use,
           arena_format(check->arena, "macro '%" STR_FMT "' is not defined", STR_ARG(use->name)),
           hint, fix);
}

/* The equivalent of a name that users expect to be defined; empty if there is none. */
static Str known_equivalent(Str name)
{
    static const struct {
        Str name, meaning;
    } known[] = {
        { STR("labels"), STR("server.labels") },
        { STR("node"), STR("server") },
        { STR("host"), STR("server.name") },
        { STR("hostname"), STR("server.name") },
        { STR("fqdn"), STR("server.fqdn") },
        { STR("os"), STR("server.os") },
        { STR("os_family"), STR("server.os_family") },
        { STR("arch"), STR("server.arch") },
        { STR("kernel"), STR("server.kernel") },
        { STR("null"), STR("none") },
        { STR("nil"), STR("none") },
        { STR("undef"), STR("none") },
        { STR("TRUE"), STR("true") },
        { STR("FALSE"), STR("false") },
    };
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        if (str_eq(name, known[i].name)) {
            return known[i].meaning;
        }
    }
    return STR_EMPTY;
}

static void report_name(const NamesCheck *check, const NameUse *use, const Suggest *suggest,
                        const StrMap *variables)
{
    Str nearest, hint, fix = STR_EMPTY;
    if (str_map_has(variables, use->name)) {
        fix = arena_format(check->arena, "vars.%" STR_FMT, STR_ARG(use->name));
        hint = did_you_mean(check, fix);
    } else if (known_equivalent(use->name).len > 0) {
        fix = known_equivalent(use->name);
        hint = arena_format(check->arena, "write '%" STR_FMT "'", STR_ARG(fix));
    } else if (suggest_found(suggest, &nearest)) {
        fix = nearest;
        hint = did_you_mean(check, nearest);
    } else {
        bool is_file = use->document.kind == VALUE_NULL;
        hint = arena_format(check->arena, "write 'vars.%" STR_FMT "' for a variable, or %s",
                            STR_ARG(use->name),
                            is_file ? "pass it in the step's 'context'" : "quote it as a string");
    }
    report(check, use,
           arena_format(check->arena, "'%" STR_FMT "' is undefined", STR_ARG(use->name)), hint,
           fix);
}

static void report_variable(const NamesCheck *check, const NameUse *use, const StrMap *variables)
{
    Suggest suggest = suggest_make(use->name);
    Str nearest, hint = STR("define it in variables/, or pass it with '-v' or '-D'"),
                 fix = STR_EMPTY;
    uint32_t pos = 0;
    for (StrMapEntry *entry; (entry = str_map_next(variables, &pos)) != NULL;) {
        suggest_offer(&suggest, entry->key);
    }
    if (suggest_found(&suggest, &nearest)) {
        hint = did_you_mean(check, nearest);
        fix = is_identifier(nearest) ? nearest : STR_EMPTY;
    }
    report(check, use,
           arena_format(check->arena, "no file of this site defines variable '%" STR_FMT "'",
                        STR_ARG(use->name)),
           hint, fix);
}

void names_report(const NamesCheck *check, const NameUse *use, ModuleTable modules,
                  const StrMap *macros, const StrMap *variables)
{
    Suggest suggest = suggest_make(use->name);
    if (use->variable) {
        report_variable(check, use, variables);
    } else if (use->macro) {
        suggest_macros(check, modules, macros, &suggest);
        report_macro(check, use, &suggest);
    } else {
        suggest_names(&use->names, &suggest);
        report_name(check, use, &suggest, variables);
    }
}
