/* timezone.*: the time zone of the machine. */
#include "modules/file/target.h"
#include "sys/host_stream.h"

#define LOCALTIME STR("/etc/localtime")
#define ZONES     STR("/usr/share/zoneinfo")
#define TIMEZONE  STR("/etc/timezone") /* on Debian, in addition to the symlink */

typedef struct ZoneChange {
    Str link;
    bool set_link;
    Target name_file;
} ZoneChange;

/* If all zones are missing, any package may install them as a dependency; if only this one is
 * missing, that is unlikely. */
static bool has_zones(Call *call)
{
    FileInfo info;
    Error ignored;
    return host_stat(call->host, ZONES, &info, &ignored) && info.kind != FILE_ABSENT;
}

static bool check_name(Call *call, Error *err)
{
    Str zone = call_str(call, "name");
    bool ok = zone.len > 0 && zone.data[0] != '/' && zone.data[zone.len - 1] != '/' &&
              str_find(zone, STR(".."), 0) == STR_NOT_FOUND;
    for (size_t i = 0; ok && i < zone.len; i++) {
        ok = ascii_is_name(zone.data[i]) ||
             (zone.data[i] != '\0' && strchr("/-+", zone.data[i]) != NULL);
    }
    return ok ||
           error_set(err, ERROR_INVALID, "'%" STR_FMT "' is not a time zone", STR_ARG(zone)) ||
           call_blame(call, "name");
}
CALL_VERIFY(set_verify, check_name)

static bool check_zone(Call *call, Str zone, Error *err)
{
    FileInfo info;
    Str path = arena_format(call->arena, "/usr/share/zoneinfo/%" STR_FMT, STR_ARG(zone));
    if (!host_stat(call->host, path, &info, err)) {
        return false;
    }
    return info.kind == FILE_REGULAR || info.kind == FILE_LINK ||
           call_report_missing(call, "name", "timezone", zone) ||
           (!has_zones(call) && call_report_missing(call, "name", "path", ZONES)) ||
           error_set(err, ERROR_NOT_FOUND,
                     "no time zone '%" STR_FMT "' in /usr/share/zoneinfo (package tzdata)",
                     STR_ARG(zone));
}

static bool set_check(Call *call, Outcome *outcome, Error *err)
{
    Str zone = call_str(call, "name"), now = STR_EMPTY;
    FileInfo info, debian;
    ZoneChange *change = ARENA_NEW(call->arena, ZoneChange);
    if (!check_name(call, err) || !check_zone(call, zone, err) ||
        !host_stat(call->host, LOCALTIME, &info, err) ||
        !host_stat(call->host, TIMEZONE, &debian, err) ||
        (info.kind == FILE_LINK &&
         !host_read_link(call->host, call->arena, LOCALTIME, &now, err))) {
        return false;
    }
    change->link = arena_format(call->arena, "/usr/share/zoneinfo/%" STR_FMT, STR_ARG(zone));
    change->set_link = !str_ends(now, change->link);
    if (debian.kind != FILE_ABSENT) {
        change->name_file = target_for_system_file(TIMEZONE);
        target_set_line(call, &change->name_file, zone);
        if (!target_check_one(call, &change->name_file, outcome, err)) {
            return false;
        }
    }
    if (change->set_link) {
        outcome->changed = true;
        outcome_change(call, outcome, "/etc/localtime",
                       now.len > 0 ? value_string(now) : value_missing(),
                       value_string(change->link));
    }
    outcome->comment = outcome->changed ? STR("set") : STR("already set");
    outcome->state = zone;
    outcome->check_data = change;
    return true;
}

static bool set_apply(Call *call, Outcome *outcome, Error *err)
{
    ZoneChange *change = outcome->check_data;
    if (change->set_link) {
        /* Replaces it atomically, even if it is a regular file. */
        Str staging_path = host_draft_path(call->arena, LOCALTIME);
        if (!call_journal(call, LOCALTIME, err) ||
            !host_make_link(call->host, staging_path, change->link, err) ||
            !host_move(call->host, staging_path, call->host, LOCALTIME, err)) {
            return false;
        }
        outcome->changed = true;
    }
    return !change->name_file.write || target_apply(call, &change->name_file, outcome, err);
}

static void set_claims(Arena *arena, const Value *params, List *claims)
{
    list_push(arena, claims, value_string(STR("path:/etc/localtime")));
}

static const ParamSpec set_params[] = {
    { "name", PARAM_STRING, .aspect = "zone", .required = true,
      .help = "time zone, such as Europe/Berlin" },
    { 0 },
};

static const Action actions[] = {
    { "set", "Ensure that the machine uses the given time zone.", set_params, set_check, set_apply,
      .verify_all = set_verify, .claims = set_claims, .resource = "timezone",
      .text = "Sets the symlink /etc/localtime and, if it exists, /etc/timezone. Running\n"
              "programs keep their time zone until they are restarted.\n",
      .example = "- name: use UTC\n"
                 "  timezone.set:\n"
                 "    - name: Etc/UTC\n" },
    { 0 },
};

const Module modules_timezone = {
    .name = "timezone",
    .help = "The time zone of the machine.",
    .id_param = "name",
    .actions = actions,
};
