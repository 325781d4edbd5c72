/* The style sheet of reports in HTML. */
#pragma once

extern const char fleet_report_style[];
