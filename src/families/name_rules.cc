#include "families/name_rules.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "backend/meta_backend.h"
#include "base/error.h"
#include "base/join.h"
#include "formats/safetensors.h"

namespace sixfold {
namespace {

/// Whether a name matches a pattern. Appends the texts that its `*` stand for to `texts`, each the shortest
/// that fits.
bool matches(std::string_view pattern, std::string_view name, std::vector<std::string>& texts) {
  const size_t star = pattern.find('*');
  if (star == pattern.npos) return pattern == name;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  for (size_t length = 1; star + length <= name.size(); ++length) {
    texts.emplace_back(name.substr(star, length));
    if (matches(pattern.substr(star + 1), name.substr(star + length), texts)) return true;
    texts.pop_back();
  }
  return false;
}

/// The name that results from a pattern with these texts.
std::string fill_pattern(std::string_view pattern, const std::vector<std::string>& texts) {
  std::string name;
  size_t next = 0;
  for (const char c : pattern) {
    if (c == '*') name += texts.at(next++);
    if (c == '#') name += std::to_string(std::stoi(texts.at(next++)) + 1);
    if (c != '*' && c != '#') name += c;
  }
  return name;
}

bool repeats(const NameRule& rule) { return rule.holds == Holds::copy || rule.holds == Holds::written_copy; }

/// A tensor of the other program, and the indices of our weights that it holds.
struct Holder {
  const NameRule* rule;
  std::string theirs;
  std::vector<size_t> parts;
};

/// The tensors of the other program for these weights: first those that hold the weights, each weight once,
/// then the copies.
std::vector<Holder> holders_of(const NameRules& rules, const std::vector<Parameter>& weights) {
  std::map<std::string_view, size_t> places;
  for (size_t i = 0; i < weights.size(); ++i) places[weights[i].name] = i;
  std::vector<bool> held(weights.size());
  std::set<std::string> used;
  std::vector<Holder> holders;
  for (const bool copies : {false, true})
    for (const NameRule& rule : rules)
      for (size_t i = 0; i < weights.size() && rule.holds != Holds::nothing; ++i) {
        std::vector<std::string> texts;
        if (repeats(rule) != copies || (!copies && held[i]) || !matches(rule.ours[0], weights[i].name, texts))
          continue;
        Holder holder{&rule, fill_pattern(rule.theirs, texts), {}};
        if (copies && used.contains(holder.theirs)) continue;  // another rule reads a weight from this tensor
        for (const std::string& ours : rule.ours) {
          const auto place = places.find(fill_pattern(ours, texts));
          require(place != places.end(), "tensor '{}' holds {}, which the model does not have", holder.theirs,
                  fill_pattern(ours, texts));
          holder.parts.push_back(place->second);
          held[place->second] = true;
        }
        used.insert(holder.theirs);
        holders.push_back(std::move(holder));
      }
  for (size_t i = 0; i < weights.size(); ++i)
    require(held[i], "no rule names the tensor of the weights of {}", weights[i].name);
  return holders;
}

/// The weights of a model of this config. They have shapes, but no values.
std::vector<Parameter> weights_of(const ModelConfig& config) {
  return Transformer(config, std::make_shared<MetaBackend>(), DType::f32, std::nullopt).stored();
}

/// Weights are joined along the rows of a matrix, or the elements of a vector.
int64_t length_of(const Matrix& m) { return m.vector ? m.cols : m.rows; }
void set_length(Matrix& m, int64_t length) { (m.vector ? m.cols : m.rows) = length; }

/// Reorders the rotated features of each head of a weight, if its rule has this step: from halves to adjacent
/// pairs, which is our order, or back.
void rotate_halves(std::vector<float>& values, const Parameter& weight, const NameRule& rule,
                   const Architecture& a, bool to_pairs) {
  if (std::ranges::count(rule.steps, Step::rotate_halves) == 0 ||
      weight.name.find(".v_proj.") != std::string::npos)
    return;
  const std::vector<float> given = values;
  const int64_t width = weight.shape.size() == 1 ? 1 : weight.shape[1], rows = std::ssize(values) / width,
                half = a.rotated_features() / 2;
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t feature = i % a.key_width();
    if (feature >= 2 * half) continue;
    // The row, in the order of pairs, of the feature that is in row i of the order of halves.
    const int64_t pair = i - feature + feature % half * 2 + feature / half;
    const auto from = given.begin() + (to_pairs ? i : pair) * width;
    std::copy(from, from + width, values.begin() + (to_pairs ? pair : i) * width);
  }
}

Matrix add_number(Matrix m, float number) {
  for (float& value : m.values) value += number;
  return m;
}

/// A tensor without its first `rows` rows. If `rows` is negative, -rows rows of zeros are put before it
/// instead.
Matrix without_rows(Matrix m, int64_t rows) {
  const int64_t count = rows * (m.vector ? 1 : m.cols);
  if (rows < 0) m.values.insert(m.values.begin(), static_cast<size_t>(-count), 0.0f);
  if (rows > 0) m.values.erase(m.values.begin(), m.values.begin() + count);
  set_length(m, length_of(m) - rows);
  return m;
}

/// Reorders [rows, channels * pixels] to [rows, pixels * channels], or back if `back` is set.
Matrix with_channels_last(Matrix m, int64_t channels, bool back) {
  const Matrix given = m;
  const int64_t pixels = m.cols / channels;
  for (int64_t row = 0; row < m.rows; ++row)
    for (int64_t channel = 0; channel < channels; ++channel)
      for (int64_t pixel = 0; pixel < pixels; ++pixel) {
        const int64_t theirs = channel * pixels + pixel, ours = pixel * channels + channel;
        m.at(row, back ? theirs : ours) = given.at(row, back ? ours : theirs);
      }
  return m;
}

/// Applies a step when a tensor is read, or inverts it when it is written.
Matrix apply_step(Matrix m, Step step, const NameRule& rule, bool reading) {
  switch (step) {
    case Step::transpose:
      return transposed(m);
    case Step::rotate_halves:  // applied to each weight separately
      break;
    case Step::plus_one:
      return add_number(std::move(m), reading ? 1.0f : -1.0f);
    case Step::skip_rows:
      return without_rows(std::move(m), reading ? rule.skipped_rows : -rule.skipped_rows);
    case Step::to_vector:
      m.vector = reading;
      break;
    case Step::channels_last:
      return with_channels_last(std::move(m), rule.channels, /*back=*/!reading);
  }
  return m;
}

/// The shape of the joined weights of a holder, without values.
Matrix joined_shape(const Holder& holder, const std::vector<Parameter>& weights) {
  const Tensor& first = weights[holder.parts[0]].tensor;
  Matrix shape{first.rows(), first.cols(), {}, weights[holder.parts[0]].shape.size() == 1};
  for (size_t i = 1; i < holder.parts.size(); ++i) {
    const Tensor& part = weights[holder.parts[i]].tensor;
    set_length(shape, length_of(shape) + (shape.vector ? part.cols() : part.rows()));
  }
  return shape;
}

/// The shape of the tensor of a holder, without values.
Matrix their_shape(const Holder& holder, const std::vector<Parameter>& weights) {
  Matrix shape = joined_shape(holder, weights);
  const auto& steps = holder.rule->steps;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    if (*step == Step::transpose) std::swap(shape.rows, shape.cols);
    if (*step == Step::skip_rows) set_length(shape, length_of(shape) + holder.rule->skipped_rows);
    if (*step == Step::to_vector) shape.vector = false;
  }
  return shape;
}

/// Calls `use(begin, part, done, count)` for each contiguous run of elements in the joined weights of a holder.
/// The `count` elements from `begin` on are those of the weight `part` from its element `done` on.
template <class Use>
void for_each_run(const Holder& holder, const std::vector<Parameter>& weights, const Architecture& a, Use use) {
  const auto heads = holder.rule->fused == Fused::by_head ? a.key_value_heads() : 1;
  ptrdiff_t begin = 0;
  for (int head = 0; head < heads; ++head)
    for (const size_t part : holder.parts) {
      const ptrdiff_t count = weights[part].tensor.size() / heads;
      use(begin, part, head * count, count);
      begin += count;
    }
}

/// Makes the tensor of a holder from the values of its weights.
Matrix written(const Holder& holder, const std::vector<Parameter>& weights, const Architecture& a,
               const WeightValues& values) {
  Matrix whole = joined_shape(holder, weights);
  whole.values.resize(static_cast<size_t>(whole.rows * whole.cols));
  std::map<size_t, std::vector<float>> parts;
  for (const size_t part : holder.parts) {
    parts[part] = values(weights[part]);
    rotate_halves(parts[part], weights[part], *holder.rule, a, /*to_pairs=*/false);
  }
  for_each_run(holder, weights, a, [&](ptrdiff_t begin, size_t part, ptrdiff_t done, ptrdiff_t count) {
    std::copy_n(parts[part].begin() + done, count, whole.values.begin() + begin);
  });
  const auto& steps = holder.rule->steps;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step)
    whole = apply_step(std::move(whole), *step, *holder.rule, /*reading=*/false);
  return whole;
}

/// The values of a tensor of any shape. Throws as `matrix_of`.
std::vector<float> floats_of(const TensorMap& tensors, const std::string& name) {
  const TensorInfo& tensor = tensors.at(name);
  require(tensor.dtype == DType::f32 || tensor.dtype == DType::f16 || tensor.dtype == DType::bf16 ||
              tensor.dtype == DType::f64,
          "{}: tensor '{}' is of type {}; only floating-point models are supported, not quantized ones",
          tensors.origin(), name, name_of(tensor.dtype));
  std::vector<float> values = to_floats(tensor);
  require(std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); }),
          "{}: tensor '{}' contains values that are not finite; the weights are damaged", tensors.origin(),
          name);
  return values;
}

/// The tensor of a holder in the form in which it is stored.
Matrix stored_matrix(const TensorMap& tensors, const Holder& holder, const std::vector<Parameter>& weights) {
  if (holder.theirs.empty()) return {};
  if (holder.rule->shape.empty()) return matrix_of(tensors, holder.theirs);
  Matrix matrix = their_shape(holder, weights);
  matrix.values = floats_of(tensors, holder.theirs);
  return matrix;
}

/// Copies the tensor of a holder to its weights. Weights without a tensor become zero.
void read_holder(const TensorMap& tensors, const Holder& holder, std::vector<Parameter>& weights,
                 const Transformer& model) {
  Matrix whole = stored_matrix(tensors, holder, weights);
  whole.vector = their_shape(holder, weights).vector;  // the file may have one dimension or two
  for (const Step step : holder.rule->steps)
    whole = apply_step(std::move(whole), step, *holder.rule, /*reading=*/true);
  std::map<size_t, std::vector<float>> parts;
  for (const size_t part : holder.parts) parts[part].resize(static_cast<size_t>(weights[part].tensor.size()));
  if (!holder.theirs.empty())
    for_each_run(holder, weights, model.config(),
                 [&](ptrdiff_t begin, size_t part, ptrdiff_t done, ptrdiff_t count) {
                   std::copy_n(whole.values.begin() + begin, count, parts[part].begin() + done);
                 });
  for (auto& [part, values] : parts) {
    rotate_halves(values, weights[part], *holder.rule, model.config(), /*to_pairs=*/true);
    weights[part].tensor.copy_from(*model.backend(), values);
  }
}

/// Throws an input error for a tensor that is missing, has another shape, or has no rule.
void check_tensors(const TensorMap& tensors, const NameRules& rules, const std::vector<Holder>& holders,
                   const std::vector<Parameter>& weights) {
  std::set<std::string> known;
  for (const Holder& holder : holders) {
    known.insert(holder.theirs);
    if (holder.theirs.empty() || (repeats(*holder.rule) && !tensors.find(holder.theirs))) continue;
    const TensorInfo& tensor = tensors.at(holder.theirs);
    if (const auto& shape = holder.rule->shape; !shape.empty()) {
      require(tensor.shape == shape, "{}: tensor '{}' has the shape [{}], but the config needs [{}]",
              tensors.origin(), holder.theirs, join(tensor.shape), join(shape));
      continue;
    }
    const Matrix needed = their_shape(holder, weights);
    const bool matrix = tensor.shape.size() == 2, vector = tensor.shape.size() == 1;
    require((matrix || vector) && tensor.shape.back() == needed.cols &&
                (matrix ? tensor.shape[0] : 1) == needed.rows,
            "{}: tensor '{}' has the shape [{}], but the config needs [{}, {}]", tensors.origin(),
            holder.theirs, join(tensor.shape), needed.rows, needed.cols);
  }
  for (const std::string& name : tensors.names()) {
    const bool ignored = std::ranges::any_of(rules, [&](const NameRule& rule) {
      std::vector<std::string> texts;
      return rule.holds == Holds::nothing && matches(rule.theirs, name, texts);
    });
    require(ignored || known.contains(name),
            "{}: tensor '{}' does not belong to any supported part of the model", tensors.origin(), name);
  }
}

/// Throws an input error unless a tensor that may be there repeats the weight that another tensor holds.
void check_copy(const TensorMap& tensors, const NameRules& rules, const Holder& holder, const Parameter& weight,
                const Transformer& model) {
  if (tensors.find(holder.theirs))
    require(matrix_of(tensors, holder.theirs).values == weight.tensor.to_floats(*model.backend()),
            "{}: tensor '{}' differs from '{}', but the config ties them; correct the keys that tie embeddings "
            "in config.json",
            tensors.origin(), holder.theirs, their_name(rules, weight.name));
}

}  // namespace

Matrix transposed(const Matrix& matrix) {
  Matrix result{matrix.cols, matrix.rows, std::vector<float>(matrix.values.size()), false};
  for (int64_t r = 0; r < matrix.rows; ++r)
    for (int64_t c = 0; c < matrix.cols; ++c) result.at(c, r) = matrix.at(r, c);
  return result;
}

std::string their_name(const NameRules& rules, std::string_view ours) {
  for (const NameRule& rule : rules) {
    std::vector<std::string> texts;
    if (rule.holds == Holds::weights && matches(rule.ours[0], ours, texts))
      return fill_pattern(rule.theirs, texts);
  }
  throw_input_error("no rule names the tensor of the weights of {}", ours);
}

std::string stored_name(const TensorMap& tensors, const NameRules& rules, std::string_view ours) {
  std::string name = their_name(rules, ours);
  if (tensors.find(name)) return name;
  for (const NameRule& rule : rules)
    if (repeats(rule) && rule.ours[0] == ours && tensors.find(rule.theirs)) return rule.theirs;
  return name;
}

TensorMap with_prefix(TensorMap tensors, const NameRules& rules, std::string_view prefix) {
  const std::vector<std::string> names = tensors.names();
  if (std::ranges::any_of(names, [&](const std::string& name) { return name.starts_with(prefix); }))
    return tensors;
  const auto is_named = [&](const std::string& name) {
    std::vector<std::string> texts;
    return std::ranges::any_of(rules, [&](const NameRule& rule) { return matches(rule.theirs, name, texts); });
  };
  for (const std::string& name : names)
    if (const std::string whole = std::string(prefix) + name; !is_named(name) && is_named(whole))
      tensors.rename(name, whole);
  return tensors;
}

int rows_of(const TensorMap& tensors, const NameRules& rules, std::string_view ours, int64_t cols) {
  const std::string name = stored_name(tensors, rules, ours);
  const TensorInfo& tensor = tensors.at(name);
  require(
      tensor.shape.size() == 2 && tensor.shape[0] > 0 && tensor.shape[0] < (1 << 30) && tensor.shape[1] == cols,
      "{}: tensor '{}' has the shape [{}], but the config needs [any, {}]", tensors.origin(), name,
      join(tensor.shape), cols);
  return static_cast<int>(tensor.shape[0]);
}

Matrix matrix_of(const TensorMap& tensors, const std::string& name) {
  const TensorInfo& tensor = tensors.at(name);
  require(tensor.shape.size() == 1 || tensor.shape.size() == 2,
          "{}: tensor '{}' has the shape [{}]; expected a matrix or vector", tensors.origin(), name,
          join(tensor.shape));
  const bool vector = tensor.shape.size() == 1;
  return {vector ? 1 : tensor.shape[0], tensor.shape.back(), floats_of(tensors, name), vector};
}

std::vector<float> values_of(const Transformer& model, std::string_view name) {
  for (const auto weights : {model.parameters(), model.buffers()})
    for (const Parameter& weight : weights)
      if (weight.name == name) return weight.tensor.to_floats(*model.backend());
  throw_input_error("the model has no weights {}", name);
}

std::unique_ptr<Transformer> read_weights(const TensorMap& stored, const NameRules& rules,
                                          const ModelConfig& config) {
  const std::vector<Parameter> shapes = weights_of(config);
  const std::vector<Holder> holders = holders_of(rules, shapes);
  TensorMap tensors = stored;
  for (const Holder& holder : holders)
    if (repeats(*holder.rule) && tensors.find(holder.theirs))
      if (const std::string name = their_name(rules, shapes[holder.parts[0]].name); !tensors.find(name))
        tensors.add(name, tensors.at(holder.theirs));
  // Checked before memory is allocated for sizes from an untrusted file.
  check_tensors(tensors, rules, holders, shapes);
  auto model = std::make_unique<Transformer>(config, make_backend(), DType::f32, std::nullopt);
  std::vector<Parameter> weights = model->stored();
  for (const Holder& holder : holders) {
    if (repeats(*holder.rule))
      check_copy(tensors, rules, holder, weights[holder.parts[0]], *model);
    else
      read_holder(tensors, holder, weights, *model);
  }
  return model;
}

std::vector<TheirTensor> their_tensors(const NameRules& rules, const ModelConfig& config,
                                       const WeightValues& values) {
  const auto kept = std::make_shared<const NameRules>(rules);  // holders point to their rules
  const auto weights = std::make_shared<const std::vector<Parameter>>(weights_of(config));
  std::vector<TheirTensor> tensors;
  const auto add = [&](const std::string& name, const NameRule& rule, const Matrix& shape,
                       std::function<Matrix()> value) {
    std::vector<int64_t> sizes{shape.rows, shape.cols};
    if (shape.vector) sizes.erase(sizes.begin());
    tensors.push_back({name, rule.shape.empty() ? sizes : rule.shape, std::move(value)});
  };
  for (const Holder& holder : holders_of(*kept, *weights)) {
    const auto value = [kept, weights, holder, config, &values] {
      return written(holder, *weights, config, values);
    };
    if (holder.theirs.empty())
      require(std::ranges::all_of(value().values, [](float x) { return x == 0; }),
              "the weights of {} are not zero, but the other program does not store them",
              (*weights)[holder.parts[0]].name);
    else if (holder.rule->holds != Holds::copy)
      add(holder.theirs, *holder.rule, their_shape(holder, *weights), value);
  }
  for (const NameRule& rule : rules)
    if (rule.computed) add(rule.theirs, rule, rule.computed(), rule.computed);
  std::ranges::sort(tensors, {}, &TheirTensor::name);
  return tensors;
}

void write_weights(const std::string& path, const NameRules& rules, const ModelConfig& config,
                   const WeightValues& values) {
  const std::vector<TheirTensor> tensors = their_tensors(rules, config, values);
  std::vector<TensorEntry> entries;
  for (const TheirTensor& tensor : tensors) entries.push_back({tensor.name, DType::f32, tensor.shape});
  SafetensorsWriter file(path, entries, {{"format", "pt"}});
  for (const TheirTensor& tensor : tensors) file.add(tensor.value().values.data());
  file.commit();
}

}  // namespace sixfold
