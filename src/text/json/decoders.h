#pragma once
#include <memory>
#include <string>
#include <vector>

#include "text/json/json_stage.h"

namespace sixfold {

/// A decoder of a tokenizer.json: changes the texts of tokens, which are then joined. Safe to share between
/// threads.
class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual std::vector<std::string> apply(std::vector<std::string> texts) const = 0;
};

/// Makes the decoder that a tokenizer.json describes: ByteFallback, ByteLevel, Fuse, Metaspace, Replace, Strip,
/// WordPiece, or a Sequence of them. ByteLevel gives the bytes as they are, even where they are no UTF-8.
/// Throws an input error that names the key for what is malformed or not supported.
std::unique_ptr<const Decoder> make_decoder(const JsonStage& json);

}  // namespace sixfold
