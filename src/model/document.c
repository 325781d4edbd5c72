#include "model/document.h"

#include "lang/yaml.h"
#include "model/document_location.h"

enum {
    META_VERSION,
    META_KIND,
    META_NAME,
    META_LABELS,
    META_ANNOTATIONS,
    META_UUID,
    META_COUNT
};

static const Field metadata_fields[] = {
    { "apiVersion", FIELD_TEXT, .choices = "v1alpha" },
    { "kind", FIELD_NAME, .choices = "Config|Job|Macros|Reaction|Step|Trigger|Variables" },
    { "name", FIELD_NAME },
    { "labels", FIELD_MAP },
    { "annotations", FIELD_MAP },
    { "uuid", FIELD_TEXT },
    { 0 },
};

static bool is_hex(char c)
{
    return ascii_is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Matches 5acfcdce-be46-4f34-81be-9fd6980c2224. */
static bool is_uuid(Str text)
{
    static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    bool matches = text.len == strlen(form);
    for (size_t i = 0; matches && i < text.len; i++) {
        matches = form[i] == 'x' ? is_hex(text.data[i]) : text.data[i] == '-';
    }
    return matches;
}

static bool check_uuid(const SiteLoad *load, Value input)
{
    if (value_is_missing(input) || is_uuid(value_str(input))) {
        return true;
    }
    site_problem(load, "E0303", input, "'uuid' must be a UUID, not '%" STR_FMT "'",
                 STR_ARG(str_slice(value_str(input), 0, 100)))
        ->hint = STR("remove the key: it is set by a server");
    return false;
}

bool document_metadata(const SiteLoad *load, Value metadata, Value *name)
{
    Value input[META_COUNT];
    FieldSet set = { .what = "'metadata'", .fields = metadata_fields };
    bool ok = fields_read_all(load, &set, metadata, input);
    ok = check_uuid(load, input[META_UUID]) && ok;
    *name = input[META_NAME];
    return ok;
}

static bool is_wrapped(DocumentKind kind, const Map *map)
{
    bool has_metadata = map_find_str(map, STR("metadata")) != NULL;
    bool has_spec = map_find_str(map, STR("spec")) != NULL;
    return kind == DOCUMENT_ANY_KEYS ? has_metadata && has_spec && map->len == 2
                                     : has_metadata || has_spec;
}

/* Removes the `metadata` and `spec` wrapper. */
static bool document_unwrap(const SiteLoad *load, DocumentKind kind, Value root, Value *out)
{
    static const Field fields[] = {
        { "metadata", FIELD_MAP },
        { "spec", FIELD_ANY },
        { 0 },
    };
    *out = root;
    if (root.kind != VALUE_MAP || !is_wrapped(kind, root.map)) {
        return true;
    }
    Value input[2];
    FieldSet set = { .what = "a document with 'metadata' and 'spec'", .fields = fields };
    bool ok = fields_read_all(load, &set, root, input);
    Value name;
    if (!value_is_missing(input[0])) {
        ok = document_metadata(load, input[0], &name) && ok;
    }
    *out = value_is_missing(input[1]) ? value_null() : input[1];
    return ok;
}

bool document_is_name(Str name)
{
    Str part;
    if (name.len == 0 || name.len > 1024 || memchr(name.data, '\0', name.len) != NULL) {
        return false;
    }
    while (str_split_next(&name, '/', &part)) {
        if (part.len == 0 || str_eq(part, STR(".")) || str_eq(part, STR(".."))) {
            return false;
        }
    }
    return true;
}

/* Suggests the nearest file name in the same directory. */
static void suggest_file(const SiteLoad *load, Problem *problem, Str path, Value reference)
{
    size_t slash = str_find(path, STR("/"), 0);
    if (load->reader.list == NULL || slash == STR_NOT_FOUND) {
        return;
    }
    List *paths = list_new(load->arena, 16);
    load->reader.list(load->reader.context, str_slice(path, 0, slash), load->arena, paths);
    Str wanted = str_from_offset(path, slash + 1);
    bool is_yaml = str_ends(wanted, STR(".yaml"));
    Suggest suggest = suggest_make(str_slice(wanted, 0, wanted.len - (is_yaml ? 5 : 0)));
    for (uint32_t i = 0; i < paths->len; i++) {
        Str name = str_from_offset(value_str(paths->items[i]), slash + 1);
        if (is_yaml && !str_ends(name, STR(".yaml"))) {
            continue;
        }
        name.len -= is_yaml ? 5 : 0;
        if (!str_eq(name, STR("base"))) {
            suggest_offer(&suggest, name);
        }
    }
    site_suggest_for(load, problem, reference, &suggest);
}

static Str display_path(const SiteLoad *load, Str path)
{
    Str root = load->reader.root;
    if (root.len == 0) {
        return path;
    }
    return arena_format(load->arena, "%" STR_FMT "%s%" STR_FMT, STR_ARG(root),
                        str_ends(root, STR("/")) ? "" : "/", STR_ARG(path));
}

/* "jobs/web.yml" for jobs/web.yaml; empty if it is not YAML. */
static Str yml_path(const SiteLoad *load, Str path)
{
    return str_ends(path, STR(".yaml"))
               ? arena_join(load->arena, str_slice(path, 0, path.len - strlen(".yaml")), STR_EMPTY,
                            STR(".yml"))
               : STR_EMPTY;
}

bool document_has_yml(const SiteLoad *load, Str path)
{
    Str container = yml_path(load, path);
    return container.len > 0 && load->reader.exists != NULL &&
           load->reader.exists(load->reader.context, container);
}

static Problem *report_unreadable(const SiteLoad *load, Str path, Value reference, const Error *err)
{
    bool named = reference.source != SOURCE_NONE;
    Problem *problem =
        err->kind == ERROR_NOT_FOUND
            ? site_problem(load, "E0301", reference, "file '%" STR_FMT "' not found",
                           STR_ARG(display_path(load, path)))
            : site_problem(load, "E0301", reference, "cannot read '%" STR_FMT "': %s",
                           STR_ARG(display_path(load, path)), err->text);
    if (!named) {
        problem->file = display_path(load, path);
    }
    if (err->kind == ERROR_NOT_FOUND && document_has_yml(load, path)) {
        problem->hint = arena_format(
            load->problems->arena, "rename '%" STR_FMT "' to '%" STR_FMT "'",
            STR_ARG(display_path(load, yml_path(load, path))), STR_ARG(display_path(load, path)));
    } else if (err->kind == ERROR_NOT_FOUND) {
        suggest_file(load, problem, path, reference);
    }
    return problem;
}

Problem *document_report_missing(const SiteLoad *load, Str path, Value reference)
{
    return report_unreadable(load, path, reference, &(Error){ .kind = ERROR_NOT_FOUND });
}

bool document_read(const SiteLoad *load, Str path, DocumentKind kind, Value reference,
                   bool *missing, Value *out)
{
    bool ignored;
    *(missing == NULL ? &ignored : missing) = false;
    *out = value_missing();
    Str text;
    Error err;
    if (!load->reader.read(load->reader.context, path, &text, &err)) {
        if (missing != NULL && err.kind == ERROR_NOT_FOUND && !document_has_yml(load, path)) {
            *missing = true;
            *out = value_null();
            return true;
        }
        report_unreadable(load, path, reference, &err);
        return false;
    }
    if (document_has_yml(load, path)) {
        Problem *problem = site_problem(
            load, "E0301", reference, "both '%" STR_FMT "' and '%" STR_FMT "' exist",
            STR_ARG(display_path(load, path)), STR_ARG(display_path(load, yml_path(load, path))));
        problem->hint = STR("remove one of them; file names in a site must end with '.yaml'");
        return false;
    }
    uint16_t source = sources_add(load->sources, display_path(load, path), text);
    if (source == SOURCE_NONE) {
        site_problem(load, "E0301", reference, "the site has too many files");
        return false;
    }
    YamlOptions options = yaml_options_default;
    options.lint = load->lint;
    options.strict_tags = true;
    Value root;
    return yaml_load(load->arena, load->sources, source, &options, &root, load->problems) &&
           document_unwrap(load, kind, root, out);
}

/* --- Reading the valid items -------------------------------------------------------------------- */

typedef struct Line {
    size_t start, next;
    size_t indent;
    bool empty, item, key;
} Line;

static Line line_at(Str text, size_t start)
{
    size_t end = start + str_find(str_from_offset(text, start), STR("\n"), 0);
    end = end < start || end > text.len ? text.len : end;
    Line line = { .start = start, .next = end < text.len ? end + 1 : end };
    Str content = str_slice(text, start, end);
    while (line.indent < content.len && content.data[line.indent] == ' ') {
        line.indent++;
    }
    content = str_trim(content);
    line.empty = content.len == 0 || content.data[0] == '#';
    line.item = str_eq(content, STR("-")) || str_starts(content, STR("- "));
    line.key = !line.item &&
               (str_ends(content, STR(":")) || str_find(content, STR(": "), 0) != STR_NOT_FOUND);
    return line;
}

/* Finds the item of the outermost list that contains the line with that number. */
static bool find_item(Str text, uint32_t number, size_t *start, size_t *end)
{
    bool inside = false;
    size_t indent = 0;
    uint32_t at_line = 1;
    *end = text.len;
    for (size_t pos = 0; pos < text.len; at_line++) {
        Line line = line_at(text, pos);
        pos = line.next;
        bool ends = !line.empty && (line.indent < indent || (line.indent == indent && line.key));
        if (at_line > number && inside && (ends || (line.item && line.indent == indent))) {
            *end = line.start;
            return true;
        }
        if (at_line > number || line.empty) {
            continue;
        }
        if (line.item && (!inside || line.indent <= indent)) {
            inside = true;
            indent = line.indent;
            *start = line.start;
        } else if (line.key && line.indent <= indent) {
            inside = false;
        }
    }
    return inside;
}

static bool has_steps(Value root)
{
    const Value *spec = value_get(root, STR("spec"));
    const Value *steps = value_get(spec != NULL ? *spec : root, STR("steps"));
    return steps != NULL && steps->kind == VALUE_LIST && steps->list->len > 0;
}

bool document_read_valid_items(const SiteLoad *load, Str path, DocumentKind kind, Value *out)
{
    enum {
        ITEMS_MAX = 4
    };
    Str text;
    Error err;
    Problems found_before;
    *out = value_missing();
    problems_init(&found_before, load->arena);
    if (!load->reader.read(load->reader.context, path, &text, &err)) {
        return false;
    }
    char *rest = arena_alloc(load->arena, text.len + 1);
    memcpy(rest, text.data, text.len);
    YamlOptions options = yaml_options_default;
    options.lint = load->lint;
    options.strict_tags = true;
    for (int i = 0; i <= ITEMS_MAX; i++) {
        Problems found;
        problems_init(&found, load->arena);
        uint16_t source = sources_add(load->sources, display_path(load, path),
                                      arena_copy(load->arena, str_from(rest, text.len)));
        Value root = value_null();
        bool ok = source != SOURCE_NONE &&
                  yaml_load(load->arena, load->sources, source, &options, &root, &found);
        if (ok && i > 0 && has_steps(root)) {
            problems_merge(load->problems, &found_before);
            problems_merge(load->problems, &found);
            return document_unwrap(load, kind, root, out);
        }
        /* The location of an unclosed bracket or quote is certain, and so is that of a duplicate
         * key. Other mistakes may start earlier, and an alias may refer to the removed item. */
        size_t start = 0, end = 0;
        Str code = found.count > 0 ? found.items[0].code : STR_EMPTY;
        bool is_certain = i == 0 || str_eq(code, STR("E0110")) || str_eq(code, STR("E0102"));
        if (ok || found.count == 0 || !is_certain ||
            !find_item(str_from(rest, text.len), found.items[0].line, &start, &end)) {
            return false;
        }
        problems_merge(&found_before, &found);
        for (size_t pos = start; pos < end; pos++) {
            rest[pos] = rest[pos] == '\n' ? '\n' : ' ';
        }
    }
    return false;
}

static void report_missing_link(const SiteLoad *load, const Template *template, Value document,
                                const TemplateLink *link)
{
    List *paths = list_new(load->arena, 16);
    load->reader.list(load->reader.context, STR("templates"), load->arena, paths);
    Suggest suggest = suggest_make(link->name);
    for (uint32_t i = 0; i < paths->len; i++) {
        suggest_offer(&suggest, str_from_offset(value_str(paths->items[i]), strlen("templates/")));
    }
    Str nearest;
    bool found = suggest_found(&suggest, &nearest);
    Str text = template_text(template), name = template_name(template);
    Fault fault = {
        .class = FAULT_NOT_FOUND,
        .message = link->name,
        .hint = found ? arena_format(load->arena, "did you mean '%" STR_FMT "'?", STR_ARG(nearest))
                      : STR_EMPTY,
        .fix = found ? nearest : STR_EMPTY,
        .template_name =
            document.kind == VALUE_NULL
                ? display_path(load, arena_join(load->arena, STR("templates/"), name, STR_EMPTY))
                : name,
        .template_text = text,
        .offset = link->offset,
        .span = link->span,
        .document = value_null()
    };
    LineColumn location = source_location(&(Source){ .text = text, .first_line = 1 }, link->offset);
    fault.line = location.line;
    fault.column = location.column;
    Problems found_before;
    problems_init(&found_before, load->arena);
    document_add_fault(&found_before, load->sources, &fault, document);
    problems_merge(load->problems, &found_before);
}

bool document_check_links(const SiteLoad *load, const Template *template, Value document)
{
    const TemplateUses *uses = template_uses(template);
    bool ok = true;
    for (uint32_t i = 0; load->reader.list != NULL && i < uses->link_count; i++) {
        const Template *other;
        Fault fault;
        if (!templates_get(load->templates, uses->links[i].name, &other, &fault) &&
            fault.class == FAULT_NOT_FOUND) {
            report_missing_link(load, template, document, &uses->links[i]);
            ok = false;
        }
    }
    return ok;
}

bool document_check_template(const SiteLoad *load, Str name)
{
    const Template *template;
    Fault fault;
    if (templates_get(load->templates, name, &template, &fault) || fault.class == FAULT_NOT_FOUND) {
        return true;
    }
    Problems found;
    problems_init(&found, load->arena);
    Str path = arena_format(load->arena, "templates/%" STR_FMT, STR_ARG(name));
    for (Fault *found_before = &fault; found_before != NULL; found_before = found_before->next) {
        found_before->template_name = display_path(load, path);
    }
    document_add_fault(&found, load->sources, &fault, value_null());
    problems_merge(load->problems, &found);
    return false;
}
