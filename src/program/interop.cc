#include <memory>

#include "base/error.h"
#include "base/log.h"
#include "families/hugging_face.h"
#include "families/marian.h"
#include "program/commands.h"
#include "program/kit/interrupt.h"
#include "program/kit/model_folder.h"

namespace sixfold::cli {
namespace {

struct InteropSettings {
  std::string input, output;
  std::vector<std::string> vocabs, sentence_pieces;
};

bool is_yaml(const std::string& path) { return path.ends_with(".yml") || path.ends_with(".yaml"); }

void import_from_marian(const InteropSettings& settings) {
  MarianFiles files{.model = settings.input, .vocabs = {}};
  if (is_yaml(settings.input)) files = read_marian_decoder_config(settings.input);
  if (!settings.vocabs.empty()) files.vocabs = settings.vocabs;
  files.sentence_pieces = settings.sentence_pieces;
  note_interrupts();  // finish the output folder even if interrupted
  import_marian(files, settings.output);
  check_interrupt();
  log_info("{}: imported from {}", settings.output, files.model);
}

void import_from_hugging_face(const InteropSettings& settings) {
  note_interrupts();  // finish the output folder even if interrupted
  import_hugging_face(settings.input, settings.output);
  check_interrupt();
  log_info("{}: imported from {}", settings.output, settings.input);
}

void export_to_hugging_face(const InteropSettings& settings) {
  note_interrupts();  // finish the output folder even if interrupted
  export_hugging_face(settings.input, settings.output);
  check_interrupt();
  log_info("{}: exported from {}", settings.output, settings.input);
}

CLI::App& add_conversion(CLI::App& parent, const std::string& name, const std::string& description,
                         const std::shared_ptr<InteropSettings>& settings, const std::string& input_type,
                         const std::string& input_help) {
  CLI::App& command = *parent.add_subcommand(name, description);
  command.add_option("input", settings->input, input_help)->type_name(input_type)->required();
  command.add_option("-o,--output", settings->output, "folder for the result")->type_name("DIR")->required();
  return command;
}

void add_import_marian(CLI::App& parent) {
  const auto settings = std::make_shared<InteropSettings>();
  CLI::App& command = add_conversion(parent, "marian", "Import a model of Marian (--type transformer)",
                                     settings, "MODEL.npz", "the model, or a decoder.yml that names it");
  command.add_option("--vocabs", settings->vocabs, "vocabularies of source and target, .spm or .yml")
      ->type_name("FILE FILE")
      ->expected(2);
  command
      .add_option("--sentencepiece", settings->sentence_pieces,
                  "SentencePiece models of source and target; needed if the vocabularies are .yml files and "
                  "the text is not tokenized")
      ->type_name("FILE FILE")
      ->expected(2);
  command.footer(
      "Beam size and length normalization come from decoder.yml; without it they are Marian's defaults\n"
      "(12, none).\n"
      "Example, an OPUS-MT package:\n"
      "  sixfold import marian decoder.yml --sentencepiece source.spm target.spm --output opus");
  command.callback([settings] { import_from_marian(*settings); });
}

}  // namespace

void add_import(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("import", "Make a model folder from a model of another program");
  command.require_subcommand(1);
  add_import_marian(command);
  const auto settings = std::make_shared<InteropSettings>();
  CLI::App& hugging_face =
      add_conversion(command, "hf", "Import a MarianMTModel, GPT-2 or Llama of Hugging Face", settings, "DIR",
                     "folder with config.json, weights and tokenizer");
  hugging_face.footer("Example:\n  sixfold import hf opus-mt-en-de --output opus");
  hugging_face.callback([settings] { import_from_hugging_face(*settings); });
  command.footer("Example:\n  sixfold import hf opus-mt-en-de --output opus");
}

void add_export(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("export", "Export a model folder for other programs");
  command.require_subcommand(1);
  const auto settings = std::make_shared<InteropSettings>();
  CLI::App& hugging_face = add_conversion(
      command, "hf", "Export for Hugging Face: a MarianMTModel, GPT-2 or Llama, which CTranslate2 can convert",
      settings, "MODEL", "model folder");
  hugging_face.footer("Example:\n  sixfold export hf run/model --output marian-mt");
  hugging_face.callback([settings] { export_to_hugging_face(*settings); });
  command.footer("Example:\n  sixfold export hf run/model --output marian-mt");
}

}  // namespace sixfold::cli
