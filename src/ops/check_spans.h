#pragma once
#include "base/error.h"
#include "ops/ops.h"

namespace sixfold::ops {

/// Throws an input error unless every span lies within `queries` rows and within the keys, of which there are
/// `keys` rows. `op` names the op in the message.
inline void check_spans(const char* op, const AttentionPattern& pattern, int64_t queries, int64_t keys) {
  const int64_t places = keys > 0 && pattern.key_rows ? pattern.key_rows.cols() : keys;
  for (const auto& span : pattern.spans)
    require(span.query_begin >= 0 && span.query_count >= 0 && span.key_begin >= 0 && span.key_count >= 0 &&
                span.query_begin + span.query_count <= queries && span.key_begin + span.key_count <= places,
            "{}: a span of {} queries from {} and {} keys from {} exceeds the {} queries or the {} keys", op,
            span.query_count, span.query_begin, span.key_count, span.key_begin, queries, places);
}

}  // namespace sixfold::ops
