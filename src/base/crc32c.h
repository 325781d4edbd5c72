/* CRC-32C (Castagnoli): tells a damaged record from a whole one. No protection against intent. */
#pragma once

#include <stdint.h>

#include "base/str.h"

uint32_t crc32c(Str text);
