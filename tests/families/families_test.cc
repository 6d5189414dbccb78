// What all families have in common: the table, and those who walk it.
#include "families/families.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "base/file.h"
#include "error_message.h"
#include "families/toy_family.h"
#include "formats/safetensors.h"
#include "model_folder/binding.h"
#include "model_folder/model_folder.h"
#include "tasks/import_model.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

/// The table of the library, and a row more.
std::vector<Family> with_toy() {
  std::vector<Family> table(families().begin(), families().end());
  table.push_back(toy_family());
  return table;
}

class ToyFamily : public testing::Test {
 protected:
  ToyFamily() { write_toy(folder_ / "toy"); }
  void import(const std::string& from = "toy") const {
    import_model({.program = "toy", .path = folder_ / from}, folder_ / "model", table_);
  }
  void export_again() const { export_model(folder_ / "model", "toy", folder_ / "out", table_); }
  /// Copies the toy's weights, with those tensors changed that `change` changes.
  void change_weights(const std::function<void(std::map<std::string, Matrix>&)>& change) const {
    const std::string path = folder_ / "toy/weights.safetensors";
    std::map<std::string, Matrix> all;
    {
      const TensorMap tensors = read_safetensors(path);
      for (const std::string& name : tensors.names()) all[name] = matrix_of(tensors, name);
    }
    change(all);
    std::vector<NamedTensor> written;
    for (const auto& [name, matrix] : all) {
      std::vector<int64_t> shape{matrix.rows, matrix.cols};
      if (matrix.vector) shape.erase(shape.begin());
      written.push_back({name, DType::f32, shape, matrix.values.data()});
    }
    write_safetensors(path, written);
  }

  const TemporaryFolder folder_;
  const std::vector<Family> table_ = with_toy();
};

/// A family is a row: nothing else knows the toy.
TEST_F(ToyFamily, ARowIsImportedExportedAndAdvised) {
  import();
  const auto model = load_model(folder_ / "model", make_backend());
  EXPECT_EQ(model->config().generation.beam_size, 7);
  EXPECT_EQ(load_bound_tokenizers(folder_ / "model", model->config()).target->vocab_size(), 6);
  EXPECT_NO_THROW(export_again());
  for (const char* file : {"toy.json", "weights.safetensors", "words"})
    EXPECT_TRUE(read_file(folder_ / "out/" + file) == read_file(folder_ / "toy/" + file)) << file;
  EXPECT_EQ(import_advice(folder_ / "toy", table_), folder_ / "toy" + " is a toy");
  EXPECT_EQ(import_advice(folder_ / "toy"), "") << "the table that is handed over is walked, and no other";
  EXPECT_NE(error_message([&] {
              import_model({.program = "toy", .path = folder_ / "toy"}, folder_ / "other");
            }).find("there is no program 'toy'"),
            std::string::npos);
}

/// Every step and every way to join weights, against values that are computed by hand.
TEST_F(ToyFamily, StepsAndJointsOfRules) {
  import();
  const auto model = load_model(folder_ / "model", make_backend());
  const TensorMap theirs = read_safetensors(folder_ / "toy/weights.safetensors");
  const Matrix fused = matrix_of(theirs, "block.1.qkv"), gain = matrix_of(theirs, "block.1.norm"),
               up = matrix_of(theirs, "block.1.up"), positions = matrix_of(theirs, "positions");
  ASSERT_EQ(fused.rows, 3 * 8);
  for (int64_t row = 0; row < 8; ++row)  // two heads of 4 rows
    for (int64_t col = 0; col < 8; ++col) {
      const int64_t first = row / 4 * 3 * 4 + row % 4;
      const auto ours = [&](const char* part) {
        return values_of(*model, fmt::format("decoder.layers.0.self_attn.{}_proj.weight",
                                             part))[static_cast<size_t>(row * 8 + col)];
      };
      EXPECT_EQ(ours("q"), fused.at(first, col));
      EXPECT_EQ(ours("k"), fused.at(first + 4, col));
      EXPECT_EQ(ours("v"), fused.at(first + 8, col));
    }
  const std::vector<float> norm = values_of(*model, "decoder.layers.0.self_attn_layer_norm.weight"),
                           fc1 = values_of(*model, "decoder.layers.0.fc1.weight"),
                           gate = values_of(*model, "decoder.layers.0.fc_gate.weight"),
                           learned = values_of(*model, "embed_positions.weight");
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(norm[i], gain.values[i] + 1);
    EXPECT_EQ(learned[i], positions.at(2, static_cast<int64_t>(i))) << "two rows are skipped";
    EXPECT_EQ(gate[i], up.at(static_cast<int64_t>(i), 0)) << "the gate comes first, transposed";
    EXPECT_EQ(fc1[i], up.at(static_cast<int64_t>(i), 12));
  }
  EXPECT_EQ(values_of(*model, "decoder.layers.0.self_attn.q_proj.bias"), std::vector<float>(8));
}

TEST_F(ToyFamily, EveryTensorIsReadOrIgnoredOnPurpose) {
  const auto refusal = [&] { return error_message([&] { import(); }); };
  change_weights([](auto& all) { all["block.1.mask"] = all["positions"]; });
  EXPECT_NO_THROW(import());
  change_weights([](auto& all) { all["block.1.more"] = all["positions"]; });
  EXPECT_NE(refusal().find("weights.safetensors: tensor 'block.1.more' does not belong to any supported part"),
            std::string::npos)
      << refusal();
  change_weights([](auto& all) { all.erase("block.1.more"), all.erase("block.1.norm"); });
  EXPECT_NE(refusal().find("weights.safetensors: no tensor 'block.1.norm'"), std::string::npos) << refusal();
  change_weights([](auto& all) { all["block.1.norm"] = all["positions"]; });
  EXPECT_NE(refusal().find("tensor 'block.1.norm' has the shape [7, 8], but the config needs [1, 8]"),
            std::string::npos)
      << refusal();
}

/// A copy may be missing, but must not differ.
TEST_F(ToyFamily, ACopyRepeatsItsWeight) {
  change_weights([](auto& all) { all["head"] = all["words"]; });
  EXPECT_NO_THROW(import());
  change_weights([](auto& all) { all["head"].values[3] += 1; });
  EXPECT_NE(
      error_message([&] { import(); }).find("tensor 'head' differs from 'words', but the config ties them"),
      std::string::npos);
}

/// Faults of a family that an export would hide: each writes something else than it says.
TEST_F(ToyFamily, AnExportThatReadsBackDifferentlyIsRefused) {
  import();
  const std::pair<ToyFault, const char*> faults[] = {
      {ToyFault::config, "its config differs in generation.beam_size"},
      {ToyFault::weight, "element 5 of the weights of decoder.layers.0.fc2.weight differs"},
      {ToyFault::token, "token 3 of its target vocabulary is 'blue' instead of 'green'"},
      {ToyFault::file, "was not exported, since what was written can't be read back: "}};
  for (const auto& [fault, difference] : faults) {
    toy_fault = fault;
    const std::string error = error_message([&] { export_again(); });
    toy_fault = ToyFault::none;
    EXPECT_TRUE(error.starts_with(folder_ / "model" + ": was not exported, since ")) << error;
    EXPECT_NE(error.find(difference), std::string::npos) << error;
    EXPECT_FALSE(fs::exists(folder_ / "out"));
  }
  EXPECT_NO_THROW(export_again());
}

/// What has no tensor there is not dropped silently.
TEST_F(ToyFamily, AWeightThatIsNotStoredMustBeZero) {
  import();
  const ModelConfig config = load_model_config(folder_ / "model");
  Transformer model(config, make_backend(), DType::f32, 1);
  for (Parameter& weight : model.parameters())
    if (weight.name == "decoder.layers.0.self_attn.v_proj.bias")
      weight.tensor.copy_from(*model.backend(), std::vector<float>(8, 0.5f));
  write_model_folder(folder_ / "biased", model, load_bound_tokenizers(folder_ / "model", config));
  EXPECT_NE(error_message([&] {
              export_model(folder_ / "biased", "toy", folder_ / "out", table_);
            }).find("the weights of decoder.layers.0.self_attn.v_proj.bias are not zero"),
            std::string::npos);
}

/// A config.json of Hugging Face with another model_type is a row as well.
TEST(Families, AnotherTypeOfHuggingFaceIsARow) {
  std::vector<Family> table(families().begin(), families().end());
  Family other = *std::ranges::find(table, "gpt2", &Family::name);
  other.name = "toy-gpt", other.class_name = "ToyLMHeadModel";
  table.push_back(other);
  const TemporaryFolder folder;
  fs::copy(SIXFOLD_TEST_GOLDENS "/causal/gpt2", folder / "hf");
  std::string config = read_file(folder / "hf/config.json");
  const std::string type = "\"model_type\": \"gpt2\"";
  ASSERT_NE(config.find(type), std::string::npos);
  config.replace(config.find(type), type.size(), "\"model_type\": \"toy-gpt\"");
  write_file_atomically(folder / "hf/config.json", config);
  const ImportSource source{.program = "hf", .path = folder / "hf"};
  import_model(source, folder / "model", table);
  EXPECT_NE(error_message([&] {
              import_model(source, folder / "other");
            }).find("model_type is 'toy-gpt'; only m2m_100, bart, "),
            std::string::npos);
  EXPECT_NE(import_advice(source.path, table).find("convert it with: sixfold import hf"), std::string::npos);
  EXPECT_NE(import_advice(source.path).find("of type 'toy-gpt', which can't be imported"), std::string::npos);
}

TEST(Families, AdviceOnOtherProgramsModels) {
  const TemporaryFolder folder;
  const auto put = [&](const std::string& name, const std::string& text) {
    fs::create_directories(fs::path(folder / name).parent_path());
    write_file_atomically(folder / name, text);
  };
  const auto advice = [&](const std::string& name) {
    std::string text = import_advice(folder / name);
    const std::string prefix = folder.path().string() + "/";
    for (size_t at; (at = text.find(prefix)) != text.npos;) text.erase(at, prefix.size());
    return text;
  };
  const std::string import = "convert it with: sixfold import ";
  for (const Family* family : families_of("hf", families())) {
    put("hf/config.json", fmt::format(R"({{"model_type": "{}"}})", family->name));
    EXPECT_EQ(advice("hf"), "hf is the folder of a model of Hugging Face; " + import + "hf hf --output FOLDER");
  }
  put("hf/pytorch_model.bin", "weights");
  EXPECT_EQ(advice("hf/pytorch_model.bin"),
            "hf/pytorch_model.bin is a file of a model of Hugging Face; " + import + "hf hf --output FOLDER");
  put("albert/config.json", R"({"architectures": ["AlbertModel"], "model_type": "albert"})");
  EXPECT_TRUE(
      advice("albert").starts_with("albert is the folder of a model of Hugging Face of type 'albert', which "
                                   "can't be imported; models of the "
                                   "types m2m_100, bart, "));
  put("marian/model.npz", "weights");
  EXPECT_EQ(advice("marian"),
            "marian contains a model of Marian; " + import + "marian marian/model.npz --output FOLDER");
  EXPECT_EQ(advice("marian/model.npz"), "marian/model.npz is a model of Marian; " + import +
                                            "marian marian/model.npz --vocabs SOURCE TARGET --output FOLDER");
  put("marian/decoder.yml", "models: [model.npz]\n");
  EXPECT_EQ(advice("marian"),
            "marian contains a model of Marian; " + import + "marian marian/decoder.yml --output FOLDER");
  EXPECT_EQ(advice("marian/decoder.yml"),
            "marian/decoder.yml is a decoder configuration of Marian; convert the model with: sixfold import "
            "marian marian/decoder.yml --output FOLDER");
  put("marian/model.bin", "weights");
  EXPECT_EQ(advice("marian/model.bin"), "");
  put("marian/model.bin", std::string("\1\0\0\0\0\0\0\0 tensors", 16));
  EXPECT_EQ(advice("marian/model.bin"), "marian/model.bin is a model of Marian; " + import +
                                            "marian marian/model.bin --vocabs SOURCE TARGET --output FOLDER");
  put("text/train.en", "a line\n");
  EXPECT_EQ(advice("text"), "");
  EXPECT_EQ(advice("text/train.en"), "");
}

/// The table in docs/interop.md has a row for each family, and says which are exported.
TEST(Families, AreThoseOfTheDocumentation) {
  std::ifstream docs(SIXFOLD_SOURCE_DIR "/docs/interop.md");
  std::vector<std::string> documented, wanted;
  bool in_table = false;
  for (std::string line; std::getline(docs, line);) {
    if (line.starts_with("| program | family |")) in_table = true;
    if (in_table && !line.starts_with("|")) break;
    if (!in_table || line.starts_with("| program ") || line.starts_with("|---")) continue;
    std::vector<std::string> cells;
    std::istringstream row(line.substr(1));
    for (std::string cell; std::getline(row, cell, '|');) cells.push_back(cell.substr(1, cell.size() - 2));
    ASSERT_GE(cells.size(), 4u) << line;
    documented.push_back(fmt::format("{}: {} ({}), exports {}", cells[0], cells[1], cells[2], cells[3]));
  }
  for (const Family& family : families())
    wanted.push_back(fmt::format("{}: `{}` ({}), exports {}", family.program->title, family.class_name,
                                 family.name, family.write ? family.exports : "nothing"));
  EXPECT_EQ(documented, wanted);
}

}  // namespace
}  // namespace sixfold
