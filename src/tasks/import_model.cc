#include "tasks/import_model.h"

#include "base/log.h"
#include "model_folder/ownership.h"
#include "tasks/translation/alignment_layer.h"
#include "tasks/translation/settings.h"

namespace sixfold {
namespace {

void finish(const Imported& imported, const std::string& output) {
  for (const Notes::Note& note : imported.notes.all) note.warning ? warn_line(note.text) : log_line(note.text);
  Transformer& model = *imported.model;
  if (model.config().task == TranslationSettings::task)
    model.set_generation(with_alignment_layer(model, imported.tokenizers));
  write_imported(imported, output);
}

}  // namespace

std::string import_model(const ImportSource& source, const std::string& output, Families families) {
  require_new_or_model(output,
                       inputs_of(source, families));  // checked before the model is read, which takes long
  const Imported imported = read_model(source, families);
  finish(imported, output);
  return imported.origin;
}

void import_hugging_face(const std::string& folder, const std::string& output) {
  import_model({.program = "hf", .path = folder}, output);
}

void import_marian(const MarianFiles& files, const std::string& output) {
  require_new_or_model(output, inputs_of(files));
  finish(read_marian(files), output);
}

}  // namespace sixfold
