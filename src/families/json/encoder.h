#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "families/hugging_face.h"
#include "families/json/keys.h"

// Code that the encoders of Hugging Face share: BERT, RoBERTa, XLM-R and DistilBERT with heads for masked
// tokens, labels of texts and answers, and folders of sentence-transformers.

namespace sixfold {

/// What a model predicts, which the name of its class says.
enum class EncoderHead { masks, labels, answers, embedding };

/// The properties of one family of encoders.
struct EncoderKind {
  std::string_view type;    ///< "bert", the `model_type`
  std::string_view prefix;  ///< "Bert", the prefix of the names of classes
  std::string_view scope;   ///< "bert.", the prefix of the tensors of a model with a head
  /// The keys of config.json for these settings.
  const char *d_model, *heads, *d_ff, *layers, *dropout, *attention_dropout, *activation;
  /// The keys of the dropout of heads; null if config.json has none.
  std::vector<const char*> (*head_dropouts)() = nullptr;
  float norm_epsilon = 0;  ///< the epsilon of norms, if config.json has no key for it; 0: it has one
  /// `type_vocab_size` of a config.json without the key; 0: there are no token types.
  int default_token_types = 0;
  /// Whether the table of positions begins with unused rows, up to that of the id of the padding token.
  bool positions_after_pad = false;
  int separators = 1;  ///< number of end tokens between a question and a text
  /// Whether the head of masked tokens has GELU instead of the activation of layers.
  bool masks_by_gelu = false;
  Activation classifier = Activation::tanh;  ///< activation of the linear layer before the output of labels
  std::string_view mask = "[MASK]", start = "[CLS]", end = "[SEP]";  ///< special tokens that no file names
  /// The rules of the layers. `scope` is the prefix of their names.
  NameRules (*layers_rules)(const std::string& scope);
  /// The names of the tensors of the heads, such as "classifier.dense". For masked tokens: the linear layer,
  /// its norm, the bias of the output, and a copy of the weight of the output. For labels: the linear layer and
  /// the output.
  std::string_view mask_dense, mask_norm, mask_bias, mask_copy, class_dense, class_output;
  /// Makes the text of a tokenizer.json for a folder without this file.
  std::string (*old_tokenizer_json)(const std::filesystem::path& folder);
};

/// The end of the name of the class with this head: "ForMaskedLM".
std::string_view class_ending(EncoderHead head);

/// The rules for the names of tensors. `tied`: the output of masked tokens is tied to the embedding. `scope`:
/// `EncoderKind::scope` or empty. `skipped`: the number of unused rows at the beginning of the table of
/// positions.
NameRules encoder_rules(const EncoderKind& kind, EncoderHead head, bool tied, const std::string& scope,
                        int64_t skipped);

/// The names of the labels in a config.json, in the order of their numbers. Throws an input error that names
/// the key.
std::vector<std::string> labels_of(const JsonKeys& keys);

/// Adds the keys that `labels_of` reads.
void write_labels(const std::vector<std::string>& labels, nlohmann::ordered_json& keys);

Imported read_encoder(const ImportSource& source, const EncoderKind& kind);

/// The head of an encoder of text; nothing if a model is for another task.
std::optional<EncoderHead> encoder_head(const ModelConfig& config);

/// Throws an input error unless the layers of an encoder, apart from the places of their norms, are those of
/// these families. `supported`: as in `need_usual_network`.
void check_encoder_layers(const ExportSource& source, const std::string& class_name,
                          std::initializer_list<std::string_view> supported);

/// The weights of an encoder for an export: positions as a table, and zeros for biases and token types that the
/// model does not have. `model` must outlive the result.
WeightValues encoder_values(const Transformer& model);

/// Writes the folder of an encoder of text, with the files of sentence-transformers if it predicts embeddings.
/// Throws an input error that names what the family lacks.
Exported write_encoder(const ExportSource& source, const std::string& folder, const EncoderKind& kind);

}  // namespace sixfold
