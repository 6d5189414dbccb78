// The commands for captions of images: demo-images, caption, plot patches.
#include <gtest/gtest.h>

#include <sstream>

#include "base/file.h"
#include "data/lines.h"
#include "formats/idx.h"
#include "formats/idx_bytes.h"
#include "formats/image_file.h"
#include "program/demo/images.h"
#include "program/shell.h"
#include "program/small_captioner.h"
#include "program/small_classifier.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

class CaptionCommand : public testing::Test {
 protected:
  CaptionCommand() {
    write_small_captioner(model_, 9);
    file("a.pgm", "P5 4 4 255\nabcdefghijklmnop"), file("b.pgm", "P5 4 4 255\nponmlkjihgfedcba");
    file("broken.pgm", "P5 4 4 255\nab"), file("large.pgm", "P5 5 4 255\nabcdefghijklmnopqrst");
    idx_ = file("two", idx_bytes({2, 4, 4}, "abcdefghijklmnopponmlkjihgfedcba"));
  }
  std::string file(const std::string& name, const std::string& text) const {
    write_file_atomically(folder_ / name, text);
    return folder_ / name;
  }
  /// The scores of images, which tell them apart better than the words of a model without training.
  std::string json(const std::string& input) const {
    const Outcome outcome = sixfold("caption " + model_ + " --json --input " + input + " 2>/dev/null");
    EXPECT_EQ(outcome.status, 0) << outcome.text;
    return outcome.text;
  }

  TemporaryFolder folder_;
  const std::string model_ = folder_ / "model";
  std::string idx_;
};

TEST_F(CaptionCommand, ReadsIdxFilesListsAndSingleImages) {
  const std::string both = json(idx_), list = file("list", "a.pgm\nb.pgm\n"), here = folder_ / "";
  std::istringstream lines(both);
  std::string first, second;
  std::getline(lines, first), std::getline(lines, second);
  EXPECT_NE(first, second);
  EXPECT_TRUE(first.starts_with("{\"caption\":\"")) << first;
  EXPECT_EQ(json(list), both);
  EXPECT_EQ(json(folder_ / "b.pgm"), second + "\n");
  EXPECT_EQ(
      shell("cd " + here + "; printf 'b.pgm\\na.pgm\\n' | " SIXFOLD_BINARY " caption model --json 2>/dev/null")
          .text,
      second + "\n" + first + "\n");
  const Outcome plain = sixfold("caption " + model_ + " --input " + idx_ + " 2>/dev/null");
  EXPECT_EQ(std::ranges::count(plain.text, '\n'), 2);
  EXPECT_EQ(sixfold("caption " + model_ + " --input " + idx_ + " --output " + here + "out.gz").status, 0);
  EXPECT_EQ(read_lines(here + "out.gz").size(), 2u);
  EXPECT_EQ(sixfold("caption " + model_ + " --threads 1 --input " + idx_ + " 2>/dev/null").text, plain.text);
}

/// A pipe is read once: nothing of it may be lost by looking at its beginning.
TEST_F(CaptionCommand, ListsComeThroughPipes) {
  const std::string list = file("list", (folder_ / "a.pgm") + "\n" + (folder_ / "b.pgm") + "\n");
  EXPECT_EQ(shell("bash -c '" SIXFOLD_BINARY " caption " + model_ + " --json --input <(cat " + list +
                  ") 2>/dev/null'")
                .text,
            json(list));
}

TEST_F(CaptionCommand, WhatIsBrokenFailsAlone) {
  const std::string here = folder_ / "";
  const Outcome some =
      sixfold("caption " + model_ + " --json --input " +
              file("list", "a.pgm\nbroken.pgm\nnone.pgm\n\nlarge.pgm\nb.pgm\n") + " 2>" + here + "said");
  EXPECT_EQ(some.status, 2);
  std::istringstream lines(some.text), good(json(idx_));
  std::vector<std::string> all, both;
  for (std::string line; std::getline(lines, line);) all.push_back(line);
  for (std::string line; std::getline(good, line);) both.push_back(line);
  ASSERT_EQ(all.size(), 6u);
  EXPECT_EQ(all[0], both[0]);
  EXPECT_EQ(all[5], both[1]);
  for (size_t i = 1; i < 5; ++i) EXPECT_TRUE(all[i].starts_with("{\"error\":")) << all[i];
  const std::string said = read_file(here + "said");
  for (const char* part : {"list:2: ", "broken.pgm: is a damaged PGM file", "list:3: ", "none.pgm",
                           "list:4: the name of the image is empty", "large.pgm): the image is 4 x 5",
                           "4 images failed; the others are complete"})
    EXPECT_NE(said.find(part), std::string::npos) << part << "\n" << said;
  const Outcome plain = sixfold("caption " + model_ + " --input " + (folder_ / "list") + " 2>/dev/null");
  EXPECT_EQ(std::ranges::count(plain.text, '\n'), 6);
  EXPECT_NE(plain.text.find("\n\n\n\n\n"), std::string::npos) << plain.text;
  expect_error(sixfold("caption " + model_ + " --input " + (folder_ / "nothing")), "nothing");
  const Outcome nul =
      sixfold("caption " + model_ + " --input " + file("nul", std::string("b.pgm\na\0.pgm\n", 13)) + " 2>&1");
  EXPECT_NE(nul.text.find("nul:2: the name of the image: byte 2 is NUL"), std::string::npos) << nul.text;
  expect_error(sixfold("caption " + model_ + " --input " + file("labels", idx_bytes({2}, "ab"))),
               "contains labels, not images");
}

/// Names of files may be any bytes, but JSON is UTF-8.
TEST_F(CaptionCommand, NamesFilesInJson) {
  const std::string odd = folder_ / "odd\xFF";
  std::filesystem::create_directory(odd);
  std::filesystem::copy_file(folder_ / "a.pgm", odd + "/a.pgm");
  write_file_atomically(odd + "/list", "none.pgm\na.pgm\n");
  const Outcome outcome = sixfold("caption " + model_ + " --json --input '" + odd + "/list' 2>/dev/null");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_TRUE(outcome.text.starts_with("{\"error\":")) << outcome.text;
  EXPECT_NE(outcome.text.find("\n{\"caption\":"), std::string::npos) << outcome.text;
}

/// The line of a list alone does not say which picture it is.
TEST_F(CaptionCommand, NamesAPictureOfAnotherSize) {
  const std::string list = file("list", "a.pgm\nlarge.pgm\n"), large = folder_ / "large.pgm";
  const std::string said = fmt::format("list:2 ({}): the image is 4 x 5", large);
  EXPECT_NE(sixfold("caption " + model_ + " --input " + list + " 2>&1 >/dev/null").text.find(said),
            std::string::npos);
  const std::string plot = "plot patches " + model_ + " --output " + (folder_ / "x.svg") + " --input ";
  expect_error(sixfold(plot + list + " --number 2"), said);
  expect_error(sixfold(plot + large), "large.pgm: the image is 4 x 5");
}

/// A picture that a list names is an input too.
TEST_F(CaptionCommand, AnImageOfTheListIsNotReplaced) {
  const std::string list = file("list", "a.pgm\nb.pgm\n"), b = folder_ / "b.pgm", before = read_file(b);
  expect_error(sixfold("caption " + model_ + " --input " + list + " --output " + b), "b.pgm");
  expect_error(
      shell("cd " + (folder_ / "") + "; printf 'b.pgm\\n' | " SIXFOLD_BINARY " caption model --output b.pgm"),
      "b.pgm");
  expect_error(
      sixfold("plot patches " + model_ + " --input " + list + " --output " + (folder_ / "x.svg") + "/../b.pgm"),
      "b.pgm");
  file("b.svg", read_file(b));
  expect_error(sixfold("plot patches " + model_ + " --input " + file("last", "a.pgm\nb.svg\n") + " --output " +
                       (folder_ / "b.svg")),
               "b.svg");
  EXPECT_EQ(read_file(b), before);
  EXPECT_EQ(read_file(folder_ / "b.svg"), before);
}

TEST_F(CaptionCommand, SaysHowImagesAreGiven) {
  const std::string here = folder_ / "";
  file("binary", std::string("P7\xFF\xFE\n"));
  expect_error(
      shell("cd " + here + "; " SIXFOLD_BINARY " caption model < binary"),
      "standard input:1: byte 3 is not valid UTF-8, so this is not a text that names images; an image (PNG");
  expect_error(sixfold("caption " + model_ + " --input " + file("a.bmp", std::string("BM\0\0", 4))),
               "a.bmp:1: byte 3 is NUL");
  expect_error(sixfold("caption " + model_ + " --input " + file("empty.PNG", "")),
               "empty.PNG: is empty; expected an image");
  const Outcome damaged =
      sixfold("caption " + model_ + " --input " + file("bad.png", "\x89PNG\r\n") + " 2>&1 >/dev/null");
  EXPECT_EQ(damaged.status, 2);
  EXPECT_NE(damaged.text.find("bad.png: is a damaged PNG file"), std::string::npos) << damaged.text;
  EXPECT_EQ(damaged.text.find("bad.png"), damaged.text.rfind("bad.png")) << damaged.text;
  expect_error(
      sixfold("caption " + model_ + " --input " + file("floats", std::string("\0\0\x0D\3\0\0\0\1", 8))),
      "floats: is not an IDX file of bytes");
  const Outcome pipe = shell("cd " + here +
                             "; mkfifo pipe; printf 'pipe\na.pgm\n' > list; timeout -s KILL 20 " SIXFOLD_BINARY
                             " caption model --input list");
  EXPECT_EQ(pipe.status, 2) << pipe.text;
  EXPECT_NE(pipe.text.find("pipe: is not a regular file"), std::string::npos) << pipe.text;
  const Outcome named =
      sixfold("caption " + model_ + " --input " + file("named", "P6 photo.png\n"));  // a name, not an image
  EXPECT_EQ(named.status, 2);
  EXPECT_NE(named.text.find("P6 photo.png: can't open"), std::string::npos) << named.text;
}

/// A classifier of images has no tokenizer.
TEST_F(CaptionCommand, CommandsForTextRefuseAClassifierOfImages) {
  const std::string images = folder_ / "images", text = file("text", "a b\n");
  write_small_model(images, 1, true, [](ModelConfig& config) {
    config.image = {.height = 4, .width = 4, .channels = 1, .patch = 2, .stride = 2};
    config.source_vocab = config.target_vocab = ModelConfig::pixel_values;
    config.source_tokenizer_hash = config.target_tokenizer_hash = "";
    config.decoder_layers = 0, config.tied_embeddings = TiedEmbeddings::none;
    config.positions = Positions::learned;
    config.head = {OutputHead::classes, 2, Pooling::mean}, config.task = "image_classification";
    config.settings = write_options(ClassificationSettings{{"a", "b"}});
  });
  EXPECT_EQ(sixfold("classify " + images + " --input " + idx_ + " 2>/dev/null").status, 0);
  for (const std::string& command : std::vector<std::string>{
           "tokenize " + images + " --input " + text, "tokenize " + images + " --target --input " + text,
           "tokenize " + images + " --decode --input " + text,
           "corpus " + text + " " + text + " --model " + images,
           "plot corpus " + text + " " + text + " --model " + images + " --output " + (folder_ / "c.svg")})
    expect_error(sixfold(command), "has no tokenizer");
  for (const char* command : {"translate ", "fill "})
    expect_error(sixfold(command + images + " --input " + text),
                 "is a model for the task 'image_classification'");
  expect_error(sixfold("classify " + images + " --invalid-utf8 skip --input " + idx_),
               "--invalid-utf8 is for texts");
}

TEST_F(CaptionCommand, NamesAreNotComparedWithNumbers) {
  const std::string names = file("names", "boot\nbag\n"), numbers = file("numbers", idx_bytes({2}, "\1\2"));
  expect_error(sixfold("evaluate --metric accuracy --reference " + numbers + " --hypothesis " + names),
               "is an IDX file of numbers");
  expect_error(
      sixfold("plot confusion " + names + " --reference " + numbers + " --output " + (folder_ / "c.svg")),
      "is an IDX file of numbers");
  const std::string answers = file("answers", " 1\t0.9\r\n2\t0.5\n");  // as `classify` writes them
  for (const std::string& hypothesis : {file("1", "1\n2\n"), answers})
    EXPECT_EQ(
        sixfold("evaluate --metric accuracy --reference " + numbers + " --hypothesis " + hypothesis).status, 0);
  EXPECT_EQ(
      sixfold("plot confusion " + answers + " --reference " + numbers + " --output " + (folder_ / "c.svg"))
          .status,
      0);
}

TEST_F(CaptionCommand, OtherModelsAreRefusedAndRefuse) {
  write_small_model(folder_ / "translation", 1);
  write_small_classifier(folder_ / "classifier", 1);
  const std::string text = file("text", "a b\n"), out = " --output " + (folder_ / "out");
  for (const char* name : {"translation", "classifier"})
    expect_error(sixfold("caption " + (folder_ / name) + " --input " + idx_), "not 'image_captioning'");
  expect_error(sixfold("caption " + (folder_ / "classifier") + " --input " + idx_),
               "the task 'classification'");
  const std::string pair = " --source " + text + " --target " + text;
  for (const std::string& command :
       std::vector<std::string>{"translate " + model_ + " --input " + text, "score " + model_ + pair,
                                "shortlist " + model_ + pair + out, "generate " + model_ + " --prompt a",
                                "score " + model_ + " --input " + text,
                                "classify " + model_ + " --input " + idx_, "score " + model_ + pair})
    expect_error(sixfold(command), "is a model for the task 'image_captioning'");
  expect_error(sixfold("export hf " + model_ + out), "it is for the task 'image_captioning'");
  expect_error(sixfold("plot attention " + model_ + " --text a -o -"), "drawn by 'sixfold plot patches'");
}

TEST_F(CaptionCommand, IsDescribedQuantizedAndAveraged) {
  const Outcome info = sixfold("info " + model_);
  EXPECT_NE(info.text.find("captions     images of 4 x 4 with 1 channel"), std::string::npos) << info.text;
  EXPECT_NE(
      info.text.find("of patches of 2 x 2 pixels, one every 1 pixels: 9 of an image; one matrix for target "
                     "and output"),
      std::string::npos)
      << info.text;
  EXPECT_EQ(sixfold("info --json " + model_).status, 0);
  write_small_captioner(folder_ / "other", 4);
  EXPECT_EQ(sixfold("quantize " + model_ + " --output " + (folder_ / "int8")).status, 0);
  EXPECT_EQ(sixfold("average " + model_ + " " + (folder_ / "other") + " --output " + (folder_ / "mean")).status,
            0);
  for (const char* name : {"int8", "mean"})
    EXPECT_EQ(sixfold("caption " + (folder_ / name) + " --input " + idx_).status, 0) << name;
}

TEST_F(CaptionCommand, AttentionIsDrawnOnThePicture) {
  const std::string svg = folder_ / "patches.svg", patches = "plot patches " + model_ + " --input ";
  EXPECT_EQ(sixfold(patches + (folder_ / "a.pgm") + " --output " + svg).status, 0);
  const std::string first = read_file(svg);
  EXPECT_NE(first.find("data:image/png;base64,iVBOR"), std::string::npos);
  EXPECT_NE(first.find("attention of decoder layer 2 of 2, mean of heads"), std::string::npos);
  EXPECT_EQ(sixfold(patches + idx_ + " --output -").text, first) << "the same image in another file";
  const std::string second = sixfold(patches + idx_ + " --number 2 --layer 0 --head 0 --output -").text;
  EXPECT_NE(second.find("attention of decoder layer 1 of 2, head 1"), std::string::npos);
  EXPECT_NE(second, first);
  expect_error(sixfold(patches + idx_ + " --number 3 -o -"), "--number 3: " + idx_ + " has 2 images");
  expect_error(sixfold(patches + idx_ + " --layer 2 -o -"), "--layer 2: the model's decoder has layers 0 to 1");
  expect_error(sixfold(patches + idx_ + " --head 2 -o -"), "--head 2: the model has heads 0 to 1");
  expect_error(sixfold(patches + (folder_ / "broken.pgm") + " -o -"), "broken.pgm: is a damaged PGM file");
  expect_error(sixfold(patches + (folder_ / "large.pgm") + " -o -"), "but the model reads images of 4 x 4");
}

TEST_F(CaptionCommand, PicturesAreGenerated) {
  const std::string out = folder_ / "pictures",
                    command = "demo-images --pictures 30 --held-out 5 --output " + out;
  const Outcome outcome = sixfold(command);
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("30 training, 300 validation and 5 test pictures of 2112 scenes"),
            std::string::npos)
      << outcome.text;
  const demo::Pictures expected = demo::make_pictures({.train = 30, .test = 5});
  for (const auto& [name, part] : {std::pair("train", &expected.train), std::pair("valid", &expected.valid),
                                   std::pair("test", &expected.test)}) {
    const std::vector<std::string> captions = read_lines(out + "/" + name + ".captions");
    IdxFile images(out + "/" + name + ".images");
    ASSERT_EQ(captions.size(), part->size());
    EXPECT_EQ(images.items(), std::ssize(*part));
    std::vector<uint8_t> values;
    for (size_t i = 0; i < captions.size(); ++i) {
      EXPECT_TRUE(images.next(values));
      EXPECT_EQ(values, (*part)[i].image.values);
      EXPECT_EQ(captions[i], caption_of((*part)[i].scene));
    }
  }
  expect_error(sixfold("demo-images --pictures 0 --output " + out), "must be at least 1");
}

TEST_F(CaptionCommand, ExactCaptionsAreCounted) {
  const std::string truth = file("truth", "a cat\na dog\ntwo cats\na cow\n"),
                    found = file("found", "a cat\na Dog\ntwo cats\na cow \n"),
                    other = file("other", "a cat\na Dog\nno cats\na cow \n");
  const std::string command = "evaluate --metric exact_match -r " + truth + " --hypothesis " + found;
  EXPECT_NE(sixfold(command).text.find("exact_match|nrefs:1|version:"), std::string::npos);
  EXPECT_NE(sixfold(command).text.find("= 50.0"), std::string::npos);
  EXPECT_NE(sixfold(command + " -r " + other).text.find("exact_match|nrefs:2|"), std::string::npos);
  EXPECT_NE(sixfold(command + " -r " + other).text.find("= 100.0"), std::string::npos);
  const Outcome two = sixfold("evaluate --metric exact_match,bleu -r " + truth + " --hypothesis " + found +
                              " --compare " + other);
  EXPECT_NE(two.text.find("| system | exact_match | p | BLEU | p |"), std::string::npos) << two.text;
  EXPECT_NE(two.text.find("| " + other + " | 25.0 ("), std::string::npos) << two.text;
  expect_error(sixfold(command + " --lowercase"), "compares lines as they are");
}

}  // namespace
}  // namespace sixfold
