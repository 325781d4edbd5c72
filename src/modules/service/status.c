/* service.status: how a unit is. */
#include "base/utc.h"
#include "modules/service/actions.h"
#include "modules/service/ensure.h"
#include "modules/service/unit_name.h"

const ParamSpec status_params[] = {
    { "name", PARAM_STRING, .required = true,
      .help = "the unit; without an ending such as .timer it is a service" },
    { 0 },
};

static Value text_or_null(Str text)
{
    return text.len > 0 ? value_string(text) : value_null();
}

static bool look(Call *call, Outcome *outcome, Error *err)
{
    Str name, file_state;
    UnitStatus unit;
    if (!unit_name_complete(call->arena, call_str(call, "name"), &name, err)) {
        return false;
    }
    AUTO_CLEAR(Manager) manager;
    if (!manager_open(call, &manager, err) || !manager_look(&manager, name, &unit, err) ||
        !manager_file_state(&manager, unit.name, &file_state, err)) {
        return false;
    }
    Arena *arena = call->arena;
    Map *map = map_new(arena, 10);
    map_set_str(arena, map, STR("name"), value_string(unit.name));
    map_set_str(arena, map, STR("exists"), value_bool(!str_eq(unit.load, STR("not-found"))));
    map_set_str(arena, map, STR("state"), value_string(unit_state(&unit)));
    map_set_str(arena, map, STR("enabled"), value_bool(file_state_is_enabled(file_state)));
    map_set_str(arena, map, STR("masked"), value_bool(file_state_is_masked(file_state)));
    map_set_str(arena, map, STR("active"), value_string(unit.active));
    map_set_str(arena, map, STR("sub"), value_string(unit.sub));
    map_set_str(arena, map, STR("load"), value_string(unit.load));
    map_set_str(arena, map, STR("file"), text_or_null(unit.fragment));
    map_set_str(arena, map, STR("since"),
                unit.since_ms > 0 ? value_string(utc_text(arena, unit.since_ms)) : value_null());
    outcome->value = value_map(map);
    outcome->state = unit_state(&unit);
    return true;
}

bool status_query(Call *call, Outcome *outcome, Error *err)
{
    return look(call, outcome, err);
}

bool status_check(Call *call, Outcome *outcome, Error *err)
{
    if (!look(call, outcome, err)) {
        return false;
    }
    outcome->comment = outcome->state;
    return true;
}
