/* Calling values. */
#include "lang/template/ops.h"

bool value_call(Render *r, Value callee, const Args *args, Value *out)
{
    if (callee.kind == VALUE_UNDEFINED) {
        return undefined_raise(r, callee);
    }
    if (callee.kind != VALUE_OBJECT || callee.object->type->call == NULL) {
        return render_raise(r, FAULT_TYPE, "'%s' object is not callable", op_type_name(callee));
    }
    return render_charge(r, 1) && callee.object->type->call(r, callee.object, args, out);
}
