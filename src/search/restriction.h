#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/config.h"

namespace sixfold {

/// Changes to the distribution over the next token of a hypothesis.
struct LogitEdits {
  std::vector<int32_t> banned;     ///< tokens that must not be chosen, in any order
  std::vector<int32_t> penalized;  ///< tokens whose log-probability is multiplied by `penalty`, each once
  float penalty = 1;

  void clear() { banned.clear(), penalized.clear(); }
};

/// The tokens of a hypothesis so far, without the start token.
struct RestrictedText {
  std::span<const int32_t> ids;  ///< the prompt of a language model, then what was generated
  size_t prompt = 0;             ///< number of tokens of the prompt
};

/// Restricts the next token of a hypothesis. It is a pure function of the hypothesis' tokens. Safe to share
/// between threads.
class Restriction {
 public:
  virtual ~Restriction() = default;
  /// Adds to `edits` the restrictions that apply after `text`.
  virtual void edit(const RestrictedText& text, LogitEdits& edits) const = 0;
};

/// Bans tokens everywhere.
class SuppressTokens final : public Restriction {
 public:
  explicit SuppressTokens(std::vector<int32_t> tokens) : tokens_(std::move(tokens)) {}
  void edit(const RestrictedText&, LogitEdits& edits) const override {
    edits.banned.insert(edits.banned.end(), tokens_.begin(), tokens_.end());
  }

 private:
  std::vector<int32_t> tokens_;
};

/// Bans tokens at one position after the prompt, counted from 0.
class SuppressAtPlace final : public Restriction {
 public:
  SuppressAtPlace(std::vector<int32_t> tokens, size_t place) : tokens_(std::move(tokens)), place_(place) {}
  void edit(const RestrictedText& text, LogitEdits& edits) const override {
    if (text.ids.size() == text.prompt + place_)
      edits.banned.insert(edits.banned.end(), tokens_.begin(), tokens_.end());
  }

 private:
  std::vector<int32_t> tokens_;
  size_t place_;
};

/// Penalizes the tokens that the text has already (Keskar et al. 2019, CTRL).
class RepetitionPenalty final : public Restriction {
 public:
  /// `start`: a token that counts as a token of every text, such as the start token; -1: none.
  explicit RepetitionPenalty(float penalty, int32_t start = -1) : penalty_(penalty), start_(start) {}
  void edit(const RestrictedText& text, LogitEdits& edits) const override {
    edits.penalty = penalty_;
    edits.penalized.assign(text.ids.begin(), text.ids.end());
    if (start_ >= 0) edits.penalized.push_back(start_);
    std::ranges::sort(edits.penalized);
    edits.penalized.erase(std::unique(edits.penalized.begin(), edits.penalized.end()), edits.penalized.end());
  }

 private:
  float penalty_;
  int32_t start_;
};

/// Bans the end tokens until the output has a minimum number of tokens.
class MinNewTokens final : public Restriction {
 public:
  MinNewTokens(int tokens, std::vector<int32_t> ends) : tokens_(tokens), ends_(std::move(ends)) {}
  void edit(const RestrictedText& text, LogitEdits& edits) const override {
    if (std::ssize(text.ids) - static_cast<int64_t>(text.prompt) < tokens_)
      edits.banned.insert(edits.banned.end(), ends_.begin(), ends_.end());
  }

 private:
  int tokens_;
  std::vector<int32_t> ends_;
};

/// Bans each token that would complete an n-gram that occurred before.
class NoRepeatedNgram final : public Restriction {
 public:
  explicit NoRepeatedNgram(int size) : size_(static_cast<size_t>(size)) {}
  void edit(const RestrictedText& text, LogitEdits& edits) const override {
    const std::span<const int32_t> ids = text.ids;
    if (ids.size() < size_) return;
    const auto last = ids.last(size_ - 1);
    for (size_t i = 0; i + size_ <= ids.size(); ++i)
      if (std::ranges::equal(ids.subspan(i, size_ - 1), last)) edits.banned.push_back(ids[i + size_ - 1]);
  }

 private:
  size_t size_;
};

/// Bans each token that would complete one of the phrases. A phrase of a single token is banned everywhere.
class BanPhrases final : public Restriction {
 public:
  explicit BanPhrases(std::vector<std::vector<int32_t>> phrases) : phrases_(std::move(phrases)) {}
  void edit(const RestrictedText& text, LogitEdits& edits) const override {
    for (const auto& phrase : phrases_) {
      const auto before = std::span(phrase).first(phrase.size() - 1);
      if (before.size() <= text.ids.size() && std::ranges::equal(before, text.ids.last(before.size())))
        edits.banned.push_back(phrase.back());
    }
  }

 private:
  std::vector<std::vector<int32_t>> phrases_;
};

using Restrictions = std::vector<std::unique_ptr<const Restriction>>;

/// Returns the restrictions of the rules that beam search and sampling share: all but the repetition penalty.
/// `more_ends`: tokens besides that of the model that end an output.
Restrictions restrictions_of(const ModelConfig& model, const GenerationConfig& rules,
                             const std::vector<int32_t>& more_ends);

}  // namespace sixfold
