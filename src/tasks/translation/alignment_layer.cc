#include "tasks/translation/alignment_layer.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "model/attention_weights.h"
#include "runtime/search.h"
#include "search/scoring.h"
#include "tasks/translation/extra_outputs.h"
#include "tasks/translation/settings.h"
#include "text/language_tokens.h"
#include "text/token_words.h"

namespace sixfold {
namespace {

using Ids = std::vector<int32_t>;

constexpr size_t line_count = 40, words_per_line = 7, max_words = 2000, min_whole_words = 50, min_links = 20;

/// A line and its translation. Its words are tokens [begin, begin + words_per_line) of the source.
struct Pair {
  Ids source, target;
  size_t begin = 0;
};

/// Lines of random words, and their translations by greedy search.
std::vector<Pair> translated_lines(const DecodeWorkspace& decoding, const Tokenizer& tokenizer,
                                   const PairLayout& layout, const Ids& words) {
  const std::vector<std::string> languages = tokenizer.language_tokens();
  const Ids language = languages.empty() ? Ids() : Ids{LanguageTokens(tokenizer).id(languages.front())};
  RandomStream random(1, 0);
  std::vector<Pair> pairs(line_count);
  std::vector<Ids> sources;
  for (Pair& pair : pairs) {
    Ids text = language;
    pair.begin = layout.source_start.size() + language.size();
    for (size_t i = 0; i < words_per_line; ++i)
      text.push_back(words[random.below(static_cast<uint32_t>(words.size()))]);
    pair.source = layout.source(text, tokenizer.eos());
    sources.push_back(pair.source);
  }
  SearchOptions options{.rules = decoding.model.config().generation};
  options.rules.beam_size = 1;
  search(decoding, sources, options,
         [&](size_t i, const std::vector<Hypothesis>& found) { pairs[i].target = found.front().ids; });
  return pairs;
}

/// A token of a translation that depends on a word of its source, as indices of the pair and of both tokens.
struct Link {
  size_t pair, target, source;
};

/// Links from the first tokens of target words to source words. There is a link if the log-probability of the
/// token falls by more than 1 when the source word is left out, and by less than half as much when any other
/// source word is left out.
std::vector<Link> dependent_words(const DecodeWorkspace& decoding, const Tokenizer& target,
                                  std::span<const Pair> pairs) {
  std::vector<Ids> sources, targets;
  for (const Pair& pair : pairs)
    for (size_t i = 0; i <= words_per_line; ++i) {  // first the whole source, then without each word
      Ids& source = sources.emplace_back(pair.source);
      if (i > 0) source.erase(source.begin() + static_cast<ptrdiff_t>(pair.begin + i - 1));
      targets.push_back(pair.target);
    }
  const auto scores = score_targets(decoding, sources, targets, 4096);
  std::vector<Link> links;
  for (size_t p = 0; p < pairs.size(); ++p) {
    const auto score = [&](size_t without, size_t t) { return scores[p * (words_per_line + 1) + without][t]; };
    const std::vector<int> words = words_of_tokens(target, pairs[p].target);
    for (size_t t = 0; t < words.size(); ++t) {
      if (words[t] < 0 || (t > 0 && words[t] == words[t - 1])) continue;
      std::vector<std::pair<double, size_t>> losses;
      for (size_t i = 0; i < words_per_line; ++i)
        losses.emplace_back(score(0, t) - score(i + 1, t), pairs[p].begin + i);
      std::ranges::sort(losses, std::greater());
      if (losses[0].first > 1 && losses[1].first < losses[0].first / 2)
        links.push_back({p, t, losses[0].second});
    }
  }
  return links;
}

/// The number of links whose source word has the largest attention weight of a layer, summed over its heads.
int64_t count_attended_links(const std::vector<std::vector<float>>& weights, std::span<const Pair> pairs,
                             std::span<const Link> links) {
  return std::ranges::count_if(links, [&](const Link& link) {
    const size_t columns = pairs[link.pair].source.size(), rows = pairs[link.pair].target.size() + 1;
    std::vector<float> sums(columns);
    for (size_t at = link.target * columns; at < weights[link.pair].size(); at += rows * columns)
      for (size_t s = 0; s < columns; ++s) sums[s] += weights[link.pair][at + s];
    return static_cast<size_t>(std::ranges::max_element(sums) - sums.begin()) == link.source;
  });
}

/// The layer that attends to the most links; nothing if there are too few words or links to choose one.
std::optional<int> find_alignment_layer(const Transformer& model, const Tokenizers& tokenizers) {
  const Ids words = whole_words(*tokenizers.source);
  if (model.config().decoder_layers < 2 || words.size() < min_whole_words) return {};
  const DecodeWorkspace decoding(model);
  const ModelConfig& config = model.config();
  const PairLayout layout =
      layout_of(settings_of<TranslationSettings>(config), config.generation, *tokenizers.source);
  const std::vector<Pair> pairs = translated_lines(decoding, *tokenizers.source, layout, words);
  const std::vector<Link> links = dependent_words(decoding, *tokenizers.target, pairs);
  if (links.size() < min_links) return {};
  BatchBuilder builder;
  for (const Pair& pair : pairs)
    builder.source(pair.source).teacher_forced(pair.target, model.config().target_ends());
  const Batch batch = builder.take();
  int best = 0;
  int64_t max_matches = -1;
  for (int layer = 0; layer < model.config().decoder_layers; ++layer) {
    Context context(decoding.backend, decoding.arena);
    const int64_t matches = count_attended_links(
        attention_weights(model, batch, AttentionKind::cross, layer, context), pairs, links);
    if (matches >= max_matches) max_matches = matches, best = layer;
  }
  return best;
}

}  // namespace

std::vector<int32_t> whole_words(const Tokenizer& tokenizer) {
  std::vector<int32_t> words;
  for (int32_t id = 0; id < tokenizer.vocab_size() && words.size() < max_words; ++id) {
    if (tokenizer.is_language_token(id)) continue;
    const std::string text = tokenizer.decode({&id, 1});
    const bool letters = std::ranges::all_of(
        text, [](unsigned char c) { return c >= 0x80 || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
    if (text.size() >= 3 && letters && tokenizer.encode(text) == std::vector{id}) words.push_back(id);
  }
  return words;
}

GenerationConfig with_alignment_layer(const Transformer& model, const Tokenizers& tokenizers) {
  GenerationConfig generation = model.config().generation;
  if (generation.alignment_layer != GenerationConfig().alignment_layer) return generation;
  generation.alignment_layer = find_alignment_layer(model, tokenizers).value_or(generation.alignment_layer);
  return generation;
}

}  // namespace sixfold
