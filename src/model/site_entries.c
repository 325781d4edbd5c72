/* Base files: assign files and jobs to nodes. */
#include "model/parse.h"

typedef VEC(SiteEntry) EntryList;

enum {
    ENTRY_NAME,
    ENTRY_FIRST, /* the others depend on the kind */
    ENTRY_SECOND,
    ENTRY_FIELDS
};

static const Field variables_fields[] = {
    { "name", FIELD_NAME, .required = true },
    { "paths", FIELD_LIST },
    { "merge", FIELD_NAME, .choices = "first|all" },
    { 0 },
};
static const Field plain_fields[] = {
    { "name", FIELD_NAME, .required = true },
    { 0 },
};
static const Field job_fields[] = {
    { "name", FIELD_NAME, .required = true },
    { "conditions", FIELD_MAP },
    { 0 },
};

static const struct {
    const char *what;
    const Field *fields;
} kinds[] = {
    [ENTRY_VARIABLES] = { "an entry of 'files'", variables_fields },
    [ENTRY_MACROS] = { "an entry of 'macros'", plain_fields },
    [ENTRY_JOBS] = { "an entry of 'jobs'", job_fields },
    [ENTRY_TRIGGERS] = { "an entry of 'triggers'", plain_fields },
};

static bool paths_parse(const SiteLoad *load, const List *input, SiteEntry *out)
{
    static const SiteNames names = { .context_name = "paths of variables" };
    SiteLoad inner = site_load_with_names(load, &names);
    out->paths = ARENA_ARRAY(load->arena, Dynamic, input->len + 1);
    bool ok = true;
    for (uint32_t i = 0; i < input->len; i++) {
        if (!value_is_string(input->items[i])) {
            site_problem(load, "E0303", input->items[i], "a path must be a string, not %s",
                         site_kind_name(input->items[i]));
            ok = false;
            continue;
        }
        ok = site_compile(&inner, input->items[i], &out->paths[out->path_count++]) && ok;
    }
    return ok;
}

static bool entry_parse(const SiteLoad *load, EntryKind kind, Value input, const Selector *selector,
                        EntryList *out)
{
    Value values[ENTRY_FIELDS];
    FieldSet set = { .what = kinds[kind].what, .fields = kinds[kind].fields };
    if (value_is_string(input)) {
        Problem *problem =
            site_problem(load, "E0303", input, "%s must be a map, not a string", kinds[kind].what);
        site_hint_entry(load, problem, "name", input, true);
        return false;
    }
    bool ok = fields_read_all(load, &set, input, values);
    if (value_is_missing(values[ENTRY_NAME])) {
        return false;
    }
    SiteEntry entry = { .selector = selector,
                        .name = str_trim(value_str(values[ENTRY_NAME])),
                        .location = values[ENTRY_NAME] };
    if (!document_is_name(entry.name)) {
        site_problem(load, "E0303", entry.location,
                     "a name must be the path of a file under this directory, without '.yaml'");
        return false;
    }
    if (kind == ENTRY_JOBS && !value_is_missing(values[ENTRY_FIRST])) {
        static const SiteNames names = { .steps = true };
        SiteLoad inner = site_load_with_names(load, load->names == NULL ? &names : load->names);
        ok = conditions_parse(&inner, values[ENTRY_FIRST], &entry.when, NULL, NULL) && ok;
    }
    if (kind == ENTRY_VARIABLES && !value_is_missing(values[ENTRY_FIRST])) {
        ok = paths_parse(load, values[ENTRY_FIRST].list, &entry) && ok;
    }
    if (kind == ENTRY_VARIABLES && !value_is_missing(values[ENTRY_SECOND])) {
        entry.merge_all = str_eq(value_str(values[ENTRY_SECOND]), STR("all"));
    }
    VEC_PUSH(load->arena, out, entry);
    return ok;
}

static bool list_parse(const SiteLoad *load, EntryKind kind, Value input, const Selector *selector,
                       EntryList *out)
{
    if (input.kind == VALUE_NULL) {
        return true;
    }
    if (input.kind != VALUE_LIST) {
        Problem *problem =
            site_problem(load, "E0303", input, "the value of a selector must be a list, not %s",
                         site_kind_name(input));
        site_hint_entry(load, problem, "name", input, false);
        return false;
    }
    bool ok = true;
    for (uint32_t i = 0; i < input.list->len; i++) {
        ok = entry_parse(load, kind, input.list->items[i], selector, out) && ok;
    }
    return ok;
}

bool site_selector_parse(const SiteLoad *load, Value input, const Selector **out)
{
    static const SiteNames names = { .context_name = "selectors" };
    if (!selector_parse(load->arena, load->templates, load->sources, input, out, load->problems)) {
        return false;
    }
    NamesCheck check = { .arena = load->arena,
                         .sources = load->sources,
                         .problems = load->problems,
                         .names = &names,
                         .facts = load->facts,
                         .open = load->name_uses };
    return selector_check_names(*out, &check);
}

bool site_entries_parse(const SiteLoad *load, EntryKind kind, Value input, SiteEntries *out)
{
    EntryList entries = { 0 };
    bool ok = true;
    if (input.kind == VALUE_MAP) {
        for (uint32_t i = 0; i < input.map->len; i++) {
            const MapEntry *entry = &input.map->entries[i];
            const Selector *selector;
            ok = site_selector_parse(load, entry->key, &selector) && ok;
            ok = list_parse(load, kind, entry->value, selector, &entries) && ok;
        }
    } else if (input.kind == VALUE_LIST) {
        Value every = value_string(STR("*"));
        const Selector *selector;
        ok = site_selector_parse(load, every, &selector) &&
             list_parse(load, kind, input, selector, &entries);
    } else if (input.kind != VALUE_NULL && !value_is_missing(input)) {
        site_problem(load, "E0303", input, "this must be a map from selectors to lists, not %s",
                     site_kind_name(input));
        ok = false;
    }
    *out = (SiteEntries){ entries.items, entries.len };
    return ok;
}

bool site_entries_exist(const SiteLoad *load, const SiteEntries *entries, const char *directory)
{
    bool ok = true;
    for (uint32_t i = 0; load->reader.exists != NULL && i < entries->count; i++) {
        const SiteEntry *entry = &entries->items[i];
        Str path =
            arena_format(load->arena, "%s/%" STR_FMT ".yaml", directory, STR_ARG(entry->name));
        if (entry->path_count == 0 && !load->reader.exists(load->reader.context, path)) {
            document_report_missing(load, path, entry->location);
            ok = false;
        }
    }
    return ok;
}
