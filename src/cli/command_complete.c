/* eden complete: names for the scripts of `eden completion`. */
#include "base/bug.h"
#include "cli/cluster_client.h"
#include "cli/live_names.h"

static const WordKind kinds[] = { WORD_NODE, WORD_TOKEN, WORD_ROLE, WORD_CONTEXT };

static WordKind kind_of(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (strcmp(word_kind_name(kinds[i]), name) == 0) {
            return kinds[i];
        }
    }
    BUG("the row lists the choices");
}

static void show_contexts(const Invocation *invocation)
{
    Contexts contexts;
    Error err;
    if (contexts_load(invocation->arena, contexts_directory(invocation->arena), &contexts, &err)) {
        for (uint32_t i = 0; i < contexts.count; i++) {
            stream_put_format(invocation->out, "%" STR_FMT "\n", STR_ARG(contexts.items[i].name));
        }
    }
    stream_put_format(invocation->out, CONTEXT_LOCAL "\n");
}

/* The value of --NAME among the words of an unfinished line, as "--NAME VALUE", "--NAME=VALUE", or as
 * bash has it: "--NAME", "=", "VALUE". NULL: it is not there. */
static const char *typed(const Invocation *invocation, const char *name)
{
    const char *found = NULL;
    size_t len = strlen(name);
    for (uint32_t i = 1; i < invocation->arg_count; i++) {
        const char *word = invocation->args[i];
        if (strncmp(word, "--", 2) != 0 || strncmp(word + 2, name, len) != 0) {
            continue;
        }
        if (word[2 + len] == '=') {
            found = word + 2 + len + 1;
        } else if (word[2 + len] == '\0' && i + 1 < invocation->arg_count) {
            bool is_apart = strcmp(invocation->args[i + 1], "=") == 0;
            found = !is_apart                       ? invocation->args[i + 1]
                    : i + 2 < invocation->arg_count ? invocation->args[i + 2]
                                                    : found;
        }
    }
    return found != NULL && found[0] != '\0' ? found : NULL;
}

/* As if the options of the unfinished line were those of this one. */
static Invocation with_typed(const Invocation *invocation)
{
    static const char *const names[] = { "context", "run-dir" };
    Invocation like = *invocation;
    like.told_stale = NULL; /* into the midst of a line */
    like.given = ARENA_ARRAY(invocation->arena, Given, invocation->given_count + COUNT_OF(names));
    memcpy(like.given, invocation->given, invocation->given_count * sizeof(Given));
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const char *value = typed(invocation, names[i]);
        if (value != NULL) {
            const Option *option = option_find(invocation->command, str_from_c(names[i]));
            like.given[like.given_count++] = (Given){ option, value };
        }
    }
    return like;
}

static int complete_run(Invocation *invocation)
{
    WordKind kind = kind_of(invocation->args[0]);
    Invocation like = with_typed(invocation);
    if (kind == WORD_CONTEXT) {
        show_contexts(invocation);
    } else if (invocation_flag(invocation, "refresh")) {
        live_names_refresh(&like, kind);
    } else {
        stream_put(invocation->out, live_names_show(&like, kind));
    }
    return EXIT_OK;
}

static const Option options[] = {
    { .name = "refresh", .help = "ask the server, and print nothing" },
    CLUSTER_OPTIONS,
    { 0 },
};

static const Example examples[] = {
    { "eden complete node -- eden nodes show we", "the names of nodes" },
    { "eden complete context", "the names of contexts" },
    { 0 },
};

const Command command_complete = {
    .name = "complete",
    .group = GROUP_SYSTEM,
    .args = "node|token|role|context [WORD...]",
    .args_min = 1,
    .args_max = UINT32_MAX,
    .choices = "node|token|role|context",
    .help = "Print live names, for the completion of shells.",
    .text =
        "The scripts of 'eden completion' call it, with the words of the line so far, of which\n"
        "--context and --run-dir say which server knows the names. They come from a cache in\n"
        "eden/ of XDG_CACHE_HOME or ~/.cache, which holds nothing but names, for 30 seconds; what "
        "is\n"
        "older is still printed, and renewed meanwhile. It never waits longer than a moment, and\n"
        "where no server answers it prints what was known last.",
    .options = options,
    .examples = examples,
    .run = complete_run,
};
