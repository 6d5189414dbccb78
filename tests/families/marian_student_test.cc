// Students of Marian: SSRU in the decoder, binary files, quantized weights, shortlists.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <sstream>

#include "base/file.h"
#include "data/lines.h"
#include "error_message.h"
#include "families/marian_shortlist.h"
#include "formats/marian_bin_bytes.h"
#include "metrics/bleu.h"
#include "model_folder/model_folder.h"
#include "shared.h"
#include "tasks/import_model.h"
#include "tasks/translation/translator.h"
#include "temporary_folder.h"
#include "text/whitespace.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

std::string student_file(const std::string& name) { return shared_file("fixtures/marian-ssru/" + name); }

/// What Marian 1.12 makes of a student that it trained (fixtures/marian-ssru/README.txt).
class MarianStudent : public testing::Test {
 protected:
  void SetUp() override { SIXFOLD_NEEDS_SHARED("fixtures/marian-ssru/model.npz"); }

  Translator open(const std::string& name, WeightType weights = WeightType::stored) const {
    MarianFiles files = read_marian_decoder_config(student_file("decoder.yml"));
    files.model = student_file(name);
    import_marian(files, folder_ / name);
    return Translator(folder_ / name, {.threads = 2, .weights = weights});
  }
  static std::vector<std::string> translate(const Translator& translator, int beam_size) {
    return translator.translate(read_lines(student_file("source.en")), {.beam_size = beam_size});
  }
  static void expect_n_best(const Translator& translator, int beam_size, const std::string& file) {
    std::vector<Translation> found;
    translator.translate(read_lines(student_file("source.en")), {.beam_size = beam_size, .n_best = beam_size},
                         [&](const TranslatedLine& line) {
                           found.insert(found.end(), line.translations.begin(), line.translations.end());
                         });
    const auto lines = read_lines(student_file(file));
    ASSERT_EQ(found.size(), lines.size());
    for (size_t i = 0; i < lines.size(); ++i) {
      EXPECT_NE(lines[i].find(" ||| " + found[i].text + " ||| "), std::string::npos) << lines[i];
      EXPECT_NEAR(found[i].score, std::stod(lines[i].substr(lines[i].rfind(' '))), 1e-3) << lines[i];
    }
  }
  static double bleu(const std::vector<std::string>& outputs) {
    const Bleu bleu;
    MetricSums sums(bleu);
    const auto references = read_lines(shared_file("fixtures/marian/ref100.de"));
    for (size_t i = 0; i < outputs.size(); ++i) sums.add(outputs[i], {&references[i], 1});
    return sums.score();
  }

  const TemporaryFolder folder_;
};

TEST_F(MarianStudent, TranslatesAsMarianDoes) {
  for (const char* name : {"model.npz", "model.f32.bin"}) {
    const Translator translator = open(name);
    EXPECT_EQ(translate(translator, 1), read_lines(student_file("marian.beam1.de"))) << name;
    EXPECT_EQ(translate(translator, 4), read_lines(student_file("marian.beam4.de"))) << name;
    expect_n_best(translator, 1, "marian.beam1.nbest.txt");
    expect_n_best(translator, 4, "marian.f32bin.beam4.nbest.txt");
  }
}

TEST_F(MarianStudent, WeightsOfTheForkForBrowsersAreWhatTheyStandFor) {
  std::vector<std::string> found;
  std::vector<double> scores;
  open("model.bergamot.bin")
      .translate(read_lines(student_file("source.en")), {.beam_size = 1}, [&](const TranslatedLine& line) {
        found.push_back(line.translations[0].text);
        scores.push_back(line.translations[0].log_probability);
      });
  const auto lines = read_lines(student_file("bergamot.dequantised.beam1.tsv"));
  ASSERT_EQ(found.size(), lines.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    const size_t tab = lines[i].find('\t');
    EXPECT_EQ(found[i], lines[i].substr(0, tab));
    EXPECT_NEAR(scores[i], std::stod(lines[i].substr(tab)), 1e-3);
  }
}

/// Marian's own run in int8, of its quantized file. Activations are quantized otherwise there, by matrix; a
/// higher BLEU is no fault.
TEST_F(MarianStudent, IsAsGoodInInt8) {
  std::vector<std::string> theirs;
  for (const std::string& line : read_lines(student_file("marian.intgemm8.beam4.nbest.txt"))) {
    const auto number = static_cast<size_t>(std::stoul(line));
    const size_t begin = line.find(" ||| ") + 5;
    if (number == theirs.size()) theirs.push_back(line.substr(begin, line.find(" ||| ", begin) - begin));
  }
  for (const char* name : {"model.npz", "model.intgemm8.bin"})
    EXPECT_NEAR(bleu(translate(open(name, WeightType::int8), 4)), bleu(theirs), 0.1) << name;
  EXPECT_GE(bleu(translate(open("model.npz", WeightType::int8), 1)),
            bleu(read_lines(student_file("marian.intgemm8.beam1.de"))) - 0.1);
}

/// A student of one layer each with numbers that say where they come from, and what names it.
class SmallStudent : public testing::Test {
 protected:
  static constexpr int d_model = 4, d_ff = 6, words = 10;

  SmallStudent() {
    add("Wemb", words, d_model);
    add("decoder_ff_logit_out_b", 1, words);
    for (const std::string stack : {"encoder", "decoder"}) {
      const std::string layer = stack + "_l1_";
      attention(layer + (stack == "encoder" ? "self" : "context"));
      add(layer + "ffn_W1", d_model, d_ff), add(layer + "ffn_b1", 1, d_ff);
      add(layer + "ffn_W2", d_ff, d_model), add(layer + "ffn_b2", 1, d_model);
      norm(layer + "ffn_ffn_ln");
    }
    add("decoder_l1_rnn_W", d_model, d_model);
    add("decoder_l1_rnn_Wf", d_model, d_model);
    add("decoder_l1_rnn_bf", 1, d_model);
    norm("decoder_l1_rnn_ffn_ln");
    std::string vocabulary = "</s>: 0\n<unk>: 1\n";
    for (int i = 2; i < words; ++i) vocabulary += fmt::format("w{}: {}\n", i, i);
    write_file_atomically(folder_ / "vocab.yml", vocabulary);
    write_file_atomically(folder_ / "config.bergamot.yml",
                          "relative-paths: true\nmodels: [model.bin]\nvocabs: [vocab.yml, vocab.yml]\n"
                          "shortlist: [lex.s2t, 3, 2]\nbeam-size: 1\nnormalize: 1.0\nskip-cost: true\n"
                          "max-length-factor: 2.0\nmax-length-break: 128\ngemm-precision: int8\n");
    write_file_atomically(folder_ / "lex.s2t", "w7 w2 0.5\nw8 w2 0.9\nw9 w2 0.1\nw5 NULL 0.9\nw6 w3 0.2\n");
    write_model("rnn", "ssru");
  }

  void add(const std::string& name, int rows, int cols) {
    std::vector<float> values;
    for (int i = 0; i < rows * cols; ++i)
      values.push_back(std::sin(static_cast<float>(i) + static_cast<float>(items_.size())));
    items_.push_back({name, 0x404, {rows, cols}, bytes_of(values)});
  }
  void norm(const std::string& name) { add(name + "_scale", 1, d_model), add(name + "_bias", 1, d_model); }
  void attention(const std::string& name) {
    for (const char letter : {'q', 'k', 'v', 'o'}) {
      add(fmt::format("{}_W{}", name, letter), d_model, d_model);
      add(fmt::format("{}_b{}", name, letter), 1, d_model);
    }
    norm(name + "_Wo_ln");
  }
  void write_model(const std::string& mixer, const std::string& cell, const std::string& more = "") {
    const std::string options = fmt::format(
        "type: transformer\ndim-emb: {}\ntransformer-heads: 2\ntransformer-dim-ffn: {}\nenc-depth: 1\n"
        "dec-depth: 1\ntied-embeddings-all: true\ntransformer-ffn-activation: relu\n"
        "transformer-decoder-autoreg: {}\ndec-cell: {}\n{}",
        d_model, d_ff, mixer, cell, more);
    auto items = items_;
    items.push_back({"special:model.yml", 0x101, {static_cast<int>(options.size()) + 1}, options + '\0'});
    items.push_back({"none_QuantMultA", 0x404, {1}, bytes_of<float>({1})});
    write_file_atomically(folder_ / "model.bin", marian_bin(items));
  }
  std::string import() {
    import_model({.program = "marian", .path = folder_ / "config.bergamot.yml"}, folder_ / "model");
    return folder_ / "model";
  }

  const TemporaryFolder folder_;
  std::vector<MarianItem> items_;
};

TEST_F(SmallStudent, HasTheCellTheSettingsAndTheShortlist) {
  const auto model = load_model(import(), make_backend());
  const ModelConfig& config = model->config();
  EXPECT_EQ(config.decoder_mixer, MixerKind::ssru);
  EXPECT_EQ(config.generation.beam_size, 1);
  EXPECT_EQ(config.generation.length_factor, 2);
  for (const auto& [ours, theirs] : {std::pair("decoder.layers.0.ssru.forget.weight", "decoder_l1_rnn_Wf"),
                                     std::pair("decoder.layers.0.ssru.value.weight", "decoder_l1_rnn_W")}) {
    const auto item = std::ranges::find(items_, theirs, &MarianItem::name);
    std::vector<float> transposed;
    for (size_t c = 0; c < d_model; ++c)
      for (size_t r = 0; r < d_model; ++r) {
        float value;
        std::memcpy(&value, item->bytes.data() + (r * d_model + c) * sizeof value, sizeof value);
        transposed.push_back(value);
      }
    EXPECT_EQ(values_of(*model, ours), transposed) << ours;
  }
  const Shortlist list = load_shortlist(folder_ / "model/shortlist.safetensors", config);
  // The first three, w2 itself and its best two; up to eight by the lowest others.
  EXPECT_EQ(list.targets(std::vector<int32_t>{2, 0}), (std::vector<int32_t>{0, 1, 2, 3, 4, 5, 7, 8}));
  EXPECT_EQ(list.targets(std::vector<int32_t>{3, 9, 0}), (std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 9}));
  // Without being asked, a translation obeys the shortlist of its folder.
  const Translator translator(folder_ / "model", {.threads = 1});
  const auto of = [&](const std::string& shortlist) {
    return translator.translate({"w2 w3 w4 w5 w6"}, {.shortlist = shortlist});
  };
  EXPECT_EQ(of(""), of(folder_ / "model/shortlist.safetensors"));
}

TEST_F(SmallStudent, OtherCellsAndSettingsAreRefused) {
  const auto refusal = [&] { return error_message([&] { import(); }); };
  write_model("rnn", "gru");
  expect_holds(refusal(), "transformer-decoder-autoreg is rnn with the dec-cell gru");
  write_model("average-attention", "ssru");
  expect_holds(refusal(), "transformer-decoder-autoreg is average-attention");
  write_model("rnn", "ssru", "layer-normalization: true\n");
  expect_holds(refusal(), "layer-normalization is true");
  write_model("rnn", "ssru", "transformer-rnn-projection: true\n");
  expect_holds(refusal(), "transformer-rnn-projection is true");
  const auto configured = [&](const std::string& setting) {
    write_file_atomically(folder_ / "other.yml", "models: [model.bin]\n" + setting + "\n");
    return error_message([&] { read_marian_decoder_config(folder_ / "other.yml"); });
  };
  expect_holds(configured("skip-cost: true\nbeam-size: 4"), "skip-cost is set, but beam-size is 4");
  expect_holds(configured("output-sampling: [topk, 10]"), "output-sampling is set");
}

class MarianShortlist : public testing::Test {
 protected:
  Shortlist read(const std::string& bytes, std::vector<std::string> numbers = {}) const {
    write_file_atomically(folder_ / "lex", bytes);
    numbers.insert(numbers.begin(), folder_ / "lex");
    return read_marian_shortlist(numbers, tokenizers_);
  }
  std::string refusal(const std::string& bytes, const std::vector<std::string>& numbers = {}) const {
    return error_message([&] { read(bytes, numbers); });
  }

  const TemporaryFolder folder_;
  const std::string binary_ = read_file(SIXFOLD_SOURCE_DIR "/tests/fuzz/corpus/marian_shortlist/lex.s2t.bin");
  const std::shared_ptr<const Tokenizer> source_ = load_whitespace("<unk>\n</s>\na\nb\n", "source"),
                                         target_ = load_whitespace("<unk>\n</s>\nx\ny\nz\n", "target");
  const Tokenizers tokenizers_{source_, target_, false};
};

TEST_F(MarianShortlist, BinaryOnesHaveListsBySource) {
  const Shortlist list = read(binary_);  // of the four lists {}, {2, 3}, {1}, {0, 4}
  EXPECT_EQ(list.common(), (std::vector<int32_t>{0}));
  EXPECT_EQ(list.by_source(), (std::vector<std::vector<int32_t>>{{}, {2, 3}, {1}, {0, 4}}));
  EXPECT_EQ(list.fill().multiple, 8);
}

TEST_F(MarianShortlist, TextsKeepTheLikeliest) {
  const std::string text = "x a 0.5\ny a 0.9\nz a 0.5\nx a 0.1\nNULL a 1\nq b 0.2\n\n";
  EXPECT_EQ(read(text, {"2", "2"}).by_source(),
            (std::vector<std::vector<int32_t>>{{}, {}, {3, 4}, {target_->unk()}}));
  EXPECT_EQ(read(text, {"2", "9", "0.4"}).by_source()[2], (std::vector<int32_t>{3, 4}));
  EXPECT_EQ(read(text, {"9"}).common().size(), static_cast<size_t>(target_->vocab_size()));
}

TEST_F(MarianShortlist, DamageIsNamed) {
  std::string damaged = binary_;
  damaged.back() ^= 1;
  damaged[60] ^= 1;
  expect_holds(refusal(damaged), "lex: is damaged: its checksum is");
  expect_holds(refusal(binary_.substr(0, 40)), "its checksum is");
  expect_holds(refusal("x a\n"), "lex:1: expected a target token, a source token and a probability");
  expect_holds(refusal("x a 0.5 y\n"), "lex:1: expected");
  expect_holds(refusal("x a nan\n"), "lex:1: expected");
  expect_holds(refusal(""), "lex: has no translation of any token");
  expect_holds(refusal("x a 1\n", {"many"}), "'many' is not a number");
  const Tokenizers few{load_whitespace("<unk>\n</s>\n", "source"), target_, false};
  write_file_atomically(folder_ / "lex", binary_);
  expect_holds(error_message([&] { read_marian_shortlist({folder_ / "lex"}, few); }),
               "has translations of 4 source tokens, but the vocabulary has 2");
}

}  // namespace
}  // namespace sixfold
