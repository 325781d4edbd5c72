/* Config: cluster-wide settings. */
#include "api/kind_rows.h"
#include "api/kind_stored.h"

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
