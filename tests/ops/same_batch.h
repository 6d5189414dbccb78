#pragma once
#include <gtest/gtest.h>

#include "ops/batch.h"

namespace sixfold {

inline void expect_equal(const Batch& a, const Batch& b) {
  EXPECT_EQ(a.source.ids, b.source.ids);
  EXPECT_EQ(a.source.rows.offsets, b.source.rows.offsets);
  EXPECT_EQ(a.target.ids, b.target.ids);
  EXPECT_EQ(a.target.rows.offsets, b.target.rows.offsets);
  EXPECT_EQ(a.labels, b.labels);
  EXPECT_EQ(a.label_rows, b.label_rows);
  EXPECT_EQ(a.label_weights, b.label_weights);
  EXPECT_EQ(a.choices, b.choices);
  EXPECT_EQ(a.samples, b.samples);
}

}  // namespace sixfold
