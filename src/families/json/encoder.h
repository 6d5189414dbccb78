#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "families/hugging_face.h"
#include "families/json/keys.h"

// What the encoders of Hugging Face share: BERT, RoBERTa, XLM-R and DistilBERT with heads for masks, labels of
// texts and answers, and folders of sentence-transformers.

namespace sixfold {

/// What the file of a family says of itself.
struct EncoderKind {
  std::string_view type;    ///< "bert", the `model_type`
  std::string_view prefix;  ///< "Bert", of the names of classes
  std::string_view scope;   ///< "bert.", of the tensors of a model with a head
  /// The keys of sizes.
  const char *d_model, *heads, *d_ff, *layers, *dropout, *attention_dropout, *activation;
  int usual_types = 0;  ///< `type_vocab_size` of a config.json without it; 0: there are no token types
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

Imported read_encoder(const ImportSource& source, const EncoderKind& kind);

}  // namespace sixfold
