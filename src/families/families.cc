#include "families/families.h"

#include <algorithm>

#include "base/error.h"
#include "base/nearest.h"
#include "model_folder/binding.h"
#include "model_folder/model_folder.h"
#include "model_folder/provenance.h"

namespace sixfold {
namespace {

/// The programs of the families, in the order of the table.
std::vector<const Program*> programs_of(Families families) {
  std::vector<const Program*> programs;
  for (const Family& family : families)
    if (std::ranges::find(programs, family.program) == programs.end()) programs.push_back(family.program);
  return programs;
}

/// The source with its name replaced by a path.
ImportSource located(const ImportSource& source, const Program& program) {
  ImportSource found = source;
  if (program.locate) found.path = program.locate(source.path);
  return found;
}

}  // namespace

Families families() {
  static const Family table[] = {
      m2m100_family(),      bart_family(),       mbart_family(),     t5_family(),         mt5_family(),
      marian_mt_family(),   gpt2_family(),       gpt_neox_family(),  qwen2_family(),      qwen3_family(),
      phi3_family(),        mistral_family(),    llama_family(),     bert_family(),       roberta_family(),
      xlm_roberta_family(), distilbert_family(), vit_family(),       marian_family(),     gguf_llama_family(),
      gguf_qwen2_family(),  gguf_qwen3_family(), gguf_phi3_family(), ctranslate2_family()};
  return table;
}

std::vector<const Family*> families_of(std::string_view program, Families families) {
  std::vector<const Family*> found;
  std::vector<std::string> names;
  for (const Family& family : families) {
    names.emplace_back(family.program->name);
    if (family.program->name == program) found.push_back(&family);
  }
  require(!found.empty(), "there is no program '{}' whose models are imported{}", program,
          suggestion(program, names));
  return found;
}

std::vector<std::string> inputs_of(const ImportSource& source, Families families) {
  const Program& program = *families_of(source.program, families).front()->program;
  return program.inputs(located(source, program));
}

void validate_described(const ModelConfig& config, const std::string& where) {
  try {
    validate(config);
  } catch (const Error& error) {  // the error uses the names of keys in Sixfold
    throw_input_error("{}: the model that it describes can't be built; in the names of a config of Sixfold: {}",
                      where, error.what());
  }
}

Imported read_model(const ImportSource& named, Families families) {
  const std::vector<const Family*> candidates = families_of(named.program, families);
  const Program& program = *candidates.front()->program;
  const ImportSource source = located(named, program);
  for (const Family* family : candidates)
    if (family->recognizes(source, *family)) return family->read(source);
  program.refuse(source, candidates);
  throw_input_error("{}: is not a model of {} that can be imported", source.path, program.title);
}

void write_imported(const Imported& imported, const std::string& output) {
  const auto add = [&](const std::string& folder) {
    write_provenance(folder, {}, imported.step);
    if (imported.shortlist)
      save_shortlist(folder + "/" + Shortlist::file_name, *imported.shortlist, imported.model->config());
  };
  if (imported.tokenizers.source)
    write_model_folder(output, *imported.model, imported.tokenizers, add);
  else
    write_model_folder(output, *imported.model, add);
}

std::string import_advice(const std::string& path, Families families) {
  for (const Program* program : programs_of(families))
    if (std::string advice = program->advise(path, families_of(program->name, families)); !advice.empty())
      return advice;
  return {};
}

}  // namespace sixfold
