#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "base/file.h"
#include "data/lines.h"
#include "error_message.h"
#include "families/families.h"
#include "model/attention_weights.h"
#include "model_folder/binding.h"
#include "model_folder/model_folder.h"
#include "runtime/search.h"
#include "search/scoring.h"
#include "shared.h"
#include "tasks/import_model.h"
#include "tasks/translation/translator.h"
#include "temporary_folder.h"
#include "text/words.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<int32_t>;

std::string fixture(const std::string& name) { return shared_file("fixtures/marian/" + name); }

std::vector<Ids> read_ids(const std::string& name) {
  std::vector<Ids> all;
  for (const std::string& line : read_lines(fixture(name))) {
    std::istringstream stream(line);
    Ids ids;
    for (int32_t id; stream >> id;) ids.push_back(id);
    all.push_back(ids);
  }
  return all;
}

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  const std::string separator = " ||| ";
  size_t begin = 0;
  for (size_t end; (end = line.find(separator, begin)) != line.npos; begin = end + separator.size())
    fields.push_back(line.substr(begin, end - begin));
  fields.push_back(line.substr(begin));
  return fields;
}

/// What Marian 1.12 itself makes of a model that it trained (fixtures/marian/README.txt).
class MarianFixture : public testing::Test {
 protected:
  void SetUp() override {
    SIXFOLD_NEEDS_SHARED("fixtures/marian/model.npz");
    import_marian(read_marian_decoder_config(fixture("decoder.yml")), folder_ / "model");
  }

  std::vector<std::string> translate(int beam_size) const {
    return Translator(folder_ / "model", {.threads = 2})
        .translate(read_lines(fixture("src100.en")), {.beam_size = beam_size});
  }

  void expect_n_best(int beam_size, const std::string& file) const {
    const Translator translator(folder_ / "model", {.threads = 2});
    auto sources = read_lines(fixture("src100.en"));
    sources.resize(20);
    std::vector<std::vector<Translation>> found(sources.size());
    translator.translate(sources, {.beam_size = beam_size, .n_best = beam_size},
                         [&](const TranslatedLine& line) { found[line.index] = line.translations; });
    std::vector<size_t> next(sources.size());
    for (const std::string& line : read_lines(fixture(file))) {
      const auto fields = fields_of(line);
      const size_t sentence = std::stoul(fields[0]), place = next[sentence]++;
      ASSERT_LT(place, found[sentence].size()) << line;
      EXPECT_EQ(found[sentence][place].text, fields[1]);
      EXPECT_NEAR(found[sentence][place].score, std::stod(fields[3]), 1e-3) << line;
    }
    for (size_t i = 0; i < sources.size(); ++i) EXPECT_EQ(next[i], found[i].size()) << i;
  }

  std::unique_ptr<Transformer> model() const { return load_model(folder_ / "model", make_backend()); }

  const TemporaryFolder folder_;
};

TEST_F(MarianFixture, TranslatesAsMarianDoesAtBeam1) {
  EXPECT_EQ(translate(1), read_lines(fixture("beam1.txt")));
}

TEST_F(MarianFixture, TranslatesAsMarianDoesAtBeam4) {
  EXPECT_EQ(translate(4), read_lines(fixture("beam4.txt")));
}

TEST_F(MarianFixture, NBestListsHaveTheSameScores) {
  expect_n_best(4, "beam4.nbest20.txt");
  expect_n_best(1, "beam1.nbest20.txt");
}

TEST_F(MarianFixture, GivenTranslationsHaveTheSameScores) {
  const auto model = this->model();
  auto sources = read_ids("src100.ids");
  const auto targets = read_ids("ref50.ids");
  sources.resize(targets.size());
  for (Ids& source : sources) source.push_back(model->config().eos);
  const auto scores = score_targets(DecodeWorkspace(*model), sources, targets, 1000);
  const auto wanted = read_lines(fixture("scorer50.txt"));
  ASSERT_EQ(scores.size(), wanted.size());
  for (size_t i = 0; i < scores.size(); ++i) {
    double sum = 0;
    for (const double score : scores[i]) sum += score;
    EXPECT_NEAR(sum, std::stod(wanted[i]), 1e-3) << i;
  }
}

/// 1,000 lines, 1, 7, 64 and 512 at a time, by one thread and by two: the same text, and the same scores to the
/// bit.
TEST_F(MarianFixture, SlowSameAnswersAtAnyBatchAndThreads) {
  SIXFOLD_NEEDS_SHARED("data/multi30k/raw/test_2016_flickr.en");
  const auto lines = read_lines(shared_file("data/multi30k/raw/test_2016_flickr.en"));
  for (const WeightType type : {WeightType::fp32, WeightType::int8}) {
    std::vector<std::pair<std::string, double>> expected;
    for (const int threads : {1, 2}) {
      const Translator translator(folder_ / "model", {.threads = threads, .weights = type});
      for (const size_t at_once : {1, 7, 64, 512}) {
        std::vector<std::pair<std::string, double>> found;
        for (size_t begin = 0; begin < lines.size(); begin += at_once) {
          const auto end = std::min(begin + at_once, lines.size());
          translator.translate(
              {lines.begin() + static_cast<ptrdiff_t>(begin), lines.begin() + static_cast<ptrdiff_t>(end)},
              {.beam_size = 2, .batch_tokens = 1'000'000}, [&](const TranslatedLine& line) {
                found.emplace_back(line.translations[0].text, line.translations[0].score);
              });
        }
        if (expected.empty()) expected = found;
        EXPECT_EQ(found, expected) << at_once << " lines at once, " << threads << " threads";
      }
    }
  }
}

TEST_F(MarianFixture, TextBecomesTheSameIds) {
  const Tokenizers tokenizers = load_bound_tokenizers(folder_ / "model", load_model_config(folder_ / "model"));
  const auto lines = read_lines(fixture("src100.en"));
  const auto ids = read_ids("src100.ids");
  for (size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(tokenizers.source->encode(lines[i]), ids[i]) << lines[i];
}

/// By words that have one translation in this corpus.
TEST_F(MarianFixture, WordsAreAlignedByTheLayerThatIsMeasured) {
  SIXFOLD_NEEDS_SHARED("data/multi30k/raw/test_2016_flickr.en");
  const std::map<std::string, std::string> translations{
      {"man", "Mann"},        {"woman", "Frau"},   {"Two", "Zwei"},      {"Three", "Drei"},
      {"girl", "Mädchen"},    {"boy", "Junge"},    {"men", "Männer"},    {"women", "Frauen"},
      {"dog", "Hund"},        {"dogs", "Hunde"},   {"child", "Kind"},    {"children", "Kinder"},
      {"people", "Menschen"}, {"water", "Wasser"}, {"snow", "Schnee"},   {"guitar", "Gitarre"},
      {"ball", "Ball"},       {"beach", "Strand"}, {"street", "Straße"}, {"three", "drei"},
      {"two", "zwei"}};
  EXPECT_EQ(load_model_config(folder_ / "model").alignment_layer(), 2);  // the last
  auto lines = read_lines(shared_file("data/multi30k/raw/test_2016_flickr.en"));
  lines.resize(270);
  int right = 0, all = 0;
  const auto words_of = [](const std::string& text) {
    std::vector<std::string> words;
    for (const TextRange& range : word_ranges(text)) {
      std::string word = text.substr(range.begin, range.end - range.begin);
      while (!word.empty() && (word.back() == '.' || word.back() == ',')) word.pop_back();
      words.push_back(word);
    }
    return words;
  };
  Translator(folder_ / "model", {.threads = 2})
      .translate(lines, {.details = {.alignment = true}}, [&](const TranslatedLine& line) {
        const auto sources = words_of(line.source), targets = words_of(line.translations[0].text);
        for (const auto& [source, target] : translations) {
          if (std::ranges::count(sources, source) != 1 || std::ranges::count(targets, target) != 1) continue;
          const std::pair<int, int> pair(std::ranges::find(sources, source) - sources.begin(),
                                         std::ranges::find(targets, target) - targets.begin());
          ++all;
          right += std::ranges::count(line.translations[0].alignment, pair) == 1;
        }
      });
  EXPECT_GT(all, 200);
  EXPECT_GE(right, 0.95 * all) << right << " of " << all;
}

/// Marian's are the first head of the last layer: for each target symbol the weights, or the likeliest source
/// symbol.
TEST_F(MarianFixture, AlignmentsAreTheSame) {
  const auto model = this->model();
  const auto sources = read_ids("src100.ids"), targets = read_ids("beam4.ids");
  const auto soft = read_lines(fixture("align5.soft.txt")), hard = read_lines(fixture("align5.hard.txt"));
  for (size_t i = 0; i < soft.size(); ++i) {
    Batch batch;
    Ids source = sources[i], target{ModelConfig::zero_start};
    source.push_back(model->config().eos);
    target.insert(target.end(), targets[i].begin(), targets[i].end());
    batch.source.add(source);
    batch.target.add(target);
    Context context(model->backend(), std::make_shared<Arena>(model->backend()));
    const auto weights =
        attention_weights(*model, batch, AttentionKind::cross, model->config().decoder_layers - 1, context)[0];
    std::istringstream groups(fields_of(soft[i])[1]);
    std::vector<std::pair<size_t, size_t>> pairs;
    size_t place = 0, row = 0;
    for (std::string group; groups >> group; ++row) {
      std::istringstream numbers(group);
      for (std::string number; std::getline(numbers, number, ',');)
        ASSERT_NEAR(weights[place++], std::stod(number), 1e-3) << i;
      const auto begin = weights.begin() + static_cast<ptrdiff_t>(row * source.size());
      const auto likeliest = std::max_element(begin, begin + static_cast<ptrdiff_t>(source.size()));
      pairs.emplace_back(likeliest - begin, row);
    }
    EXPECT_EQ(row, target.size());
    std::sort(pairs.begin(), pairs.end());
    std::string pharaoh;
    for (const auto& [from, to] : pairs)
      pharaoh += fmt::format("{}{}-{}", pharaoh.empty() ? "" : " ", from, to);
    EXPECT_EQ(pharaoh, fields_of(hard[i])[1]);
  }
}

TEST_F(MarianFixture, WordsOfAVocabularyInYaml) {
  std::ofstream yaml(folder_ / "vocab.yml");
  const Tokenizers tokenizers = load_bound_tokenizers(folder_ / "model", load_model_config(folder_ / "model"));
  for (int id = 0; id < tokenizers.source->vocab_size(); ++id) {
    std::string piece = tokenizers.source->token_text(id), quoted;
    for (const char c : piece) quoted += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    yaml << '"' << quoted << "\": " << id << "\n";
  }
  yaml.close();
  MarianFiles files = read_marian_decoder_config(fixture("decoder.yml"));
  files.vocabs = {folder_ / "vocab.yml", folder_ / "vocab.yml"};
  files.sentence_pieces = {fixture("joint.spm"), fixture("joint.spm")};
  import_marian(files, folder_ / "yaml");
  auto sources = read_lines(fixture("src100.en"));
  sources.resize(10);
  auto wanted = read_lines(fixture("beam4.txt"));
  wanted.resize(10);
  EXPECT_EQ(Translator(folder_ / "yaml", {.threads = 1}).translate(sources), wanted);
  // Without SentencePiece the text is divided already.
  files.sentence_pieces = {};
  import_marian(files, folder_ / "words");
  std::string line;
  const Ids ids = read_ids("src100.ids")[0];
  for (const int32_t id : ids) line += tokenizers.source->token_text(id) + " ";
  EXPECT_EQ(Translator(folder_ / "words", {.threads = 1}).translate(line), wanted[0]);
}

/// Positions, the norms' epsilon and the rules of search are Marian's. transformers 5.23 and CTranslate2 4.8
/// put out the same of the exported folder.
TEST_F(MarianFixture, IsExportedToHuggingFace) {
  export_hugging_face(folder_ / "model", folder_ / "exported");
  import_hugging_face(folder_ / "exported", folder_ / "back");
  auto sources = read_lines(fixture("src100.en")), wanted = read_lines(fixture("beam1.txt"));
  sources.resize(20), wanted.resize(20);
  EXPECT_EQ(Translator(folder_ / "back", {.threads = 2}).translate(sources, {.beam_size = 1}), wanted);
  EXPECT_EQ(load_model_config(folder_ / "back").generation.stopping_criterion,
            StoppingCriterion::beam_finished);
  EXPECT_EQ(load_model_config(folder_ / "back").generation.at_longest, AtLongest::cut);
}

TEST_F(MarianFixture, RefusesWhatHasNoCounterpart) {
  const std::string original = read_file(fixture("model.npz"));
  const MarianFiles files = read_marian_decoder_config(fixture("decoder.yml"));
  // An option is replaced by one of the same length, and checksums are not what is tested here.
  const auto refusal = [&](const std::string& option, const std::string& changed) {
    EXPECT_EQ(option.size(), changed.size());
    std::string bytes = original;
    bytes.replace(bytes.find(option), option.size(), changed);
    std::ofstream(folder_ / "changed.npz", std::ios::binary) << bytes;
    MarianFiles other = files;
    other.model = folder_ / "changed.npz";
    return error_message([&] { import_marian(other, folder_ / "other"); });
  };
  EXPECT_NE(refusal("\ntype: transformer\n", "\ntype: amun       \n").find("type is amun"), std::string::npos);
  EXPECT_NE(refusal("postprocess: dan", "postprocess: dhn").find("transformer-postprocess has 'h'"),
            std::string::npos);
  EXPECT_NE(refusal("postprocess: dan", "postprocess: dnn").find("model.yml: the model that it describes"),
            std::string::npos);
  EXPECT_NE(refusal("autoreg: self-attention", "autoreg: rnn           ").find("decoder-autoreg is rnn"),
            std::string::npos);
  EXPECT_NE(refusal("ffn-activation: relu", "ffn-activation: prel").find("transformer-ffn-activation is prel"),
            std::string::npos);
  EXPECT_NE(refusal("enc-depth: 3", "enc-depth: 2").find("tensor 'encoder_l3"), std::string::npos);
  EXPECT_NE(refusal("enc-depth: 3", "enc-depth: 4").find("no tensor 'encoder_l4"), std::string::npos);
}

/// Models of other kinds: tests/goldens/make_marian_goldens.py trained them with Marian 1.12 and had it
/// translate.
class MarianGolden : public testing::TestWithParam<const char*> {};

TEST_P(MarianGolden, NBestListsAreMarians) {
  const std::string golden = std::string(SIXFOLD_TEST_GOLDENS "/marian/") + GetParam();
  const TemporaryFolder folder;
  import_marian(read_marian_decoder_config(golden + "/decoder.yml"), folder / "model");
  const Translator translator(folder / "model", {.threads = 1});
  EXPECT_FALSE(load_model_config(folder / "model").generation.allow_unk);
  const int beam_size = load_model_config(folder / "model").generation.beam_size;
  std::vector<std::string> found;
  translator.translate(read_lines(golden + "/source.txt"), {.n_best = beam_size},
                       [&](const TranslatedLine& line) {
                         for (const Translation& translation : line.translations)
                           found.push_back(fmt::format("{} ||| {:.3f}", translation.text, translation.score));
                       });
  const auto lines = read_lines(golden + "/nbest.txt");
  ASSERT_EQ(found.size(), lines.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    const auto fields = fields_of(lines[i]), ours = fields_of(found[i]);
    EXPECT_EQ(ours[0], fields[1]) << i;
    EXPECT_NEAR(std::stod(ours[1]), std::stod(fields[3]), 2e-3) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(, MarianGolden, testing::Values("untied", "words", "norms", "decoder_width"),
                         [](const auto& test) { return std::string(test.param); });

/// Marian 1.12's decoder leaves the norm out of the keys and values of earlier symbols, its trainer doesn't
/// (input and keys are no longer one tensor once there is a history). The trainer is followed: what was learnt
/// by heart comes back.
TEST(Marian, APreNormModelSaysWhatItWasTrainedOn) {
  const TemporaryFolder folder;
  import_marian(read_marian_decoder_config(SIXFOLD_TEST_GOLDENS "/marian/pre_norm/decoder.yml"),
                folder / "model");
  EXPECT_EQ(Translator(folder / "model", {.threads = 1})
                .translate({"the old dog sees a cat", "a cat sleeps in the house", "the man eats"}),
            (std::vector<std::string>{"der alte hund sieht eine katze", "eine katze schläft im haus",
                                      "der mann isst"}));
}

TEST(Marian, RefusesFilesThatDontBelongTogether) {
  const TemporaryFolder folder;
  std::ofstream(folder / "decoder.yml") << "models: [a.npz, b.npz]\n";
  EXPECT_NE(error_message([&] { read_marian_decoder_config(folder / "decoder.yml"); }).find("2 models"),
            std::string::npos);
  EXPECT_NE(error_message([&] {
              import_marian({.model = "a.npz", .vocabs = {"a.spm"}}, folder / "x");
            }).find("1 vocabularies"),
            std::string::npos);
  std::ofstream(folder / "a.npz") << "no archive";
  EXPECT_NE(error_message([&] {
              import_marian({.model = folder / "a.npz", .vocabs = {"a.spm", "b.spm"}}, folder / "x");
            }).find("not a zip archive"),
            std::string::npos);
}

}  // namespace
}  // namespace sixfold
