#pragma once
#include "families/family.h"

// These functions have no state, so any number of threads may call them.

namespace sixfold {

// The rows of the table, each defined in the file of its family.
Family marian_family();       // marian.cc
Family marian_mt_family();    // marian_mt.cc
Family m2m100_family();       // m2m100.cc
Family bart_family();         // bart.cc
Family mbart_family();        // bart.cc
Family t5_family();           // t5.cc
Family mt5_family();          // t5.cc
Family bert_family();         // bert.cc
Family roberta_family();      // bert.cc
Family xlm_roberta_family();  // bert.cc
Family distilbert_family();   // bert.cc
Family vit_family();          // vit.cc
Family gpt2_family();         // gpt2.cc
Family llama_family();        // llama.cc
Family mistral_family();      // llama.cc
Family qwen2_family();        // qwen.cc
Family qwen3_family();        // qwen.cc
Family phi3_family();         // phi3.cc
Family gpt_neox_family();     // gpt_neox.cc
Family gguf_llama_family();   // gguf.cc
Family gguf_qwen2_family();   // gguf.cc
Family gguf_qwen3_family();   // gguf.cc
Family gguf_phi3_family();    // gguf.cc
Family ctranslate2_family();  // ctranslate2.cc

/// All families. To add one, write its file, declare its row here and add it to the table in families.cc. The
/// functions below search the families that are passed to them.
Families families();

/// The families of a program, in the order of the table.
std::vector<const Family*> families_of(std::string_view program, Families families);

/// The files and folders of a source, which the output of an import must not replace. Throws an input error if
/// there is no such program, or if the files are not those of a model of it.
std::vector<std::string> inputs_of(const ImportSource& source, Families families = sixfold::families());

/// Reads a source by the family that recognizes it. Throws an input error if none does.
Imported read_model(const ImportSource& source, Families families = sixfold::families());

/// Writes an imported model as the model folder `output`. If it fails, nothing is written.
void write_imported(const Imported& imported, const std::string& output);

/// Advice about a path that is not a model folder: what it is and how to import it. Empty if no program has
/// such files.
std::string import_advice(const std::string& path, Families families = sixfold::families());

/// Converts a model folder to the folder `output` for another program, by the first of its families that takes
/// such a model. What was written is read back by the same rules and compared: config, weights (bitwise, unless
/// the format is less precise) and tokenizers. If it fails, nothing is written. Throws an input error that
/// names the part of the model that the family does not support, or the difference that was found when the
/// output was read back.
void export_model(const std::string& model_folder, std::string_view program, const std::string& output,
                  Families families = sixfold::families());

/// `export_model` for Hugging Face.
void export_hugging_face(const std::string& model_folder, const std::string& output);

}  // namespace sixfold
