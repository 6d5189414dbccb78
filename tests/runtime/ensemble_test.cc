#include "search/ensemble.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "error_message.h"
#include "runtime/running_batch.h"
#include "runtime/searches.h"
#include "search/scoring.h"

namespace sixfold {
namespace {

constexpr int vocab = 9;

std::vector<std::vector<Hypothesis>> search_together(const Ensemble& ensemble, const std::vector<Ids>& sources,
                                                     const SearchOptions& options) {
  const Transformer& first = *ensemble.models.front();
  const DecodeWorkspace workspace(first, first.backend(), &ensemble);
  std::vector<std::vector<Hypothesis>> results(sources.size());
  search(workspace, sources, options,
         [&](size_t index, std::vector<Hypothesis> best) { results[index] = std::move(best); });
  return results;
}

/// The log-probabilities of all tokens after some, of one model.
std::vector<double> next_of(const Transformer& model, const Ids& source, const Ids& before) {
  std::vector<double> all(vocab);
  for (int32_t id = 0; id < vocab; ++id) {
    Ids target = before;
    if (id != model.config().eos) target.push_back(id);
    all[static_cast<size_t>(id)] = score_targets(model, {source}, {target}, 1000)[0][before.size()];
  }
  return all;
}

/// The same of an ensemble, by the definition.
std::vector<double> next_of(const Ensemble& ensemble, const Ids& source, const Ids& before) {
  std::vector<double> all(vocab);
  for (size_t m = 0; m < ensemble.models.size(); ++m) {
    const std::vector<double> own = next_of(*ensemble.models[m], source, before);
    for (size_t id = 0; id < vocab; ++id)
      all[id] +=
          ensemble.weights[m] * (ensemble.mean == EnsembleMean::probabilities ? std::exp(own[id]) : own[id]);
  }
  double sum = 0;
  for (double& value : all) {
    if (ensemble.mean == EnsembleMean::probabilities) value = std::log(value);
    sum += std::exp(value);
  }
  for (double& value : all) value -= std::log(sum);  // already 0 for the mean of probabilities
  return all;
}

TEST(Ensemble, OfAModelWithItselfIsTheModel) {
  const RandomModel model(vocab, 1);
  const auto sources = random_sources(5, 6, vocab, 1);
  std::vector<SearchOptions> all = all_rules();
  for (const int beam : {1, 3}) {
    SearchOptions more = all[0];
    more.rules.beam_size = beam;
    more.rules.repetition_penalty = 1.5F;
    more.rules.suppress_tokens = {4, 5};
    all.push_back(more);
    more.rules.repetition_penalty = 1;
    more.rules.renormalize_logits = true;
    more.rules.forced_first_token = 7;
    all.push_back(more);
    more.rules.min_new_tokens = 3;
    more.rules.no_repeat_ngram = 2;
    all.push_back(more);
  }
  const Shortlist shortlist({3, 6, 8}, std::vector<std::vector<int32_t>>(vocab));
  SearchOptions listed = all[0];
  listed.shortlist = &shortlist;
  all.push_back(listed);
  listed.rules.beam_size = 4;
  all.push_back(listed);
  SearchOptions covering = all[0];
  covering.rules.beam_size = 4;
  covering.rules.coverage_penalty = 0.4F;
  all.push_back(covering);
  for (const EnsembleMean mean : {EnsembleMean::probabilities, EnsembleMean::log_probabilities})
    for (const SearchOptions& options : all) {
      const auto wanted = search_all(model, sources, options);
      const auto found = search_together({{&model, &model, &model}, {0.5, 0.2, 0.3}, mean}, sources, options);
      for (size_t i = 0; i < sources.size(); ++i) expect_same(found[i], wanted[i]);
    }
}

TEST(Ensemble, IsTheMeanOfItsModels) {
  const RandomModel one(vocab, 1), two(vocab, 2), three(vocab, 3);
  const auto sources = random_sources(6, 6, vocab, 1);
  for (const EnsembleMean mean : {EnsembleMean::probabilities, EnsembleMean::log_probabilities}) {
    const Ensemble ensemble{{&one, &two, &three}, {0.2, 0.3, 0.5}, mean};
    SearchOptions options;
    options.rules.beam_size = 1;
    options.rules.length_offset = 3;
    options.rules.allow_unk = true;
    options.rules.min_new_tokens = 3;
    SearchOptions drawn = options;
    drawn.drawn = DrawnOutputs{{.temperature = 1.3F}, 4};
    drawn.n_best = 3;
    const auto greedy = search_together(ensemble, sources, options),
               samples = search_together(ensemble, sources, drawn);
    int others = 0;  // than what the first model says
    for (size_t i = 0; i < sources.size(); ++i) {
      std::vector<Hypothesis> all = samples[i];
      all.push_back(greedy[i][0]);
      for (size_t h = 0; h < all.size(); ++h) {
        double sum = 0;
        Ids before;
        Ids tokens = all[h].ids;
        if (all[h].reason != FinishReason::cut) tokens.push_back(2);
        for (const int32_t id : tokens) {
          std::vector<double> next = next_of(ensemble, sources[i], before);
          sum += next[static_cast<size_t>(id)];
          std::vector<double> own = next_of(one, sources[i], before);
          for (std::vector<double>* all_of : {&next, &own}) {
            (*all_of)[1] = -1e9;  // no output has the start token
            if (before.size() < 3) (*all_of)[2] = -1e9;
          }
          if (h == samples[i].size() && (id != 2 || all[h].reason == FinishReason::end_token)) {
            EXPECT_EQ(std::ranges::max_element(next) - next.begin(), id);
            others += own[static_cast<size_t>(id)] < *std::ranges::max_element(own);
          }
          before.push_back(id);
        }
        EXPECT_NEAR(all[h].log_probability, sum, 1e-4);
      }
    }
    EXPECT_GT(others, 0);
  }
}

TEST(Ensemble, ScoresGivenTargets) {
  const RandomModel one(vocab, 1), two(vocab, 2);
  const std::vector<Ids> sources{{3, 4, 2}, {5, 2}, {7, 2}}, targets{{6, 3, 8}, {}, Ids(100, 6)};
  const Ids allowed{2, 3, 6, 8};
  for (const EnsembleMean mean : {EnsembleMean::probabilities, EnsembleMean::log_probabilities}) {
    const Ensemble ensemble{{&one, &two}, {0.3, 0.7}, mean};
    const DecodeWorkspace workspace(one, one.backend(), &ensemble);
    const auto all = score_targets(workspace, sources, targets, 1000),
               listed = score_targets(workspace, sources, targets, 1000, allowed);
    for (size_t i = 0; i < 2; ++i) {
      ASSERT_EQ(all[i].size(), targets[i].size() + 1);
      for (size_t t = 0; t <= targets[i].size(); ++t) {
        const std::vector<double> next =
            next_of(ensemble, sources[i], Ids(targets[i].begin(), targets[i].begin() + static_cast<int>(t)));
        EXPECT_NEAR(all[i][t], next[static_cast<size_t>(t < targets[i].size() ? targets[i][t] : 2)], 1e-4);
      }
    }
    // Over the allowed tokens, and also beyond the rows that are computed at once.
    EXPECT_EQ(listed[2].size(), 101u);
    for (size_t t : {size_t{0}, size_t{99}}) {
      double sum = 0;
      for (const int32_t id : allowed) {
        Ids other = targets[2];
        other.resize(t + 1);
        other[t] = id;
        const auto scores =
            score_targets(workspace, {sources[2]}, {id == 2 ? Ids(t, 6) : other}, 1000, allowed);
        sum += std::exp(scores[0][t]);
        if (id == 6) {
          EXPECT_NEAR(scores[0][t], listed[2][t], 1e-4);
        }
      }
      EXPECT_NEAR(sum, 1, 1e-4);
    }
    EXPECT_NE(error_message([&] {
                score_targets(workspace, sources, {{4}, {}, {}}, 1000, allowed);
              }).find("not among those allowed"),
              std::string::npos);
  }
}

/// Also where the probability itself would be 0 as a number of its type.
TEST(Ensemble, TinyProbabilitiesCount) {
  const RandomModel one(vocab, 1), two(vocab, 2);
  for (const RandomModel* model : {&one, &two}) {
    std::vector<float> bias(vocab);
    bias[5] = -300;
    Tensor(model->output().bias).copy_from(*model->backend(), bias);
  }
  class Sink final : public ResultSink {
   public:
    void done(size_t, const DecodeWorkspace&, std::vector<Hypothesis> best_first) override {
      found = std::move(best_first);
    }
    void failed(size_t, std::exception_ptr) noexcept override {}
    std::vector<Hypothesis> found;
  };
  for (const EnsembleMean mean : {EnsembleMean::probabilities, EnsembleMean::log_probabilities}) {
    const Ensemble ensemble{{&one, &two}, {0.5, 0.5}, mean};
    Sink sink;
    RequestQueue queue;
    queue.push(SearchRequests(one.config(), {})
                   .make({3, 2}, sink, 0, {.prefix = {5}, .phrases = {}, .banned_phrases = {}}));
    RunningBatch batch(DecodeWorkspace(one, one.backend(), &ensemble), queue);
    while (batch.step()) {
    }
    ASSERT_FALSE(sink.found.empty());
    EXPECT_EQ(sink.found[0].ids.at(0), 5);
    EXPECT_LT(sink.found[0].log_probability, -250);
    EXPECT_GT(sink.found[0].log_probability, -400);
  }
}

TEST(Ensemble, ModelsReadTheSameTexts) {
  const RandomModel model(vocab, 1);
  const auto check = [&](const std::string& of_first, const std::string& of_other) {
    ModelConfig first = model.config(), other = model.config();
    first.settings = parse_yaml_options(of_first, "a"), other.settings = parse_yaml_options(of_other, "b");
    require_compatible_ensemble({first, "a"}, {other, "b"});
  };
  const auto difference = [&](const std::string& of_first, const std::string& of_other) {
    return error_message([&] { check(of_first, of_other); });
  };
  EXPECT_NO_THROW(check("{source_language: en}", "{target_language: de}")) << "not known";
  EXPECT_NE(difference("{source_language: en}", "{source_language: de}").find("source_language"),
            std::string::npos);
  for (const char* tokens : {"source_start", "source_end", "target_start"})
    EXPECT_NE(difference("{}", fmt::format("{{{}: [5, 0]}}", tokens)).find(tokens), std::string::npos);
  ModelConfig forced = model.config();
  forced.generation.forced_first_token = 7;
  EXPECT_NE(error_message([&] {
              require_compatible_ensemble({model.config(), "a"}, {forced, "b"});
            }).find("forced_first_token"),
            std::string::npos);
}

TEST(Ensemble, WeightsThatAreDamagedAreSaid) {
  const RandomModel one(vocab, 1), two(vocab, 2);
  std::vector<float> bias(vocab, std::nanf(""));
  Tensor(two.output().bias).copy_from(*two.backend(), bias);
  for (const EnsembleMean mean : {EnsembleMean::probabilities, EnsembleMean::log_probabilities})
    for (const bool draw : {false, true}) {
      SearchOptions options;
      if (draw) options.drawn = DrawnOutputs{};
      EXPECT_NE(error_message([&] {
                  search_together({{&one, &two}, {0.5, 0.5}, mean}, {{3, 2}}, options);
                }).find("NaN"),
                std::string::npos);
    }
}

}  // namespace
}  // namespace sixfold
