/* Jinja2's filters that lay text out in lines: pprint and wordwrap. */
#include "lang/template/filter.h"
#include "lang/template/pprint.h"
#include "lang/template/wordwrap.h"

static bool filter_pprint(Render *r, const Args *args, Value *out)
{
    Buf text = render_buf(r);
    return pprint_put(r, args->values[0], &text) && take_text(r, &text, false, out);
}

static bool filter_wordwrap(Render *r, const Args *args, Value *out)
{
    Value v = args->values[0];
    WrapRules rules;
    if (v.kind != VALUE_STRING) {
        return raise_no_attribute(r, v, "splitlines");
    }
    if (arg_given(args, 1) && args->values[1].kind == VALUE_UNDEFINED) {
        return undefined_raise(r, args->values[1]);
    }
    if (!arg_int(r, args, 1, 79, &rules.width) ||
        !arg_truth(r, args, 2, true, &rules.break_long_words) ||
        !arg_truth(r, args, 4, true, &rules.break_on_hyphens)) {
        return false;
    }
    rules.between = r->settings->syntax.newline_sequence;
    if (arg_some(args, 3) && !op_text(r, args->values[3], &rules.between)) {
        return false;
    }
    if (rules.width <= 0 && v.len > 0) {
        return render_raise(r, FAULT_VALUE, "invalid width %lld (must be > 0)",
                            (long long)rules.width);
    }
    Buf text = render_buf(r);
    return wordwrap(r, value_str(v), &rules, &text) && take_text(r, &text, false, out);
}

const Native filters_print[] = {
    { .name = "pprint",
      .call = filter_pprint,
      .params = { { "value" } },
      .flags = NATIVE_JINJA,
      .help = "Writes a value as Python would, over several lines when it is long.",
      .example = "{{ {'b': 1, 'a': ['x', none]} | pprint }}",
      .shows = "{'a': ['x', None], 'b': 1}" },
    { .name = "wordwrap",
      .call = filter_wordwrap,
      .params = { { "value" },
                  { "width", "79" },
                  { "break_long_words", "true" },
                  { "wrapstring", "none" },
                  { "break_on_hyphens", "true" } },
      .flags = NATIVE_JINJA,
      .help = "Breaks lines that are longer than `width` between words.",
      .example = "{{ 'one two three four' | wordwrap(9) }}",
      .shows = "one two\nthree\nfour" },
    { 0 },
};
