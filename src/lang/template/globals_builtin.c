/* Jinja2's global functions. */
#include "base/utf8.h"
#include "lang/template/filter.h"
#include "lang/template/methods.h"

static bool global_range(Render *r, const Args *args, Value *out)
{
    if (args->named != NULL) {
        return render_raise(r, FAULT_TYPE, "range() takes no keyword arguments");
    }
    if (args->count < 1 || args->count > 3) {
        return render_raise(r, FAULT_TYPE, "range expected at %s argument%s, got %u",
                            args->count == 0 ? "least 1" : "most 3", args->count == 0 ? "" : "s",
                            args->count);
    }
    int64_t numbers[3] = { 0, 0, 1 };
    for (uint32_t i = 0; i < args->count; i++) {
        if (!value_to_index(r, args->values[i], &numbers[args->count == 1 ? 1 : i])) {
            return false;
        }
    }
    if (numbers[2] == 0) {
        return render_raise(r, FAULT_VALUE, "range() arg 3 must not be zero");
    }
    *out = range_new(r, numbers[0], numbers[1], numbers[2]);
    return true;
}

/* Python's dict(mapping or pairs, name=value ...). */
static bool make_map(Render *r, const Args *args, Map **out)
{
    *out = map_new(r->arena, 0);
    if (args->count > 1) {
        return render_raise(r, FAULT_TYPE, "dict expected at most 1 argument, got %u", args->count);
    }
    return (args->count == 0 || map_update(r, *out, args->values[0])) &&
           (args->named == NULL || map_update(r, *out, value_map(args->named)));
}

static bool global_dict(Render *r, const Args *args, Value *out)
{
    Map *map;
    if (!make_map(r, args, &map)) {
        return false;
    }
    *out = value_map(map);
    return true;
}

static bool global_namespace(Render *r, const Args *args, Value *out)
{
    Map *map;
    if (!make_map(r, args, &map)) {
        return false;
    }
    *out = namespace_new(r, map);
    return true;
}

static bool global_cycler(Render *r, const Args *args, Value *out)
{
    if (args->count == 0) {
        return render_raise(r, FAULT_PYTHON_RUNTIME, "at least one item has to be provided");
    }
    List *items = list_new(r->arena, args->count);
    for (uint32_t i = 0; i < args->count; i++) {
        list_push(r->arena, items, args->values[i]);
    }
    *out = cycler_new(r, items);
    return true;
}

static bool global_joiner(Render *r, const Args *args, Value *out)
{
    *out = joiner_new(r, arg_or(args, 0, value_string(STR(", "))));
    return true;
}

static const char *const lipsum_words[] = {
    "a",       "ac",       "ad",      "amet",   "ante",   "arcu",   "at",    "augue",  "congue",
    "cras",    "cum",      "dis",     "dolor",  "donec",  "dui",    "duis",  "eget",   "elit",
    "enim",    "erat",     "eros",    "est",    "et",     "etiam",  "eu",    "felis",  "fusce",
    "gravida", "hac",      "iaculis", "id",     "in",     "ipsum",  "justo", "lacus",  "laoreet",
    "lectus",  "leo",      "ligula",  "lorem",  "luctus", "magna",  "massa", "mauris", "metus",
    "mi",      "molestie", "morbi",   "mus",    "nam",    "nec",    "neque", "nibh",   "nisi",
    "nulla",   "nunc",     "odio",    "orci",   "pede",   "platea", "porta", "purus",  "quam",
    "quis",    "risus",    "rutrum",  "sapien", "sed",    "sem",    "sit",   "sociis", "tellus",
    "tempor",  "tortor",   "turpis",  "urna",   "ut",     "varius", "velit", "vitae",  "vivamus",
};

/* Words with an occasional comma or period. */
static void put_paragraph(Render *r, uint64_t words, Buf *out)
{
    uint64_t since_comma = 0, since_stop = 0;
    uint64_t comma = 3 + render_random(r, 5), stop = 10 + render_random(r, 10);
    bool capital = true;
    size_t last = COUNT_OF(lipsum_words);
    for (uint64_t i = 0; i < words && !out->overflow; i++) {
        size_t word = render_random(r, COUNT_OF(lipsum_words));
        if (word == last) {
            word = (word + 1) % COUNT_OF(lipsum_words);
        }
        last = word;
        if (i > 0) {
            buf_put_char(out, ' ');
        }
        const char *text = lipsum_words[word];
        buf_put_char(out, capital ? ascii_upper(text[0]) : text[0]);
        buf_put_c(out, text + 1);
        capital = false;
        if (i + 1 == words) {
            break;
        }
        if (++since_stop >= stop) {
            buf_put_char(out, '.');
            since_stop = since_comma = 0;
            stop = 10 + render_random(r, 10);
            capital = true;
        } else if (++since_comma >= comma) {
            buf_put_char(out, ',');
            since_comma = 0;
            comma = 3 + render_random(r, 5);
        }
    }
    buf_put_char(out, '.');
}

static bool global_lipsum(Render *r, const Args *args, Value *out)
{
    int64_t paragraphs, min_words, max_words;
    bool html;
    if (!arg_int(r, args, 0, 5, &paragraphs) || !arg_truth(r, args, 1, true, &html) ||
        !arg_int(r, args, 2, 20, &min_words) || !arg_int(r, args, 3, 100, &max_words)) {
        return false;
    }
    if (min_words >= max_words) {
        return render_raise(r, FAULT_VALUE, "empty range for lipsum (%lld, %lld)",
                            (long long)min_words, (long long)max_words);
    }
    Buf text = render_buf(r);
    for (int64_t i = 0; i < paragraphs && !text.overflow; i++) {
        uint64_t words =
            (uint64_t)min_words + render_random(r, (uint64_t)max_words - (uint64_t)min_words);
        words = min_words < 0 && (int64_t)words < 0 ? 0 : words;
        if (!render_charge(r, words + 1)) {
            return false;
        }
        if (i > 0) {
            buf_put_c(&text, html ? "\n" : "\n\n");
        }
        buf_put_c(&text, html ? "<p>" : "");
        put_paragraph(r, words, &text);
        buf_put_c(&text, html ? "</p>" : "");
    }
    return take_text(r, &text, html, out);
}

const Native globals_builtin[] = {
    { .name = "range",
      .call = global_range,
      .flags = NATIVE_JINJA | NATIVE_VARIADIC | NATIVE_KEYWORDS,
      .help = "Counts from 0 or the first number up to, but excluding, the next; optionally with a "
              "step.",
      .example = "{{ range(3) | list }} {{ range(10, 0, -5) | list }}",
      .output = "[0, 1, 2] [10, 5]" },
    { .name = "dict",
      .call = global_dict,
      .flags = NATIVE_JINJA | NATIVE_VARIADIC | NATIVE_KEYWORDS | NATIVE_PASS_THROUGH,
      .help = "Creates a map from keyword arguments, pairs, or another map.",
      .example = "{{ dict(port=80, host='web') }} {{ dict([['a', 1]]) }}",
      .output = "{'port': 80, 'host': 'web'} {'a': 1}" },
    { .name = "namespace",
      .call = global_namespace,
      .flags = NATIVE_JINJA | NATIVE_VARIADIC | NATIVE_KEYWORDS | NATIVE_PASS_THROUGH,
      .help = "Creates an object whose attributes can be set inside loops.",
      .example = "{% set ns = namespace(n=0) %}{% for i in [1, 2] %}{% set ns.n = ns.n + i %}"
                 "{% endfor %}{{ ns.n }}",
      .output = "3" },
    { .name = "cycler",
      .call = global_cycler,
      .flags = NATIVE_JINJA | NATIVE_VARIADIC | NATIVE_PASS_THROUGH,
      .help = "Cycles through the values with next(), current and reset().",
      .example = "{% set row = cycler('odd', 'even') %}{{ row.next() }} {{ row.next() }} "
                 "{{ row.next() }}",
      .output = "odd even odd" },
    { .name = "joiner",
      .call = global_joiner,
      .params = { { "sep", "', '" } },
      .flags = NATIVE_JINJA | NATIVE_PASS_THROUGH,
      .help = "Returns an empty string on the first call, and the separator on later calls.",
      .example = "{% set comma = joiner() %}{% for i in [1, 2] %}{{ comma() }}{{ i }}{% endfor %}",
      .output = "1, 2" },
    { .name = "lipsum",
      .call = global_lipsum,
      .params = { { "n", "5" }, { "html", "true" }, { "min", "20" }, { "max", "100" } },
      .flags = NATIVE_JINJA,
      .help = "Generates paragraphs of filler text.",
      .example = "{{ lipsum(2, html=false) | length > 100 }}",
      .output = "True" },
    { 0 },
};
