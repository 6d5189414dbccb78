#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <unordered_set>

#include "base/error.h"
#include "base/hash.h"
#include "base/join.h"
#include "base/plural.h"
#include "data/check/checks.h"
#include "data/check/surveyed_text.h"
#include "data/file_stamps.h"
#include "data/image_reader.h"
#include "data/labelled_text.h"
#include "data/question_reader.h"
#include "data/sequence_store.h"
#include "text/words.h"

namespace sixfold {
namespace {

/// The labels of a part of the data, with the number of their samples and the place of the first.
struct Labels {
  struct Label {
    int64_t count = 0;
    std::string first;
  };
  std::string key;
  std::map<std::string, Label> labels;
  int64_t samples = 0;

  void add(const std::string& label, const std::function<std::string()>& place) {
    ++samples;
    Label& one = labels[label];
    if (one.count++ == 0) one.first = place();
  }
};

/// Finds classes that are rare and have no weights, and weights that do not fit the labels.
void find_unbalanced(const Labels& train, const ClassWeighing& weigh, std::vector<Finding>& findings) {
  constexpr int64_t max_ratio = 20;
  if (train.labels.size() == 1)
    findings.push_back({"labels-unbalanced",
                        Severity::error,
                        fmt::format("{}: all samples have the label '{}'; there must be at least 2 labels. See "
                                    "whether these are the right files",
                                    train.key, as_example(train.labels.begin()->first)),
                        {}});
  if (weigh) {
    std::vector<std::string> labels;
    std::vector<int64_t> counts;
    for (const auto& [label, one] : train.labels) labels.push_back(label), counts.push_back(one.count);
    try {
      weigh(labels, counts);
    } catch (const Error& error) {
      findings.push_back({"class-weights", Severity::error, error.what(), {}});
    }
    return;
  }
  if (train.samples < min_checked_lines || train.labels.size() < 2) return;
  const auto count = [](const auto& one) { return one.second.count; };
  const auto [rarest, commonest] = std::ranges::minmax_element(train.labels, {}, count);
  if (commonest->second.count < max_ratio * rarest->second.count) return;
  std::vector<std::string> examples;
  for (const auto& [label, one] : train.labels)
    if (commonest->second.count >= max_ratio * one.count && examples.size() < max_examples)
      examples.push_back(fmt::format("{}: {}", as_example(label), counted(one.count, "sample")));
  findings.push_back(
      {"labels-unbalanced", Severity::warning,
       fmt::format(
           "{}: the label '{}' has {}, but '{}' {}. A model learns to answer the common labels, and "
           "its accuracy hides that. Set data.class_weights: balanced, or add samples of the rare labels",
           train.key, as_example(commonest->first), counted(commonest->second.count, "sample"),
           as_example(rarest->first), rarest->second.count),
       std::move(examples)});
}

void find_unseen(const Labels& train, const Labels& other, std::vector<Finding>& findings) {
  int64_t count = 0;
  std::vector<std::string> examples;
  for (const auto& [label, one] : other.labels) {
    if (train.labels.contains(label)) continue;
    count += one.count;
    if (examples.size() < max_examples) examples.push_back(fmt::format("{}: {}", one.first, as_example(label)));
  }
  if (count == 0) return;
  findings.push_back(
      {"labels-unseen", Severity::error,
       fmt::format("{}: {} a label that no sample of data.train has, so the model can't answer it. Correct the "
                   "label, or add samples of it to data.train",
                   other.key, count == 1 ? "a sample has" : fmt::format("{} samples have", count)),
       std::move(examples)});
}

/// Finds texts that occur in the training data with two labels.
void find_contradictions(const SurveyedText& text, std::vector<Finding>& findings) {
  constexpr double tolerated = 0.01;
  std::map<std::string, const LocatedPair*> seen;
  int64_t count = 0;
  std::vector<std::string> examples;
  for (const LocatedPair& sample : text.sample) {
    const auto [other, is_new] = seen.try_emplace(comparison_form(sample.lines.first), &sample);
    if (is_new || other->second->lines.second == sample.lines.second) continue;
    ++count;
    if (examples.size() < max_examples)
      examples.push_back(fmt::format("{} | and {}", sample.example(), as_example(other->second->lines.second)));
  }
  if (std::ssize(text.sample) < min_checked_lines || share_of(count, std::ssize(text.sample)) <= tolerated)
    return;
  findings.push_back(
      {"labels-contradict", Severity::warning,
       fmt::format("{}: {} have another label than the same text elsewhere. A model can't learn both. Decide "
                   "for one",
                   text.key, text.share(count, std::ssize(text.sample))),
       std::move(examples)});
}

/// Finds texts without lines, and the faults of the lines of any text. `whole_texts`: each line is a whole
/// text, so that spaces at its ends are faults.
void find_in_lines(const std::vector<SurveyedText>& texts, bool whole_texts, std::vector<Finding>& findings) {
  std::vector<LinePair> sources;  // without the labels, which are not checked for faults
  for (LinePair& pair : texts[0].sampled_lines()) sources.push_back({std::move(pair.first), ""});
  const PairStatistics statistics(sources, {});
  for (const SurveyedText& text : texts) {
    find_empty(text, findings);
    SurveyedText alone = text;
    for (LocatedPair& pair : alone.sample) pair.lines.second.clear();
    find_faults(alone, statistics, whole_texts ? FaultScope::text : FaultScope::line, findings);
  }
}

/// The number of blocks of a text in each language.
struct LanguageVotes {
  explicit LanguageVotes(const SurveyedText& text) : blocks(language_votes(text.sampled_lines())) {
    for (const auto& one : blocks) all += one.second;
  }
  double share(const std::string& language) const {
    const auto found = blocks.find(language);
    return found == blocks.end() ? 0 : share_of(found->second, all);
  }
  std::string commonest() const {
    return std::ranges::max_element(blocks, {}, [](const auto& one) { return one.second; })->first;
  }

  std::map<std::string, int> blocks;
  int all = 0;
};

/// Finds texts of validation and test data in a language that the training text hardly has.
void find_other_languages(const std::vector<SurveyedText>& texts, std::vector<Finding>& findings) {
  constexpr int min_blocks = 5;
  constexpr double most = 0.8, few = 0.1;
  const LanguageVotes training(texts[0]);
  for (size_t i = 1; i < texts.size() && training.all >= min_blocks; ++i) {
    const LanguageVotes votes(texts[i]);
    if (votes.all < min_blocks) continue;
    const std::string found = votes.commonest(), expected = training.commonest();
    if (votes.share(found) < most || training.share(found) > few || !languages_differ(found, expected))
      continue;
    findings.push_back(
        {"languages", Severity::warning,
         fmt::format("{}: the texts are in '{}', but those of data.train are in '{}'. See whether this is "
                     "the right file",
                     texts[i].key, found, expected),
         texts[i].examples()});
  }
}

/// Finds texts of which the model reads only a part. Each word has at least one token.
void find_unread(const SurveyedText& text, int max_tokens, std::vector<Finding>& findings) {
  const auto too_long = [&](const LocatedPair& one) {
    return static_cast<int64_t>(count_words(one.lines.first)) > max_tokens;
  };
  const int64_t count = std::ranges::count_if(text.sample, too_long), all = std::ssize(text.sample);
  if (all < min_checked_lines || 2 * count <= all) return;
  std::vector<std::string> examples;
  for (const LocatedPair& one : text.sample)
    if (examples.size() < max_examples && too_long(one)) examples.push_back(one.example());
  findings.push_back({"truncated", Severity::warning,
                      fmt::format("{}: {} have more than the {} tokens of data.max_tokens; the model sees only "
                                  "their beginnings. Raise data.max_tokens, or split them",
                                  text.key, text.share(count, all), max_tokens),
                      std::move(examples)});
}

/// The files of a part of the data.
struct Part {
  const char* key;
  const std::vector<std::string>& files;
  bool is_training = false;
};

/// Calls `use` with each part of a check that has files. Errors in test data become findings.
template <class Check, class Use>
void each_part(const Check& check, std::vector<Finding>& findings, const Use& use) {
  const auto read = [&](const Part& part) {
    require_regular_files(single_files(part.files));
    use(part);
  };
  read({"data.train", check.train, true});
  if (!check.valid.empty()) read({"data.valid", check.valid});
  if (!check.test.empty()) read_test([&] { read({"data.test", check.test}); }, findings);
}

SurveyedText survey(TextSurvey& all, const Part& part, InvalidUtf8 invalid, Labels& labels) {
  LabelledReader reader(part.files, invalid);
  labels.key = part.key;
  const auto place = [&] { return reader.place(); };
  const auto next = [&](LinePair& pair) {
    if (!reader.next(pair.second, pair.first)) return false;
    labels.add(pair.second, place);
    return true;
  };
  SurveyedText text = all.read(part.key, part.is_training, next, place);
  // Labels are counted in all lines, also in those after the end of the survey.
  for (LinePair pair; next(pair);) continue;
  return text;
}

/// Reads the images of the parts. Images that can't be used become findings, and the others are counted by
/// label.
class ImageSurvey {
 public:
  /// `texts`: the texts of the images, which are counted if they are labels.
  ImageSurvey(const ImageCheck& check, ImageTexts texts) : check_(check), texts_(std::move(texts)) {}

  Labels read(const Part& part) {
    Labels labels{.key = part.key, .labels = {}};
    SurveyedText seen{.key = part.key, .unit = "image"};  // without samples
    int64_t damaged = 0, other = 0;
    std::vector<std::string> damaged_examples, other_examples;
    for (size_t i = 0; i + 1 < part.files.size(); i += 2) {
      ImageReader images(part.files[i]);
      const auto next_text = texts_.open(part.files[i + 1]);
      std::string label;
      bool complete = true;  // whether each image has a text
      const auto differ = [&](const char* which) {
        complete = false;
        findings.push_back(
            {"image-texts",
             Severity::error,
             fmt::format("{}: {} has {} items than {}; {} n must belong to image n. Correct the files",
                         part.key, part.files[i + 1], which, part.files[i], texts_.name),
             {}});
      };
      while (const auto item = images.next()) {
        throw_if_stopped(check_.stop);
        if (!next_text(label)) {
          differ("fewer");
          break;
        }
        if (texts_.name == "label") labels.add(label, [&] { return item->place; });
        if (item->error) {
          ++damaged;
          if (damaged_examples.size() < max_examples) damaged_examples.push_back(as_example(*item->error));
          continue;
        }
        compare(item->image, texts_.name == "label" ? "" : label, item->place, part.is_training, seen);
        const ImageSize& size = item->image.size;
        if (!size_) size_ = size;
        if (size == *size_) continue;
        ++other;
        if (other_examples.size() < max_examples)
          other_examples.push_back(fmt::format("{}: {}", item->place, size.describe()));
      }
      if (complete && next_text(label)) differ("more");
    }
    if (damaged > 0)
      findings.push_back(
          {"images-damaged", Severity::error,
           fmt::format("{}: {} can't be read; training ends where it meets one. Repair or remove them",
                       part.key, counted(damaged, "image")),
           damaged_examples});
    if (other > 0)
      findings.push_back(
          {"image-sizes", Severity::error,
           fmt::format("{}: {} not the size of the first one of data.train, {}. A model reads images of one "
                       "size. Scale them",
                       part.key, other == 1 ? "an image has" : fmt::format("{} images have", other),
                       size_->describe()),
           other_examples});
    if (part.is_training)
      find_duplicates(seen, "Remove them", findings);
    else
      find_overlap(seen, findings);
    (part.is_training ? training_ : other_).insert(read_now_.begin(), read_now_.end());
    read_now_.clear();
    captioned_.clear();
    return labels;
  }

  std::vector<Finding> findings;

 private:
  /// Counts an image that the training data, or other data that were read before, have too. An image may stand
  /// in the training data with several captions.
  void compare(const Image& image, const std::string& caption, const std::string& place, bool is_training,
               SurveyedText& seen) {
    const uint64_t hash = hash_of(std::as_bytes(std::span(image.values)));
    const auto count = [&](SurveyedText::Repeats& repeats, bool is_known) {
      if (is_known && ++repeats.lines <= static_cast<int64_t>(max_examples)) repeats.examples.push_back(place);
    };
    ++seen.lines, ++seen.compared;
    read_now_.insert(hash);
    const bool is_new = captioned_.insert(hash_of(std::as_bytes(std::span(caption)), hash)).second;
    count(seen.repeated, is_training ? !is_new : training_.contains(hash));
    count(seen.in_other, other_.contains(hash));
  }

  const ImageCheck& check_;
  ImageTexts texts_;
  std::optional<ImageSize> size_;
  std::unordered_set<uint64_t> training_, other_, read_now_;  ///< hashes of images
  std::unordered_set<uint64_t> captioned_;                    ///< those of one part with their captions
};

}  // namespace

std::vector<Finding> check_labelled(const LabelledCheck& check) {
  TextSurvey all({.unit = "text", .labelled = true, .stop = check.stop});
  std::vector<SurveyedText> texts;
  std::vector<Labels> labels;
  std::vector<Finding> findings;
  each_part(check, findings, [&](const Part& part) {
    Labels of_part;
    texts.push_back(survey(all, part, check.invalid, of_part));
    labels.push_back(std::move(of_part));
  });
  find_unbalanced(labels[0], check.weigh, findings);
  find_contradictions(texts[0], findings);
  find_duplicates(texts[0], "Remove them", findings);
  for (size_t i = 1; i < texts.size(); ++i) {
    find_unseen(labels[0], labels[i], findings);
    find_overlap(texts[i], findings);
  }
  find_in_lines(texts, true, findings);
  find_other_languages(texts, findings);
  for (SurveyedText& text : texts) {
    for (auto* const lengths : {&text.characters[1], &text.words[1]})
      std::ranges::fill(*lengths, 0);  // of labels
    find_cut(text, findings);
    if (check.max_tokens > 0) find_unread(text, check.max_tokens, findings);
  }
  return findings;
}

std::vector<Finding> check_images(const ImageCheck& check) {
  ImageSurvey survey(check, labels_of_files(check.names));
  std::vector<Labels> labels;
  each_part(check, survey.findings, [&](const Part& part) { labels.push_back(survey.read(part)); });
  find_unbalanced(labels[0], check.weigh, survey.findings);
  for (size_t i = 1; i < labels.size(); ++i) find_unseen(labels[0], labels[i], survey.findings);
  return std::move(survey.findings);
}

std::vector<Finding> check_captions(const ImageCheck& check) {
  ImageSurvey survey(check, captions_of_files());
  TextSurvey all({.unit = "caption", .is_compared = false, .stop = check.stop});
  std::vector<SurveyedText> texts;
  each_part(check, survey.findings, [&](const Part& part) {
    survey.read(part);
    size_t file = 1;
    int64_t line = 0;
    std::function<bool(std::string&)> next_caption;
    const auto next = [&](LinePair& pair) {
      for (; file < part.files.size(); file += 2, line = 0, next_caption = nullptr) {
        if (!next_caption) next_caption = captions_of_files().open(part.files[file]);
        if (++line; next_caption(pair.first)) return true;
      }
      return false;
    };
    texts.push_back(all.read(part.key, part.is_training, next,
                             [&] { return fmt::format("{}:{}", part.files[file], line); }));
  });
  find_in_lines(texts, true, survey.findings);
  find_other_languages(texts, survey.findings);
  return std::move(survey.findings);
}

std::vector<Finding> check_text(const TextCheck& check) {
  constexpr size_t shortest = 40;  // bytes; shorter lines occur repeatedly in any text
  TextSurvey all({.unit = "line", .min_compared_bytes = shortest, .stop = check.stop});
  std::vector<SurveyedText> texts;
  std::vector<Finding> findings;
  each_part(check, findings, [&](const Part& part) {
    size_t file = 0;
    std::unique_ptr<LineReader> reader;
    const auto next = [&](LinePair& pair) {
      for (;; reader.reset(), ++file) {
        if (file == part.files.size()) return false;
        if (!reader) reader = std::make_unique<LineReader>(part.files[file]);
        while (reader->next(pair.first)) {
          make_valid(pair.first, *reader, check.invalid);
          if (!pair.first.empty()) return true;
        }
      }
    };
    texts.push_back(all.read(part.key, part.is_training, next, [&] { return reader->place(); }));
  });
  find_other_languages(texts, findings);
  for (size_t i = 1; i < texts.size(); ++i) find_overlap(texts[i], findings);
  find_in_lines(texts, false, findings);
  return findings;
}

std::vector<Finding> check_questions(const TextCheck& check) {
  TextSurvey all({.unit = "text", .labelled = true, .stop = check.stop});
  std::vector<SurveyedText> texts;
  std::vector<Finding> findings;
  each_part(check, findings, [&](const Part& part) {
    QuestionReader reader(part.files, check.invalid);
    Passage one;
    int64_t count = 0;
    const auto next = [&](LinePair& pair) {
      if (!reader.next(one)) return false;
      ++count;
      pair.first = one.text;
      return true;
    };
    texts.push_back(all.read(part.key, part.is_training, next,
                             [&] { return fmt::format("{}, text {}", part.key, count); }));
  });
  for (size_t i = 1; i < texts.size(); ++i) find_overlap(texts[i], findings);
  find_other_languages(texts, findings);
  find_in_lines(texts, false, findings);
  return findings;
}

}  // namespace sixfold
