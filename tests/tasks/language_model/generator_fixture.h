#pragma once
// A small character language model, and the texts that it generates.
#include <gtest/gtest.h>

#include <cmath>

#include "program/small_language_model.h"
#include "tasks/language_model/generator.h"
#include "temporary_folder.h"

namespace sixfold {

using Ids = std::vector<int32_t>;

class GeneratorTest : public testing::Test {
 protected:
  GeneratorTest() { write_small_language_model(model_, 3); }
  std::vector<std::string> texts(const std::vector<std::string>& prompts, const GenerateOptions& options,
                                 int threads = 1) const {
    std::vector<std::string> all;
    for (const GeneratedTexts& one : Generator(model_, {.threads = threads}).generate(prompts, options))
      for (const GeneratedText& text : one.texts) all.push_back(text.text);
    return all;
  }
  /// log p(next | start, ids), by the model on whole sequences.
  std::vector<double> next(const Ids& ids) const {
    const auto model = load_model(model_, make_backend({.device = "reference"}), DType::f64);
    Ids with = ids;
    with.push_back(0);
    Context context(model->backend(), std::make_shared<Arena>(model->backend()));
    const Batch batch = BatchBuilder().teacher_forced_prefix(with, model->config().decoder_start_token).take();
    const auto logits =
        ops::logits(context, model->states(batch, context), model->output()).to_doubles(*model->backend());
    const auto vocab = static_cast<std::ptrdiff_t>(model->config().target_vocab);
    std::vector<double> last(logits.end() - vocab, logits.end());
    double sum = 0;
    for (const double logit : last) sum += std::exp(logit);
    for (double& logit : last) logit -= std::log(sum);
    return last;
  }

  TemporaryFolder folder_;
  const std::string model_ = folder_ / "model";
  const std::vector<std::string> prompts_{"a b", "", "h", "a b", "\ncc"};
};

}  // namespace sixfold
