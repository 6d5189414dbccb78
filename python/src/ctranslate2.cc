#include <algorithm>

#include "binding.h"
#include "ctranslate2_search.h"
#include "model/config.h"
#include "runtime/request_group.h"
#include "search/scoring.h"
#include "tasks/import_model.h"
#include "tasks/translation/extra_outputs.h"
#include "tasks/translation/translator.h"

// The functions for sixfold.compat.ctranslate2, which translate and score tokens instead of texts.

namespace sixfold::python {
namespace {

using Ids = std::vector<int32_t>;

/// The input of a search. `source` has the end token. `context`, `prefix`: the arguments of `Ct2Search`.
struct Ct2Source {
  Ids source, context, prefix;
};

/// For which hypotheses attention is returned.
struct Ct2Attention {
  bool all = false;
  bool of_unknown = false;  ///< only for hypotheses with the unknown token
};
void visit(OptionVisitor& v, Ct2Attention& o) {
  v.field("attention", o.all, "");
  v.field("attention_of_unknown", o.of_unknown, "");
}

struct Ct2Hypothesis {
  Hypothesis hypothesis;
  /// The mean of the heads of the layer that aligns words: for each token of context and hypothesis, and the
  /// end token if there is one, the weight of each token of the source. Empty: not requested.
  std::vector<float> attention;
};

void require_ids(const Ids& ids, int vocab, const char* what) {
  for (const int32_t id : ids)
    require(id >= 0 && id < vocab, "token {} of the {} is not in the vocabulary of {}", id, what, vocab);
}

/// [rows of the target, source] from [heads, rows of the target, source].
std::vector<float> mean_of_heads(const std::vector<float>& weights, size_t heads) {
  std::vector<float> mean(weights.size() / heads);
  for (size_t i = 0; i < weights.size(); ++i) mean[i % mean.size()] += weights[i] / static_cast<float>(heads);
  return mean;
}

/// The searches of a call.
class Ct2Job final : public RequestGroup {
 public:
  Ct2Job(ModelRuntime& model, const Ct2Options& options, const Ct2Attention& attention,
         std::vector<Ct2Source> sources)
      : RequestGroup(model.engine()),
        model_(model),
        plan_(std::make_shared<const Ct2Plan>(model.config(), options)),
        attention_(attention),
        sources_(std::move(sources)),
        results_(sources_.size()) {
    const ModelConfig& config = model.config();
    for (const Ct2Source& one : sources_) {
      require(!one.source.empty(), "a source has no tokens");
      require_ids(one.source, config.source_vocab, "source");
      for (const Ids& ids : {one.context, one.prefix}) require_ids(ids, config.target_vocab, "target prefix");
      if (config.limits_length()) require_positions(config, std::ssize(one.source), "a source");
    }
  }

  std::vector<std::vector<Ct2Hypothesis>> run(const std::stop_token& cancel) {
    RequestGroup::run(cancel, [&] {
      for (size_t i = 0; i < sources_.size() && !stopped(); ++i) queue(request_of(sources_[i]), i);
    });
    return std::move(results_);
  }

 private:
  std::unique_ptr<Request> request_of(const Ct2Source& one) const {
    auto request = std::make_unique<Request>();
    request->source = one.source;
    request->strategy = std::make_unique<Ct2Search>(plan_, one.context, one.prefix);
    request->read_tokens = std::ssize(one.source);
    request->tokens = request->read_tokens * plan_->options.beam_size;
    request->batch_tokens = model_.batch_tokens();
    return request;
  }

  void complete(size_t index, const DecodeWorkspace& workspace, std::vector<Hypothesis> best_first) override {
    const Ct2Source& source = sources_[index];
    std::vector<Ct2Hypothesis>& result = results_[index];  // which no other request uses
    std::vector<Hypothesis> whole;                         // with the context
    std::vector<size_t> observed;
    for (Hypothesis& one : best_first) {
      Hypothesis all = one;
      all.ids.insert(all.ids.begin(), source.context.begin(), source.context.end());
      result.push_back({.hypothesis = std::move(one)});
      const bool unknown = std::ranges::find(all.ids, model_.target().unk()) != all.ids.end();
      if (!attention_.all && !(attention_.of_unknown && unknown)) continue;
      observed.push_back(result.size() - 1);
      whole.push_back(std::move(all));
    }
    if (observed.empty()) return;
    std::vector<ScoredPair> pairs;
    for (const Hypothesis& one : whole) pairs.push_back({source.source, one});
    const auto weights = cross_attention(model_, workspace, pairs, {});
    for (size_t i = 0; i < observed.size(); ++i)
      result[observed[i]].attention = mean_of_heads(weights[i], static_cast<size_t>(model_.config().heads));
  }

  ModelRuntime& model_;
  const std::shared_ptr<const Ct2Plan> plan_;
  const Ct2Attention attention_;
  const std::vector<Ct2Source> sources_;
  std::vector<std::vector<Ct2Hypothesis>> results_;
};

/// For each source its hypotheses, best first: ids, whether the end token follows, score, attention or None.
py::list search(Opened<Translator>& opened, std::vector<Ids> sources, std::vector<Ids> contexts,
                std::vector<Ids> prefixes, const py::dict& keywords) {
  const auto model = opened.runtime();
  Ct2Options options;
  Ct2Attention attention;
  read_keywords(keywords, "translate_batch",
                {OptionVisitor::AnyOptions(options), OptionVisitor::AnyOptions(attention)});
  require(sources.size() == contexts.size() && sources.size() == prefixes.size(),
          "there are {} sources, {} contexts and {} prefixes", sources.size(), contexts.size(),
          prefixes.size());
  std::vector<Ct2Source> all;
  std::vector<py::ssize_t> columns;
  for (size_t i = 0; i < sources.size(); ++i) {
    columns.push_back(std::ssize(sources[i]));
    all.push_back({std::move(sources[i]), std::move(contexts[i]), std::move(prefixes[i])});
  }
  auto found = Call::predict(
      [&](Call& call) { return Ct2Job(*model, options, attention, std::move(all)).run(call.token()); });
  py::list results;
  for (size_t i = 0; i < found.size(); ++i) {
    results.append(tuple_of(found[i], [&](const Ct2Hypothesis& one) {
      const py::ssize_t rows = std::ssize(one.attention) / columns[i];
      py::object weights = py::none();
      if (rows > 0) weights = array_of(one.attention, {rows, columns[i]});
      return py::make_tuple(py::cast(one.hypothesis.ids), one.hypothesis.reason == FinishReason::end_token,
                            one.hypothesis.score, weights);
    }));
  }
  return results;
}

/// The log-probability of each token of each target, end token included.
std::vector<std::vector<double>> score(Opened<Translator>& opened, const std::vector<Ids>& sources,
                                       const std::vector<Ids>& targets) {
  const auto model = opened.runtime();
  const ModelConfig& config = model->config();
  require(sources.size() == targets.size(), "there are {} sources and {} targets", sources.size(),
          targets.size());
  for (const Ids& ids : sources) require_ids(ids, config.source_vocab, "source");
  for (const Ids& ids : targets) require_ids(ids, config.target_vocab, "target");
  for (size_t i = 0; i < sources.size(); ++i)
    require_positions(config, std::max(std::ssize(sources[i]), std::ssize(targets[i]) + 1),
                      fmt::format("pair {}", i + 1));
  return Call::predict([&](Call& call) {
    constexpr size_t at_once = 32;
    std::vector<std::vector<double>> scores(sources.size());
    model->run((sources.size() + at_once - 1) / at_once, call.token(),
               [&](size_t part, const DecodeWorkspace& workspace) {
                 const size_t begin = part * at_once, end = std::min(begin + at_once, sources.size());
                 const auto some = [&](const std::vector<Ids>& all) {
                   return std::vector<Ids>(all.begin() + static_cast<std::ptrdiff_t>(begin),
                                           all.begin() + static_cast<std::ptrdiff_t>(end));
                 };
                 auto scored =
                     score_targets(workspace, some(sources), some(targets), 2 * model->batch_tokens());
                 std::ranges::move(scored, scores.begin() + static_cast<std::ptrdiff_t>(begin));
               });
    return scores;
  });
}

}  // namespace

void add_ctranslate2(py::module_& m) {
  m.def("ctranslate2_search", search);
  m.def("ctranslate2_score", score);
  m.def("import_ctranslate2", [](const std::string& folder, const std::vector<std::string>& sentence_pieces,
                                 const std::string& output) {
    Call::run([&](Call&) {
      import_model({.program = "ctranslate2", .path = folder, .sentence_pieces = sentence_pieces}, output);
    });
  });
}

}  // namespace sixfold::python
