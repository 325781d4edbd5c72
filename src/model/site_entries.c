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

static bool paths_parse(const SiteLoad *load, const List *given, SiteEntry *out)
{
    static const SiteNames names = { .here = "paths of variables" };
    SiteLoad inner = site_load_with_names(load, &names);
    out->paths = ARENA_ARRAY(load->arena, Dynamic, given->len + 1);
    bool ok = true;
    for (uint32_t i = 0; i < given->len; i++) {
        if (!value_is_string(given->items[i])) {
            site_problem(load, "E0303", given->items[i], "a path must be a string, not %s",
                         site_kind_name(given->items[i]));
            ok = false;
            continue;
        }
        ok = site_compile(&inner, given->items[i], &out->paths[out->path_count++]) && ok;
    }
    return ok;
}

static bool entry_parse(const SiteLoad *load, EntryKind kind, Value given, const Selector *selector,
                        EntryList *out)
{
    Value values[ENTRY_FIELDS];
    FieldSet set = { .what = kinds[kind].what, .fields = kinds[kind].fields };
    if (value_is_string(given)) {
        Problem *problem =
            site_problem(load, "E0303", given, "%s must be a map, not a string", kinds[kind].what);
        site_hint_entry(load, problem, "name", given, true);
        return false;
    }
    bool ok = fields_read_all(load, &set, given, values);
    if (value_is_missing(values[ENTRY_NAME])) {
        return false;
    }
    SiteEntry entry = { .selector = selector,
                        .name = str_trim(value_str(values[ENTRY_NAME])),
                        .place = values[ENTRY_NAME] };
    if (!document_is_name(entry.name)) {
        site_problem(load, "E0303", entry.place,
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

static bool list_parse(const SiteLoad *load, EntryKind kind, Value given, const Selector *selector,
                       EntryList *out)
{
    if (given.kind == VALUE_NULL) {
        return true;
    }
    if (given.kind != VALUE_LIST) {
        Problem *problem =
            site_problem(load, "E0303", given, "the value of a selector must be a list, not %s",
                         site_kind_name(given));
        site_hint_entry(load, problem, "name", given, false);
        return false;
    }
    bool ok = true;
    for (uint32_t i = 0; i < given.list->len; i++) {
        ok = entry_parse(load, kind, given.list->items[i], selector, out) && ok;
    }
    return ok;
}

bool site_selector_parse(const SiteLoad *load, Value given, const Selector **out)
{
    static const SiteNames names = { .here = "selectors" };
    if (!selector_parse(load->arena, load->templates, load->sources, given, out, load->problems)) {
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

bool site_entries_parse(const SiteLoad *load, EntryKind kind, Value given, SiteEntries *out)
{
    EntryList entries = { 0 };
    bool ok = true;
    if (given.kind == VALUE_MAP) {
        for (uint32_t i = 0; i < given.map->len; i++) {
            const MapEntry *entry = &given.map->entries[i];
            const Selector *selector;
            ok = site_selector_parse(load, entry->key, &selector) && ok;
            ok = list_parse(load, kind, entry->value, selector, &entries) && ok;
        }
    } else if (given.kind == VALUE_LIST) {
        Value every = value_string(STR("*"));
        const Selector *selector;
        ok = site_selector_parse(load, every, &selector) &&
             list_parse(load, kind, given, selector, &entries);
    } else if (given.kind != VALUE_NULL && !value_is_missing(given)) {
        site_problem(load, "E0303", given, "this must be a map from selectors to lists, not %s",
                     site_kind_name(given));
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
            document_missing(load, path, entry->place);
            ok = false;
        }
    }
    return ok;
}
