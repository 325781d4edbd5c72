#include "cli/nodes_choice.h"

#include "base/glob.h"
#include "cli/nodes_print.h"
#include "cli/output.h"
#include "cli/selector_input.h"
#include "sys/terminal.h"

enum {
    SHOWN_MAX = 20 /* maximum number of names printed */
};

static void add_name(NodesChoice *choice, Str name)
{
    for (uint32_t i = 0; i < choice->count; i++) {
        if (str_eq(choice->names[i], name)) {
            return;
        }
    }
    choice->names[choice->count++] = name;
}

/* Adds the nodes that match the pattern, or all if it is empty. Returns their number. */
static uint32_t add_matching(NodesChoice *choice, const List *nodes, Str pattern, bool pending)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < nodes->len; i++) {
        Str name = object_name(nodes->items[i]);
        if (node_is_member(nodes->items[i]) != pending &&
            (pattern.len == 0 || glob_match(pattern, name))) {
            add_name(choice, name);
            found++;
        }
    }
    return found;
}

static int choose_by_selector(Invocation *invocation, const SelectorInput *selector, bool pending,
                              NodesChoice *out)
{
    Value list;
    int code = kind_fetch(invocation, kind_find(STR("Node")),
                          invocation_text(invocation, "selector"), &list);
    if (code != EXIT_OK) {
        return code;
    }
    out->is_pattern = true;
    out->names = ARENA_ARRAY(invocation->arena, Str, object_items(list)->len + 1);
    return add_matching(out, object_items(list), STR_EMPTY, pending) > 0
               ? EXIT_OK
               : selector_input_no_match(invocation, selector);
}

static int choose_by_names(Invocation *invocation, const char **words, uint32_t count, bool pending,
                           NodesChoice *out)
{
    Value list = value_null();
    for (uint32_t i = 0; i < count; i++) {
        out->is_pattern = out->is_pattern || glob_is_pattern(str_from_c(words[i]));
    }
    if (out->is_pattern) {
        int code = kind_fetch(invocation, kind_find(STR("Node")), NULL, &list);
        if (code != EXIT_OK) {
            return code;
        }
    }
    out->names = ARENA_ARRAY(invocation->arena, Str, object_items(list)->len + count);
    for (uint32_t i = 0; i < count; i++) {
        Str word = str_from_c(words[i]);
        if (!glob_is_pattern(word)) {
            add_name(out, word);
        } else if (add_matching(out, object_items(list), word, pending) == 0) {
            output_line(invocation->err, "no node matches '%" STR_FMT "'; nothing was done",
                        STR_ARG(word));
            return EXIT_NOT_MATCHED;
        }
    }
    return EXIT_OK;
}

int nodes_choose(Invocation *invocation, const char **words, uint32_t count, bool pending,
                 NodesChoice *out)
{
    SelectorInput selector;
    *out = (NodesChoice){ 0 };
    int code = selector_input_read(invocation, true, &selector);
    if (code != EXIT_OK) {
        return code;
    }
    if (selector.is_given && count > 0) {
        return usage_error(invocation, "use either names or --selector, not both: '%s'", words[0]);
    }
    if (!selector.is_given && count == 0) {
        return usage_error(invocation, "NODE or --selector is required");
    }
    return selector.is_given ? choose_by_selector(invocation, &selector, pending, out)
                             : choose_by_names(invocation, words, count, pending, out);
}

void nodes_choice_show(const Invocation *invocation, const NodesChoice *choice, const char *does)
{
    Buf names = buf_make_in(invocation->arena, BUF_UNLIMITED);
    if (!choice->is_pattern) {
        return;
    }
    for (uint32_t i = 0; i < choice->count && i < SHOWN_MAX; i++) {
        buf_put_c(&names, i > 0 ? ", " : "");
        buf_put(&names, choice->names[i]);
    }
    if (choice->count > SHOWN_MAX) {
        buf_put_format(&names, " and %u more", choice->count - SHOWN_MAX);
    }
    output_line(invocation->err, "%s %u node%s: %" STR_FMT, does, choice->count,
                choice->count == 1 ? "" : "s", STR_ARG(buf_str(&names)));
    stream_flush(invocation->err);
}

bool nodes_choice_confirm(const Invocation *invocation, const NodesChoice *choice, const char *does,
                          int *code)
{
    char response[16];
    Error err;
    nodes_choice_show(invocation, choice, does);
    *code = EXIT_OK;
    if (!choice->is_pattern || invocation_flag(invocation, "yes")) {
        return true;
    }
    if (!terminal_is_available()) {
        *code = usage_error(invocation,
                            "nodes were selected by a pattern or selector: confirm with --yes");
        return false;
    }
    if (terminal_ask("Continue? [y/N] ", false, response, sizeof response, &err) &&
        (response[0] == 'y' || response[0] == 'Y')) {
        return true;
    }
    output_line(invocation->err, "nothing was done");
    *code = EXIT_FAILED;
    return false;
}
