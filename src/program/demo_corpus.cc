#include <fmt/format.h>

#include <map>
#include <memory>
#include <sstream>
#include <unordered_set>

#include "program/commands.h"
#include "program/demo/corpus.h"
#include "program/demo_folder.h"
#include "program/kit/value_option.h"

namespace sixfold::cli {
namespace {

using demo::SentencePair;

struct DemoCorpusSettings {
  std::string out;
  bool alignments = false;
  demo::CorpusOptions corpus;
};

std::string lines_of(const std::vector<SentencePair>& pairs, std::string SentencePair::*side) {
  std::string text;
  for (const SentencePair& pair : pairs) text += pair.*side + "\n";
  return text;
}

std::map<std::string, std::string> files_of(const demo::Corpus& corpus, bool alignments) {
  std::map<std::string, std::string> files;
  for (const auto& [name, pairs] : {std::pair("train", &corpus.train), std::pair("valid", &corpus.valid),
                                    std::pair("test", &corpus.test)}) {
    files[std::string(name) + ".en"] = lines_of(*pairs, &SentencePair::english);
    files[std::string(name) + ".de"] = lines_of(*pairs, &SentencePair::german);
    if (alignments) files[std::string(name) + ".alignment"] = lines_of(*pairs, &SentencePair::alignment);
  }
  return files;
}

size_t distinct_words(const std::vector<SentencePair>& pairs, std::string SentencePair::*side) {
  std::unordered_set<std::string> words;
  for (const SentencePair& pair : pairs) {
    std::string sentence = pair.*side;
    std::erase_if(sentence, [](char c) { return c == '.' || c == ',' || c == '?'; });
    std::istringstream split(sentence);
    for (std::string word; split >> word;) words.insert(word);
  }
  return words.size();
}

void run(const DemoCorpusSettings& settings) {
  const demo::Corpus corpus = demo::make_corpus(settings.corpus);
  make_demo_folder("--output", settings.out);
  write_demo_files(settings.out, files_of(corpus, settings.alignments));
  fmt::print("{}: {} training, {} validation and {} held-out pairs; {} distinct English and {} German words\n",
             settings.out, corpus.train.size(), corpus.valid.size(), corpus.test.size(),
             distinct_words(corpus.train, &SentencePair::english),
             distinct_words(corpus.train, &SentencePair::german));
}

}  // namespace

void add_demo_corpus(CLI::App& app) {
  auto settings = std::make_shared<DemoCorpusSettings>();
  CLI::App* command = app.add_subcommand(
      "demo-corpus", "Generate a parallel corpus, English to German, from a small built-in grammar");
  command
      ->add_option("-o,--output,--out", settings->out,
                   "folder for train.en, train.de, valid.*, test.*; existing files are never replaced")
      ->type_name("DIR")
      ->required();
  command->add_option("--pairs", settings->corpus.train, "number of training pairs")->capture_default_str();
  command
      ->add_option("--held-out", settings->corpus.test,
                   "number of pairs in test.*; none of them is in the training pairs")
      ->capture_default_str();
  command
      ->add_option("--sentences", settings->corpus.sentences,
                   "lines have 1 to this many sentences, each number equally often")
      ->capture_default_str();
  command->add_flag("--alignments", settings->alignments,
                    "also write which words belong together: train.alignment, valid.alignment, test.alignment");
  command->add_option("--held-out-sentences", settings->corpus.test_sentences,
                      "the same for test.* [as --sentences]");
  add_value_option(*command, "--seed", settings->corpus.seed, "random seed of the corpus");
  command->footer(
      "Example:\n  sixfold demo-corpus --output demo --pairs 24000 --held-out 500\n"
      "Train on short lines and test on longer ones:\n"
      "  sixfold demo-corpus --output demo --sentences 2 --held-out-sentences 6");
  command->callback([settings] { run(*settings); });
}

}  // namespace sixfold::cli
