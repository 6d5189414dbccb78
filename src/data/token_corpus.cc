#include "data/token_corpus.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/plural.h"
#include "base/threads.h"
#include "text/language_tokens.h"

namespace sixfold {
namespace {

constexpr size_t block_pairs = 1024;

/// A group of pairs that is being encoded.
struct Block {
  ParallelText text;
  IdSequences source, target;
  std::vector<int64_t> kept;  ///< numbers of pairs in `text`
  int64_t empty = 0, too_long = 0, uneven = 0;
};

void encode(Block& block, const Tokenizers& tokenizers, const EncodeOptions& options,
            const std::optional<LanguageTokens>& languages) {
  for (int64_t i = 0; i < block.text.size(); ++i) {
    const std::string& line = block.text.source[static_cast<size_t>(i)];
    const LanguageTokens::Parts parts = languages ? languages->split(line) : LanguageTokens::Parts{{}, line};
    std::vector<int32_t> source = tokenizers.source->encode(parts.text);
    const std::vector<int32_t> target = tokenizers.target->encode(block.text.target[static_cast<size_t>(i)]);
    const size_t longer = std::max(source.size(), target.size()),
                 shorter = std::min(source.size(), target.size());
    if (shorter == 0) {
      ++block.empty;
    } else if (options.max_length > 0 && longer > static_cast<size_t>(options.max_length)) {
      ++block.too_long;
    } else if (options.max_ratio > 0 &&
               static_cast<double>(longer) > options.max_ratio * static_cast<double>(shorter)) {
      ++block.uneven;
    } else {
      if (!parts.token.empty()) source.insert(source.begin(), languages->id(parts.token));
      block.source.add(options.layout.source(source, tokenizers.source->eos()));
      block.target.add(options.layout.target(target));
      block.kept.push_back(i);
    }
  }
}

}  // namespace

IdSequences IdSequences::map(const std::string& ids_path, const std::string& offsets_path) {
  IdSequences sequences;
  sequences.mapped_ = std::make_shared<const Mapped>(Mapped{MappedFile(ids_path), MappedFile(offsets_path)});
  const size_t id_bytes = sequences.mapped_->ids.size(), offset_bytes = sequences.mapped_->offsets.size();
  require(offset_bytes >= sizeof(int64_t) && offset_bytes % sizeof(int64_t) == 0 &&
              id_bytes % sizeof(int32_t) == 0 && sequences.offsets()[0] == 0 &&
              sequences.total_length() == static_cast<int64_t>(id_bytes / sizeof(int32_t)),
          "{} and {} don't belong together; remove their folder, and it will be created again", ids_path,
          offsets_path);
  for (int64_t i = 0; i < sequences.size(); ++i)
    require(sequences.offsets()[static_cast<size_t>(i)] <= sequences.offsets()[static_cast<size_t>(i) + 1],
            "{}: is damaged; remove its folder, and it will be created again", offsets_path);
  return sequences;
}

std::span<const int32_t> IdSequences::ids() const {
  if (!mapped_) return ids_;
  return {reinterpret_cast<const int32_t*>(mapped_->ids.data()), mapped_->ids.size() / sizeof(int32_t)};
}

std::span<const int64_t> IdSequences::offsets() const {
  if (!mapped_) return offsets_;
  return {reinterpret_cast<const int64_t*>(mapped_->offsets.data()), mapped_->offsets.size() / sizeof(int64_t)};
}

void IdSequences::add(std::span<const int32_t> sequence) {
  ids_.insert(ids_.end(), sequence.begin(), sequence.end());
  offsets_.push_back(static_cast<int64_t>(ids_.size()));
}

void IdSequences::add_all(const IdSequences& other) {
  for (int64_t i = 0; i < other.size(); ++i) add(other[i]);
}

PairWeights::PairWeights(const std::string& path) : mapped_(std::make_shared<const MappedFile>(path)) {
  largest_ = numbers().empty() ? 1 : std::ranges::max(numbers());
}

std::span<const float> PairWeights::numbers() const {
  return {reinterpret_cast<const float*>(mapped_->data()), mapped_->size() / sizeof(float)};
}

void encode_pairs(const std::function<bool(std::string& source, std::string& target)>& next,
                  const Tokenizers& tokenizers, const EncodeOptions& options, CorpusReport& report,
                  const std::function<void(int64_t pair, std::span<const int32_t> source,
                                           std::span<const int32_t> target)>& take) {
  ThreadPool pool(options.threads);
  std::optional<LanguageTokens> languages;
  if (options.language_tokens) languages.emplace(*tokenizers.source);
  int64_t before = 0;  // pairs in earlier blocks
  for (bool more = true; more;) {
    std::vector<Block> blocks;
    std::string source, target;
    while (more && blocks.size() < 4 * static_cast<size_t>(pool.threads())) {
      Block& block = blocks.emplace_back();
      while (block.text.source.size() < block_pairs && (more = next(source, target))) {
        block.text.source.push_back(std::move(source));
        block.text.target.push_back(std::move(target));
      }
    }
    pool.run(std::ssize(blocks),
             [&](int64_t i, int) { encode(blocks[static_cast<size_t>(i)], tokenizers, options, languages); });
    for (const Block& block : blocks) {
      report.empty += block.empty;
      report.too_long += block.too_long;
      report.uneven += block.uneven;
      for (int64_t i = 0; i < block.source.size(); ++i) {
        report.measure(std::ssize(block.source[i]) - 1, std::ssize(block.target[i]));
        report.source_unknown += tokenizers.source->count_unknown(block.source[i]);
        report.target_unknown += tokenizers.target->count_unknown(block.target[i]);
        take(before + block.kept[static_cast<size_t>(i)], block.source[i], block.target[i]);
      }
      before += block.text.size();
    }
  }
}

namespace {

std::string limit_of(const EncodeOptions& options) {
  if (options.max_length == 0) return "there is no limit on the length";
  return fmt::format("a side may have at most {}", counted(options.max_length, "token"));
}

}  // namespace

TokenCorpus encode_corpus(ParallelText& text, const Tokenizers& tokenizers, const EncodeOptions& options,
                          CorpusReport& report) {
  TokenCorpus corpus{.source = {}, .target = {}, .target_eos = tokenizers.target->eos()};
  size_t place = 0;
  const auto next = [&](std::string& source, std::string& target) {
    if (place == text.source.size()) return false;
    source = text.source[place];
    target = text.target[place++];
    return true;
  };
  ParallelText kept;
  encode_pairs(next, tokenizers, options, report, [&](int64_t pair, auto source, auto target) {
    corpus.source.add(source);
    corpus.target.add(target);
    kept.source.push_back(text.source[static_cast<size_t>(pair)]);
    kept.target.push_back(text.target[static_cast<size_t>(pair)]);
  });
  text = std::move(kept);
  require(corpus.size() > 0, "no pair of the corpus is left ({}); {}", report.describe(), limit_of(options));
  return corpus;
}

}  // namespace sixfold
