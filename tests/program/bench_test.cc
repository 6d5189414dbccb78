#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "program/shell.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

/// Sizes that take milliseconds.
constexpr const char* small = "bench layers --n 4,8 --d 8,16 --k 2,3 --r 1,2 --repeat 1 --threads 1 ";

TEST(BenchLayers, PrintsWhatWasMeasuredBesideTheFormulas) {
  const Outcome outcome = sixfold(small);
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  for (const char* part :
       {"measuring lstm against d", "n^2 d", "r n d", "n d^2", "k n d^2", "k n d + n d^2",
        "restricted_attention", "encoder, 1 thread; sizes that do not grow: n 4, d 8, k 2, r 1", "backward, ms",
        "longest path"})
    EXPECT_NE(outcome.text.find(part), std::string::npos) << part << "\n" << outcome.text;
}

TEST(BenchLayers, WritesAPictureAndJson) {
  const TemporaryFolder folder;
  const Outcome outcome =
      sixfold(std::string(small) + "--json --output " + (folder / "layers.svg") + " 2> /dev/null");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  const auto json = nlohmann::json::parse(outcome.text);
  EXPECT_EQ(json.at("layers").size(), 5u);
  EXPECT_EQ(json.at("sizes").at("n"), 4);
  for (const auto& layer : json.at("layers")) {
    EXPECT_GE(layer.at("growth").size(), 2u);
    EXPECT_EQ(layer.at("sequential_operations"), layer.at("kind") == "lstm" ? 4 : 1);
    for (const auto& growth : layer.at("growth")) {
      EXPECT_EQ(growth.at("values").size(), 2u);
      EXPECT_EQ(growth.at("forward_seconds").size(), 2u);
      EXPECT_TRUE(growth.at("exponent").is_number());
    }
  }
  const std::string svg = read_file(folder / "layers.svg");
  for (const char* part : {"Time of a layer against n", "restricted_attention: r^", "attention: n^"})
    EXPECT_NE(svg.find(part), std::string::npos) << part;
  EXPECT_EQ(sixfold(std::string(small) + "--kinds gru --decoder --output " + (folder / "layers.json")).status,
            0);
  const auto written = nlohmann::json::parse(read_file(folder / "layers.json"));
  EXPECT_EQ(written.at("stack"), "decoder");
  EXPECT_EQ(written.at("layers").at(0).at("kind"), "gru");
}

TEST(BenchLayers, SaysWhatItCanNotMeasure) {
  const TemporaryFolder folder;
  const auto layers = [](const std::string& options) { return sixfold("bench layers " + options); };
  expect_error(layers("--n 4,x"), "--n: expected a whole number, found 'x'");
  expect_error(layers("--n 0,4"), "--n: expected a whole number at least 1, found '0'");
  expect_error(layers("--n 8,4"), "n: the values must increase");
  expect_error(layers("--kinds transformer"), "--kinds: expected one of attention,");
  expect_error(layers("--kinds ssru"), "--kinds: 'ssru' is for decoders only; add --decoder");
  expect_error(layers("--kinds bahdanau --decoder"), "bahdanau: reads the source");
  expect_error(layers("--kinds lstm --d 7,9"), "even d_model");
  expect_error(layers("--n 4 --d 8 --kinds attention"), "nothing grows");
  expect_error(layers("--output a.txt"),
               "a.txt: unknown type of file; give a name that ends in .svg, .png or .json");
  expect_error(layers("--repeat 0"), "--repeat");
  expect_error(sixfold("bench layer"), "unknown command layer; did you mean layers?");
  expect_error(sixfold("bench"), "see sixfold bench --help");
  EXPECT_EQ(sixfold("bench layers --help").status, 0);
}

}  // namespace
}  // namespace sixfold
