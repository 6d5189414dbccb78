#include <gtest/gtest.h>

#include "base/file.h"
#include "formats/safetensors.h"
#include "program/shell.h"
#include "program/small_model.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

class Quantize : public testing::Test {
 protected:
  Quantize() { write_small_model(model_, 1); }
  TemporaryFolder folder_;
  const std::string model_ = folder_ / "model", out_ = folder_ / "int8";
};

TEST_F(Quantize, MakesAModelThatCanBeUsed) {
  const Outcome outcome = sixfold("quantize " + model_ + " --output " + out_);
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_EQ(outcome.text, out_ + ": " + model_ + " in int8\n");
  EXPECT_EQ(sixfold("info " + out_).status, 0);
  const Outcome stored = shell("echo a b c | " SIXFOLD_BINARY " translate " + out_);
  EXPECT_EQ(stored.status, 0) << stored.text;
  EXPECT_EQ(stored.text, shell("echo a b c | " SIXFOLD_BINARY " translate --precision int8 " + model_).text);
}

TEST_F(Quantize, WhatItMakesIsForDecodingAlone) {
  ASSERT_EQ(sixfold("quantize " + model_ + " --output " + out_).status, 0);
  expect_error(sixfold("average " + out_ + " --out " + folder_ / "mean"), "supports only decoding");
  expect_error(sixfold("translate --precision fp32 " + out_), "supports only decoding");
  expect_error(sixfold("quantize " + out_ + " --output " + folder_ / "again"), "is already quantized");
  expect_error(sixfold("translate --precision int4 " + out_),
               "is in int8; use the model that it was made from");
}

TEST_F(Quantize, MakesAModelOfFourBits) {
  const Outcome outcome = sixfold("quantize --precision int4 " + model_ + " --output " + out_);
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_EQ(outcome.text, out_ + ": " + model_ + " in int4\n");
  const Outcome info = sixfold("info " + out_);
  EXPECT_NE(info.text.find("4 bits"), std::string::npos) << info.text;
  EXPECT_NE(info.text.find("weights quantized to int4"), std::string::npos) << info.text;
  const Outcome stored = shell("echo a b c | " SIXFOLD_BINARY " translate " + out_);
  EXPECT_EQ(stored.status, 0) << stored.text;
  EXPECT_EQ(stored.text, shell("echo a b c | " SIXFOLD_BINARY " translate --precision int4 " + model_).text);
  expect_error(sixfold("translate --precision int8 " + out_),
               "is in 4 bits; use the model that it was made from");
  expect_error(sixfold("translate --precision fp32 " + out_), "supports only decoding");
  expect_error(sixfold("quantize --precision fp32 " + model_ + " --output " + out_), "int8, int4");
}

TEST_F(Quantize, TrainingsThatCannotStartAreRefusedBeforeTheirData) {
  for (const std::string precision : {"int8", "int4"}) {
    ASSERT_EQ(
        sixfold("quantize --precision " + precision + " " + model_ + " --output " + out_ + precision).status,
        0);
    write_file_atomically(folder_ / "train.yaml",
                          "data: {train: [nowhere.en, nowhere.de]}\ntrain: {updates: 1}\nstart: {model: " +
                              out_ + precision + "}\n");
    for (const std::string& command : {std::string("check "), "train --output " + (folder_ / "run") + " "})
      expect_error(sixfold(command + folder_ / "train.yaml"), "is quantized, which supports only decoding");
    EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
  }
}

TEST_F(Quantize, InfoCountsTheWeightsOfFourBits) {
  ASSERT_EQ(sixfold("quantize --precision int4 " + model_ + " --output " + out_).status, 0);
  const SafetensorsFile file = SafetensorsFile::open(out_ + "/model.safetensors");
  std::vector<NamedTensor> tensors;
  for (const std::string& name : file.names())
    if (!name.starts_with("decoder.layers.0."))
      tensors.push_back({name, file.at(name).dtype, file.at(name).shape, file.at(name).bytes.data()});
  ASSERT_LT(tensors.size(), file.names().size());
  write_safetensors(out_ + "/model.safetensors", tensors);
  expect_error(sixfold("info " + out_), "but the config of the model needs");
}

TEST_F(Quantize, ReplacesAModelButNoOtherFolder) {
  std::filesystem::create_directory(out_);
  write_file_atomically(out_ + "/letters", "precious");
  expect_error(sixfold("quantize " + model_ + " --output " + out_), "already exists and holds 'letters'");
  EXPECT_EQ(read_file(out_ + "/letters"), "precious");
  expect_error(sixfold("quantize " + (folder_ / "nowhere") + " --output " + out_ + "2"),
               "there is no file or folder of that name");
  expect_error(sixfold("quantize " + model_), "--output is required");
}

}  // namespace
}  // namespace sixfold
