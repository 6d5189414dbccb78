#include "model/decoding_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>

#include "error_message.h"
#include "model/toy_mixers.h"
#include "search/plain_beam_search.h"
#include "search/random_model.h"

namespace sixfold {
namespace {

/// A model, by what its decoder's layers mix tokens with.
struct Kind {
  std::string name;
  MixerFactory mixer = make_mixer;
  int encoder_layers = 1;
  MixerKind decoder_mixer = MixerKind::attention;
};

class DecodingStateTest : public testing::TestWithParam<Kind> {
 protected:
  static ModelConfig config() {
    ModelConfig config = small_config(30);
    config.encoder_layers = GetParam().encoder_layers;
    config.decoder_layers = 3;
    config.decoder_mixer = GetParam().decoder_mixer;
    config.attention_window = 2;
    return config;
  }
  bool has_encoder() const { return GetParam().encoder_layers > 0; }

  /// The states of a whole target, [tokens * d_model].
  std::vector<float> full_pass(const Ids& source, const Ids& target) const {
    Batch batch;
    if (has_encoder()) batch.source.add(source);
    batch.target.add(target);
    Context context(backend_, arena_);
    return model_.states(batch, context).to_floats(*backend_);
  }
  std::vector<float> extend(const std::vector<Extension>& extensions) {
    Context context(backend_, arena_);
    return state_.extend(extensions, context).to_floats(*backend_);
  }
  void enter(const std::vector<int>& requests, const std::vector<Ids>& sources) {
    IdBatch batch;
    for (const Ids& source : sources) batch.add(has_encoder() ? source : Ids());
    Context context(backend_, arena_);
    state_.enter(requests, batch, context);
  }
  void expect_row(const std::vector<float>& states, size_t row, const std::vector<float>& full,
                  size_t position) {
    const size_t d_model = static_cast<size_t>(model_.config().d_model);
    ASSERT_GE(states.size(), (row + 1) * d_model);
    for (size_t i = 0; i < d_model; ++i)
      EXPECT_NEAR(states[row * d_model + i], full[position * d_model + i], 1e-5);
  }
  static int64_t used(const RowStore& store) { return store.rows() - store.free_rows(); }
  /// Rows that are named, by the number of tokens retained.
  std::vector<int64_t> used_rows() const {
    std::vector<int64_t> all;
    for (const RowStore& store : state_.target()) all.push_back(used(store));
    return all;
  }

  std::shared_ptr<Backend> backend_ = make_backend();
  std::shared_ptr<Arena> arena_ = std::make_shared<Arena>(backend_);
  Transformer model_{config(), backend_, DType::f32, 3, GetParam().mixer};
  DecodingState state_{model_, backend_};
};

INSTANTIATE_TEST_SUITE_P(Kinds, DecodingStateTest,
                         testing::Values(Kind{"attention"}, Kind{"mixed", toy_mixers},
                                         Kind{"decoder_only", make_mixer, 0},
                                         Kind{"ssru", make_mixer, 1, MixerKind::ssru},
                                         Kind{"average", make_mixer, 1, MixerKind::average},
                                         Kind{"convolution", make_mixer, 1, MixerKind::convolution},
                                         Kind{"separable", make_mixer, 0, MixerKind::separable},
                                         Kind{"recurrent", make_mixer, 0, MixerKind::recurrent},
                                         Kind{"lstm", make_mixer, 1, MixerKind::lstm},
                                         Kind{"gru", make_mixer, 1, MixerKind::gru},
                                         Kind{"bahdanau", make_mixer, 1, MixerKind::bahdanau},
                                         Kind{"restricted", make_mixer, 1, MixerKind::restricted_attention}),
                         [](const auto& kind) { return kind.param.name; });

TEST_P(DecodingStateTest, TokenByTokenEqualsTheFullPass) {
  const std::vector<Ids> sources{{4, 5, 6, 2}, {7, 2}, {8, 9, 10, 11, 12, 2}};
  const std::vector<Ids> targets{{1, 4, 5, 6, 7, 8}, {1, 9, 9, 9, 9, 9}, {1, 10, 11, 12, 13, 14}};
  // The third sentence enters when the others are at their third token, the second leaves after its fourth.
  enter({0, 1}, {sources[0], sources[1]});
  std::vector<size_t> position(3);
  for (int time = 0; time < 8; ++time) {
    if (time == 2) enter({2}, {sources[2]});
    if (time == 4) state_.leave(1);
    std::vector<Extension> extensions;
    std::vector<size_t> at;
    for (size_t s = 0; s < 3; ++s) {
      const bool there = s == 0 ? time < 6 : s == 1 ? time < 4 : time >= 2;
      if (!there) continue;
      extensions.push_back({static_cast<int>(s), 0, {&targets[s][position[s]], 1}});
      at.push_back(s);
    }
    const auto states = extend(extensions);
    for (size_t row = 0; row < at.size(); ++row) {
      const size_t s = at[row];
      expect_row(states, row, full_pass(sources[s], targets[s]), position[s]++);
    }
  }
}

TEST_P(DecodingStateTest, SeveralTokensAtOnceAreTheSame) {
  const Ids source{4, 5, 6, 2}, other{7, 8, 2}, target{1, 4, 5, 6, 7, 8, 9, 10, 11}, ones{1, 13};
  enter({5, 3}, {source, other});
  const auto full = full_pass(source, target);
  // A prompt of four tokens beside a request that goes token by token.
  auto states = extend({{5, 0, std::span(target).first(4)}, {3, 0, std::span(ones).first(1)}});
  for (size_t i = 0; i < 4; ++i) expect_row(states, i, full, i);
  expect_row(states, 4, full_pass(other, ones), 0);
  states = extend({{3, 0, std::span(ones).last(1)}, {5, 0, std::span(target).subspan(4, 1)}});
  expect_row(states, 0, full_pass(other, ones), 1);
  expect_row(states, 1, full, 4);
  states = extend({{5, 0, std::span(target).subspan(5)}});
  for (size_t i = 0; i < 4; ++i) expect_row(states, i, full, 5 + i);
}

/// Tokens that are discarded leave no trace, also if another hypothesis keeps them.
TEST_P(DecodingStateTest, DiscardsNewestTokens) {
  const Ids source{4, 5, 6, 2}, target{1, 4, 5, 6, 7, 8, 9};
  const auto token = [&](size_t place) { return std::span(target).subspan(place, 1); };
  enter({0}, {source});
  extend({{0, 0, std::span(target).first(4)}});
  const Extension discarding{.request = 0, .parent = 0, .tokens = token(5), .discarded = 2};
  if (!DecodingState::keeps_all_tokens(model_)) {
    EXPECT_NE(error_message([&] { extend({discarding}); }).find("can't discard 2 tokens"), std::string::npos);
    return;
  }
  const auto states = extend({discarding, {0, 0, token(6)}});
  expect_row(states, 0, full_pass(source, {1, 4, 8}), 2);
  expect_row(states, 1, full_pass(source, {1, 4, 5, 6, 9}), 4);
  expect_row(extend({{0, 0, token(4)}, {0, 1, token(4)}}), 1, full_pass(source, {1, 4, 5, 6, 9, 7}), 5);
  EXPECT_EQ(used_rows(), (std::vector<int64_t>(state_.target().size(), 4 + 4)));  // the first two are shared
  Extension all{.request = 0, .parent = 1, .tokens = token(1), .discarded = 6};
  expect_row(extend({all}), 0, full_pass(source, {4}), 0);
  EXPECT_EQ(used_rows(), (std::vector<int64_t>(state_.target().size(), 1)));
  all = {.request = 0, .parent = 0, .tokens = token(1), .discarded = 2};
  EXPECT_NE(error_message([&] { extend({all}); }).find("can't discard 2 tokens"), std::string::npos);
  state_.leave(0);
  EXPECT_EQ(used_rows(), (std::vector<int64_t>(state_.target().size(), 0)));
}

TEST_P(DecodingStateTest, HypothesesShareRowsAndChangePlaces) {
  const Ids source{4, 5, 6, 2}, ids{1, 7, 8, 9, 10, 11};
  const auto token = [&](size_t place) { return std::span(ids).subspan(place, 1); };
  enter({0}, {source});
  extend({{0, 0, token(0)}});
  extend({{0, 0, token(1)}, {0, 0, token(2)}});
  const auto states = extend({{0, 1, token(4)}, {0, 0, token(3)}, {0, 1, token(5)}});
  expect_row(states, 0, full_pass(source, {1, 8, 10}), 2);
  expect_row(states, 1, full_pass(source, {1, 7, 9}), 2);
  expect_row(states, 2, full_pass(source, {1, 8, 11}), 2);
  // The first two go on, in another order, one with two children of several tokens.
  const auto last = extend({{0, 1, std::span(ids).subspan(1, 3)}, {0, 0, token(1)}, {0, 1, token(4)}});
  for (size_t i = 0; i < 3; ++i) expect_row(last, i, full_pass(source, {1, 7, 9, 7, 8, 9}), 3 + i);
  expect_row(last, 3, full_pass(source, {1, 8, 10, 7}), 3);
  expect_row(last, 4, full_pass(source, {1, 7, 9, 10}), 3);
}

/// A row is free as soon as no hypothesis needs it.
TEST_P(DecodingStateTest, KeepsTheRowsThatAreNeededAndNoOthers) {
  const Ids ids{1, 7, 8, 9};
  const auto token = [&](size_t place) { return std::span(ids).subspan(place, 1); };
  // By layers: a cell's last state, all of attention's, the two newest of the convolution.
  const auto expect = [&](int64_t cell, int64_t attention, int64_t window) {
    const int retained = model_.decoder_state().front().retain;
    std::vector expected{retained == 1 ? cell : retained == 2 ? window : attention};
    if (GetParam().name == "mixed") expected = {cell, attention, window};
    EXPECT_EQ(used_rows(), expected);
  };
  enter({0, 1}, {{4, 5, 2}, {4, 2}});
  EXPECT_EQ(used(state_.source()), has_encoder() ? 5 : 0);
  extend({{0, 0, token(0)}, {1, 0, token(0)}});
  expect(2, 2, 2);
  extend({{0, 0, token(1)}, {0, 0, token(2)}, {1, 0, token(1)}});
  expect(3, 5, 5);
  extend(
      {{0, 0, token(1)}, {0, 0, token(2)}, {1, 0, token(1)}});  // what went on from the second child is dropped
  expect(3, 4 + 3, 3 + 2);
  state_.leave(0);
  expect(1, 3, 2);
  EXPECT_EQ(used(state_.source()), has_encoder() ? 2 : 0);
  state_.leave(1);
  expect(0, 0, 0);
  EXPECT_EQ(used(state_.source()), 0);
}

TEST_P(DecodingStateTest, GrowsAndKeepsWhatItHas) {
  const Ids source{4, 5, 6, 2};
  Ids target{1};
  while (target.size() < 300) target.push_back(3 + static_cast<int32_t>(target.size() % 20));
  enter({0}, {source});
  std::vector<float> states;
  for (const int32_t& id : target) states = extend({{0, 0, {&id, 1}}});
  expect_row(states, 0, full_pass(source, target), 299);
  for (const RowStore& store : state_.target())
    EXPECT_EQ(store.rows(), used(store) == 300 ? 2 * RowStore::min_rows : RowStore::min_rows);
}

TEST_P(DecodingStateTest, TellsTheBytesOfATokensRows) {
  enter({0}, {{3, 4, 2}});
  const Ids target{0, 5};
  extend({{0, 0, target}});
  const auto bytes = [](const RowStore& store, int layer) {
    int64_t sum = 0;
    for (const Tensor& part : store.parts(layer)) sum += part.cols() * static_cast<int64_t>(sizeof(float));
    return sum;
  };
  int64_t source = 0, all = 0;  // of layers that keep all tokens
  for (int layer = 0; layer < 3; ++layer) {
    if (has_encoder()) source += bytes(state_.source(), layer);
    for (const RowStore& store : state_.target())
      if (model_.decoder_state()[static_cast<size_t>(layer)].retain == StateShape::all)
        all += bytes(store, layer);
  }
  EXPECT_EQ(DecodingState::bytes_per_token(model_), std::pair(source, all));
  EXPECT_EQ(source > 0, has_encoder());
}

TEST_P(DecodingStateTest, RefusesWhatIsNotThere) {
  const Ids ids{1, 7};
  const auto says = [](const std::string& part, const std::function<void()>& call) {
    EXPECT_NE(error_message(call).find(part), std::string::npos) << error_message(call);
  };
  says("no request 0", [&] { extend({{0, 0, ids}}); });
  says("no request -1", [&] { state_.leave(-1); });
  enter({0, 1}, {{4, 2}, {5, 2}});
  says("request 1 exists already", [&] { enter({1}, {{4, 2}}); });
  says("no hypothesis 1", [&] { extend({{0, 1, ids}}); });
  says("has no token", [&] { extend({{0, 0, {}}}); });
  says("not adjacent", [&] { extend({{0, 0, ids}, {1, 0, ids}, {0, 0, ids}}); });
}

TEST_P(DecodingStateTest, ARefusedRequestTakesNothing) {
  enter({0}, {{4, 5, 2}});
  const int64_t before = used(state_.source());
  const std::map<std::vector<int>, std::string> refused{{{1, 0}, "request 0 exists already"},
                                                        {{1, 1}, "request 1 exists already"},
                                                        {{1, -1}, "-1 is not the number of a request"}};
  for (const auto& refusal : refused)
    EXPECT_NE(error_message([&] {
                enter(refusal.first, {{6, 2}, {7, 8, 2}});
              }).find(refusal.second),
              std::string::npos);
  if (has_encoder()) {
    EXPECT_NE(error_message([&] {
                enter({1, 2}, {{6, 2}, {}});
              }).find("source of request 2 has no token"),
              std::string::npos);
  }
  EXPECT_EQ(used(state_.source()), before);
  enter({1, 2}, {{6, 2}, {7, 8, 2}});
  for (const int request : {0, 1, 2}) state_.leave(request);
  EXPECT_EQ(used(state_.source()), 0);
}

/// Searching, hypotheses are reordered, dropped and shared at every step.
TEST(DecodingStateSearch, OfAnyMixerIsThatOfFullPasses) {
  for (const uint64_t seed : {1, 2, 3}) {
    const RandomModel model(9, seed, make_backend(), ModelConfig::zero_start, toy_mixers);
    const auto sources = random_sources(6, 6, 9, seed);
    for (const int beam : {1, 2, 4}) {
      SearchOptions options;
      options.rules.beam_size = options.n_best = beam;
      options.rules.length_offset = 6;
      std::map<size_t, std::vector<Hypothesis>> found;
      search(model, sources, options, [&](size_t i, auto best) { found[i] = std::move(best); });
      for (size_t i = 0; i < sources.size(); ++i) {
        const auto expected = plain_beam_search(model, sources[i], options);
        ASSERT_EQ(found[i].size(), expected.size());
        for (size_t n = 0; n < expected.size(); ++n) {
          EXPECT_EQ(found[i][n].ids, expected[n].ids);
          EXPECT_NEAR(found[i][n].score, expected[n].score, 1e-4);
        }
      }
    }
  }
}

/// A decoder alone, whose prompts can continue from each other's rows.
class BeginningsTest : public testing::TestWithParam<Positions> {
 protected:
  static ModelConfig config() {
    ModelConfig config = small_config(60);
    config.encoder_layers = 0;
    config.positions = GetParam();
    config.d_model = 64;
    config.heads = 4, config.kv_heads = 2;
    config.d_v = 0;
    return config;
  }
  static Ids prompt(size_t length, uint64_t seed) {
    RandomStream random(seed, 0);
    Ids ids(length);
    for (int32_t& id : ids) id = static_cast<int32_t>(random.below(60));
    return ids;
  }
  void enter(int request) {
    IdBatch none;
    none.add(Ids());
    Context context(backend_, arena_);
    state_->enter({&request, 1}, none, context);
  }
  std::vector<float> extend(const Extension& extension) {
    Context context(backend_, arena_);
    const Tensor states = state_->extend({&extension, 1}, context);
    return states.slice_rows(states.rows() - 1, 1).to_floats(*backend_);
  }
  /// Reads a prompt that continues from kept rows, whose number is added to `shared`, and keeps its rows.
  std::vector<float> read(int request, const Ids& ids, size_t* shared = nullptr) {
    enter(request);
    const size_t known = state_->share_beginning(request, ids);
    if (shared) *shared = known;
    auto last = extend({request, 0, std::span(ids).subspan(known), known == 0});
    state_->keep_beginning(request, ids);
    return last;
  }
  int64_t used() const { return state_->target()[0].rows() - state_->target()[0].free_rows(); }

  std::shared_ptr<Backend> backend_ = make_backend();
  std::shared_ptr<Arena> arena_ = std::make_shared<Arena>(backend_);
  Transformer model_{config(), backend_, DType::f32, 3};
  std::unique_ptr<DecodingState> state_ = std::make_unique<DecodingState>(model_, backend_);
};

INSTANTIATE_TEST_SUITE_P(Positions, BeginningsTest,
                         testing::Values(Positions::sinusoidal, Positions::rotary, Positions::alibi,
                                         Positions::t5),
                         [](const auto& kind) {
                           return "kind_" + std::to_string(static_cast<int>(kind.param));
                         });

/// What continues from kept rows has the bits of what is read at once, and so has what follows it.
TEST_P(BeginningsTest, HaveTheBitsOfWhatIsReadAtOnce) {
  const Ids whole = prompt(70, 1), next{7};
  enter(0);
  const auto expected = extend({0, 0, whole, true}), expected_next = extend({0, 0, next});
  state_->leave(0);
  for (const size_t common : {15, 16, 17, 30, 60, 61, 62, 70}) {
    Ids other(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(common));
    while (other.size() < common + 10) other.push_back((whole[std::min<size_t>(other.size(), 69)] + 1) % 60);
    state_ = std::make_unique<DecodingState>(model_, backend_);
    size_t shared = 0;
    read(0, other);
    if (common % 2 == 0) state_->leave(0);  // rows are kept when a request has left, too
    EXPECT_EQ(read(1, whole, &shared), expected) << common;
    EXPECT_EQ(shared, common < 16 ? 0 : std::min<size_t>(common, 61)) << common;
    EXPECT_EQ(extend({1, 0, next}), expected_next) << common;
  }
}

TEST_P(BeginningsTest, AreNotThoseOfABeam) {
  const Ids ids = prompt(30, 1);
  read(0, ids);
  const std::array extensions{Extension{0, 0, std::span(ids).first(1)},
                              Extension{0, 0, std::span(ids).last(1)}};
  Context context(backend_, arena_);
  state_->extend(extensions, context);
  EXPECT_NE(error_message([&] { state_->keep_beginning(0, ids); }).find("several hypotheses"),
            std::string::npos);
}

/// Kept rows are counted once, and given up when rows are needed.
TEST_P(BeginningsTest, TakeNoMemoryThatOthersNeed) {
  const Ids first = prompt(100, 1);
  Ids longer = first;
  longer.resize(130, 5);
  size_t shared = 0;
  read(0, first);
  state_->leave(0);
  EXPECT_EQ(used(), 100);
  read(1, longer, &shared);
  EXPECT_EQ(shared, 100u);
  state_->leave(1);
  EXPECT_EQ(used(), 130);  // the shorter one is a part of it
  read(2, first, &shared);
  EXPECT_EQ(shared, 91u);
  state_->leave(2);
  EXPECT_EQ(used(), 130);
  read(3, prompt(100, 2));
  state_->leave(3);
  EXPECT_EQ(used(), 230);
  read(4, prompt(100, 3), &shared);  // there are 256 rows: the oldest are given up
  EXPECT_EQ(shared, 0u);
  EXPECT_EQ(used(), 200);
  EXPECT_EQ(state_->target()[0].rows(), 256);
  EXPECT_EQ(state_->kept_beginning(longer), 0u);
  state_->leave(4);
  for (int request = 5; request < 75; ++request) {  // many short ones
    read(request, prompt(10, static_cast<uint64_t>(request)));
    state_->leave(request);
  }
  EXPECT_EQ(state_->target()[0].rows(), 256);
}

TEST(RowStore, RowsAreTakenOnce) {
  RowStore store({{{4, 3}}, {}}, make_backend({.device = "reference"}));
  std::vector<int32_t> rows;
  store.allocate(3, rows);
  store.share(rows);
  store.release(std::span(rows).first(1));
  EXPECT_EQ(store.free_rows(), store.rows() - 3);  // each was named twice
  store.release(rows);
  EXPECT_EQ(store.free_rows(), store.rows() - 2);
  rows.erase(rows.begin());
  for (const int count : {200, 1000, 1}) store.allocate(count, rows);
  EXPECT_EQ(std::set(rows.begin(), rows.end()).size(), rows.size());
  EXPECT_LT(*std::max_element(rows.begin(), rows.end()), store.rows());
  EXPECT_EQ(store.free_rows(), store.rows() - static_cast<int64_t>(rows.size()));
  EXPECT_EQ(store.parts(0).size(), 2u);
  EXPECT_TRUE(store.parts(1).empty());
}

}  // namespace
}  // namespace sixfold
