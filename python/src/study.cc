#include "binding.h"
#include "model/attention_weights.h"
#include "model/position_encodings.h"
#include "ops/ops.h"

// Functions for studying the paper with numpy: attention, states and weights as arrays.

namespace sixfold::python {
namespace {

using Matrix = py::array_t<double, py::array::c_style | py::array::forcecast>;

/// Section 3.2 in fp64, by the plain loops that are the specification of the kernels. q: [n, heads * d_k], k:
/// [m, heads * d_k], v: [m, heads * d_v] -> output [n, heads * d_v] and weights [heads, n, m].
py::tuple attention(const Matrix& q, const Matrix& k, const Matrix& v, int heads, bool causal) {
  const auto shape_of = [](const Matrix& x) {
    return py::str(py::object(x).attr("shape")).cast<std::string>();
  };
  const auto fits = [&](bool condition) {
    require(condition,
            "attention: expected q [n, heads * d_k], k [m, heads * d_k], v [m, heads * d_v] with heads = {}; "
            "found q "
            "{}, k {}, v {}",
            heads, shape_of(q), shape_of(k), shape_of(v));
  };
  for (const Matrix* x : {&q, &k, &v}) fits(x->ndim() == 2 && x->shape(0) > 0 && x->shape(1) > 0);
  fits(heads > 0 && q.shape(1) == k.shape(1) && k.shape(0) == v.shape(0) && q.shape(1) % heads == 0 &&
       v.shape(1) % heads == 0 && (!causal || q.shape(0) == k.shape(0)));
  const py::ssize_t n = q.shape(0), m = k.shape(0), d = v.shape(1);
  auto [output, weights] = [&] {
    const py::gil_scoped_release free;
    const std::shared_ptr<Backend> backend = make_backend({.device = "reference"});
    Context context(backend, std::make_shared<Arena>(backend));
    const auto tensor = [&](const Matrix& x) {
      Tensor copy = context.tensor(x.shape(0), x.shape(1), DType::f64);
      copy.copy_from(*backend, std::vector<double>(x.data(), x.data() + x.size()));
      return copy;
    };
    Ragged queries, keys;
    queries.add(static_cast<int>(n));
    keys.add(static_cast<int>(m));
    const auto pattern = ops::attention_pattern(context, queries, keys, causal);
    const ops::AttentionInputs inputs{.query = tensor(q), .key = tensor(k), .value = tensor(v), .heads = heads};
    auto observed = ops::attention_weights(context, inputs, *pattern).to_doubles(*backend);
    return std::pair(ops::attention(context, inputs, pattern).to_doubles(*backend), std::move(observed));
  }();
  return py::make_tuple(array_of(std::move(output), {n, d}), array_of(std::move(weights), {heads, n, m}));
}

/// Keeps the states and the attention of all layers of one sequence.
class AllStates final : public AttentionObserver {
 public:
  AllStates(const Batch& batch, Backend& backend) : batch_(batch), backend_(backend) {}

  bool wants(AttentionKind, int) const override { return true; }
  void observe_attention(AttentionKind kind, int layer, const ops::AttentionInputs& inputs,
                         const ops::AttentionPattern& pattern, Context& context) override {
    const Tensor weights = ops::attention_weights(context, inputs, pattern);
    const IdBatch& queries = kind == AttentionKind::encoder ? batch_.source : batch_.target;
    attention_.push_back({kind, layer, queries.rows.tokens(), weights.cols(), weights.to_floats(backend_)});
  }
  void observe_states(AttentionKind kind, int layer, const Tensor& states) override {
    states_.push_back({kind, layer, states.rows(), states.cols(), states.to_floats(backend_)});
  }

  /// (kind, layer, array) of each.
  py::list states() {
    py::list all;
    for (Layer& s : states_)
      all.append(
          py::make_tuple(name_of_enum(s.kind), s.layer, array_of(std::move(s.values), {s.rows, s.columns})));
    return all;
  }
  py::list attention() {
    py::list all;
    for (Layer& s : attention_) {
      const py::ssize_t heads = std::ssize(s.values) / (s.rows * s.columns);
      all.append(py::make_tuple(name_of_enum(s.kind), s.layer,
                                array_of(std::move(s.values), {heads, s.rows, s.columns})));
    }
    return all;
  }

 private:
  struct Layer {
    AttentionKind kind;
    int layer;
    py::ssize_t rows, columns;
    std::vector<float> values;
  };
  const Batch& batch_;
  Backend& backend_;
  std::vector<Layer> states_, attention_;
};

/// The states and the attention of all layers for ids as the encoder and the decoder read them; None: the model
/// has no such part.
py::tuple run(const std::shared_ptr<ModelRuntime>& model, const std::optional<std::vector<int32_t>>& source,
              const std::optional<std::vector<int32_t>>& target) {
  const ModelConfig& config = model->config();
  require(source.has_value() == config.has_encoder() && target.has_value() == config.has_decoder(),
          "the model has {} encoder and {} decoder; give ids for what it has",
          config.has_encoder() ? "an" : "no", config.has_decoder() ? "a" : "no");
  require((!source || !source->empty()) && (!target || !target->empty()), "there are no ids");
  Batch batch;
  if (source) batch.source.add(*source);
  if (target) batch.target.add(*target);
  const auto workspace = model->borrow();
  AllStates seen(batch, *workspace->backend);
  {
    const py::gil_scoped_release free;
    Context context(workspace->backend, workspace->arena);
    model->model().states(batch, context, &seen);
  }
  return py::make_tuple(seen.states(), seen.attention());
}

/// The tensors of the model's file by their names, read-only views of its memory. [out, in] for matrices, [n]
/// for biases; None for a matrix in int8.
py::dict weights(const std::shared_ptr<ModelRuntime>& model) {
  py::dict all;
  for (const Parameter& parameter : model->model().stored()) {
    const Tensor& tensor = parameter.tensor;
    if (tensor.dtype() != DType::f32 || !model->model().backend()->is_host()) {
      all[text_of(parameter.name)] = py::none();
      continue;
    }
    using Kept = std::pair<std::shared_ptr<ModelRuntime>, Tensor>;
    const py::capsule owner(new Kept(model, tensor), [](void* kept) { delete static_cast<Kept*>(kept); });
    py::array_t<float> view(std::vector<py::ssize_t>(parameter.shape.begin(), parameter.shape.end()),
                            static_cast<const float*>(tensor.view().data), owner);
    view.attr("setflags")(py::arg("write") = false);
    all[text_of(parameter.name)] = view;
  }
  return all;
}

/// Returns the number of positions. Throws an input error if it is out of range.
int64_t checked_positions(int64_t positions) {
  require(positions > 0 && positions <= 1 << 20,
          "position_encodings: expected from 1 to 2^20 positions, found {}", positions);
  return positions;
}

py::array_t<float> encodings_of(std::vector<float> values, int64_t width) {
  const py::ssize_t rows = std::ssize(values) / width;
  return array_of(std::move(values), {rows, static_cast<py::ssize_t>(width)});
}

}  // namespace

void add_study(py::module_& m) {
  m.def("attention", attention);
  m.def("position_encodings", [](int64_t positions, int d_model) {
    require(d_model > 0 && d_model <= 4096 && d_model % 2 == 0,
            "position_encodings: expected an even d_model up to 4096, found {}", d_model);
    Architecture architecture;
    architecture.d_model = d_model;
    return encodings_of(sinusoidal_encodings(architecture, checked_positions(positions)), d_model);
  });
  m.def("run", run);
  m.def("weights", weights);
  m.def("positions_of", [](const std::shared_ptr<ModelRuntime>& model, int64_t positions) {
    return encodings_of(position_encodings(model->model(), checked_positions(positions)),
                        model->config().d_model);
  });
}

}  // namespace sixfold::python
