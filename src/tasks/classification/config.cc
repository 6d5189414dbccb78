#include "tasks/classification/config.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/join.h"
#include "base/nearest.h"
#include "base/plural.h"
#include "tasks/kit/encoder_task.h"

namespace sixfold {

ClassificationOptions::ClassificationOptions() { set_encoder_defaults(*this); }

ClassificationOptions classification_options_of(OptionNode root, const std::string& where) {
  return read_encoder_options<ClassificationOptions>(std::move(root), where, "a classifier");
}

HeadConfig class_head(const std::vector<std::string>& labels, const ClassifierOptions& options,
                      const ModelConfig& start) {
  const auto classes = static_cast<int>(labels.size());
  if (start.head.kind != OutputHead::classes)
    return {OutputHead::classes, classes, options.pooling, options.dense, options.activation};
  HeadConfig kept = start.head;
  kept.classes = classes;
  return kept;
}

void advise_on_classifier(const ClassifierOptions& options, const std::string& start,
                          std::vector<std::string>& advice) {
  if (const auto config = start_config(start); config && config->head.kind == OutputHead::classes) {
    for (const std::string& key : differing_keys(write_options(options), write_options(ClassifierOptions())))
      advice.push_back(
          fmt::format("classifier.{} has no effect together with start.model, whose classifier is used", key));
  } else if (!options.dense && options.activation != ClassifierOptions().activation) {
    advice.emplace_back("classifier.activation has no effect without classifier.dense");
  }
}

std::string describe_classes(const ModelConfig& config, const std::string& what) {
  constexpr size_t max_listed = 10;
  const std::vector<std::string> all = labels_of(config);
  std::vector<std::string> labels(all.begin(), all.begin() + std::min<ptrdiff_t>(max_listed, std::ssize(all)));
  if (all.size() > max_listed) labels.emplace_back("...");
  return fmt::format("{} as one of {}: {} (pooling {})", what, counted(all.size(), "label"), join(labels),
                     name_of_enum(config.head.pooling));
}

std::span<const SizeChoice> ClassificationOptions::sizes() {
  static const std::vector<SizeChoice> rows{
      {0,
       0,
       {"model.d_model=64 model.heads=4 model.d_ff=128 model.encoder_layers=1", pre_norm, "model.dropout=0.3",
        "classifier.pooling=mean", "data.batch_tokens=4096", "data.token_dropout=0.3", "train.ema_decay=0.99",
        "train.clip_norm=1",
        "optimizer.kind?=adam schedule.kind=cosine schedule.learning_rate=1e-3 schedule.warmup=100",
        "validation.every_epochs=1 validation.best_by=accuracy"}}};
  return rows;
}

void validate(const ClassificationOptions& o) {
  require_encoder_only(o.model, "a classifier");
  check_frozen_parts(o.start, "a classifier");
  validate_groups(o, "a file whose lines are a label, a tab and a text");
  const int64_t max_input = o.data.max_tokens + 2;  // with the start token and the end token
  require(!o.model.limits_length() || o.model.max_positions >= max_input,
          "model.max_positions is {}, but data.max_tokens is {}; there must be a position for each token, and "
          "for the start and the end",
          o.model.max_positions, o.data.max_tokens);
}

std::vector<std::string> advice_for(const ClassificationOptions& o) {
  std::vector<std::string> advice =
      advice_on_encoder(o, ClassificationOptions(), "a classifier generates no text");
  advise_on_classifier(o.classifier, o.start.model, advice);
  return advice;
}

std::vector<float> class_weights(const std::vector<std::string>& given, const std::vector<std::string>& labels,
                                 const std::vector<int64_t>& counts) {
  std::vector<float> weights(labels.size(), 1);
  if (given == std::vector<std::string>{"balanced"}) {
    double all = 0;
    for (const int64_t count : counts) all += static_cast<double>(count);
    for (size_t i = 0; i < labels.size(); ++i)
      weights[i] =
          static_cast<float>(all / static_cast<double>(labels.size() * std::max<size_t>(counts[i], 1)));
    return weights;
  }
  for (const std::string& one : given) {
    const size_t equals = one.rfind('=');
    require(equals != one.npos && equals > 0,
            "data.class_weights: expected 'balanced' alone or LABEL=FACTOR, found '{}'", one);
    const std::string label = one.substr(0, equals);
    const auto found = std::ranges::lower_bound(labels, label);
    if (found == labels.end() || *found != label)
      throw_input_error("data.class_weights: there is no label '{}' in the training data{}", label,
                        suggestion(label, labels));
    const auto is_of_label = [&](const std::string& other) {
      return other.substr(0, other.rfind('=')) == label;
    };
    require(std::ranges::count_if(given, is_of_label) == 1,
            "data.class_weights: there are two factors for the label '{}'", label);
    float& weight = weights[static_cast<size_t>(found - labels.begin())];
    const char *begin = one.data() + equals + 1, *end = one.data() + one.size();
    const auto [rest, error] = std::from_chars(begin, end, weight);
    require(error == std::errc() && rest == end && std::isfinite(weight) && weight > 0,
            "data.class_weights: '{}': the factor must be a number above 0", one);
  }
  return weights;
}

ClassWeighing weighing(const std::vector<std::string>& given) {
  if (given.empty()) return nullptr;
  return [given](const auto& labels, const auto& counts) { class_weights(given, labels, counts); };
}

}  // namespace sixfold
