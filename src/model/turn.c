#include "model/turn.h"

#include "base/enum_names.h"

DEFINE_ENUM_NAMES(TurnKind, turn_kind, [TURN_START] = "start", [TURN_JOIN] = "join",
                  [TURN_FINISH] = "finish", [TURN_WAKE] = "wake", [TURN_GIVE_UP] = "give up")
DEFINE_ENUM_NAMES(TurnEnd,
                  turn_end, [TURN_ACTS] = "acts", [TURN_WAITS] = "waits", [TURN_ENDED] = "ended")
DEFINE_ENUM_NAMES(
    TurnOverride, turn_override, [OVERRIDE_NONE] = "none", [OVERRIDE_INTERRUPTED] = "interrupted",
    [OVERRIDE_TARGET] = "target", [OVERRIDE_REBOOT] = "leaving", [OVERRIDE_WAIT] = "held")
DEFINE_ENUM_NAMES(ConditionName,
                  condition, [CONDITION_WHEN] = "when", [CONDITION_SUCCESS] = "success",
                  [CONDITION_CONTINUE] = "continue", [CONDITION_UNTIL] = "until")
DEFINE_ENUM_NAMES(
    TurnParams,
    turn_params, [PARAMS_OK] = "ok", [PARAMS_UNKNOWN] = "unknown", [PARAMS_FAILED] = "failed")
