#include "ops/batch.h"

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <utility>

#include "base/error.h"

namespace sixfold {
namespace {

template <class T>
std::span<const T> rows_of(const std::vector<T>& labels, const Ragged& rows, int i) {
  return std::span(labels).subspan(static_cast<size_t>(rows.begin(i)), static_cast<size_t>(rows.length(i)));
}

template <class T>
void append(std::vector<T>& to, std::span<const std::type_identity_t<T>> values) {
  to.insert(to.end(), values.begin(), values.end());
}

/// Appends a sequence that consists of `first` and `rest`.
void add_after(IdBatch& to, int32_t first, std::span<const int32_t> rest) {
  to.ids.push_back(first);
  append(to.ids, rest);
  to.rows.add(static_cast<int>(rest.size()) + 1);
}

const Ragged& labelled_part(const Batch& batch) {
  return batch.target.rows.sequences() > 0 ? batch.target.rows : batch.source.rows;
}

/// Adds the choices of sample i, whose rows were added to `to` last, with their labels.
void add_choices(Batch& to, const Batch& from, int i) {
  const Ragged &rows = from.source.rows, &new_rows = to.source.rows;
  const int shift = new_rows.begin(new_rows.sequences() - 1) - rows.begin(i);
  const RowRange range = from.choices[static_cast<size_t>(i)];
  to.choices.push_back({range.begin + shift, range.end + shift});
  const size_t labels = from.labels_of_choice();
  append(to.labels, std::span(from.labels).subspan(static_cast<size_t>(i) * labels, labels));
}

/// Throws an input error unless each sample has a range of its own rows, and each label is a place there.
void check_choices(const Batch& batch) {
  const Ragged& rows = batch.source.rows;
  require(std::ssize(batch.choices) == rows.sequences() && batch.label_rows.empty() &&
              batch.labels.size() % batch.choices.size() == 0,
          "{} choices with {} labels for a batch of {} sources", batch.choices.size(), batch.labels.size(),
          rows.sequences());
  const size_t labels = batch.labels_of_choice();
  for (int i = 0; i < rows.sequences(); ++i) {
    const auto [begin, end] = batch.choices[static_cast<size_t>(i)];
    require(begin >= rows.begin(i) && begin < end && end <= rows.begin(i + 1),
            "the choices of a sample are the rows {} to {} of a batch, but its source is in the rows {} to {}",
            begin, end, rows.begin(i), rows.begin(i + 1));
    for (size_t k = 0; k < labels; ++k) {
      const int32_t label = batch.labels[static_cast<size_t>(i) * labels + k];
      require(label >= 0 && label < end - begin, "a label that chooses row {} of {}", label, end - begin);
    }
  }
}

/// Adds the labels of sample i, whose rows were added to `to` last.
void add_labels(Batch& to, const Batch& from, int i) {
  const Ragged &rows = labelled_part(from), &new_rows = labelled_part(to);
  if (from.label_rows.empty()) {
    append(to.labels, rows_of(from.labels, rows, i));
    if (!from.label_weights.empty()) append(to.label_weights, rows_of(from.label_weights, rows, i));
    return;
  }
  const int shift = new_rows.begin(new_rows.sequences() - 1) - rows.begin(i);
  const auto first = std::ranges::lower_bound(from.label_rows, rows.begin(i));
  for (auto row = first; row != from.label_rows.end() && *row < rows.begin(i) + rows.length(i); ++row) {
    const auto label = static_cast<size_t>(row - from.label_rows.begin());
    to.labels.push_back(from.labels[label]);
    to.label_rows.push_back(*row + shift);
    if (!from.label_weights.empty()) to.label_weights.push_back(from.label_weights[label]);
  }
}

/// Adds the links of sample i, whose rows were added to `to` last.
void add_links(Batch& to, const Batch& from, int i) {
  const auto first = std::ranges::lower_bound(from.links, from.target.rows.begin(i), {}, &Batch::Link::target),
             last =
                 std::ranges::lower_bound(from.links, from.target.rows.begin(i + 1), {}, &Batch::Link::target);
  const int new_sample = to.target.rows.sequences() - 1;
  for (auto link = first; link != last; ++link)
    to.links.push_back({link->target - from.target.rows.begin(i) + to.target.rows.begin(new_sample),
                        link->source - from.source.rows.begin(i) + to.source.rows.begin(new_sample)});
}

void add_sample(Batch& to, const Batch& from, int i) {
  to.source.ids_per_row = from.source.ids_per_row;
  if (from.source.rows.sequences() > 0) to.source.add(from.source.sequence(i));
  if (from.target.rows.sequences() > 0) to.target.add(from.target.sequence(i));
  if (!from.choices.empty())
    add_choices(to, from, i);
  else if (!from.labels.empty())
    add_labels(to, from, i);
  if (!from.links.empty()) add_links(to, from, i);
  to.samples.push_back(from.samples.empty() ? i : from.samples[static_cast<size_t>(i)]);
}

int64_t sample_tokens(const Batch& batch, int i) {
  const Ragged &sources = batch.source.rows, &targets = batch.target.rows;
  return int64_t{sources.sequences() > 0 ? sources.length(i) : 0} +
         (targets.sequences() > 0 ? targets.length(i) : 0);
}

}  // namespace

void Batch::check() const {
  const int sources = source.rows.sequences(), targets = target.rows.sequences();
  require(sources == 0 || targets == 0 || sources == targets, "a batch of {} sources and {} targets", sources,
          targets);
  require(samples.empty() || std::ssize(samples) == size(), "{} sample numbers for a batch of {} samples",
          samples.size(), size());
  require(std::ssize(source.ids) == int64_t{source.rows.tokens()} * source.ids_per_row,
          "{} ids for {} rows of a batch", source.ids.size(), source.rows.tokens());
  const int64_t rows = labelled_part(*this).tokens();
  const int64_t expected = label_rows.empty() ? rows : std::ssize(label_rows);
  if (!choices.empty())
    check_choices(*this);
  else
    require(labels.empty() || std::ssize(labels) == expected, "{} labels for {} rows of a batch", labels.size(),
            expected);
  require(label_weights.empty() || label_weights.size() == labels.size(), "{} weights for {} labels of a batch",
          label_weights.size(), labels.size());
  require(std::ranges::is_sorted(links), "the links of a batch are not in order");
  for (const Link& link : links)
    require(link.target >= 0 && link.target < target.rows.tokens() && link.source >= 0 &&
                link.source < source.rows.tokens(),
            "a link from row {} to row {} in a batch of {} and {} rows", link.target, link.source,
            target.rows.tokens(), source.rows.tokens());
  int64_t before = -1;
  for (const int32_t row : label_rows) {
    require(row > before && row < rows, "a label of row {} after one of row {} in a batch of {} rows", row,
            before, rows);
    before = row;
  }
}

int64_t Batch::bytes() const {
  const size_t numbers = source.ids.capacity() + target.ids.capacity() + labels.capacity() +
                         label_rows.capacity() + label_weights.capacity() + samples.capacity() +
                         2 * links.capacity();
  return static_cast<int64_t>(numbers * sizeof(int32_t));
}

double Batch::loss_weight() const {
  if (label_weights.empty()) return static_cast<double>(labels.size());
  return std::accumulate(label_weights.begin(), label_weights.end(), 0.0);
}

BatchBuilder& BatchBuilder::sample(int32_t number) {
  batch_.samples.push_back(number);
  return *this;
}

BatchBuilder& BatchBuilder::source(std::span<const int32_t> ids, int ids_per_row) {
  require(batch_.source.ids.empty() || batch_.source.ids_per_row == ids_per_row,
          "a batch of rows of {} and of {} ids", batch_.source.ids_per_row, ids_per_row);
  batch_.source.ids_per_row = ids_per_row;
  batch_.source.add(ids);
  return *this;
}

BatchBuilder& BatchBuilder::teacher_forced(std::span<const int32_t> target, TargetEnds ends) {
  return teacher_forced(target, target, ends);
}

BatchBuilder& BatchBuilder::teacher_forced(std::span<const int32_t> target, std::span<const int32_t> input,
                                           TargetEnds ends) {
  add_after(batch_.target, ends.start, input);
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

BatchBuilder& BatchBuilder::label_tokens(std::span<const int32_t> tokens, std::span<const int32_t> labels) {
  const Ragged& rows = batch_.source.rows;
  for (const int32_t token : tokens) batch_.label_rows.push_back(rows.begin(rows.sequences() - 1) + token);
  append(batch_.labels, labels);
  return *this;
}

BatchBuilder& BatchBuilder::label_sequence(int32_t label, float weight) {
  constexpr int32_t first = 0;
  batch_.label_weights.push_back(weight);
  return label_tokens(std::span(&first, 1), std::span(&label, 1));
}

BatchBuilder& BatchBuilder::link(std::span<const Batch::Link> links) {
  const Ragged &targets = batch_.target.rows, &sources = batch_.source.rows;
  for (const Batch::Link& link : links)
    batch_.links.push_back({targets.begin(targets.sequences() - 1) + link.target,
                            sources.begin(sources.sequences() - 1) + link.source});
  return *this;
}

BatchBuilder& BatchBuilder::weigh(float weight) {
  batch_.label_weights.resize(batch_.labels.size(), weight);
  return *this;
}

BatchBuilder& BatchBuilder::choose(RowRange tokens, std::span<const int32_t> labels) {
  const Ragged& rows = batch_.source.rows;
  const int32_t first = rows.begin(rows.sequences() - 1);
  batch_.choices.push_back({first + tokens.begin, first + tokens.end});
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
    if (parts.empty() || parts.back().tokens() + sample_tokens(batch, i) > max_tokens) parts.emplace_back();
    add_sample(parts.back(), batch, i);
  }
  return parts;
}

std::vector<Batch> divide(const Batch& batch, int count) {
  batch.check();
  std::vector<Batch> shares(static_cast<size_t>(count));
  const int64_t all = 2 * std::max<int64_t>(1, batch.tokens());
  int64_t before = 0;
  for (int i = 0; i < batch.size(); ++i) {
    const int64_t tokens = sample_tokens(batch, i);
    // A sample belongs to the share in which the middle of its tokens lies; `middle` is twice its index.
    const int64_t middle = 2 * before + tokens;
    add_sample(shares[static_cast<size_t>(std::min<int64_t>(count - 1, middle * count / all))], batch, i);
    before += tokens;
  }
  return shares;
}

}  // namespace sixfold
