#include "tasks/translation/extra_outputs.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/error.h"
#include "model/attention_weights.h"
#include "search/scoring.h"
#include "tasks/translation/confidence.h"
#include "text/token_words.h"
#include "text/utf8.h"
#include "text/word_links.h"

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

void add_tokens(const ModelRuntime& runtime, const DecodeWorkspace& decoding, std::span<const ScoredPair> pairs,
                const PairContext& common, std::span<Translation> translations) {
  const auto scores = score_batch(decoding, batch_of(pairs, runtime.config()), common.allowed);
  for (size_t i = 0; i < pairs.size(); ++i) {
    const Ids ids = output_of(pairs[i], runtime.config().eos);
    for (size_t t = 0; t < ids.size(); ++t)
      translations[i].tokens.push_back(
          {runtime.target().token_text(ids[t]), t < common.forced ? 0 : scores[i][t]});
  }
}

/// The words of tokens, in ascending order. There may be more words than these, and far more than tokens: an
/// unknown token may stand for many.
std::vector<int> distinct_words(std::vector<int> words) {
  std::ranges::sort(words);
  words.erase(words.begin(), std::ranges::lower_bound(words, 0));
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

/// For each word its index in `distinct`, or the number of these for -1.
std::vector<size_t> indices_in(const std::vector<int>& distinct, const std::vector<int>& words) {
  std::vector<size_t> indices;
  for (const int word : words)
    indices.push_back(word < 0
                          ? distinct.size()
                          : static_cast<size_t>(std::ranges::lower_bound(distinct, word) - distinct.begin()));
  return indices;
}

/// Returns (source word, target word) for each target word. The source word is the one with the largest sum of
/// attention weights, over heads and source tokens, of the first token of the target word: later tokens, such
/// as endings and punctuation, attend elsewhere. Target words that attend most to a token that is part of no
/// word are left out. `weights`: [heads, target tokens, source tokens].
WordLinks align(const std::vector<float>& weights, int heads, const std::vector<int>& source_words,
                const std::vector<int>& target_words) {
  const size_t columns = source_words.size(), rows = target_words.size();
  const std::vector<int> sources = distinct_words(source_words), targets = distinct_words(target_words);
  const std::vector<size_t> source_indices = indices_in(sources, source_words),
                            target_indices = indices_in(targets, target_words);
  const size_t width = sources.size() + 1;
  const auto is_first = [&](size_t t) {
    return target_words[t] >= 0 && (t == 0 || target_words[t] != target_words[t - 1]);
  };
  // The last column is for source tokens that are part of no word: the end token and language tokens.
  std::vector<double> sums(targets.size() * width);
  for (size_t head = 0; head < static_cast<size_t>(heads); ++head)
    for (size_t t = 0; t < rows; ++t)
      for (size_t s = 0; s < columns && is_first(t); ++s)
        sums[target_indices[t] * width + source_indices[s]] +=
            static_cast<double>(weights[(head * rows + t) * columns + s]);
  WordLinks alignment;
  for (size_t t = 0; t < targets.size(); ++t) {
    const double* const row = sums.data() + t * width;
    const auto best = static_cast<size_t>(std::max_element(row, row + width) - row);
    if (best < sources.size()) alignment.emplace_back(sources[best], targets[t]);
  }
  return alignment;
}

/// Adds pairs for the words that share a token with a later word, which alone is in the alignment: one for
/// each.
void add_shared(const TokenWords& source, const TokenWords& target, WordLinks& alignment) {
  std::map<int, int> sources, targets;  // the first pairs, from either side
  for (const auto& [from, to] : alignment) {
    sources.emplace(to, from);
    targets.emplace(from, to);
  }
  for (const auto& [word, last] : source.shared)
    if (const auto found = targets.find(last); found != targets.end())
      alignment.emplace_back(word, found->second);
  for (const auto& [word, last] : target.shared)
    if (const auto found = sources.find(last); found != sources.end())
      alignment.emplace_back(found->second, word);
}

/// The words of the text, or their parts, that tokens are part of. Nothing if the text is already segmented
/// into subwords, or if `tokens` are not the beginning of its tokens.
std::optional<TokenWords> words_in_text(const Tokenizer& tokenizer, const std::string& text,
                                        std::span<const int32_t> tokens, bool parts) {
  if (tokenizer.join(text) != text) return {};
  const std::vector<LocatedToken> located = tokenizer.locate(text);
  if (located.size() < tokens.size()) return {};
  std::vector<TextRange> places;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (located[i].id != tokens[i]) return {};
    places.push_back({located[i].begin, located[i].end});
  }
  const std::vector<TextRange> words = word_ranges(text), ranges = parts ? word_parts(text) : words;
  TokenWords found = words_of_places(places, ranges);
  if (ranges == words) found.shared.clear();
  return found;
}

/// The words of the tokens of the encoder input; -1 for tokens around the text.
TokenWords words_of_source(const ModelRuntime& runtime, const ScoredPair& pair, const PairContext& common,
                           bool parts) {
  if (pair.source.empty()) return {{-1}};
  const size_t end = pair.source.size() - common.suffix, begin = std::min(common.prefix, end);
  const auto tokens = pair.source.subspan(begin, end - begin);
  const std::string text = replace_invalid_utf8(std::string(pair.text));
  TokenWords found;
  if (auto in_text = words_in_text(runtime.source(), text, tokens, parts))
    found = *std::move(in_text);
  else if (parts)
    found = parts_of_tokens(runtime.source(), tokens, /*shows_unknown=*/false, runtime.source().decode(tokens));
  else
    found.words = words_of_tokens(runtime.source(), tokens);
  found.words.insert(found.words.begin(), begin, -1);
  found.words.resize(pair.source.size(), -1);
  return found;
}

/// The words of the tokens of the expected output, whose text is `shown`; -1 for the end token.
TokenWords words_of_output(const ModelRuntime& runtime, const ScoredPair& pair, const PairContext& common,
                           bool parts, std::string_view shown) {
  TokenWords found;
  if (parts)
    found = parts_of_tokens(runtime.target(), pair.output.ids, common.shows_unknown, shown);
  else
    found.words = words_of_tokens(runtime.target(), pair.output.ids, common.shows_unknown);
  found.words.resize(output_of(pair, runtime.config().eos).size(), -1);
  return found;
}

int layer_of(const ModelRuntime& runtime, std::optional<int> layer) {
  return layer ? runtime.decoder_layer(*layer) : runtime.config().alignment_layer();
}

void add_attention(const ModelRuntime& runtime, const DecodeWorkspace& decoding,
                   std::span<const ScoredPair> pairs, const ExtraOutputs& extra, const PairContext& common,
                   std::span<Translation> translations) {
  const int32_t eos = runtime.config().eos;
  const int heads = runtime.config().of_decoder().heads;
  auto weights = cross_attention(runtime, decoding, pairs, extra.layer);
  for (size_t i = 0; i < pairs.size(); ++i) {
    TokenWords source = words_of_source(runtime, pairs[i], common, extra.word_parts),
               target = words_of_output(runtime, pairs[i], common, extra.word_parts, translations[i].text);
    if (extra.alignment && !pairs[i].source.empty())
      translations[i].alignment = align(weights[i], heads, source.words, target.words);
    if (extra.word_parts) add_shared(source, target, translations[i].alignment);
    if (extra.attention) {
      SentenceAttention& attention = translations[i].attention.emplace();
      attention.layer = layer_of(runtime, extra.layer);
      attention.heads = heads;
      attention.weights = std::move(weights[i]);
      attention.source = token_texts(runtime.source(), source_of(pairs[i], eos));
      attention.target = token_texts(runtime.target(), output_of(pairs[i], eos));
      attention.source_words = std::move(source.words);
      attention.target_words = std::move(target.words);
    }
  }
}

void add_all_attention(const ModelRuntime& runtime, const DecodeWorkspace& decoding, const ScoredPair& pair,
                       const ExtraOutputs& extra, Translation& translation) {
  require_observable(extra, output_of(pair, runtime.config().eos).size(), "translation");
  const Batch batch = batch_of({&pair, 1}, runtime.config());
  const auto source = token_texts(runtime.source(), batch.source.ids),
             decoder_input = token_texts(runtime.target(), batch.target.ids);
  Context context(decoding.backend, decoding.arena);
  for (LayerAttention& layer : all_attention_weights(runtime.model(), batch, context)) {
    SentenceAttention& attention = translation.all_attention.emplace_back();
    attention.kind = layer.kind;
    attention.source = layer.kind == AttentionKind::decoder ? decoder_input : source;
    attention.target = layer.kind == AttentionKind::encoder ? source : decoder_input;
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

std::vector<std::vector<float>> cross_attention(const ModelRuntime& runtime, const DecodeWorkspace& decoding,
                                                std::span<const ScoredPair> pairs, std::optional<int> layer) {
  Context context(decoding.backend, decoding.arena);
  return attention_weights(runtime.model(), batch_of(pairs, runtime.config()), AttentionKind::cross,
                           layer_of(runtime, layer), context);
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

void add_extra_outputs(const ModelRuntime& runtime, const DecodeWorkspace& decoding,
                       std::span<const ScoredPair> pairs, const ExtraOutputs& extra, const PairContext& common,
                       std::span<Translation> translations) {
  if (pairs.empty()) return;
  // Of an output that was cut before its first token, the decoder has no row.
  const auto without_row = std::ranges::find_if(
      pairs, [](const ScoredPair& pair) { return !pair.ends() && pair.output.ids.empty(); });
  if (without_row != pairs.end()) {
    const auto before = static_cast<size_t>(without_row - pairs.begin());
    add_extra_outputs(runtime, decoding, pairs.first(before), extra, common, translations);
    ExtraOutputs of_others = extra;
    of_others.all_attention = false;  // which only the first one has
    add_extra_outputs(runtime, decoding, pairs.subspan(before + 1), of_others, common,
                      translations.subspan(before + 1));
    return;
  }
  if (extra.tokens) add_tokens(runtime, decoding, pairs, common, translations);
  if (extra.alignment || extra.attention) add_attention(runtime, decoding, pairs, extra, common, translations);
  if (extra.confidence) {
    const auto found =
        confidences(decoding, runtime.source(), runtime.target(), pairs, common.forced, common.confidence);
    for (size_t i = 0; i < pairs.size(); ++i) translations[i].confidence = found[i];
  }
  if (extra.all_attention) add_all_attention(runtime, decoding, pairs.front(), extra, translations.front());
}

}  // namespace sixfold
