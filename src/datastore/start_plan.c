#include "datastore/start_plan.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/hex.h"
#include "lang/record.h"

/* --- The marker ------------------------------------------------------------------------------ */

DEFINE_ENUM_NAMES(MarkerState,
                  marker_state, [MARKER_CREATING] = "creating", [MARKER_JOINING] = "joining",
                  [MARKER_MEMBER] = "member", [MARKER_REMOVED] = "removed")

static bool check_id(Str id, Error *err)
{
    return (id.len == ETCD_ID_TEXT && hex_is_valid(id)) ||
           error_set(err, ERROR_INVALID, "must have %d digits (0-9, a-f)", ETCD_ID_TEXT);
}

static const RecordField marker_fields[] = {
    { "state", RECORD_CHOICE, RECORD_ENUM_AT(Marker, state, marker_state), .is_required = true,
      .is_printed = true, .choices = "creating|joining|member|removed",
      .help = "what is known about the member" },
    { "node", RECORD_TEXT, RECORD_CHARS_AT(Marker, node), .is_required = true,
      .check_text = node_name_check, .help = "node that the member runs on" },
    { "clusterId", RECORD_TEXT, RECORD_CHARS_AT(Marker, cluster_id), .check_text = check_id,
      .help = "ID of the etcd cluster" },
    { "memberId", RECORD_TEXT, RECORD_CHARS_AT(Marker, member_id), .check_text = check_id,
      .help = "ID of the member" },
    { "version", RECORD_TEXT, RECORD_CHARS_AT(Marker, version), .is_required = true, .min = 1,
      .help = "version of etcd that last used the data" },
    { 0 },
};

static bool check_marker(const void *record, Error *err)
{
    const Marker *marker = record;
    bool has_ids = marker->cluster_id[0] != '\0' && marker->member_id[0] != '\0';
    return has_ids || marker->state == MARKER_CREATING ||
           error_set(err, ERROR_INVALID, "clusterId and memberId are required");
}

static const RecordFormat marker_format = { "eden.datastore/1",     "the datastore's marker file",
                                            marker_fields,          .size = sizeof(Marker),
                                            .text_max = MARKER_MAX, .check = check_marker };

void marker_print(const Marker *marker, Buf *out)
{
    record_print_file(&marker_format, marker, out);
}

bool marker_read(Arena *arena, Str text, Marker *out, Error *err)
{
    return record_read(&marker_format, arena, text, RECORD_STORED, out, err);
}

void marker_id(uint64_t id, char out[ETCD_ID_TEXT + 1])
{
    snprintf(out, ETCD_ID_TEXT + 1, "%016" PRIx64, id);
}

/* --- Versions -------------------------------------------------------------------------------- */

enum {
    VERSION_MAJOR = 3,
    VERSION_MINOR_MIN = 4,
};

/* The data format depends on the minor version. */
static bool split_version(Str version, uint64_t *major, uint64_t *minor)
{
    Str rest = version, first, second;
    return str_split_next(&rest, '.', &first) && str_split_next(&rest, '.', &second) &&
           str_to_u64(first, major) && str_to_u64(second, minor);
}

bool etcd_version_parse(Str output, char out[ETCD_VERSION_MAX + 1], Error *err)
{
    Str rest = output, line, label = STR("etcd Version:");
    uint64_t major, minor;
    while (str_split_next(&rest, '\n', &line)) {
        Str version = str_trim(str_from_offset(line, label.len > line.len ? line.len : label.len));
        if (!str_starts(line, label) || version.len > ETCD_VERSION_MAX ||
            !split_version(version, &major, &minor)) {
            continue;
        }
        if (major != VERSION_MAJOR || minor < VERSION_MINOR_MIN) {
            return error_set(err, ERROR_INVALID,
                             "etcd %" STR_FMT " is not supported; install etcd %d.%d or a later "
                             "version of etcd %d",
                             STR_ARG(version), VERSION_MAJOR, VERSION_MINOR_MIN, VERSION_MAJOR);
        }
        snprintf(out, ETCD_VERSION_MAX + 1, "%" STR_FMT, STR_ARG(version));
        return true;
    }
    return error_set(err, ERROR_INVALID, "cannot determine the version of etcd");
}

static bool is_newer(const char *version, Str installed)
{
    uint64_t major, minor, installed_major, installed_minor;
    return split_version(str_from_c(version), &major, &minor) &&
           split_version(installed, &installed_major, &installed_minor) &&
           (major > installed_major || (major == installed_major && minor > installed_minor));
}

/* --- The plan -------------------------------------------------------------------------------- */

PRINTF_LIKE(3, 4)
static void plan_stop(StartStep *step, StartAction action, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(step->why, sizeof step->why, format, args);
    va_end(args);
    step->action = action;
}

static const EtcdMember *find_member(const StartView *view, const char *id)
{
    for (uint32_t i = 0; view->members != NULL && i < view->members->count; i++) {
        char text[ETCD_ID_TEXT + 1];
        marker_id(view->members->items[i].id, text);
        if (strcmp(text, id) == 0) {
            return &view->members->items[i];
        }
    }
    return NULL;
}

/* The member that has been added for this server. */
static const EtcdMember *find_added_member(const StartView *view)
{
    for (uint32_t i = 0; view->members != NULL && i < view->members->count; i++) {
        const EtcdMember *member = &view->members->items[i];
        if (str_eq(member->peer_url, view->peer_url) || str_eq(member->name, view->node)) {
            return member;
        }
    }
    return NULL;
}

static void plan_join(const EtcdMember *member, StartStep *out)
{
    out->action = START_JOIN;
    out->member = member->id;
}

static void plan_new_member(const StartView *view, StartStep *out)
{
    const EtcdMember *added = find_added_member(view);
    if (view->members == NULL && view->is_new_cluster) {
        out->action = START_CREATE;
    } else if (view->members == NULL) {
        plan_stop(out, START_WAIT, "no member of the datastore is responding");
    } else if (added == NULL) {
        plan_stop(out, START_WAIT, "this server is not a member of the datastore yet");
    } else if (added->name.len > 0) {
        plan_stop(out, START_WAIT,
                  "the data of this server's member is lost; the member must be replaced first");
    } else {
        plan_join(added, out);
    }
}

/* A member without a write-ahead log is started as if for the first time, because etcd has not
 * stored its peers yet. */
static bool is_first_start(const Marker *marker)
{
    return marker->state == MARKER_CREATING || marker->state == MARKER_JOINING;
}

/* Without data, or with the incomplete data of an interrupted first start. */
static void plan_lost_data(const StartView *view, StartStep *out)
{
    const Marker *marker = view->marker;
    const EtcdMember *member = find_member(view, marker->member_id);
    if (marker->state == MARKER_CREATING && view->members == NULL) {
        out->action = START_CREATE;
    } else if (marker->state != MARKER_JOINING || (view->members != NULL && member == NULL)) {
        out->action = START_REMOVE_MARKER;
    } else if (view->members == NULL) {
        plan_stop(out, START_WAIT, "no member of the datastore is responding");
    } else if (member->name.len > 0) {
        out->action = START_REMOVE_MARKER;
    } else {
        plan_join(member, out);
    }
}

static void plan_data(const StartView *view, StartStep *out)
{
    const Marker *marker = view->marker;
    char cluster_id[ETCD_ID_TEXT + 1];
    marker_id(view->cluster_id, cluster_id);
    bool has_ids = marker->member_id[0] != '\0';
    if (is_newer(marker->version, view->version)) {
        plan_stop(out, START_REFUSE,
                  "the data was last used by etcd %s, which is newer than the "
                  "installed etcd %" STR_FMT,
                  marker->version, STR_ARG(view->version));
    } else if (marker->state == MARKER_REMOVED || !view->has_wal) {
        out->action = START_ARCHIVE; /* data without the log is not usable */
    } else if (view->members == NULL || !has_ids) {
        /* After an outage of all members, none can confirm that this one is still a member. It is
         * started anyway: if it was removed, the others reject it. */
        out->action = START_EXISTING;
    } else if (strcmp(marker->cluster_id, cluster_id) != 0) {
        plan_stop(out, START_REFUSE, "the data belongs to the etcd cluster %s, not to %s",
                  marker->cluster_id, cluster_id);
    } else {
        out->action = find_member(view, marker->member_id) == NULL ? START_ARCHIVE : START_EXISTING;
    }
}

void start_plan(const StartView *view, StartStep *out)
{
    *out = (StartStep){ .action = START_WAIT };
    if (view->marker == NULL) {
        if (view->has_data) {
            plan_stop(
                out, START_REFUSE,
                "the data directory of etcd is not empty, and was not written by this server");
        } else {
            plan_new_member(view, out);
        }
    } else if (!str_eq_c(view->node, view->marker->node)) {
        plan_stop(out, START_REFUSE, "the data of etcd belongs to node '%s'", view->marker->node);
    } else if (view->has_wal || (view->has_data && !is_first_start(view->marker))) {
        plan_data(view, out);
    } else {
        plan_lost_data(view, out);
    }
}
