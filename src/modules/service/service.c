/* service.*: units of systemd. */
#include "modules/service/actions.h"

static const Action actions[] = {
    { "ensure", "Ensure that a unit runs or does not, at boot too.", ensure_params, ensure_check,
      ensure_apply, ensure_react, .claims = ensure_claims, .reaction = ensure_reaction,
      .since = ensure_since, .waits = true, .cost_ms = 500, .thing = "unit name",
      .text =
          "What is not given stays as it is. 'restarted' and 'reloaded' are done in every run; to\n"
          "restart a service when something has changed, let it watch that: it restarts, or with\n"
          "'reload: true' reloads, once, and not when it was started after the change anyway.\n"
          "\n"
          "The step waits until systemd is done, and fails when the unit fails or does not run\n"
          "then; the error ends with what the unit wrote to the journal, and all of that is in "
          "the\n"
          "step's error output. A service that does not tell when it is ready (Type=simple, exec,\n"
          "idle) is watched for the time of 'settle': one that ends meanwhile, or that systemd\n"
          "starts again, has failed. At 'timeout' the step fails; systemd goes on with the job.\n"
          "\n"
          "A service of Type=oneshot without RemainAfterExit never runs for long: 'state: "
          "started'\n"
          "runs it to its end, in every run. What is not there counts as stopped and disabled, so\n"
          "that it can be kept away everywhere; anything else of it is an error.\n"
          "\n"
          "Below another root (--root) 'enabled' and 'masked' can be set, 'state' cannot.\n"
          "As a result, 'State' is running, stopped or failed.\n",
      .example = "- name: keep the time\n"
                 "  service.ensure:\n"
                 "    - name: systemd-timesyncd\n"
                 "    - state: started\n"
                 "    - enabled: true\n" },
    { "unit", "Ensure that a unit file or drop-in is there, and that systemd knows it.",
      unit_params, unit_check, unit_apply, .claims = unit_claims, .merge = unit_merge,
      .cost_ms = 100, .thing = "unit-file name", .part = "dropin",
      .text =
          "The file is /etc/systemd/system/NAME, or with 'dropin' NAME.d/DROPIN.conf there. Once\n"
          "it has changed, systemd reads its files again (daemon-reload) before any other step\n"
          "uses the unit, with --order genius once for all steps that are ready; if the run dies\n"
          "in between, the next one makes up for it. Steps of service.ensure come after the "
          "unit's\n"
          "files; let them watch this step, so that a unit that runs is restarted with its new\n"
          "settings.\n"
          "\n"
          "Without 'mode' the file is readable for everybody, unless its content is secret. Below\n"
          "another root (--root) only the file is written.\n",
      .example = "- name: the unit of the shop\n"
                 "  service.unit:\n"
                 "    - name: shop\n"
                 "    - content: |\n"
                 "        [Unit]\n"
                 "        Description=The shop\n"
                 "        [Service]\n"
                 "        ExecStart=/usr/bin/sleep infinity\n"
                 "        [Install]\n"
                 "        WantedBy=multi-user.target\n" },
    { "status", "Tell how a unit is.", status_params, status_check, .query = status_query,
      .text = "The value has name, exists, state (running, stopped, failed), enabled, masked, and\n"
              "what systemd calls active, sub, load, file and since. As a macro it is called with\n"
              "the name of the unit.\n",
      .example = "- name: how is cron\n"
                 "  service.status:\n"
                 "    - name: cron\n" },
    { 0 },
};

const Module modules_service = {
    .name = "service",
    .help = "Units of systemd.",
    .id_param = "name",
    .actions = actions,
};
