#pragma once
#include <unicode/normalizer2.h>

#include "text/read_text.h"

namespace sixfold {

/// Brings a text into a normalization form of Unicode, and updates its origins if it has any. More than 1 KiB
/// of combining marks are normalized in parts, so that the time is linear.
void normalize(const icu::Normalizer2& form, NormalizedText& read);

}  // namespace sixfold
