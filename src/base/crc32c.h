/* CRC-32C (Castagnoli): detects damaged records. No protection against deliberate changes. */
#pragma once

#include <stdint.h>

#include "base/str.h"

uint32_t crc32c(Str text);
