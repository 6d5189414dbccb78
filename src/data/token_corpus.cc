#include "data/token_corpus.h"

#include <algorithm>
#include <exception>

#include "base/error.h"
#include "base/threads.h"

namespace sixfold {
namespace {

constexpr int64_t block_pairs = 1024;

struct Block {
  IdSequences source, target;
  int64_t empty = 0, too_long = 0;
  std::exception_ptr error;
};

void encode_pairs(const ParallelText& text, const Tokenizers& tokenizers, size_t max_length, int64_t begin,
                  Block& block) {
  const int64_t end = std::min(begin + block_pairs, text.size());
  for (int64_t i = begin; i < end; ++i) {
    std::vector<int32_t> source = tokenizers.source->encode(text.source[i]);
    const std::vector<int32_t> target = tokenizers.target->encode(text.target[i]);
    if (source.empty() || target.empty()) {
      ++block.empty;
    } else if (max_length > 0 && std::max(source.size(), target.size()) > max_length) {
      ++block.too_long;
    } else {
      source.push_back(tokenizers.source->eos());
      block.source.add(source);
      block.target.add(target);
    }
  }
}

}  // namespace

void IdSequences::add(std::span<const int32_t> sequence) {
  ids_.insert(ids_.end(), sequence.begin(), sequence.end());
  offsets_.push_back(static_cast<int64_t>(ids_.size()));
}

void IdSequences::add_all(const IdSequences& other) {
  for (int64_t i = 0; i < other.size(); ++i) add(other[i]);
}

TokenCorpus encode_corpus(const ParallelText& text, const Tokenizers& tokenizers, const EncodeOptions& options,
                          CorpusReport& report) {
  TokenCorpus corpus{.source = {}, .target = {}, .target_eos = tokenizers.target->eos()};

  std::vector<Block> blocks((text.size() + block_pairs - 1) / block_pairs);
  ThreadPool pool(options.threads);
  pool.run(static_cast<int64_t>(blocks.size()), [&](int64_t i, int) {
    try {
      encode_pairs(text, tokenizers, options.max_length, i * block_pairs, blocks[i]);
    } catch (...) {  // a pool's tasks must not throw
      blocks[i].error = std::current_exception();
    }
  });
  for (Block& block : blocks) {
    if (block.error) std::rethrow_exception(block.error);
    corpus.source.add_all(block.source);
    corpus.target.add_all(block.target);
    report.empty += block.empty;
    report.too_long += block.too_long;
    block = {};  // its memory is needed for the corpus
  }
  require(corpus.size() > 0, "no pair of the corpus is left (limit: {} pieces a side; {})", options.max_length,
          report.describe());
  return corpus;
}

}  // namespace sixfold
