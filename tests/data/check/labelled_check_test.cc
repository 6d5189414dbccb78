#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "data/check/checks.h"
#include "error_message.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

class LabelledCheckTest : public testing::Test {
 protected:
  std::string put(const std::string& name, const std::string& text) const {
    write_file_atomically(folder_ / name, text);
    return folder_ / name;
  }
  /// Lines of a label and a text of its own.
  static std::string lines(const std::string& label, int first, int count) {
    std::string text;
    for (int i = first; i < first + count; ++i)
      text += label + "\tthe text of the sample with the number " + std::to_string(i) + "\n";
    return text;
  }
  static bool has(const std::vector<Finding>& findings, const std::string& id) {
    return std::ranges::find(findings, id, &Finding::id) != findings.end();
  }

  TemporaryFolder folder_;
};

TEST_F(LabelledCheckTest, FindsNothingInGoodData) {
  const std::string train = put("train.tsv", lines("a", 0, 200) + lines("b", 200, 150));
  const std::string valid = put("valid.tsv", lines("a", 400, 60) + lines("b", 460, 60));
  const std::string test = put("test.tsv", lines("a", 600, 60) + lines("b", 660, 60));
  EXPECT_EQ(to_text(check_labelled({.train = {train}, .valid = {valid}, .test = {test}})), "");
  EXPECT_TRUE(has(check_labelled({.train = {train}, .valid = {valid}, .test = {valid}}), "overlap"));
}

TEST_F(LabelledCheckTest, FindsWhatIsWrongWithLabels) {
  const std::string train = put("train.tsv", lines("a", 0, 400) + lines("b", 400, 10));
  EXPECT_TRUE(has(check_labelled({.train = {train}}), "labels-unbalanced"));
  EXPECT_FALSE(
      has(check_labelled({.train = {train}, .weigh = [](const auto&, const auto&) {}}), "labels-unbalanced"));
  const std::string other = put("valid.tsv", lines("a", 500, 60) + lines("c\x1b[1m", 600, 1));
  const std::vector<Finding> unseen = check_labelled({.train = {train}, .valid = {other}});
  ASSERT_TRUE(has(unseen, "labels-unseen"));
  EXPECT_EQ(to_text(unseen).find('\x1b'), std::string::npos);
  const std::string both = put("both.tsv", lines("a", 0, 200) + lines("b", 150, 150));
  EXPECT_TRUE(has(check_labelled({.train = {both}}), "labels-contradict"));
}

/// Training refuses these.
TEST_F(LabelledCheckTest, NeedsTwoLabelsAndText) {
  EXPECT_TRUE(has(check_labelled({.train = {put("a.tsv", lines("a", 0, 50))}}), "labels-unbalanced"));
  const std::string blank = put("blank.txt", "\n\n\n"), text = put("text.txt", "some words of a text\n");
  EXPECT_TRUE(has(check_text({.train = {blank}}), "empty-lines"));
  EXPECT_TRUE(has(check_text({.train = {text}, .valid = {blank}}), "empty-lines"));
  EXPECT_TRUE(check_text({.train = {text}}).empty());
}

/// The label does not count: a text whose label differs is a leak too.
TEST_F(LabelledCheckTest, FindsTextsOfOtherParts) {
  const std::string train = put("train.tsv", lines("a", 0, 200) + lines("b", 200, 200));
  const std::string valid = put("valid.tsv", lines("b", 0, 50) + lines("a", 500, 50));
  EXPECT_TRUE(has(check_labelled({.train = {train}, .valid = {valid}}), "overlap"));
  EXPECT_TRUE(has(check_labelled({.train = {train, train}}), "duplicates"));
}

/// A pipe would be waited for for ever, and what is read from it would be lost to the training.
TEST_F(LabelledCheckTest, PipesAreNotOpened) {
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string train = put("train.tsv", lines("a", 0, 9));
  const auto refused = [](const auto& check) {
    expect_holds(error_message(check), "pipe: is not a regular file");
  };
  refused([&] { check_labelled({.train = {pipe}}); });
  refused([&] { check_labelled({.train = {train}, .valid = {pipe}}); });
  refused([&] { check_images({.train = {pipe, train}}); });
  refused([&] { check_captions({.train = {train, pipe}}); });
  refused([&] { check_text({.train = {pipe}}); });
  refused([&] { check_questions({.train = {pipe}}); });
  refused([&] { check_parallel({.train = {{.source = train, .target = pipe, .tsv = {}}}}); });
  EXPECT_TRUE(has(check_labelled({.train = {train}, .test = {pipe}}), "data-test"));
}

TEST_F(LabelledCheckTest, TestDataThatCanNotBeReadStopNothing) {
  const std::string train = put("train.tsv", lines("a", 0, 200) + lines("b", 200, 200));
  EXPECT_TRUE(has(check_labelled({.train = {train}, .test = {"nowhere.tsv"}}), "data-test"));
  EXPECT_NE(
      error_message([&] { check_labelled({.train = {train}, .valid = {"nowhere.tsv"}}); }).find("nowhere.tsv"),
      std::string::npos);
}

TEST_F(LabelledCheckTest, FindsImagesOfOtherSizes) {
  const auto image = [&](const std::string& name, int width) {
    put(name, "P5 " + std::to_string(width) + " 2 255\n" + std::string(static_cast<size_t>(2 * width), 'x'));
    return name + "\n";
  };
  const std::string list = put("list", image("a.pgm", 3) + image("b.pgm", 4));
  const std::string labels = put("labels", "x\ny\n");
  EXPECT_TRUE(has(check_images({.train = {list, labels}}), "image-sizes"));
  put("b.pgm", "P5 3 2 255\nx");
  EXPECT_TRUE(has(check_images({.train = {list, labels}}), "images-damaged"));
  image("b.pgm", 3);
  EXPECT_TRUE(check_images({.train = {list, labels}}).empty());
  EXPECT_TRUE(check_captions({.train = {list, labels}}).empty());
  for (const char* others : {"x\n", "x\ny\nx\n"}) {
    const std::string wrong = put("wrong", others);
    EXPECT_TRUE(has(check_images({.train = {list, wrong}}), "image-texts")) << others;
    EXPECT_TRUE(has(check_captions({.train = {list, wrong}}), "image-texts")) << others;
  }
}

/// Training refuses weights of labels that no sample has.
TEST_F(LabelledCheckTest, FindsWrongWeights) {
  const std::string train = put("train.tsv", lines("a", 0, 200) + lines("b", 200, 200));
  const auto names = [](const char* label) {
    return [label](const std::vector<std::string>& labels, const std::vector<int64_t>& counts) {
      EXPECT_EQ(counts, std::vector<int64_t>(2, 200));
      require(std::ranges::count(labels, label) > 0, "there is no label '{}'", label);
    };
  };
  EXPECT_TRUE(has(check_labelled({.train = {train}, .weigh = names("zz")}), "class-weights"));
  EXPECT_FALSE(has(check_labelled({.train = {train}, .weigh = names("b")}), "class-weights"));
}

TEST_F(LabelledCheckTest, ComparesImages) {
  std::string list, labels, captions;
  const auto add = [&](int number, const std::string& content) {
    const std::string name = std::to_string(number) + ".pgm";
    put(name, "P5 3 2 255\n" + content);
    list += name + "\n";
    labels += number % 2 ? "x\n" : "y\n";
    captions += "a picture with the number " + std::to_string(number) + "\n";
  };
  const auto content = [](int i) { return fmt::format("{:06}", i); };
  for (int i = 0; i < 120; ++i) add(i, content(i));
  const std::string train = put("train", list), train_labels = put("train.labels", labels),
                    train_captions = put("train.captions", captions);
  EXPECT_EQ(to_text(check_images({.train = {train, train_labels}})), "");
  list = labels = captions = "";
  for (int i = 200; i < 300; ++i) add(i, content(i % 10 == 0 ? i - 200 : i));
  const std::string valid = put("valid", list), valid_labels = put("valid.labels", labels);
  EXPECT_EQ(to_text(check_images({.train = {valid, valid_labels}})), "");
  const auto findings = check_images(
      {.train = {train, train_labels}, .valid = {valid, valid_labels}, .test = {valid, valid_labels}});
  ASSERT_EQ(findings.size(), 3u) << to_text(findings);
  EXPECT_NE(findings[0].text.find("data.valid: 10 of 100 images (10%) are in data.train"), std::string::npos)
      << findings[0].text;
  EXPECT_NE(findings[2].text.find("are in data.valid too"), std::string::npos) << findings[2].text;
  EXPECT_TRUE(has(check_images({.train = {train, train_labels, train, train_labels}}), "duplicates"));
  EXPECT_EQ(to_text(check_captions({.train = {train, train_captions}})), "");
  EXPECT_EQ(to_text(check_captions({.train = {train, train_captions, train,
                                              put("more.captions",
                                                  [&] {
                                                    std::string more;
                                                    for (int i = 0; i < 120; ++i)
                                                      more += fmt::format("another caption of image {}\n", i);
                                                    return more;
                                                  }())}})),
            "")
      << "an image may have several captions";
  const std::string bad = put("bad.captions", [&] {
    std::string text;
    for (int i = 0; i < 120; ++i) text += "ein Bild fÃ¼r dich\n";
    return text;
  }());
  EXPECT_TRUE(has(check_captions({.train = {train, bad}}), "mojibake"));
}

TEST_F(LabelledCheckTest, FindsTextsThatWereCutAndOtherLanguages) {
  std::string cut, english, german;
  for (int i = 0; i < 300; ++i) {
    const std::string label = i % 2 ? "a\t" : "b\t";
    const std::string text =
        fmt::format("{} the old man walks through the park with his dog and {} cats", i, i);
    english += label + text + "\n";
    cut += label + text.substr(0, static_cast<size_t>(20 + i % 30 * 2)).substr(0, 50) + "\n";
    german += label + fmt::format("{} der alte Mann geht mit seinem Hund durch den Park und {}", i, i) + "\n";
  }
  const std::string train = put("en.tsv", english);
  EXPECT_EQ(to_text(check_labelled({.train = {train}, .max_tokens = 100})), "");
  EXPECT_TRUE(has(check_labelled({.train = {put("cut.tsv", cut)}}), "truncated"));
  EXPECT_TRUE(has(check_labelled({.train = {train}, .max_tokens = 8}), "truncated"));
  const std::string other = put("de.tsv", german);
  EXPECT_TRUE(has(check_labelled({.train = {train}, .valid = {other}}), "languages"));
  EXPECT_FALSE(
      has(check_labelled({.train = {put("both.tsv", english + german)}, .valid = {other}}), "languages"));
}

TEST_F(LabelledCheckTest, LooksAtShortLinesOfText) {
  std::string good, bad, other;
  for (int i = 0; i < 200; ++i) {
    good += "a line, and no other line has the number " + std::to_string(i) + "\nshort\n";
    bad += "fÃ¼r " + std::to_string(i) + "\n";
    other += "a line of other text, which has the number " + std::to_string(i) + "\nshort\n";
  }
  const std::string train = put("good.txt", good), worse = put("bad.txt", bad), valid = put("other.txt", other);
  EXPECT_EQ(to_text(check_text({.train = {train}, .valid = {valid}})), "");
  EXPECT_TRUE(has(check_text({.train = {worse}}), "mojibake"));
  EXPECT_TRUE(has(check_text({.train = {train}, .valid = {train}}), "overlap"));
  EXPECT_EQ(to_text(check_text({.train = {train, train}})), "") << "running text may repeat its lines";
}

TEST_F(LabelledCheckTest, ReadsQuestions) {
  const std::string train = put("q.tsv", "the dog is big\twho is big?\tdog\n");
  EXPECT_TRUE(check_questions({.train = {train}}).empty());
  EXPECT_NE(error_message([] { check_questions({.train = {"nowhere.tsv"}}); }).find("nowhere.tsv"),
            std::string::npos);
}

}  // namespace
}  // namespace sixfold
