/* service.*: systemd units; service.status, and the module table. */
#include "base/utc.h"
#include "modules/service/actions.h"
#include "modules/service/ensure.h"
#include "modules/service/unit_name.h"

static const ParamSpec status_params[] = {
    { "name", PARAM_STRING, .required = true,
      .help = "name of the unit; without a suffix such as .timer it is a service" },
    { 0 },
};

static Value text_or_null(Str text)
{
    return text.len > 0 ? value_string(text) : value_null();
}

static bool read_unit(Call *call, Outcome *outcome, Error *err)
{
    Str name, file_state;
    UnitStatus unit;
    if (!unit_name_complete(call->arena, call_str(call, "name"), &name, err)) {
        return false;
    }
    AUTO_CLEAR(Manager) manager;
    if (!manager_open(call, &manager, err) || !manager_get_unit(&manager, name, &unit, err) ||
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

static bool status_query(Call *call, Outcome *outcome, Error *err)
{
    return read_unit(call, outcome, err);
}

static bool status_check(Call *call, Outcome *outcome, Error *err)
{
    if (!read_unit(call, outcome, err)) {
        return false;
    }
    outcome->comment = outcome->state;
    return true;
}

/* --- Module table ---------------------------------------------------------------------------- */

static const Action actions[] = {
    { "ensure", "Ensure that a systemd unit is in a given state.", ensure_params, ensure_check,
      ensure_apply, ensure_react, .verify_all = ensure_verify, .claims = ensure_claims,
      .reaction = ensure_reaction, .last_start = ensure_since, .may_sleep = true, .cost_ms = 500,
      .resource = "unit name",
      .text = "Settings that are not specified are left unchanged. 'restarted' and 'reloaded'\n"
              "are performed in every run. To restart a service after a change, let it watch\n"
              "the step that makes the change: the service is restarted (or reloaded, with\n"
              "'reload: true') once, unless it was already started after the change.\n"
              "\n"
              "The step waits until systemd has finished, and fails if the unit failed or is\n"
              "not running; the error includes the last lines of the unit's journal, and the\n"
              "step's error output contains more of it. A service that does not notify systemd\n"
              "when it is ready (Type=simple, exec, idle) is watched for the duration of\n"
              "'settle': if it exits or is restarted by systemd, the step fails. After\n"
              "'timeout' the step fails; systemd continues with the job.\n"
              "\n"
              "A service of Type=oneshot without RemainAfterExit does not keep running: 'state:\n"
              "started' runs it until it exits, in every run. A missing unit counts as stopped\n"
              "and disabled, so that it can be disabled everywhere; anything else is an error.\n"
              "\n"
              "In another root (--root), 'enabled' and 'masked' can be set, 'state' cannot.\n"
              "In the result, 'State' is running, stopped or failed.\n",
      .example = "- name: synchronize the clock\n"
                 "  service.ensure:\n"
                 "    - name: systemd-timesyncd\n"
                 "    - state: started\n"
                 "    - enabled: true\n" },
    { "unit", "Ensure that a unit file or drop-in is installed and loaded.", unit_params,
      unit_check, unit_apply, .verify_all = unit_verify, .claims = unit_claims, .merge = unit_merge,
      .cost_ms = 100, .resource = "unit-file name", .part = "dropin", .writes_whole_files = true,
      .text = "The file is /etc/systemd/system/NAME, or with 'dropin' NAME.d/DROPIN.conf there.\n"
              "After a change, systemd reloads its files (daemon-reload) before any other step\n"
              "uses the unit, with --order genius once for all ready steps; if the run is\n"
              "interrupted in between, the next run catches up. service.ensure steps run after\n"
              "the unit's files are installed; let them watch this step, so that a running unit\n"
              "is restarted with its new settings.\n"
              "\n"
              "Without 'mode' the file is world-readable, unless its content is secret. In\n"
              "another root (--root) only the file is written.\n",
      .example = "- name: shop unit\n"
                 "  service.unit:\n"
                 "    - name: shop\n"
                 "    - content: |\n"
                 "        [Unit]\n"
                 "        Description=The shop\n"
                 "        [Service]\n"
                 "        ExecStart=/usr/bin/sleep infinity\n"
                 "        [Install]\n"
                 "        WantedBy=multi-user.target\n" },
    { "status", "Show the state of a unit.", status_params, status_check, .query = status_query,
      .text =
          "The value contains name, exists, state (running, stopped, failed), enabled, masked,\n"
          "and systemd's active, sub, load, file and since. As a macro it is called with the\n"
          "name of the unit.\n",
      .example = "- name: state of cron\n"
                 "  service.status:\n"
                 "    - name: cron\n" },
    { 0 },
};

const Module modules_service = {
    .name = "service",
    .help = "systemd units.",
    .id_param = "name",
    .actions = actions,
};
