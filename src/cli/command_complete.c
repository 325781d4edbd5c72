/* eden complete: names for the scripts of `eden completion`. */
#include "base/bug.h"
#include "cli/cluster_client.h"
#include "cli/completion.h"
#include "cli/live_names.h"

/* "node", "token" ... */
static WordKind kind_of(const char *name)
{
    static const WordKind kinds[] = { WORD_NODE, WORD_TOKEN, WORD_ROLE, WORD_CONTEXT };
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (strcmp(word_kind_name(kinds[i]), name) == 0) {
            return kinds[i];
        }
    }
    BUG("the row lists the choices");
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
            const Option *option = option_find(invocation->command, NULL, str_from_c(names[i]));
            like.given[like.given_count++] = (Given){ option, value };
        }
    }
    return like;
}

static int complete_run(Invocation *invocation)
{
    const char *what = invocation->args[0];
    Invocation like = with_typed(invocation);
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    if (strcmp(what, "line") == 0) {
        completion_write(&like, invocation->args + 1, invocation->arg_count - 1, &text);
    } else if (invocation_flag(invocation, "refresh") && kind_of(what) != WORD_CONTEXT) {
        live_names_refresh(&like, kind_of(what));
    } else {
        completion_put_live(&like, kind_of(what), &text);
    }
    stream_put(invocation->out, buf_str(&text));
    return EXIT_OK;
}

static const Option options[] = {
    { .name = "refresh", .help = "ask the server, and print nothing" },
    CLUSTER_OPTIONS,
    { 0 },
};

static const Example examples[] = {
    { "eden complete line -- eden nodes ''", "what may follow 'eden nodes'" },
    { "eden complete node -- eden nodes show we", "the names of nodes" },
    { "eden complete context", "the names of contexts" },
    { 0 },
};

const Command command_complete = {
    .name = "complete",
    .group = GROUP_SYSTEM,
    .args = { { "KIND", .choices = "line|node|token|role|context" }, { "[WORD...]" } },
    .help = "Print what a shell can complete a command line with.",
    .text = "The scripts of 'eden completion' call it. With 'line', WORD... is the line up\n"
            "to the cursor, of which the last word is incomplete. The first line of the\n"
            "output is 'files' or 'directories' if that word is one, else 'words'; the lines\n"
            "that follow are candidates, with a tab between a word and its help.\n"
            "\n"
            "The other kinds print names: of contexts, or of what the server knows.\n"
            "--context and --run-dir among the words choose the server. Its names are cached\n"
            "in eden/ of XDG_CACHE_HOME or ~/.cache. Names older than 30 seconds are still\n"
            "printed, and refreshed in the background. If no server responds quickly, the\n"
            "cached names are printed.",
    .options = options,
    .examples = examples,
    .run = complete_run,
};
