#include "train/sweep.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "error_message.h"
#include "model/config.h"
#include "model/transformer.h"
#include "tasks/tasks.h"
#include "tasks/translation/config.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

class SweepTest : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    write_file_atomically(folder_ / name, text);
    return folder_ / name;
  }
  std::string message(const std::string& text) const {
    const std::string path = write("sweep.yaml", text);
    return error_message([&] { read_sweep({path}); });
  }
  static TranslationOptions options_of(const SweepRow& row) {
    return translation_options_of(row.options, row.where);
  }

  TemporaryFolder folder_;
};

constexpr const char* config = "model: {d_model: 16, heads: 2}\ndata: {train: [a, b]}\ntrain: {updates: 5}\n";

TEST_F(SweepTest, WhatARowChangesIsSetOnce) {
  const std::string path = write("sweep.yaml", "base: {model: {heads: 2}}\nrows:\n  one: {model.heads: 1}\n");
  EXPECT_EQ(error_message([&] { read_sweep({path}, {"model.heads=4"}); }),
            "--set model.heads=4: " + path +
                ": one sets this key itself, so that it would not be compared; leave one of them out");
  EXPECT_EQ(read_sweep({path}, {"model.d_k=4"}).size(), 1u);
  EXPECT_NE(message("base: {}\nrows:\n  twice: {model: {heads: 1}, model.heads: 2}\n")
                .find("twice: the key 'model.heads' occurs twice; remove one"),
            std::string::npos);
}

TEST_F(SweepTest, ARowIsTheBaseWithItsChanges) {
  const auto rows = read_sweep(
      {write("sweep.yaml", std::string("base:\n") + "  model: {d_model: 16, heads: 2}\n"
                                                    "  data: {train: [a, b]}\n"
                                                    "  train: {updates: 5}\n"
                                                    "rows:\n"
                                                    "  base:\n"
                                                    "  heads-4: {model.heads: 4, model: {d_k: 8}}\n"
                                                    "  short: {train: {updates: 2}, generation.beam_size: 3}\n"
                                                    "  tsv: {data.train: [x.tsv, y.tsv]}\n")});
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].name, "base");
  EXPECT_EQ(rows[0].changes, "");
  EXPECT_EQ(options_of(rows[0]).model.heads, 2);
  EXPECT_EQ(rows[1].changes, "model.heads 4, model.d_k 8");
  const TranslationOptions second = options_of(rows[1]);
  EXPECT_EQ(second.model.heads, 4);
  EXPECT_EQ(second.model.d_k, 8);
  EXPECT_EQ(second.model.d_model, 16);
  EXPECT_EQ(options_of(rows[2]).train.updates, 2);
  EXPECT_EQ(options_of(rows[2]).generation.beam_size, 3);
  EXPECT_EQ(rows[3].changes, "data.train [x.tsv, y.tsv]");
  EXPECT_EQ(options_of(rows[3]).data.train, (std::vector<std::string>{"x.tsv", "y.tsv"}));
}

TEST_F(SweepTest, ABaseMayBeAFileOfItsOwn) {
  const std::string base = write("mine.yaml", config);
  const auto rows = read_sweep({write("sweep.yaml", "base: " + base + "\nrows: {wide: {model.d_model: 32}}\n")},
                               {"train.seed=9"});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(options_of(rows[0]).model.d_model, 32);
  EXPECT_EQ(options_of(rows[0]).train.updates, 5);
  EXPECT_EQ(options_of(rows[0]).train.seed, 9u);
}

TEST_F(SweepTest, ReadsConfigsAndFoldersOfThem) {
  write("b.yaml", config);
  write("a.yaml", config);
  write("c.json", "{\"data\": {\"train\": [\"a\", \"b\"]}, \"train\": {\"updates\": 7}}");
  write("notes.txt", "not a config");
  fs::create_directory(folder_ / "inner");
  write("inner/d.yaml", config);
  std::vector<std::string> names;
  for (const SweepRow& row :
       read_sweep({folder_.path().string(), folder_ / "inner/d.yaml"}, {"train.updates=3"})) {
    names.push_back(row.name);
    EXPECT_EQ(options_of(row).train.updates, 3);
    EXPECT_EQ(row.changes, "");
  }
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b", "c", "d"}));
}

TEST_F(SweepTest, NamesAreThoseOfFoldersAndNoneIsGivenTwice) {
  fs::create_directory(folder_ / "x");
  fs::create_directory(folder_ / "y");
  const std::string one = write("x/a.yaml", config), other = write("y/a.yaml", config);
  EXPECT_EQ(error_message([&] {
              read_sweep({one, other});
            }),
            one + " and " + other + " are both named 'a'; rename one of them");
  for (const char* name : {"a/b", "..", ".hidden", "-a", "two words", "table.md", "sixfold-sweep", "ä"})
    EXPECT_NE(message(fmt::format("base: {{}}\nrows:\n  \"{}\": {{}}\n", name)), "") << name;
  EXPECT_EQ(read_sweep({write("sweep.yaml", "base: {}\nrows:\n  heads-4_big+2.0: {}\n")}).size(), 1u);
}

TEST_F(SweepTest, SaysWhatIsWrongAndWhere) {
  EXPECT_NE(message("rows: {a: {}}\n").find("'base' is missing"), std::string::npos);
  EXPECT_NE(message("base: {}\nrows: {}\n").find("sweep.yaml:2: rows: expected a name"), std::string::npos);
  EXPECT_NE(message("base: {}\nrows: [a]\n").find("rows: expected a name"), std::string::npos);
  EXPECT_NE(message("base: {}\nrows:\n  a: 5\n").find("sweep.yaml:3: rows.a: expected the keys"),
            std::string::npos);
  EXPECT_NE(message("base: {}\nrow: {}\nrows: {a: {}}\n").find("unknown key 'row'"), std::string::npos);
  EXPECT_NE(message("base: [a]\nrows: {a: {}}\n").find("base: expected a training config"), std::string::npos);
  EXPECT_NE(message("base: nowhere.yaml\nrows: {a: {}}\n").find("nowhere.yaml"), std::string::npos);
  EXPECT_NE(message("base: {model: 5}\nrows: {a: {model.heads: 4}}\n").find("is a value, not a group"),
            std::string::npos);
  const std::string list = write("list.yaml", "base: {}\nrows: {a: {}}\n");
  EXPECT_NE(message("base: " + list + "\nrows: {a: {}}\n").find("is a list of variants itself"),
            std::string::npos);
  EXPECT_NE(error_message([] { read_sweep({}); }), "");
  fs::create_directory(folder_ / "empty");
  EXPECT_NE(error_message([&] { read_sweep({folder_ / "empty"}); }).find("has no .yaml or .json files"),
            std::string::npos);
}

TEST_F(SweepTest, AWrongConfigIsNamedWithItsRow) {
  const auto rows = read_sweep({write("sweep.yaml",
                                      "base: {data: {train: [a, b]}, train: {updates: 1}}\nrows:\n  odd: "
                                      "{model.heads: 7}\n  typo: {model.head: 4}\n")});
  const auto message_of = [&](size_t index) { return error_message([&] { options_of(rows[index]); }); };
  EXPECT_NE(message_of(0).find("sweep.yaml: odd: d_model 512 is not divisible by 7 heads"), std::string::npos)
      << message_of(0);
  EXPECT_NE(message_of(1).find("sweep.yaml:4: unknown key 'model.head'"), std::string::npos) << message_of(1);
}

TEST_F(SweepTest, AGridHasARowForEachCombination) {
  const auto rows =
      read_sweep({write("sweep.yaml", std::string("base:\n") + "  data: {train: [a, b]}\n"
                                                               "  train: {updates: 5}\n"
                                                               "seeds: 4\n"
                                                               "rows: {paper: {}}\n"
                                                               "grid:\n"
                                                               "  schedule.learning_rate: [1e-3, 3e-3]\n"
                                                               "  model: {heads: [1, 2, 4]}\n")});
  std::vector<std::string> names;
  for (const SweepRow& row : rows) {
    names.push_back(row.name);
    EXPECT_EQ(row.seeds, 4);
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"paper", "learning_rate-1e-3+heads-1", "learning_rate-1e-3+heads-2",
                                      "learning_rate-1e-3+heads-4", "learning_rate-3e-3+heads-1",
                                      "learning_rate-3e-3+heads-2", "learning_rate-3e-3+heads-4"}));
  EXPECT_EQ(rows[5].changes, "schedule.learning_rate 3e-3, model.heads 2");
  EXPECT_EQ(rows[5].changed_keys, (std::vector<std::string>{"schedule.learning_rate", "model.heads"}));
  EXPECT_EQ(options_of(rows[5]).model.heads, 2);
  EXPECT_EQ(options_of(rows[5]).schedule.learning_rate, 3e-3);
  EXPECT_EQ(read_sweep({write("alone.yaml", "base: {}\ngrid: {model.heads: [1]}\n")}).size(), 1u);
  EXPECT_FALSE(read_sweep({write("once.yaml", "base: {}\nrows: {a: {}}\n")})[0].seeds.has_value());
}

/// Names tell which key has the value, and are those of folders.
TEST_F(SweepTest, NamesOfAGridAreThoseOfKeysAndValues) {
  const auto names = [&](const std::string& grid) {
    std::vector<std::string> all;
    for (const SweepRow& row : read_sweep({write("sweep.yaml", "base: {}\ngrid: {" + grid + "}\n")}))
      all.push_back(row.name);
    return all;
  };
  EXPECT_EQ(names("data.train: [[a/b.en, b.de], c.tsv]"),
            (std::vector<std::string>{"train-_a_b.en__b.de_", "train-c.tsv"}));
  EXPECT_EQ(names("model.dropout: [0.1], classifier.dropout: [0.2]"),
            std::vector<std::string>{"model.dropout-0.1+classifier.dropout-0.2"});
}

TEST_F(SweepTest, GridsAndSeedsHaveBounds) {
  const auto expect = [&](const std::string& text, const std::string& part) {
    EXPECT_NE(message("base: {}\n" + text).find(part), std::string::npos) << message("base: {}\n" + text);
  };
  expect("grid: {}\n", "grid: expected keys with lists of values");
  expect("grid: {model.heads: 4}\n", "sweep.yaml:2: grid.model.heads: expected a list of values");
  expect("grid: {model.heads: []}\n", "grid.model.heads: expected a list of values");
  expect("grid: {model.heads: [{a: 1}]}\n", "expected a value, found a group");
  expect("grid: {model.heads: [1], model: {heads: [2]}}\n", "the key 'model.heads' occurs twice");
  expect("grid: {model.heads: [1, 1]}\n", "grid.model.heads: the value '1' occurs twice");
  expect("grid: {a: [1/2, 1_2]}\n", "are both named 'a-1_2'");
  expect(fmt::format("grid: {{a: [{}]}}\n", std::string(200, 'x')),
         "give rows with names of their own instead");
  expect("seeds: 3\n", "has a 'base', but neither 'rows' nor a 'grid' that change it");
  expect("rows: {a: {}}\nseeds: 0\n", "seeds: expected");
  expect("rows: {a: {}}\nseeds: 101\n", "seeds: expected");
  expect("rows: {" + std::string(201, 'a') + ": {}}\n", "has 201 characters");
  const auto grid = [](int keys) {
    std::string text = "grid: {";
    for (int i = 0; i < keys; ++i) text += fmt::format("k{}: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], ", i);
    return text + "}\n";
  };
  EXPECT_EQ(read_sweep({write("sweep.yaml", "base: {}\n" + grid(3))}).size(), 1000u);
  expect(grid(4), "its lists make more than 1000 rows");
  expect(grid(30), "its lists make more than 1000 rows");
}

/// All recipes that come with the program.
std::vector<std::string> all_recipes() {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(SIXFOLD_SOURCE_DIR "/recipes"))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  return files;
}

TEST(Recipes, AreValid) {
  EXPECT_GE(all_recipes().size(), 10u);
  for (const std::string& recipe : all_recipes())
    for (const SweepRow& row : read_sweep({recipe}))
      EXPECT_NO_THROW(task_config_of(row.options, row.where)) << row.where;
}

TEST(Recipes, ThoseThatAreComparedHaveAsManyWeights) {
  std::vector<int64_t> counts;
  for (const SweepRow& row : read_sweep({SIXFOLD_SOURCE_DIR "/recipes/compare"})) {
    const TranslationOptions options = translation_options_of(row.options, row.where);
    ModelConfig model;
    static_cast<Architecture&>(model) = options.model;
    model.source_vocab = model.target_vocab = options.tokenizer.vocab_size;
    counts.push_back(parameter_count(model));
    EXPECT_EQ(options.train.minutes, 30) << row.name;
    // The comment at the top of the recipe says how many.
    std::string count = std::to_string(counts.back());
    for (size_t at = count.size(); at > 3; at -= 3) count.insert(at - 3, ",");
    EXPECT_NE(read_file(row.where).find(count + " weights"), std::string::npos) << row.name << ": " << count;
  }
  ASSERT_EQ(counts.size(), 5u);
  for (const int64_t count : counts)
    EXPECT_NEAR(static_cast<double>(count) / static_cast<double>(counts.front()), 1, 0.05);
}

TEST(Recipes, Table3HasThePapersRows) {
  for (const char* name : {"demo", "multi30k"}) {
    const auto rows = read_sweep({fmt::format("{}/recipes/table3/{}.yaml", SIXFOLD_SOURCE_DIR, name)});
    std::map<char, int> groups;
    for (const SweepRow& row : rows) ++groups[row.name[0]];
    EXPECT_EQ(groups, (std::map<char, int>{{'A', 4}, {'B', 2}, {'C', 7}, {'D', 4}, {'E', 1}, {'b', 2}}))
        << name;
    const ModelOptions base = translation_options_of(rows[0].options, rows[0].where).model;
    for (const SweepRow& row : rows) {  // heads times d_k stays the same
      if (row.name[0] != 'A') continue;
      const ModelOptions model = translation_options_of(row.options, row.where).model;
      EXPECT_EQ(model.heads * model.key_width(), base.heads * base.key_width()) << row.name;
    }
  }
}

}  // namespace
}  // namespace sixfold
