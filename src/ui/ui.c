#include "ui/ui.h"

const UiFile *ui_find(Str address)
{
    for (uint32_t i = 0; i < ui_file_count; i++) {
        if (str_eq_c(address, ui_files[i].address)) {
            return &ui_files[i];
        }
    }
    return NULL;
}
