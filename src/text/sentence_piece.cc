#include "text/sentence_piece.h"

#include <sentencepiece_processor.h>

#include "base/error.h"
#include "text/sentence_piece_check.h"

namespace sixfold {
namespace {

// A normalizer_spec (field 3) in which only remove_extra_whitespaces (field 4) is set, to false. Protobuf
// merges what is appended to a message into it.
constexpr std::string_view keep_spaces("\x1a\x02\x20\x00", 4);

class SentencePieceTokenizer : public Tokenizer {
 public:
  SentencePieceTokenizer(std::string model, const std::string& origin, Spaces spaces)
      : model_(std::move(model)) {
    check_sentence_piece_model(model_, origin);
    load(spaces == Spaces::keep ? model_ + std::string(keep_spaces) : model_, origin);
    unk_ = processor_.unk_id();
    bos_ = processor_.bos_id();
    eos_ = processor_.eos_id();
    require(eos_ >= 0, "{}: the SentencePiece model has no end symbol; train it with --eos_id", origin);
  }

  std::vector<int32_t> encode(std::string_view text) const override {
    std::vector<int> ids;
    check(processor_.Encode(text, &ids));
    return ids;
  }

  std::string decode(std::span<const int32_t> ids) const override {
    std::string text;
    check(processor_.Decode(std::vector<int>(ids.begin(), ids.end()), &text));
    return text;
  }

  int vocab_size() const override { return processor_.GetPieceSize(); }

  std::string piece(int32_t id) const override {
    require(id >= 0 && id < vocab_size(), "id {} is not of the vocabulary, which has {} pieces", id,
            vocab_size());
    return processor_.IdToPiece(id);
  }

  TokenizerKind kind() const override { return TokenizerKind::sentencepiece; }
  const std::string& serialized() const override { return model_; }

 private:
  void load(const std::string& model, const std::string& origin) {
    std::string reason;
    try {
      reason = processor_.LoadFromSerializedProto(model).ToString();
    } catch (const std::exception& error) {  // its trie's builder throws
      reason = error.what();
    }
    require(reason == "OK", "{}: SentencePiece refuses the model: {}", origin, reason);
  }

  static void check(const sentencepiece::util::Status& status) {
    require(status.ok(), "SentencePiece: {}", status.ToString());
  }

  std::string model_;
  sentencepiece::SentencePieceProcessor processor_;
};

}  // namespace

std::shared_ptr<const Tokenizer> load_sentence_piece(std::string model, const std::string& origin,
                                                     Spaces spaces) {
  return std::make_shared<SentencePieceTokenizer>(std::move(model), origin, spaces);
}

}  // namespace sixfold
