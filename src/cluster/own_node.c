#include "cluster/own_node.h"

#include "cluster/node_state.h"
#include "cluster/watched_image.h"
#include "sys/file.h"

bool own_node_record(const char *state_dir, Arena *arena, NodeRecord *out, Error *err)
{
    AUTO_CLEAR(Directory) agent = { .descriptor = -1 };
    AUTO_CLEAR(WatchedImage) image;
    watched_image_init(&image);
    Str text;
    const char *path = arena_copy_c(arena, arena_format(arena, "%s/" AGENT_DIRECTORY, state_dir));
    if (!directory_open(path, &agent, err)) {
        if (err->kind == ERROR_DENIED && !file_exists(path)) {
            err->kind = ERROR_NOT_FOUND; /* nothing speaks for an agent */
        }
        return false;
    }
    if (!directory_has(&agent, AGENT_STATE)) {
        return error_set(err, ERROR_NOT_FOUND, "this machine is not a node of a cluster");
    }
    if (!directory_read(&agent, arena, WATCHED_NODE_FILE, WATCHED_MAX, &text, err)) {
        return false;
    }
    if (!watched_image_read(text, &image, err)) {
        return error_wrap(err, "%s/" WATCHED_NODE_FILE, agent.path);
    }
    if (image.entries.len == 0) {
        return error_set(err, ERROR_NOT_FOUND, "the cluster has no record of this node");
    }
    return node_record_read(arena, arena_copy(arena, image.entries.items[0].value), out, err) ||
           error_wrap(err, "%s/" WATCHED_NODE_FILE, agent.path);
}
