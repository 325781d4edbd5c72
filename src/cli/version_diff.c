/* Compares the manifests of two versions, and the contents of changed files. */
#include "cli/version_diff.h"

#include "base/text_diff.h"
#include "base/utf8.h"
#include "cli/kind_print.h"
#include "cli/output.h"
#include "cli/version_ref.h"
#include "source/manifest.h"

typedef struct Diff {
    Invocation *invocation;
    const ManifestChange *changes;
    uint32_t count;
} Diff;

static const char letters[] = {
    [MANIFEST_ADDED] = 'A', [MANIFEST_REMOVED] = 'D', [MANIFEST_CHANGED] = 'M'
};

static Str path_of(const ManifestChange *change)
{
    return change->after != NULL ? change->after->path : change->before->path;
}

/* --- Content ---------------------------------------------------------------------------------- */

/* Returns the content of a file as text. `*is_text` is false if it is large or binary. */
static int read_text(Invocation *invocation, const ManifestFile *file, Str *out, bool *is_text)
{
    *out = STR_EMPTY;
    *is_text = file == NULL || file->blob_count <= 1;
    if (file != NULL && file->link.len > 0) {
        *out = arena_format(invocation->arena, "link to %" STR_FMT "\n", STR_ARG(file->link));
    }
    if (file == NULL || file->blob_count != 1) {
        return EXIT_OK;
    }
    Str target = cluster_target(invocation->arena, "/v1/blobs/", file->blobs[0]);
    ClusterRequest request = { .method = "GET", .target = target };
    ClusterRefusal refusal = { .target = target, .response = value_null() };
    ClusterResponse response;
    Error err;
    if (!cluster_exchange(invocation, &request, NULL, &response, &err)) {
        return cluster_report_refusal(invocation, &refusal, &err);
    }
    if (response.status >= 300) {
        refusal.responded = true;
        (void)!cluster_response_read(invocation->arena, &response, &refusal.response, &err);
        return cluster_report_refusal(invocation, &refusal, &err);
    }
    *out = response.body;
    *is_text = utf8_is_valid(*out) && memchr(out->data, '\0', out->len) == NULL;
    return EXIT_OK;
}

static Str shown_name(Arena *arena, const char *side, const ManifestFile *file)
{
    return file == NULL ? STR("/dev/null")
                        : arena_format(arena, "%s/%" STR_FMT, side, STR_ARG(file->path));
}

static int print_content(Invocation *invocation, const ManifestChange *change)
{
    Arena *arena = invocation->arena;
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    Str old_name = shown_name(arena, "a", change->before),
        new_name = shown_name(arena, "b", change->after), before, after;
    bool is_text_before, is_text_after;
    int code = read_text(invocation, change->before, &before, &is_text_before);
    if (code == EXIT_OK) {
        code = read_text(invocation, change->after, &after, &is_text_after);
    }
    if (code != EXIT_OK) {
        return code;
    }
    if (is_text_before && is_text_after) {
        text_diff(before, after, old_name, new_name, &text);
    } else {
        buf_put_format(&text, "binary or large files %" STR_FMT " and %" STR_FMT " differ\n",
                       STR_ARG(old_name), STR_ARG(new_name));
    }
    if (change->kind == MANIFEST_CHANGED &&
        strcmp(change->before->mode, change->after->mode) != 0) {
        buf_put_format(&text, "mode of %" STR_FMT ": %s to %s\n", STR_ARG(path_of(change)),
                       change->before->mode, change->after->mode);
    }
    output_text(invocation->out, buf_str(&text));
    return EXIT_OK;
}

/* --- Output ----------------------------------------------------------------------------------- */

static Value changes_value(const Diff *diff, Str before, Str after)
{
    static const char *const words[] = {
        [MANIFEST_ADDED] = "added", [MANIFEST_REMOVED] = "removed", [MANIFEST_CHANGED] = "changed"
    };
    Arena *arena = diff->invocation->arena;
    Map *map = map_new(arena, 4);
    List *files = list_new(arena, diff->count);
    for (uint32_t i = 0; i < diff->count; i++) {
        Map *file = map_new(arena, 2);
        map_set_str(arena, file, STR("path"), value_string(path_of(&diff->changes[i])));
        map_set_str(arena, file, STR("change"),
                    value_string(str_from_c(words[diff->changes[i].kind])));
        list_push(arena, files, value_map(file));
    }
    map_set_str(arena, map, STR("format"), value_string(STR("eden.version-diff/1")));
    map_set_str(arena, map, STR("before"), value_string(before));
    map_set_str(arena, map, STR("after"), value_string(after));
    map_set_str(arena, map, STR("files"), value_list(files));
    return value_map(map);
}

int version_diff(Invocation *invocation, Value before, Value after)
{
    Manifest old, new;
    ManifestChange *changes;
    int code = version_manifest(invocation, before, &old);
    if (code == EXIT_OK) {
        code = version_manifest(invocation, after, &new);
    }
    if (code != EXIT_OK) {
        return code;
    }
    Diff diff = { .invocation = invocation };
    diff.count = manifest_compare(invocation->arena, &old, &new, &changes);
    diff.changes = changes;
    if (output_wants_value(invocation)) {
        return output_response(invocation,
                               changes_value(&diff, object_name(before), object_name(after)));
    }
    for (uint32_t i = 0; code == EXIT_OK && i < diff.count; i++) {
        if (invocation_flag(invocation, "name-status") || invocation_prints(invocation, "name")) {
            output_line(invocation->out, "%c %" STR_FMT, letters[changes[i].kind],
                        STR_ARG(path_of(&changes[i])));
        } else {
            code = print_content(invocation, &changes[i]);
        }
    }
    return code;
}
