#include "train/run_conditions.h"

#include "train/trainer_fixture.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

class RunConditionsTest : public TrainerTest {
 protected:
  using Names = std::vector<std::string_view>;

  RunConditionsTest() { options_.train.updates = 7; }

  RunConditions trained(const std::string& name) const {
    train(options_, {.run = run(name)});
    return conditions_of(TranslationConfig(options_), run(name), /*finished=*/true);
  }
  static Names differing(const TranslationOptions& first_options, const RunConditions& first,
                         const TranslationOptions& second_options, const RunConditions& second) {
    Names names;
    for (const Condition* condition : unstated_differences(TranslationConfig(first_options), first,
                                                           TranslationConfig(second_options), second))
      names.push_back(condition->name);
    return names;
  }
};

TEST_F(RunConditionsTest, ARunHasThoseThatWereForeseen) {
  const RunConditions before = conditions_of(TranslationConfig(options_), run("a"), /*finished=*/false),
                      after = trained("a");
  EXPECT_EQ(after.size(), conditions().size() - 2) << "there is neither a model to start from nor a teacher";
  EXPECT_EQ(before.size(), 5u);
  for (const auto& [name, value] : before) EXPECT_EQ(after.at(name), value) << name;
  EXPECT_EQ(differing(options_, before, options_, after), Names());
  // The number of threads and the seed decide nothing of this.
  TranslationOptions others = options_;
  options_.train.threads = 2;
  options_.train.seed = 9;
  EXPECT_EQ(differing(others, after, options_, trained("b")), Names());
}

TEST_F(RunConditionsTest, EachDifferenceIsNamedUnlessAKeyStatesIt) {
  RunConditions first = trained("a");
  first["start_model"] = first["teacher"] = "1";
  TranslationOptions all = options_;  // differs in keys that state whatever keys can state
  all.start.model = all.teacher.model = folder_ / "other";
  all.train.precision = Precision::bf16;
  all.train.shards = 2;
  all.data.train = {"other.a", "other.b"};
  TranslationOptions larger_batches = options_;
  larger_batches.data.batch_tokens += 1;
  for (const Condition& condition : conditions()) {
    RunConditions second = first;
    second.find(condition.name)->second += "x";
    EXPECT_EQ(differing(options_, first, options_, second), Names{condition.name});
    EXPECT_EQ(differing(options_, first, larger_batches, second), Names{condition.name});
    EXPECT_EQ(differing(options_, first, all, second).empty(), !condition.stated_by.empty()) << condition.name;
    second.erase(second.find(condition.name));
    EXPECT_EQ(differing(options_, first, options_, second), Names()) << "nothing is known of it";
  }
}

TEST_F(RunConditionsTest, KeysThatResumptionsIgnoreStateAnotherTokenizer) {
  const RunConditions first = trained("a");
  RunConditions second = first;
  second.find("tokenizer")->second += "x";
  second.find("validation")->second += "x";
  TranslationOptions normalized = options_, taught = options_, tested = options_;
  normalized.tokenizer.normalization = Normalization::nfkc;
  taught.teacher.model = folder_ / "teacher";
  tested.data.allow_unknown = !tested.data.allow_unknown;
  EXPECT_EQ(differing(options_, first, normalized, second), Names());
  EXPECT_EQ(differing(options_, first, taught, second), Names());
  EXPECT_EQ(differing(options_, first, tested, second), (Names{"validation", "tokenizer"}));
}

TEST_F(RunConditionsTest, OtherFilesUnderTheSameNamesAreFound) {
  const RunConditions first = trained("a");
  write_text(folder_ / "valid.a", folder_ / "valid.b", 20, 4);
  EXPECT_EQ(differing(options_, first, options_, trained("valid")), Names{"validation"});
  write_text(folder_ / "valid.a", folder_ / "valid.b", 20, 2);
  EXPECT_EQ(differing(options_, first, options_, trained("again")), Names());
  std::string lines = read_file(folder_ / "train.a");
  write_file_atomically(folder_ / "train.a", lines + "a b\n");
  lines = read_file(folder_ / "train.b");
  write_file_atomically(folder_ / "train.b", lines + "new words\n");
  EXPECT_EQ(differing(options_, first, options_, trained("text")), (Names{"text", "tokenizer"}));
}

TEST_F(RunConditionsTest, WeightsOfPairsAreAPartOfTheText) {
  const RunConditions first = trained("a");
  const std::string text = read_file(folder_ / "train.a");
  std::string weights;
  for (int64_t line = 0; line < std::ranges::count(text, '\n'); ++line) weights += line % 2 ? "1\n" : "2\n";
  write_file_atomically(folder_ / "weights", weights);
  TranslationOptions weighted = options_;
  weighted.data.pair_weights = {folder_ / "weights"};
  const std::string planned = text_condition_of_new_run(TranslationConfig(weighted));
  std::swap(options_, weighted);
  const RunConditions second = trained("b");
  EXPECT_EQ(second.at("text"), planned);
  EXPECT_NE(second.at("text"), first.at("text"));
  EXPECT_EQ(differing(weighted, first, options_, second), Names()) << "the key states it";
}

TEST_F(RunConditionsTest, SeveralShardsAreACondition) {
  const RunConditions first = trained("a");
  TranslationOptions divided = options_;
  divided.train.shards = 2;
  train(divided, {.run = run("b")});
  const RunConditions second = conditions_of(TranslationConfig(divided), run("b"), /*finished=*/true);
  EXPECT_EQ(second.at("shards"), "2");
  EXPECT_EQ(differing(options_, first, divided, second), Names()) << "train.shards states it";
  EXPECT_EQ(differing(options_, first, options_, second), Names{"shards"}) << "several processes made it";
}

/// Other weights under the same name are noticed, before and after the training.
TEST_F(RunConditionsTest, TheModelsThatARunLearnsFromAreConditions) {
  trained("base");
  options_.train.seed = 2;
  trained("other");
  const std::string model = folder_ / "model";
  const auto copy = [&](const std::string& name) {
    std::filesystem::remove_all(model);
    std::filesystem::copy(run(name) + "/model", model, std::filesystem::copy_options::recursive);
  };
  copy("base");
  options_.teacher.model = model;
  const RunConditions taught = trained("taught");
  options_.start.model = model, options_.teacher.model = "";
  const RunConditions started = trained("started");
  copy("other");
  const RunConditions foreseen = conditions_of(TranslationConfig(options_), run("new"), /*finished=*/false);
  EXPECT_EQ(differing(options_, started, options_, foreseen), Names{"start_model"});
  EXPECT_EQ(differing(options_, started, options_, trained("b")), Names{"start_model"});
  options_.start.model = "", options_.teacher.model = model;
  EXPECT_EQ(differing(options_, taught, options_, trained("c")), Names{"teacher"});
  options_.train.updates = 14;
  EXPECT_NE(error_message([&] {
              train(options_, {.run = run("taught"), .resume = true});
            }).find("is not the model that the run has learned from"),
            std::string::npos);
  // Another teacher by name is a change of the settings, and its weights count from then on.
  options_.teacher.model = run("other") + "/model";
  train(options_, {.run = run("taught"), .resume = true});
  const RunConditions later = conditions_of(TranslationConfig(options_), run("taught"), /*finished=*/true);
  EXPECT_NE(later.at("teacher"), taught.at("teacher"));
  options_.teacher.model = "", options_.train.updates = 21;
  EXPECT_NO_THROW(train(options_, {.run = run("taught"), .resume = true}));
}

/// A run that goes on to other lengths had other learning rates; that is foreseen before it goes on.
TEST_F(RunConditionsTest, ChangesOnTheWayAreCounted) {
  trained("a");
  options_.train.updates = 14;
  const RunConditions foreseen = conditions_of(TranslationConfig(options_), run("a"), /*finished=*/false);
  EXPECT_EQ(foreseen.at("changes"), "train.updates from 7 to 14 after update 7");
  train(options_, {.run = run("a"), .resume = true});
  const RunConditions longer = conditions_of(TranslationConfig(options_), run("a"), /*finished=*/true);
  EXPECT_EQ(longer, foreseen);
  EXPECT_EQ(differing(options_, longer, options_, trained("b")), Names{"changes"});
}

TEST_F(RunConditionsTest, OfADamagedRunNothingIsKnown) {
  trained("a");
  write_file_atomically(run("a") + "/model/provenance.json", "[");
  EXPECT_EQ(conditions_of(TranslationConfig(options_), run("a"), /*finished=*/true), RunConditions());
}

}  // namespace
}  // namespace sixfold
