#include <memory>

#include "base/error.h"
#include "base/join.h"
#include "base/log.h"
#include "families/families.h"
#include "program/commands.h"
#include "program/kit/interrupt.h"
#include "tasks/import_model.h"

namespace sixfold::cli {
namespace {

struct InteropSettings {
  ImportSource source;
  std::string output;
};

void run_import(const InteropSettings& settings) {
  note_interrupts();  // an interrupt changes the exit status, and the output folder is completed
  const std::string origin = import_model(settings.source, settings.output);
  log_info("{}: imported from {}", settings.output, origin);
  check_interrupt();
}

void run_export(const InteropSettings& settings) {
  note_interrupts();  // an interrupt changes the exit status, and the output folder is completed
  export_model(settings.source.path, settings.source.program, settings.output);
  log_info("{}: exported from {}", settings.output, settings.source.path);
  check_interrupt();
}

/// The titles of the model families of a program for which `listed` is true: "MarianMTModel, GPT-2 or Llama".
std::string titles_of(std::string_view program, bool (*listed)(const Family&)) {
  std::vector<std::string_view> titles;
  for (const Family* family : families_of(program, families()))
    if (listed(*family)) titles.push_back(family->title);
  return join_words(titles, "or");
}

CLI::App& add_conversion(CLI::App& parent, const std::string& name, const std::string& description,
                         const std::shared_ptr<InteropSettings>& settings, const std::string& input_type,
                         const std::string& input_help) {
  settings->source.program = name;
  CLI::App& command = *parent.add_subcommand(name, description);
  command.add_option("input", settings->source.path, input_help)->type_name(input_type)->required();
  command.add_option("-o,--output", settings->output, "folder for the result")->type_name("DIR")->required();
  return command;
}

void add_import_marian(CLI::App& parent) {
  const auto settings = std::make_shared<InteropSettings>();
  CLI::App& command =
      add_conversion(parent, "marian", "Import a model of Marian (--type transformer)", settings, "MODEL",
                     "the model, .npz or .bin, or a decoder.yml or "
                     "config.bergamot.yml that names it");
  command
      .add_option("--vocabs", settings->source.vocabularies, "vocabularies of source and target, .spm or .yml")
      ->type_name("FILE FILE")
      ->expected(2);
  command
      .add_option("--sentencepiece", settings->source.sentence_pieces,
                  "SentencePiece models of source and target; needed if the vocabularies are .yml files and "
                  "the text is not tokenized")
      ->type_name("FILE FILE")
      ->expected(2);
  command
      .add_option(
          "--shortlist", settings->source.shortlist,
          "target tokens that each source token allows: lex.s2t.bin, or a text and perhaps the numbers of "
          "frequent tokens (100) and of translations (100)")
      ->type_name("FILE [N]")
      ->expected(1, 4);
  command.footer(
      "Beam size and length normalization come from decoder.yml; without it they are Marian's defaults\n"
      "(12, none).\n"
      "Example, an OPUS-MT package:\n"
      "  sixfold import marian decoder.yml --sentencepiece source.spm target.spm --output opus");
  command.callback([settings] { run_import(*settings); });
}

void add_import_gguf(CLI::App& parent) {
  const auto settings = std::make_shared<InteropSettings>();
  CLI::App& command = add_conversion(
      parent, "gguf", "Import a " + titles_of("gguf", [](const Family&) { return true; }) + " of llama.cpp",
      settings, "FILE", "the model, a .gguf file");
  command.footer(
      "Quantized weights become the numbers that they stand for.\n"
      "Example:\n  sixfold import gguf smollm2-135m.gguf --output smollm2");
  command.callback([settings] { run_import(*settings); });
}

void add_import_ctranslate2(CLI::App& parent) {
  const auto settings = std::make_shared<InteropSettings>();
  CLI::App& command =
      add_conversion(parent, "ctranslate2", "Import a Transformer of CTranslate2 that translates", settings,
                     "DIR", "folder with model.bin and vocabularies");
  command
      .add_option("--tokenizer", settings->source.sentence_pieces,
                  "SentencePiece models of source and target, or one for both")
      ->type_name("FILE [FILE]")
      ->expected(1, 2);
  command.footer(
      "Example:\n  sixfold import ctranslate2 opus-ct2 --tokenizer source.spm target.spm --output opus");
  command.callback([settings] { run_import(*settings); });
}

void add_export_ctranslate2(CLI::App& parent) {
  const auto settings = std::make_shared<InteropSettings>();
  CLI::App& command = add_conversion(parent, "ctranslate2", "Export a translation model for CTranslate2",
                                     settings, "MODEL", "model folder");
  command.footer("Example:\n  sixfold export ctranslate2 run/model --output ct2");
  command.callback([settings] { run_export(*settings); });
}

}  // namespace

void add_import(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("import", "Make a model folder from a model of another program");
  command.require_subcommand(1);
  add_import_marian(command);
  add_import_gguf(command);
  add_import_ctranslate2(command);
  const auto settings = std::make_shared<InteropSettings>();
  CLI::App& hugging_face = add_conversion(
      command, "hf", "Import a model of Hugging Face: " + titles_of("hf", [](const Family&) { return true; }),
      settings, "DIR",
      "folder with config.json, weights and tokenizer, or the name of a model in the hub's local cache");
  hugging_face.footer("Example:\n  sixfold import hf opus-mt-en-de --output opus");
  hugging_face.callback([settings] { run_import(*settings); });
  command.footer("Example:\n  sixfold import hf opus-mt-en-de --output opus");
}

void add_export(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("export", "Export a model folder for other programs");
  command.require_subcommand(1);
  const auto settings = std::make_shared<InteropSettings>();
  CLI::App& hugging_face = add_conversion(
      command, "hf",
      "Export for Hugging Face: " + titles_of("hf", [](const Family& f) { return f.write != nullptr; }) +
          ", which CTranslate2 can convert",
      settings, "MODEL", "model folder");
  add_export_ctranslate2(command);
  hugging_face.footer("Example:\n  sixfold export hf run/model --output marian-mt");
  hugging_face.callback([settings] { run_export(*settings); });
  command.footer("Example:\n  sixfold export hf run/model --output marian-mt");
}

}  // namespace sixfold::cli
