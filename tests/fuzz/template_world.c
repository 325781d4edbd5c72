#include "template_world.h"

#include "base/bug.h"
#include "lang/yaml.h"

/* --- Options --------------------------------------------------------------------------------- */

enum {
    OPTION_UNDEFINED = 3, /* first byte */
    OPTION_AUTOESCAPE = 4,
    OPTION_TRIM = 8,
    OPTION_LSTRIP = 16,
    OPTION_KEEP_NEWLINE = 32,
    OPTION_SYNTAX = 3, /* second byte */
    OPTION_LINE_STATEMENTS = 4,
    OPTION_LINE_COMMENTS = 8,
    OPTION_CRLF = 16,
    OPTION_FROZEN = 32,
};

static const struct {
    Str block_start, block_end, variable_start, variable_end, comment_start, comment_end;
} syntaxes[] = {
    { STR("{%"), STR("%}"), STR("{{"), STR("}}"), STR("{#"), STR("#}") },
    { STR("<%"), STR("%>"), STR("${"), STR("}"), STR("<#"), STR("#>") },
    { STR("<!--%"), STR("%-->"), STR("<!-- v"), STR("-->"), STR("<!--#"), STR("#-->") },
    { STR("[%"), STR("%]"), STR("[["), STR("]]"), STR("[#"), STR("#]") },
};

static void choose_options(TemplateWorld *world, uint8_t first, uint8_t second)
{
    TemplateSettings *settings = &world->settings;
    *settings = template_settings_default();
    settings->undefined = (UndefinedMode)(first & OPTION_UNDEFINED);
    settings->autoescape = (first & OPTION_AUTOESCAPE) != 0;
    settings->now = 1700000000;
    settings->seed = 7;
    settings->limits = (TemplateLimits){ .source = 1 << 20,
                                         .output = 64 << 10,
                                         .memory = 4 << 20,
                                         .steps = 200000,
                                         .depth = 40,
                                         .nesting = 60,
                                         .templates = 12 };
    TemplateSyntax *syntax = &settings->syntax;
    uint8_t row = second & OPTION_SYNTAX;
    syntax->block_start = syntaxes[row].block_start;
    syntax->block_end = syntaxes[row].block_end;
    syntax->variable_start = syntaxes[row].variable_start;
    syntax->variable_end = syntaxes[row].variable_end;
    syntax->comment_start = syntaxes[row].comment_start;
    syntax->comment_end = syntaxes[row].comment_end;
    syntax->trim_blocks = (first & OPTION_TRIM) != 0;
    syntax->lstrip_blocks = (first & OPTION_LSTRIP) != 0;
    syntax->keep_trailing_newline = (first & OPTION_KEEP_NEWLINE) != 0;
    syntax->line_statement_prefix = second & OPTION_LINE_STATEMENTS ? STR("#") : STR_EMPTY;
    syntax->line_comment_prefix = second & OPTION_LINE_COMMENTS ? STR("##") : STR_EMPTY;
    syntax->newline_sequence = second & OPTION_CRLF ? STR("\r\n") : STR("\n");
    world->frozen = (second & OPTION_FROZEN) != 0;
}

/* --- Variables ------------------------------------------------------------------------------- */

static const char variables_text[] =
    "name: web-1\n"
    "n: 42\n"
    "neg: -7\n"
    "zero: 0\n"
    "big: 9223372036854775807\n"
    "small: -9223372036854775808\n"
    "pi: 3.14159\n"
    "tiny: 1.0e-7\n"
    "huge: 1.0e+300\n"
    "inf: .inf\n"
    "nan: .nan\n"
    "yes: true\n"
    "no: false\n"
    "nothing: null\n"
    "empty: ''\n"
    "text: \"Hello, W\\u00f6rld \\u2713 \\U0001F600 \\u0130\\u00df\"\n"
    "lines: \"one\\n  two\\r\\nthree\\n\\nfour\\tfive\"\n"
    "html: \"<b class='x'>Tom &amp; \\\"Jerry\\\"</b> http://example.org/?a=b&c=d\"\n"
    "path: /etc/nginx/../conf.d/site.conf\n"
    "address: 192.0.2.17/24\n"
    "six: 2001:db8::1/64\n"
    "number: ' 0x1F '\n"
    "encoded: aGVsbG8=\n"
    "json: '{\"a\": [1, 2.5, null, \"x\"]}'\n"
    "yaml: \"a: [1, 2]\\nb: {c: d}\\n\"\n"
    "when: 1700000000\n"
    "list: &list [3, 1, 2]\n"
    "words: [pear, Apple, fig, apple, '']\n"
    "mixed: [1, 2.5, x, null, true, [1, [2, [3]]], {a: 1}]\n"
    "versions: ['1.10.0', '1.9', '1.10.0-rc1', '2']\n"
    "users:\n"
    "  - {name: ann, age: 31, tags: *list, at: {city: Bonn}, admin: true}\n"
    "  - {name: bob, age: 27, tags: [], at: {city: Graz}, admin: false}\n"
    "  - {name: Eve, age: 31, tags: [x], at: {city: Bonn}, admin: false}\n"
    "pairs: [{key: a, value: 1}, {key: b, value: 2}]\n"
    "tree: [{v: 1, c: [{v: 2, c: []}, {v: 3, c: [{v: 4, c: []}]}]}]\n"
    "map: {b: 2, a: 1, 3: three, 2.5: half, true: yes, [1, 2]: pair, deep: {er: {est: [1]}}}\n"
    "shared: [*list, *list]\n"
    "password: !secret Qjx7Zkw2\n"
    "pin: !secret 73219846\n"
    "keys: {public: abcdef, private: !secret Zwq9Xvj4}\n"
    "vault: !secret {token: Kzx5Jqw8, list: [Vqj3Wxz6, {x: Xkq1Zjv0}]}\n";

static const Str secrets[] = {
    STR("Qjx7Zkw2"), STR("73219846"), STR("Zwq9Xvj4"),
    STR("Kzx5Jqw8"), STR("Vqj3Wxz6"), STR("Xkq1Zjv0"),
};

static const struct {
    Str name;
    Str text;
} templates[] = {
    { STR("base"),
      STR("<{% block title %}T{% endblock %}|{% block body scoped %}{{ n }}{% endblock %}>"
          "{% block last %}{{ self.title() }}{% endblock %}") },
    { STR("middle"), STR("{% extends 'base' %}{% block body %}[{{ super() }}]"
                         "{% block inner %}i{% endblock %}{% endblock %}") },
    { STR("required"), STR("{% block must required %}{% endblock %}") },
    { STR("lib"),
      STR("{% macro m(a, b=2, c=a) %}({{ a }},{{ b }},{{ c }},{{ varargs }},{{ kwargs }}){% "
          "endmacro"
          " %}{% macro box() %}[{{ caller('x') }}]{% endmacro %}{% set v = n %}{% set _p = 1 %}") },
    { STR("inc"), STR("{{ name }}{{ x }}{% for u in users %}{{ loop.index }}{{ u.name }}\n"
                      "{% endfor %}") },
    { STR("bad"), STR("ok\n{% if %}") },
    { STR("fails"), STR("\n{{ 1 // 0 }}") },
    { STR("loop"), STR("{% include 'loop' %}") },
    { STR("self"), STR("{% extends 'self' %}") },
};

/* Read once, the same for every input: what the process knows about its variables. */
static struct {
    Arena arena;
    Sources sources;
    Problems problems;
    Value variables;
    bool ready;
} fixed;

static Value fixed_variables(void)
{
    if (!fixed.ready) {
        arena_init(&fixed.arena, ARENA_UNLIMITED);
        sources_init(&fixed.sources, &fixed.arena);
        problems_init(&fixed.problems, &fixed.arena);
        uint16_t source = sources_add(&fixed.sources, STR("variables"), str_from_c(variables_text));
        if (!yaml_load(&fixed.arena, &fixed.sources, source, NULL, &fixed.variables,
                       &fixed.problems)) {
            BUG("the fixed variables do not load");
        }
        value_freeze(fixed.variables);
        fixed.ready = true;
    }
    return fixed.variables;
}

/* --- The parts of an input -------------------------------------------------------------------- */

static bool load_template(void *context, Str name, Arena *arena, Str *text)
{
    (void)arena;
    const TemplateWorld *world = context;
    const Str *own = str_map_find(&world->templates, name);
    if (own != NULL) {
        *text = *own;
        return true;
    }
    for (size_t i = 0; i < COUNT_OF(templates); i++) {
        if (str_eq(templates[i].name, name)) {
            *text = templates[i].text;
            return true;
        }
    }
    return false;
}

static void read_variables(TemplateWorld *world, Str text)
{
    uint16_t source = sources_add(&world->sources, STR("context"), text);
    YamlOptions options = yaml_options_default;
    options.limits.expanded = 2000;
    options.limits.depth = 60;
    Value variables;
    if (yaml_load(&world->arena, &world->sources, source, &options, &variables, &world->problems) &&
        variables.kind == VALUE_MAP) {
        world->variables = variables;
        value_freeze(variables);
    }
}

static void add_part(TemplateWorld *world, Str name, Str text)
{
    if (str_eq(name, STR("context"))) {
        read_variables(world, text);
    } else {
        Str *kept = ARENA_NEW(&world->arena, Str);
        *kept = text;
        str_map_put(&world->templates, name, kept);
    }
}

static void split_parts(TemplateWorld *world, Str rest)
{
    const Str separator = STR("\n=== ");
    size_t end = str_find(rest, separator, 0);
    world->text = str_slice(rest, 0, end == STR_NOT_FOUND ? rest.len : end);
    while (end != STR_NOT_FOUND) {
        size_t name = end + separator.len;
        size_t line = str_find(rest, STR("\n"), name);
        if (line == STR_NOT_FOUND) {
            break;
        }
        end = str_find(rest, separator, line);
        add_part(world, str_slice(rest, name, line),
                 str_slice(rest, line + 1,
                           end == STR_NOT_FOUND ? rest.len : (end > line ? end : line + 1)));
    }
}

void template_world_init(TemplateWorld *world, Str input)
{
    *world = (TemplateWorld){ .input = input };
    arena_init(&world->arena, 16 << 20);
    sources_init(&world->sources, &world->arena);
    problems_init(&world->problems, &world->arena);
    str_map_init(&world->templates, &world->arena);
    world->variables = fixed_variables();
    uint8_t first = input.len > 0 ? (uint8_t)input.data[0] : '@';
    uint8_t second = input.len > 1 ? (uint8_t)input.data[1] : '@';
    choose_options(world, first, second);
    world->settings.load = load_template;
    world->settings.load_context = world;
    split_parts(world, str_from_offset(input, input.len < 2 ? input.len : 2));
}

void template_world_clear(TemplateWorld *world)
{
    arena_clear(&world->arena);
}

Value template_world_variables(const TemplateWorld *world, Arena *arena)
{
    return world->frozen ? world->variables : value_copy(arena, world->variables);
}

/* --- Invariants ------------------------------------------------------------------------------- */

/* Not str_find(): libFuzzer intercepts memmem and would learn the secret for its next inputs. */
static size_t find(Str text, Str needle, size_t from)
{
    for (size_t at = from; at + needle.len <= text.len; at++) {
        size_t same = 0;
        while (same < needle.len && text.data[at + same] == needle.data[same]) {
            same++;
        }
        if (same == needle.len) {
            return at;
        }
    }
    return STR_NOT_FOUND;
}

/* Whether the input contains part of the secret: then it may have assembled the rest. */
static bool is_known(const TemplateWorld *world, Str secret)
{
    enum {
        CHUNK = 3
    };
    for (size_t i = 0; i + CHUNK <= secret.len; i++) {
        if (find(world->input, str_slice(secret, i, i + CHUNK), 0) != STR_NOT_FOUND) {
            return true;
        }
    }
    return false;
}

void check_no_secret(const TemplateWorld *world, Str text)
{
    for (size_t i = 0; i < COUNT_OF(secrets); i++) {
        if (find(text, secrets[i], 0) != STR_NOT_FOUND && !is_known(world, secrets[i])) {
            BUG("'%" STR_FMT "' is told: %" STR_FMT, STR_ARG(secrets[i]), STR_ARG(text));
        }
    }
}

void check_fault(const TemplateWorld *world, const Fault *fault)
{
    BUG_IF(fault->class == FAULT_NONE || fault_class_code(fault->class)[0] == '\0');
    BUG_IF(fault->message.len == 0 && fault->class != FAULT_NOT_FOUND && fault->class != FAULT_KEY);
    BUG_IF(fault->line == 0 || fault->column == 0);
    const Source source = { .text = fault->template_text, .first_line = 1 };
    BUG_IF(fault->line > source_location(&source, (uint32_t)fault->template_text.len).line);
    BUG_IF(fault->offset > fault->template_text.len);
    BUG_IF(fault->span > fault->template_text.len - fault->offset);
    for (const FaultOrigin *origin = fault->origin; origin != NULL; origin = origin->next) {
        BUG_IF(origin->line == 0);
    }
    check_no_secret(world, fault->message);
    check_no_secret(world, fault->hint);
}

/* Whether the range [start, end) of the text is hidden; ranges may be adjacent. */
static bool is_hidden(const Rendered *rendered, size_t start, size_t end)
{
    for (uint32_t i = 0; i < rendered->secret_count && start < end; i++) {
        const SecretRange *range = &rendered->secrets[i];
        if (range->start <= start && start < range->end) {
            start = range->end;
        }
    }
    return start >= end;
}

void check_secrets(const TemplateWorld *world, const Rendered *rendered)
{
    size_t from = 0;
    for (uint32_t i = 0; i < rendered->secret_count; i++) {
        const SecretRange *range = &rendered->secrets[i];
        BUG_IF(range->start < from || range->start >= range->end ||
               range->end > rendered->text.len);
        from = range->end;
    }
    Str text = buf_str(&rendered->text);
    for (size_t i = 0; i < COUNT_OF(secrets); i++) {
        for (size_t at = 0; (at = find(text, secrets[i], at)) != STR_NOT_FOUND; at++) {
            if (!is_hidden(rendered, at, at + secrets[i].len) && !is_known(world, secrets[i])) {
                BUG("'%" STR_FMT "' is shown: %" STR_FMT, STR_ARG(secrets[i]), STR_ARG(text));
            }
        }
    }
}

void check_memory(const TemplateWorld *world, const Rendered *rendered)
{
    const TemplateLimits *limits = &world->settings.limits;
    size_t captures = 0;
    for (uint32_t i = 0; i < rendered->capture_cap; i++) {
        captures += rendered->captures[i].cap;
    }
    BUG_IF(rendered->arena.chunk_bytes > 2 * limits->memory);
    BUG_IF(rendered->frames.chunk_bytes > 2 * limits->memory);
    BUG_IF(captures > 2 * limits->memory);
    BUG_IF(rendered->text.len > limits->output);
}
