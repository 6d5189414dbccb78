#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "families/hugging_face.h"
#include "families/json/keys.h"

// What the encoders of Hugging Face share: BERT, RoBERTa, XLM-R and DistilBERT with heads for masks, labels of
// texts and answers, and folders of sentence-transformers.

namespace sixfold {

/// What a model predicts, by the end of the name of its class.
enum class EncoderHead { masks, labels, answers, embedding };

/// What the file of a family says of itself.
struct EncoderKind {
  std::string_view type;    ///< "bert", the `model_type`
  std::string_view prefix;  ///< "Bert", of the names of classes
  std::string_view scope;   ///< "bert.", of the tensors of a model with a head
  /// The keys of sizes.
  const char *d_model, *heads, *d_ff, *layers, *dropout, *attention_dropout, *activation;
  /// The keys of the dropout of heads, in a config.json that has them.
  std::vector<const char*> (*head_dropouts)() = nullptr;
  float norm_epsilon = 0;  ///< of a config.json that has no key of it; 0: it has
  int usual_types = 0;     ///< `type_vocab_size` of a config.json without it; 0: there are no token types
  bool positions_after_pad = false;  ///< the table of positions begins with rows up to the padding token
  int separators = 1;                ///< end tokens between a question and a text
  bool masks_by_gelu =
      false;  ///< the map before the output of masks has GELU, and not the activation of layers
  Activation classifier = Activation::tanh;                          ///< of the map before the labels
  std::string_view mask = "[MASK]", start = "[CLS]", end = "[SEP]";  ///< where no file names them
  /// The rules of the layers; `scope` stands before their names.
  NameRules (*layers_rules)(const std::string& scope);
  /// The tensors of the heads: of masks the map, its norm, the bias of the output and a copy of its weight; of
  /// labels the map and the output. "classifier.dense".
  std::string_view mask_dense, mask_norm, mask_bias, mask_copy, class_dense, class_output;
  /// Makes the text of the tokenizer.json of a folder that has none.
  std::string (*old_tokenizer_json)(const std::filesystem::path& folder);
};

/// The end of the name of a class that predicts that: "ForMaskedLM".
std::string_view class_ending(EncoderHead head);

/// The names of tensors. `tied`: the output of masks is the embedding; `scope`: `EncoderKind::scope` or
/// nothing; `skipped`: rows of the table of positions before the first.
NameRules encoder_rules(const EncoderKind& kind, EncoderHead head, bool tied, const std::string& scope,
                        int64_t skipped);

/// The names of the labels, in the order of their numbers. Throws an input error that names the key.
std::vector<std::string> labels_of(const JsonKeys& keys);

/// Adds the keys of `labels_of`.
void write_labels(const std::vector<std::string>& labels, nlohmann::ordered_json& keys);

Imported read_encoder(const ImportSource& source, const EncoderKind& kind);

/// What an encoder of text predicts; nothing if a model is for another task.
std::optional<EncoderHead> encoder_head(const ModelConfig& config);

/// Throws an input error unless the layers of an encoder are those of these families, wherever their norms are.
/// `rare`: as in `need_usual_network`.
void check_encoder_layers(const ExportSource& source, const std::string& class_name,
                          std::initializer_list<std::string_view> rare);

/// The weights of an encoder as a family has them: positions as a table, zeros for biases and token types that
/// the model does not have. `model` must outlive the result.
WeightValues encoder_values(const Transformer& model);

/// Writes the folder of an encoder of text, with the files of sentence-transformers if it predicts embeddings.
/// Throws an input error that names what the family lacks.
Exported write_encoder(const ExportSource& source, const std::string& folder, const EncoderKind& kind);

}  // namespace sixfold
