#include "text/subword_sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/protobuf.h"
#include "text/sentence_piece.h"

namespace sixfold {
namespace {

using protobuf::take_field;

constexpr std::string_view word_begin = "\u2581";  // SentencePiece's sign for a space before a word

bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

/// The places at which a character begins, and the end.
std::vector<size_t> characters_of(std::string_view word) {
  std::vector<size_t> begins;
  for (size_t i = 0; i < word.size(); ++i)
    if (begins_character(word[i])) begins.push_back(i);
  begins.push_back(word.size());
  return begins;
}

}  // namespace

void SubwordSampler::require_kind(TokenizerKind kind) {
  require(
      kind == TokenizerKind::sentencepiece,
      "data.subword_sampling: only tokenizers of the kind sentencepiece have several segmentations of a word; "
      "set it to 0");
}

SubwordSampler::SubwordSampler(const Tokenizer& tokenizer) {
  require_kind(tokenizer.kind());
  constexpr uint64_t normal_type = 1;
  uint64_t model_type = 1;
  std::unordered_map<std::string, float> scores;
  std::string_view model = tokenizer.serialized();
  while (const auto field = take_field(model)) {
    std::string_view message = field->bytes;
    if (field->number == 1) {
      std::string text;
      float score = 0;
      uint64_t type = normal_type;
      while (const auto part = take_field(message)) {
        if (part->number == 1) text = part->bytes;
        if (part->number == 2) score = std::bit_cast<float>(static_cast<uint32_t>(part->value));
        if (part->number == 3) type = part->value;
      }
      if (type == normal_type) scores.emplace(std::move(text), score);
    } else if (field->number == 2) {
      while (const auto part = take_field(message))
        if (part->number == 3) model_type = part->value;
    }
  }
  require(model_type <= 2,
          "data.subword_sampling: the SentencePiece model is one of words or characters, which have one "
          "segmentation; "
          "set it to 0");
  is_bpe_ = model_type == 2;
  texts_.resize(static_cast<size_t>(tokenizer.vocab_size()));
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id)
    if (scores.contains(tokenizer.token_text(id))) texts_[static_cast<size_t>(id)] = tokenizer.token_text(id);
  for (size_t id = 0; id < texts_.size(); ++id) {
    if (texts_[id].empty()) continue;
    pieces_.emplace(texts_[id], Piece{static_cast<int32_t>(id), scores.at(texts_[id])});
    longest_ = std::max(longest_, texts_[id].size());
  }
}

const SubwordSampler::Piece* SubwordSampler::find(std::string_view text) const {
  const auto found = pieces_.find(text);
  return found == pieces_.end() ? nullptr : &found->second;
}

std::vector<int32_t> SubwordSampler::sample(std::span<const int32_t> ids, double rate,
                                            RandomStream& random) const {
  std::vector<int32_t> result;
  std::string word;
  for (size_t i = 0; i < ids.size();) {
    const size_t begin = i;
    word.clear();
    for (; i < ids.size(); ++i) {
      const std::string& text = texts_[static_cast<size_t>(ids[i])];
      if (text.empty() || (!word.empty() && text.starts_with(word_begin))) break;
      word += text;
    }
    if (word.empty()) {
      result.push_back(ids[i++]);
      continue;
    }
    const size_t before = result.size();
    if (is_bpe_)
      merge(word, rate, random, result);
    else
      draw(word, rate, random, result);
    if (result.size() == before)
      result.insert(result.end(), ids.begin() + static_cast<std::ptrdiff_t>(begin),
                    ids.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return result;
}

/// Appends the tokens of a word of BPE; none if one of its characters is not a token, or if it has too many.
void SubwordSampler::merge(std::string_view word, double rate, RandomStream& random,
                           std::vector<int32_t>& ids) const {
  struct Symbol {
    size_t begin, size;
    const Piece* merged;  // the piece that this symbol and the next one merge to, or null
  };
  constexpr size_t max_characters = 256;
  const std::vector<size_t> begins = characters_of(word);
  if (begins.size() > max_characters + 1) return;
  std::vector<Symbol> symbols;
  for (size_t i = 0; i + 1 < begins.size(); ++i) {
    symbols.push_back({begins[i], begins[i + 1] - begins[i], nullptr});
    if (!find(word.substr(begins[i], symbols[i].size))) return;
  }
  const auto look_up = [&](size_t i) {
    symbols[i].merged = i + 1 < symbols.size()
                            ? find(word.substr(symbols[i].begin, symbols[i].size + symbols[i + 1].size))
                            : nullptr;
  };
  for (size_t i = 0; i < symbols.size(); ++i) look_up(i);
  for (;;) {
    size_t best = symbols.size();
    for (size_t i = 0; i < symbols.size(); ++i) {
      const Piece* const merged = symbols[i].merged;
      if (!merged || (rate > 0 && random.uniform() < rate)) continue;
      if (best == symbols.size() || merged->score > symbols[best].merged->score) best = i;
    }
    if (best == symbols.size()) break;
    symbols[best].size += symbols[best + 1].size;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    look_up(best);
    if (best > 0) look_up(best - 1);
  }
  for (const Symbol& symbol : symbols) ids.push_back(find(word.substr(symbol.begin, symbol.size))->id);
}

/// Appends the tokens of a word of a unigram model; none if it has no segmentation. Forward filtering computes
/// for each prefix of the word the sum of the probabilities of its segmentations; backward sampling then draws
/// the pieces from the last one to the first.
void SubwordSampler::draw(std::string_view word, double rate, RandomStream& random,
                          std::vector<int32_t>& ids) const {
  constexpr double none = -std::numeric_limits<double>::infinity();
  const std::vector<size_t> begins = characters_of(word);
  const size_t count = begins.size() - 1;
  struct Edge {
    size_t from;
    int32_t id;
    double weight;  // log of the sum of the probabilities of all segmentations that end with this piece
  };
  std::vector<double> sums(count + 1, none);
  std::vector<std::vector<Edge>> edges(count + 1);
  sums[0] = 0;
  for (size_t end = 1; end <= count; ++end) {
    double largest = none;
    for (size_t from = end; from-- > 0 && begins[end] - begins[from] <= longest_;) {
      const Piece* const piece =
          sums[from] == none ? nullptr : find(word.substr(begins[from], begins[end] - begins[from]));
      if (!piece) continue;
      edges[end].push_back({from, piece->id, sums[from] + rate * static_cast<double>(piece->score)});
      largest = std::max(largest, edges[end].back().weight);
    }
    double sum = 0;
    for (const Edge& edge : edges[end]) sum += std::exp(edge.weight - largest);
    if (sum > 0) sums[end] = largest + std::log(sum);
  }
  if (sums[count] == none) return;
  const auto first = ids.size();
  for (size_t end = count; end > 0;) {
    double left = random.uniform();
    const Edge* chosen = &edges[end].back();
    for (const Edge& edge : edges[end]) {
      left -= std::exp(edge.weight - sums[end]);
      if (left < 0) {
        chosen = &edge;
        break;
      }
    }
    ids.push_back(chosen->id);
    end = chosen->from;
  }
  std::reverse(ids.begin() + static_cast<std::ptrdiff_t>(first), ids.end());
}

}  // namespace sixfold
