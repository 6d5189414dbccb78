#include "tasks/translation/extra_outputs.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/error.h"
#include "model/attention_weights.h"
#include "search/scoring.h"
#include "tasks/translation/confidence.h"
#include "text/token_words.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

using Ids = std::vector<int32_t>;

/// The encoder's input; an empty source is represented by the end token.
Ids source_of(const ScoredPair& pair, int32_t eos) {
  return pair.source.empty() ? Ids{eos} : Ids(pair.source.begin(), pair.source.end());
}

/// The expected output of the decoder: the tokens of the hypothesis, followed by the end token if it ends.
Ids output_of(const ScoredPair& pair, int32_t eos) {
  Ids ids = pair.output.ids;
  if (pair.ends()) ids.push_back(eos);
  return ids;
}

void add_tokens(const ModelRuntime& open, const DecodeWorkspace& decoding, std::span<const ScoredPair> pairs,
                const PairContext& common, std::span<Translation> translations) {
  std::vector<Ids> sources, targets;
  for (const ScoredPair& pair : pairs) {
    sources.push_back(source_of(pair, open.config().eos));
    targets.push_back(pair.output.ids);
  }
  const auto scores =
      score_targets(decoding, sources, targets, std::numeric_limits<int32_t>::max(), common.allowed);
  for (size_t i = 0; i < pairs.size(); ++i) {
    const Ids ids = output_of(pairs[i], open.config().eos);
    for (size_t t = 0; t < ids.size(); ++t)
      translations[i].tokens.push_back(
          {open.target().token_text(ids[t]), t < common.forced ? 0 : scores[i][t]});
  }
}

/// Sums the attention weights, [heads, target tokens, source tokens], over heads and source words. Returns
/// (source word, target word) for each target word, with the source word of the largest weight of its first
/// token: later ones, such as endings and punctuation, attend elsewhere. Target words that attend most to a
/// token outside of all words are left out.
std::vector<std::pair<int, int>> align(const std::vector<float>& weights, int heads,
                                       const std::vector<int>& source_words,
                                       const std::vector<int>& target_words) {
  const size_t columns = source_words.size(), rows = target_words.size();
  int sources = 0, targets = 0;
  for (const int word : source_words) sources = std::max(sources, word + 1);
  for (const int word : target_words) targets = std::max(targets, word + 1);
  const auto is_first = [&](size_t t) {
    return target_words[t] >= 0 && (t == 0 || target_words[t] != target_words[t - 1]);
  };
  // The last column is for tokens that belong to no word: the end token and a language token.
  std::vector<double> sums(static_cast<size_t>(targets) * static_cast<size_t>(sources + 1));
  for (size_t head = 0; head < static_cast<size_t>(heads); ++head)
    for (size_t t = 0; t < rows; ++t)
      for (size_t s = 0; s < columns && is_first(t); ++s) {
        const auto row = static_cast<size_t>(target_words[t]), width = static_cast<size_t>(sources) + 1;
        const auto word = static_cast<size_t>(source_words[s] >= 0 ? source_words[s] : sources);
        sums[row * width + word] += static_cast<double>(weights[(head * rows + t) * columns + s]);
      }
  std::vector<std::pair<int, int>> alignment;
  for (int t = 0; t < targets; ++t) {
    const auto row = sums.begin() + t * (sources + 1);
    const auto best = std::max_element(row, row + sources + 1) - row;
    if (best < sources) alignment.emplace_back(static_cast<int>(best), t);
  }
  return alignment;
}

/// The word of the text that each of its first tokens belongs to. Nothing if the text is segmented, so that its
/// words are others than those that people see.
std::optional<std::vector<int>> words_in_text(const Tokenizer& tokenizer, const std::string& text,
                                              std::span<const int32_t> tokens) {
  if (tokenizer.join(text) != text) return {};
  const std::vector<LocatedToken> located = tokenizer.locate(text);
  if (located.size() < tokens.size()) return {};
  const std::vector<TextRange> ranges = word_ranges(text);
  std::vector<int> words;
  size_t begun = 0;  // words
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (located[i].id != tokens[i]) return {};
    while (begun < ranges.size() && ranges[begun].begin < located[i].end) ++begun;
    words.push_back(static_cast<int>(begun) - 1);
  }
  return words;
}

/// The word of each token that the encoder reads. Those around the text belong to none.
std::vector<int> words_of_source(const ModelRuntime& open, const ScoredPair& pair, const PairContext& common) {
  if (pair.source.empty()) return {-1};
  const size_t end = pair.source.size() - common.suffix, begin = std::min(common.prefix, end);
  std::vector<int> words(begin, -1);
  const auto tokens = pair.source.subspan(begin, end - begin);
  const auto in_text = words_in_text(open.source(), replace_invalid_utf8(std::string(pair.text)), tokens);
  const std::vector<int> of_tokens = in_text ? *in_text : words_of_tokens(open.source(), tokens);
  words.insert(words.end(), of_tokens.begin(), of_tokens.end());
  words.resize(pair.source.size(), -1);
  return words;
}

/// The word of each token of the expected output; the end token belongs to none.
std::vector<int> words_of_output(const ModelRuntime& open, const ScoredPair& pair, const PairContext& common) {
  std::vector<int> words = words_of_tokens(open.target(), pair.output.ids, common.shows_unknown);
  words.resize(output_of(pair, open.config().eos).size(), -1);
  return words;
}

int layer_of(const ModelRuntime& open, std::optional<int> layer) {
  return layer ? open.decoder_layer(*layer) : open.config().alignment_layer();
}

void add_attention(const ModelRuntime& open, const DecodeWorkspace& decoding, std::span<const ScoredPair> pairs,
                   const ExtraOutputs& extra, const PairContext& common, std::span<Translation> translations) {
  const int32_t eos = open.config().eos;
  auto weights = cross_attention(open, decoding, pairs, extra.layer);
  for (size_t i = 0; i < pairs.size(); ++i) {
    const std::vector<int> source_words = words_of_source(open, pairs[i], common),
                           target_words = words_of_output(open, pairs[i], common);
    if (extra.alignment && !pairs[i].source.empty())
      translations[i].alignment = align(weights[i], open.config().heads, source_words, target_words);
    if (extra.attention) {
      SentenceAttention& attention = translations[i].attention.emplace();
      attention.layer = layer_of(open, extra.layer);
      attention.heads = open.config().heads;
      attention.weights = std::move(weights[i]);
      attention.source = token_texts(open.source(), source_of(pairs[i], eos));
      attention.target = token_texts(open.target(), output_of(pairs[i], eos));
      attention.source_words = source_words;
      attention.target_words = target_words;
    }
  }
}

void add_all_attention(const ModelRuntime& open, const DecodeWorkspace& decoding, const ScoredPair& pair,
                       const ExtraOutputs& extra, Translation& translation) {
  require_observable(extra, output_of(pair, open.config().eos).size(), "translation");
  const Batch batch = batch_of({&pair, 1}, open.config());
  const auto source = token_texts(open.source(), batch.source.ids),
             read = token_texts(open.target(), batch.target.ids);
  Context context(decoding.backend, decoding.arena);
  for (LayerAttention& layer : all_attention_weights(open.model(), batch, context)) {
    SentenceAttention& attention = translation.all_attention.emplace_back();
    attention.kind = layer.kind;
    attention.source = layer.kind == AttentionKind::decoder ? read : source;
    attention.target = layer.kind == AttentionKind::encoder ? source : read;
    attention.layer = layer.layer;
    attention.weights = std::move(layer.weights[0]);
    attention.heads =
        static_cast<int>(attention.weights.size() / (attention.source.size() * attention.target.size()));
  }
  std::ranges::stable_sort(translation.all_attention, {}, &SentenceAttention::kind);
}

}  // namespace

Batch batch_of(std::span<const ScoredPair> pairs, const ModelConfig& config) {
  BatchBuilder builder;
  for (const ScoredPair& pair : pairs) {
    builder.source(source_of(pair, config.eos));
    if (pair.ends())
      builder.teacher_forced(pair.output.ids, config.target_ends());
    else
      builder.teacher_forced_prefix(pair.output.ids, config.decoder_start_token);
  }
  return builder.take();
}

std::vector<std::vector<float>> cross_attention(const ModelRuntime& open, const DecodeWorkspace& decoding,
                                                std::span<const ScoredPair> pairs, std::optional<int> layer) {
  Context context(decoding.backend, decoding.arena);
  return attention_weights(open.model(), batch_of(pairs, open.config()), AttentionKind::cross,
                           layer_of(open, layer), context);
}

std::vector<std::string> token_texts(const Tokenizer& tokenizer, std::span<const int32_t> ids) {
  std::vector<std::string> texts;
  for (const int32_t id : ids)
    texts.push_back(id == ModelConfig::zero_start ? "(start)" : tokenizer.token_text(id));
  return texts;
}

void require_observable(const ExtraOutputs& extra, size_t tokens, const char* what) {
  if (extra.most_tokens == 0 || !(extra.all_attention || extra.search)) return;
  require(tokens <= static_cast<size_t>(extra.most_tokens),
          "the {} has {} tokens; attention of all layers and the steps of the search are shown for at most {}",
          what, tokens, extra.most_tokens);
}

void add_extra_outputs(const ModelRuntime& open, const DecodeWorkspace& decoding,
                       std::span<const ScoredPair> pairs, const ExtraOutputs& extra, const PairContext& common,
                       std::span<Translation> translations) {
  if (extra.tokens) add_tokens(open, decoding, pairs, common, translations);
  if (extra.alignment || extra.attention) add_attention(open, decoding, pairs, extra, common, translations);
  if (extra.confidence) {
    const auto found =
        confidences(decoding, open.source(), open.target(), pairs, common.forced, common.confidence);
    for (size_t i = 0; i < pairs.size(); ++i) translations[i].confidence = found[i];
  }
  if (extra.all_attention && !pairs.empty())
    add_all_attention(open, decoding, pairs.front(), extra, translations.front());
}

}  // namespace sixfold
