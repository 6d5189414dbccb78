#include <dlfcn.h>
#include <sentencepiece_processor.h>

#include <filesystem>
#include <mutex>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/join.h"
#include "metrics/bleu_tokenizers.h"
#include "metrics/unicode.h"
#include "text/sentence_piece_check.h"

// The tokenizers of BLEU that read a model or a dictionary.

namespace sixfold {
namespace {

class SpmTokenizer final : public ModelTokenizer {
 public:
  explicit SpmTokenizer(const std::string& path) {
    const std::string model = read_file(path);
    check_sentence_piece_model(model, path);
    std::string reason;
    try {
      reason = processor_.LoadFromSerializedProto(model).ToString();
    } catch (const std::exception& error) {  // thrown by the library's trie builder
      reason = error.what();
    }
    require(reason == "OK", "{}: SentencePiece can't load the model: {}", path, reason);
    signature_ = "spm-" + hash_hex(model).substr(0, 16);
  }

  std::u32string tokenize(std::u32string_view sentence) const override {
    std::vector<std::string> pieces;
    const auto status = processor_.Encode(encode_utf8(without_space_at_end(sentence)), &pieces);
    if (!status.ok()) throw_environment_error("SentencePiece: {}", status.ToString());
    return normalize_spaces(decode_utf8(join(pieces, " ")));
  }
  std::string_view signature() const override { return signature_; }

 private:
  sentencepiece::SentencePieceProcessor processor_;
  std::string signature_;
};

constexpr std::string_view install_mecab =
    "install MeCab and its dictionary (Debian: libmecab2 and mecab-ipadic-utf8)";

/// The functions of MeCab that are used here, declared as in its documentation. The library is loaded when
/// needed, so that the program runs without it.
class MecabTokenizer final : public ModelTokenizer {
 public:
  MecabTokenizer() {
    constexpr const char* dictionary = "/var/lib/mecab/dic/ipadic-utf8";
    std::error_code failure;
    if (!std::filesystem::exists(fmt::format("{}/sys.dic", dictionary), failure))
      throw_environment_error("ja-mecab needs the dictionary IPADIC in {}; {}", dictionary, install_mecab);
    library_ = ::dlopen("libmecab.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!library_) throw_environment_error("ja-mecab needs libmecab.so.2; {}", install_mecab);
    const auto create = function<void*(const char*)>("mecab_new2");
    // No mecabrc and no dictionary of the user: a score depends on the text alone.
    tagger_ = create(fmt::format("-r /dev/null -d {} -Owakati", dictionary).c_str());
    if (!tagger_)
      throw_environment_error("ja-mecab can't use the dictionary {}: {}; {}", dictionary,
                              function<const char*(void*)>("mecab_strerror")(nullptr), install_mecab);
    destroy_ = function<void(void*)>("mecab_destroy");
    parse_ = function<const char*(void*, const char*, size_t)>("mecab_sparse_tostr2");
    error_ = function<const char*(void*)>("mecab_strerror");
    signature_ = fmt::format("ja-mecab-{}-IPA", function<const char*()>("mecab_version")());
  }
  ~MecabTokenizer() override { destroy_(tagger_); }
  MecabTokenizer(const MecabTokenizer&) = delete;

  std::u32string tokenize(std::u32string_view sentence) const override {
    const std::string text = encode_utf8(without_space_at_begin(without_space_at_end(sentence)));
    const std::scoped_lock lock(mutex_);  // the tagger owns the result
    const char* words = parse_(tagger_, text.data(), text.size());
    if (!words) throw_environment_error("MeCab: {}", error_(tagger_));
    return normalize_spaces(decode_utf8(words));
  }
  std::string_view signature() const override { return signature_; }

 private:
  template <class Function>
  Function* function(const char* name) const {
    void* found = ::dlsym(library_, name);
    if (!found) throw_environment_error("libmecab.so.2 has no function {}; {}", name, install_mecab);
    return reinterpret_cast<Function*>(found);
  }

  void *library_ = nullptr, *tagger_ = nullptr;
  void (*destroy_)(void*) = nullptr;
  const char* (*parse_)(void*, const char*, size_t) = nullptr;
  const char* (*error_)(void*) = nullptr;
  std::string signature_;
  mutable std::mutex mutex_;
};

}  // namespace

std::shared_ptr<const ModelTokenizer> load_spm_tokenizer(const std::string& path) {
  return std::make_shared<SpmTokenizer>(path);
}

std::shared_ptr<const ModelTokenizer> load_mecab_tokenizer() { return std::make_shared<MecabTokenizer>(); }

}  // namespace sixfold
