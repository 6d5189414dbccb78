#pragma once
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "families/name_rules.h"
#include "model/transformer.h"
#include "model_folder/shortlist.h"
#include "text/tokenizers.h"

// A family is a kind of model of another program. Its file defines how such a model is recognized, how the
// architecture is read from the config of the program, and the rules for the names of tensors; import and
// export use the same rules. All families are rows of one table (families/families.h), which is passed to the
// functions that search it.

namespace sixfold {

/// The files of a model of another program, as a user names them.
struct ImportSource {
  std::string program;  ///< `Program::name`
  std::string path;     ///< a file or a folder
  // Of a model whose files do not name them:
  std::vector<std::string> vocabularies = {};     ///< of source and target
  std::vector<std::string> sentence_pieces = {};  ///< SentencePiece models of source and target
  /// The values of Marian's option --shortlist: a file, and perhaps numbers.
  std::vector<std::string> shortlist = {};
};

/// Information and warnings of a reader, which are printed by the function that called it.
struct Notes {
  struct Note {
    bool warning;
    std::string text;
  };
  std::vector<Note> all;

  template <class... Args>
  void info(fmt::format_string<Args...> format, Args&&... args) {
    all.push_back({false, fmt::format(format, std::forward<Args>(args)...)});
  }
  template <class... Args>
  void warn(fmt::format_string<Args...> format, Args&&... args) {
    all.push_back({true, fmt::format(format, std::forward<Args>(args)...)});
  }
};

/// A model of another program that was read.
struct Imported {
  std::unique_ptr<Transformer> model = {};  ///< its config has the generation settings too
  Tokenizers tokenizers = {};               ///< null for a model that reads images and writes no text
  std::optional<Shortlist> shortlist = {};  ///< the shortlist with which the model is meant to translate
  std::string step;                         ///< for provenance.json: {"step": "import", "from": "marian"}
  std::string origin;                       ///< the file or folder, for messages
  Notes notes = {};
};

/// Throws an input error that begins with `where`, the other program's config, if the model that it describes
/// can't be built.
void validate_described(const ModelConfig& config, const std::string& where);

/// A model folder that is exported.
struct ExportSource {
  const std::string& folder;
  const Transformer& model;
  const Tokenizers& tokenizers;

  /// Throws an input error unless `supported`: that the model can't be exported as a `class_name`, and why.
  void need(bool supported, std::string_view class_name, const std::string& difference) const;
};

/// The model that an export has written, in the form of the other program. Reading it back must give the same
/// model.
struct Exported {
  ModelConfig config = {};
  WeightValues values = {};  ///< the values of the weights of a model of `config`
  std::vector<std::string> source_pieces = {}, target_pieces = {};  ///< the vocabularies, in the order of ids
  /// A value x may differ by this times max(1, |x|), if the format does not keep its bits.
  float precision = 0;
};

struct Family;
using Families = std::span<const Family>;

/// A program whose models are imported. All of its families have the same kind of files.
struct Program {
  std::string_view name;   ///< of `sixfold import NAME` and `sixfold export NAME`
  std::string_view title;  ///< "Hugging Face"
  /// The files and folders of a source, which the output of an import must not replace. Throws an input error
  /// if they are not those of this program.
  std::vector<std::string> (*inputs)(const ImportSource& source);
  /// Throws an input error that says why no family recognizes a source; `families` are this program's.
  void (*refuse)(const ImportSource& source, const std::vector<const Family*>& families);
  /// Advice about a path that is not a model folder: what it is and how to import it. Empty if it does not
  /// belong to this program.
  std::string (*advise)(const std::string& path, const std::vector<const Family*>& families);
  /// Finds the path for the name of a model, such as a model of the hub. Null: all names are paths.
  std::string (*locate)(const std::string& name) = nullptr;
};

/// A kind of models of another program.
struct Family {
  const Program* program;
  std::string_view name;        ///< of Hugging Face: the `model_type` of its config.json
  std::string_view class_name;  ///< "GPT2LMHeadModel"
  std::string_view title;       ///< its short name in help texts: "GPT-2"
  bool (*recognizes)(const ImportSource& source, const Family& family);
  /// Throws an input error that names the key, file or tensor that is not supported.
  Imported (*read)(const ImportSource& source);
  /// The models that are exported as models of this family: a description, and whether a model is one of them.
  /// Null: none.
  std::string_view exports = {};
  bool (*takes)(const ModelConfig& config) = nullptr;
  /// Writes all files into an existing folder. Throws an input error that names the first property that this
  /// family does not support.
  Exported (*write)(const ExportSource& source, const std::string& folder) = nullptr;
};

}  // namespace sixfold
