#include "tasks/classification/classifier.h"

#include <gtest/gtest.h>

#include "error_message.h"
#include "program/small_classifier.h"
#include "tasks/classification/config.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

using Texts = std::vector<std::string>;

class ClassifierTest : public testing::Test {
 protected:
  ClassifierTest() { write_small_classifier(model_, 3); }
  TemporaryFolder folder_;
  const std::string model_ = folder_ / "model";
};

TEST_F(ClassifierTest, GivesProbabilitiesOfAllLabels) {
  const Classifier classifier(model_, {.threads = 1});
  EXPECT_EQ(classifier.labels(), (Texts{"bad", "fair", "good"}));
  for (const Classification& result : classifier.classify(Texts{"a b", "c", "h h h g"})) {
    double sum = 0;
    for (const double probability : result.probabilities) sum += probability;
    EXPECT_NEAR(sum, 1, 1e-12);
    const size_t best = likeliest(result.probabilities);
    EXPECT_EQ(result.label, classifier.labels()[best]);
    EXPECT_EQ(result.probability, result.probabilities[best]);
  }
  EXPECT_TRUE(classifier.classify({}).empty());
}

/// What training refuses, the check of the data refuses.
TEST_F(ClassifierTest, WeightsAreChecked) {
  EXPECT_EQ(weighing({}), nullptr);
  EXPECT_NO_THROW(weighing({"b=2"})({"a", "b"}, {1, 1}));
  EXPECT_NE(error_message([] {
              weighing({"c=2"})({"a", "b"}, {1, 1});
            }).find("there is no label 'c'"),
            std::string::npos);
}

/// A training that goes on with a classifier keeps what stands before its labels.
TEST_F(ClassifierTest, HeadsStayInATraining) {
  ModelConfig start;
  const ClassifierOptions options{.pooling = Pooling::mean};
  EXPECT_EQ(class_head({"a", "b", "c"}, options, start).pooling, Pooling::mean);
  start.head = {OutputHead::classes, 2, Pooling::attention, true, Activation::gelu};
  const HeadConfig kept = class_head({"a", "b", "c"}, options, start);
  EXPECT_EQ(kept.classes, 3);
  EXPECT_EQ(kept.pooling, Pooling::attention);
  EXPECT_TRUE(kept.dense);
  EXPECT_EQ(kept.activation, Activation::gelu);
  std::vector<std::string> advice;
  advise_on_classifier(options, model_, advice);
  EXPECT_EQ(advice,
            Texts{"classifier.pooling has no effect together with start.model, whose classifier is used"});
}

TEST_F(ClassifierTest, ProbabilitiesThatAreNotFiniteAreAnError) {
  damage_weights(model_);
  for (const Classification& result : Classifier(model_, {.threads = 1}).classify(Texts{"a b", "c"})) {
    ASSERT_TRUE(result.error);
    EXPECT_NE(result.error->find("not finite"), std::string::npos) << *result.error;
    EXPECT_TRUE(result.label.empty());
  }
}

/// The bits of a text's probabilities do not depend on the other texts or on the number of threads.
TEST_F(ClassifierTest, GivesTheSameAnswerInAnyBatch) {
  Texts texts;
  for (int i = 0; i < 700; ++i) {
    texts.emplace_back();
    for (int word = 0; word <= i % 7; ++word)
      texts.back() += std::string(1, static_cast<char>('a' + (i * (word + 3)) % 8)) + " ";
  }
  for (const WeightType type : {WeightType::stored, WeightType::int8}) {
    const Classifier one(model_, {.threads = 1, .weights = type}), two(model_, {.threads = 2, .weights = type});
    const auto all = one.classify(texts), shared = two.classify(texts);
    for (size_t i = 0; i < texts.size(); ++i) {
      EXPECT_EQ(all[i].probabilities, shared[i].probabilities);
      if (i % 50 != 0) continue;
      EXPECT_EQ(one.classify(std::span(&texts[i], 1))[0].probabilities, all[i].probabilities);
    }
  }
}

TEST_F(ClassifierTest, RefusesOtherModels) {
  write_small_model(folder_ / "translation", 1);
  EXPECT_NE(error_message([&] { Classifier(folder_ / "translation"); }).find("not 'classification'"),
            std::string::npos);
  EXPECT_NE(error_message([&] { Classifier(model_, {.threads = -1}); }).find("threads is -1"),
            std::string::npos);
}

TEST_F(ClassifierTest, CanBeCancelled) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(Classifier(model_, {.threads = 1}).classify(Texts{"a"}, {.cancel = stop.get_token()}),
               Cancelled);
}

}  // namespace
}  // namespace sixfold
