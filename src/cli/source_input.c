/* Reads the fields of a source from options. Files, such as keys, are read here. */
#include "cli/source_input.h"

#include "cli/host_keys.h"
#include "cli/inputs.h"
#include "source/git_source.h"
#include "sys/file.h"

static void set_text(const Invocation *invocation, Map *spec, const char *field, Str text)
{
    map_set_str(invocation->arena, spec, str_from_c(field), value_string(text));
}

void source_input_option(const Invocation *invocation, Map *map, const char *option)
{
    const char *text = invocation_text(invocation, option);
    if (text != NULL) {
        set_text(invocation, map, option, str_from_c(text));
    }
}

static int report(Invocation *invocation, const Error *err)
{
    Inputs inputs;
    inputs_init(&inputs, invocation->arena);
    inputs_add_file_error(&inputs, err);
    return inputs_report(&inputs, invocation);
}

/* A field whose value is the content of a file. */
static bool set_file(Invocation *invocation, Map *spec, const char *option, const char *field,
                     size_t max, int *code)
{
    const char *path = invocation_text(invocation, option);
    bool is_secret = strcmp(field, "token") == 0;
    Str text;
    Error err;
    if (path == NULL) {
        return true;
    }
    if (!(is_secret ? file_read_secret(invocation->arena, path, max, &text, &err)
                    : file_read(invocation->arena, path, max, &text, &err))) {
        *code = report(invocation, &err);
        return false;
    }
    text = is_secret ? str_trim(text) : text;
    if (text.len == 0) {
        *code = usage_error(invocation, "--%s: %s is empty", option, path);
        return false;
    }
    set_text(invocation, spec, field, text);
    return true;
}

static bool set_host_keys(const Invocation *invocation, const char *url, Map *spec)
{
    const char *file = invocation_text(invocation, "known-hosts");
    List *keys = list_new(invocation->arena, 4);
    GitUrl parsed;
    Error err;
    if (!host_keys_given(invocation, keys)) {
        return false;
    }
    if (file != NULL && (!git_url_parse(str_from_c(url), &parsed, &err) ||
                         !host_keys_find(invocation, file, parsed.host, parsed.port, keys, &err))) {
        usage_error(invocation, "--known-hosts: %s", err.text);
        return false;
    }
    if (keys->len > 0) {
        map_set_str(invocation->arena, spec, STR("host_keys"), value_list(keys));
    }
    return true;
}

bool source_input(Invocation *invocation, const char *url, Map *spec, int *code)
{
    static const char *const options[] = { "branch", "interval" };
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        source_input_option(invocation, spec, options[i]);
    }
    const char *directory = invocation_text(invocation, "directory");
    if (directory != NULL) { /* completion in shells appends a slash to directories */
        Str text = str_from_c(directory);
        while (text.len > 1 && str_ends(text, STR("/"))) {
            text = str_slice(text, 0, text.len - 1);
        }
        set_text(invocation, spec, "directory", text);
    }
    *code = EXIT_USAGE;
    return set_host_keys(invocation, url, spec) &&
           set_file(invocation, spec, "token-file", "token", GIT_TOKEN_MAX, code) &&
           set_file(invocation, spec, "ca", "ca", GIT_CA_MAX, code) &&
           set_file(invocation, spec, "signers", "signers", GIT_SIGNERS_MAX, code);
}
