/* eden delete: deletes keys from the store. */
#include "cli/key_value.h"

static int delete_run(Invocation *invocation)
{
    Arena *arena = invocation->arena;
    Str key = str_from_c(invocation->args[0]);
    bool prefix = invocation_flag(invocation, "prefix");
    Value response;
    if (key.len == 0) {
        return usage_error(invocation, "KEY is required");
    }
    if (!key_value_may_change(invocation, key, prefix)) {
        return EXIT_USAGE;
    }
    int code = cluster_call(
        invocation,
        &(ClusterRequest){
            .method = "DELETE",
            .target = cluster_target(arena, prefix ? "/v1/keys?prefix=" : "/v1/store?key=", key) },
        &response);
    if (code != EXIT_OK) {
        return code;
    }
    long long count = prefix ? (long long)value_get_int(response, "deleted") : 1;
    return key_value_print_done(
        invocation, response,
        arena_format(arena, "%lld key%s deleted", count, count == 1 ? " is" : "s are"));
}

static const Option options[] = {
    { .name = "prefix", .help = "delete all keys that start with KEY" },
    FORCE_OPTION,
    OUTPUT_OPTION("text|json", "text", "output format"),
    CLUSTER_OPTIONS,
    { 0 },
};

static const Example examples[] = {
    { "eden delete /test/greeting", "delete one key" },
    { "eden delete /test/ --prefix", "delete all keys with a prefix" },
    { 0 },
};

const Command command_delete = {
    .name = "delete",
    .group = GROUP_CLUSTER,
    .args = { { "KEY" } },
    .help = "Delete keys from the store, for debugging.",
    .text =
        "Deleting a key that does not exist is an error, unless --prefix is given. Keys under\n"
        "/eden belong to eden, and deleting them requires --force. To remove a node, use 'eden\n"
        "nodes remove' instead.",
    .options = options,
    .examples = examples,
    .run = delete_run,
};
