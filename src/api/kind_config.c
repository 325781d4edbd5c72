/* Config: cluster-wide settings. */
#include "api/kind_rows.h"
#include "api/kind_stored.h"
#include "fleet/dispatch_plan.h"

static const RecordField spec[] = {
    { .name = "title",
      .max = 100,
      .column = { "TITLE" },
      .help = "display name of this cluster, shown at the top of its pages" },
    { .name = "color",
      .type = RECORD_CHOICE,
      .choices = "gray|green|blue|orange|red",
      .column = { "COLOR" },
      .help = "color of the title, to distinguish production from other clusters" },
    { .name = "run_logs_mib",
      .type = RECORD_INT,
      .min = 1,
      .max = 1 << 24,
      .column = { "RUN LOGS MIB", "4096", .is_wide = true },
      .help = "maximum total size of run logs on each server, in MiB; beyond that, the logs of the "
              "oldest runs are removed; default: 4096, at most an eighth of the disk" },
    { .name = "lost_node_timeout",
      .type = RECORD_DURATION,
      .min = DISPATCH_SILENT_MS,
      .max = DISPATCH_LOST_MAX_MS,
      .column = { "LOST NODE TIMEOUT", "15m", .is_wide = true },
      .help = "how long a run waits for a node that lost its session after accepting the run; "
              "then the node counts as silent; default: 15m" },
    { 0 },
};

static const RecordField status[] = { KIND_UNREADABLE_FIELDS, { 0 } };

const Kind kind_config = {
    .name = "Config",
    .plural = "config",
    .help = "Cluster-wide settings; only the object named 'cluster' is used.",
    .verbs = KIND_LIST | KIND_GET | KIND_CREATE | KIND_UPDATE | KIND_DELETE,
    .spec = spec,
    .status = status,
    .is_labeled = true,
    STORED_KIND,
};
