/* eden put: writes a key to the store. */
#include "base/base64.h"
#include "base/utf8.h"
#include "cli/key_value.h"
#include "cli/output.h"
#include "store/store.h"
#include "sys/file.h"
#include "sys/terminal.h"

static bool read_value(Invocation *invocation, Str *out, int *code)
{
    const char *input = invocation->arg_count > 1 ? invocation->args[1] : "-";
    Error err;
    if (strcmp(input, "-") != 0) {
        *out = str_from_c(input);
        return true;
    }
    if (terminal_is_available()) {
        output_line(invocation->err, "type the value, then Ctrl-D on an empty line");
        (void)stream_flush(invocation->err);
    }
    if (file_read(invocation->arena, input, STORE_VALUE_MAX, out, &err)) {
        return true;
    }
    Inputs inputs;
    inputs_init(&inputs, invocation->arena);
    inputs_add_file_error(&inputs, &err);
    *code = inputs_report(&inputs, invocation);
    return false;
}

static Str make_body(Arena *arena, Str value)
{
    Map *body = map_new(arena, 1);
    if (utf8_is_valid(value)) {
        map_set_str(arena, body, STR("value"), value_string(value));
    } else {
        Buf encoded = buf_make_in(arena, BUF_UNLIMITED);
        base64_encode(&encoded, value);
        map_set_str(arena, body, STR("value_base64"), value_string(buf_str(&encoded)));
    }
    return cluster_body(arena, value_map(body));
}

static int put_run(Invocation *invocation)
{
    Arena *arena = invocation->arena;
    Str key = str_from_c(invocation->args[0]), value;
    Value response;
    int code = EXIT_USAGE;
    if (!key_value_may_change(invocation, key, false) || !read_value(invocation, &value, &code)) {
        return code;
    }
    code = cluster_call(invocation,
                        &(ClusterRequest){ .method = "PUT",
                                           .target = cluster_target(arena, "/v1/store?key=", key),
                                           .body = make_body(arena, value) },
                        &response);
    Str size = output_count(arena, (int64_t)value.len, "byte", "bytes");
    return code != EXIT_OK ? code
                           : key_value_print_done(invocation, response,
                                                  arena_format(arena, "%" STR_FMT " has %" STR_FMT,
                                                               STR_ARG(key), STR_ARG(size)));
}

static const Option options[] = {
    FORCE_OPTION,
    OUTPUT_OPTION("text|json", "text", "output format"),
    CLUSTER_OPTIONS,
    { 0 },
};

static const Example examples[] = {
    { "eden put /test/greeting hello", "write a short value" },
    { "date | eden put /test/date -", "read the value from standard input" },
    { 0 },
};

const Command command_put = {
    .name = "put",
    .group = GROUP_CLUSTER,
    .args = { { "KEY" }, { "[VALUE]" } },
    .help = "Write a key to the store, for debugging.",
    .text =
        "Without VALUE, or with '-', the value is read from standard input, byte for byte, up to\n"
        "1.5 MB. Keys under /eden belong to eden, and writing them requires --force. Their\n"
        "values are not validated, and an invalid value can break the cluster.",
    .options = options,
    .examples = examples,
    .run = put_run,
};
