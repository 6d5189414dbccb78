#include "program/bench/layer_times.h"

#include <gtest/gtest.h>

#include "error_message.h"
#include "program/bench/path_length.h"

namespace sixfold {
namespace {

LayerStudyOptions small_study() {
  LayerStudyOptions options;
  options.n = {8, 16};
  options.d = {8, 16};
  options.k = {2, 3};
  options.r = {1, 2};
  options.timing.repeat = 1;
  return options;
}

TEST(LayerTimes, MeasureEverySizeThatMatters) {
  for (const AttentionKind stack : {AttentionKind::encoder, AttentionKind::decoder}) {
    LayerStudyOptions options = small_study();
    options.timing.stack = stack;
    int announced = 0;
    const auto studies = study_layers(options, [&](MixerKind, LayerSize) { ++announced; });
    ASSERT_EQ(studies.size(), 5u);
    int measured = 0;
    for (const LayerStudy& study : studies)
      for (const LayerGrowth& growth : study.growths) {
        ++measured;
        EXPECT_EQ(growth.values, options.values(growth.size));
        ASSERT_EQ(growth.times.size(), growth.values.size());
        for (const LayerTime& time : growth.times) EXPECT_TRUE(time.forward > 0 && time.backward > 0);
      }
    EXPECT_EQ(measured, 5 * 2 + 1 + 2);  // n and d of all, r of one, k of two
    EXPECT_EQ(announced, measured);
  }
}

TEST(LayerTimes, EveryMixerOfAStackCanBeMeasured) {
  for (const auto& [kind, name] : EnumNames<MixerKind>::names)
    for (const AttentionKind stack : {AttentionKind::encoder, AttentionKind::decoder}) {
      const bool decoder_only = is_for_decoders(kind);
      if (kind == MixerKind::bahdanau || (decoder_only && stack == AttentionKind::encoder)) {
        EXPECT_NE(error_message([kind = kind, stack] { mixer_reach(kind, {.n = 4, .d = 8}, stack); }), "");
        continue;
      }
      const LayerTime time = time_mixer(kind, {.n = 4, .d = 8, .k = 3, .r = 1}, {.stack = stack, .repeat = 1});
      EXPECT_GT(time.total(), 0) << name;
    }
}

TEST(LayerTimes, OtherSizesStayInTheMiddle) {
  LayerStudyOptions options = small_study();
  options.n = {8, 16, 32};
  const LayerSizes middle = options.middle();
  EXPECT_EQ(middle.n, 16);
  EXPECT_EQ(middle.d, 8);
  EXPECT_EQ(middle[LayerSize::k], 2);
  EXPECT_EQ(middle[LayerSize::r], 1);
}

TEST(LayerTimes, ReachesAreThoseOfTable1) {
  const LayerSizes sizes{.n = 100, .d = 8, .k = 3, .r = 4};
  const auto path = [&](MixerKind kind, AttentionKind stack) {
    return path_length(mixer_reach(kind, sizes, stack), sizes.n);
  };
  for (const AttentionKind stack : {AttentionKind::encoder, AttentionKind::decoder}) {
    EXPECT_EQ(path(MixerKind::attention, stack), 1);
    EXPECT_EQ(path(MixerKind::restricted_attention, stack), 25);  // 99 places in steps of 4
    EXPECT_EQ(path(MixerKind::lstm, stack), 100);
  }
  EXPECT_EQ(path(MixerKind::convolution, AttentionKind::encoder), 99);  // one place to each side
  EXPECT_EQ(path(MixerKind::convolution, AttentionKind::decoder), 50);  // two places to the left
  EXPECT_EQ(path(MixerKind::separable, AttentionKind::decoder), 50);
}

TEST(LayerTimes, WhatCanNotBeMeasuredIsRefusedBefore) {
  const auto message = [](const auto& change) {
    LayerStudyOptions options = small_study();
    change(options);
    return error_message([&] { study_layers(options, [](MixerKind, LayerSize) { FAIL() << "measured"; }); });
  };
  EXPECT_NE(message([](LayerStudyOptions& o) {
              o.n = {16, 8};
            }).find("n: the values must increase"),
            std::string::npos);
  EXPECT_NE(message([](LayerStudyOptions& o) {
              o.d = {8, 8};
            }).find("d: the values must increase"),
            std::string::npos);
  EXPECT_NE(message([](LayerStudyOptions& o) { o.d = {}; }), "");
  EXPECT_NE(message([](LayerStudyOptions& o) {
              o.d = {8, 9};
            }).find("d_model"),
            std::string::npos)
      << "of an LSTM";
  EXPECT_NE(message([](LayerStudyOptions& o) { o.kinds = {MixerKind::ssru}; }).find("decoder"),
            std::string::npos);
  EXPECT_NE(message([](LayerStudyOptions& o) { o.kinds = {}; }), "");
  EXPECT_NE(message([](LayerStudyOptions& o) {
              o.kinds = {MixerKind::attention};
              o.n = o.d = {8};
            }).find("nothing grows"),
            std::string::npos);
}

}  // namespace
}  // namespace sixfold
