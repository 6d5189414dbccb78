#include "tensor/batch.h"

#include <utility>

#include "base/error.h"

namespace sixfold {
namespace {

std::span<const int32_t> rows_of(const std::vector<int32_t>& ids, const Ragged& rows, int i) {
  return std::span(ids).subspan(static_cast<size_t>(rows.begin(i)), static_cast<size_t>(rows.length(i)));
}

void append(std::vector<int32_t>& to, std::span<const int32_t> ids) {
  to.insert(to.end(), ids.begin(), ids.end());
}

/// Appends a sequence that consists of `first` and `rest`.
void add_after(IdBatch& to, int32_t first, std::span<const int32_t> rest) {
  to.ids.push_back(first);
  append(to.ids, rest);
  to.rows.add(static_cast<int>(rest.size()) + 1);
}

void add_sample(Batch& to, const Batch& from, int i) {
  const Ragged &sources = from.source.rows, &targets = from.target.rows;
  if (sources.sequences() > 0) to.source.add(rows_of(from.source.ids, sources, i));
  if (targets.sequences() > 0) to.target.add(rows_of(from.target.ids, targets, i));
  if (!from.labels.empty())
    append(to.labels, rows_of(from.labels, targets.sequences() > 0 ? targets : sources, i));
  to.samples.push_back(from.samples.empty() ? i : from.samples[static_cast<size_t>(i)]);
}

}  // namespace

void Batch::check() const {
  const int sources = source.rows.sequences(), targets = target.rows.sequences();
  require(sources == 0 || targets == 0 || sources == targets, "a batch of {} sources and {} targets", sources,
          targets);
  require(samples.empty() || std::ssize(samples) == size(), "{} sample numbers for a batch of {} samples",
          samples.size(), size());
  const int rows = targets > 0 ? target.rows.tokens() : source.rows.tokens();
  require(labels.empty() || std::ssize(labels) == rows, "{} labels for {} rows of a batch", labels.size(),
          rows);
}

BatchBuilder& BatchBuilder::sample(int32_t number) {
  batch_.samples.push_back(number);
  return *this;
}

BatchBuilder& BatchBuilder::source(std::span<const int32_t> ids) {
  batch_.source.add(ids);
  return *this;
}

BatchBuilder& BatchBuilder::teacher_forced(std::span<const int32_t> target, TargetEnds ends) {
  add_after(batch_.target, ends.start, target);
  append(batch_.labels, target);
  batch_.labels.push_back(ends.eos);
  return *this;
}

BatchBuilder& BatchBuilder::teacher_forced_prefix(std::span<const int32_t> target, int32_t start) {
  require(!target.empty(), "a target that was cut off is empty; it must have at least one token");
  add_after(batch_.target, start, target.first(target.size() - 1));
  append(batch_.labels, target);
  return *this;
}

BatchBuilder& BatchBuilder::label_source(std::span<const int32_t> labels) {
  append(batch_.labels, labels);
  return *this;
}

Batch BatchBuilder::take() {
  batch_.check();
  return std::exchange(batch_, {});
}

std::vector<Batch> split(const Batch& batch, int64_t max_tokens) {
  batch.check();
  std::vector<Batch> parts;
  for (int i = 0; i < batch.size(); ++i) {
    const Ragged &sources = batch.source.rows, &targets = batch.target.rows;
    const int64_t more =
        (sources.sequences() > 0 ? sources.length(i) : 0) + (targets.sequences() > 0 ? targets.length(i) : 0);
    if (parts.empty() || parts.back().tokens() + more > max_tokens) parts.emplace_back();
    add_sample(parts.back(), batch, i);
  }
  return parts;
}

}  // namespace sixfold
