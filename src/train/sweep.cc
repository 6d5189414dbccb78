#include "train/sweep.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/join.h"
#include "base/nearest.h"
#include "model_folder/ownership.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;
using Kind = OptionNode::Kind;

constexpr std::string_view allowed_in_names =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.+";

/// A name may be part of a path on a command line, a cell of a table and a label of a picture.
void require_name(const std::string& name, const std::string& where) {
  require(
      !name.empty() && std::string_view("-_.+").find(name[0]) == std::string_view::npos &&
          name.find_first_not_of(allowed_in_names) == std::string::npos,
      "{}: '{}' can't name a run; use letters, digits, '-', '_', '.' and '+', and begin with a letter or digit",
      where, name);
  require(!name.starts_with("table.") && name != sweep_mark,
          "{}: '{}' would stand in the way of the sweep's own files; choose another name", where, name);
  require(name.size() <= 200,
          "{}: the name '{}' has {} characters; choose one of at most 200. A grid makes names of its keys and "
          "values; give rows with names of their own instead",
          where, name, name.size());
}

/// The node of a key with dots, "model.heads", which is created if it does not exist.
OptionNode& node_at(OptionNode& root, std::string_view key, const OptionNode& value) {
  OptionNode* node = &root;
  for (;;) {
    const size_t dot = key.find('.');
    if (node->kind == Kind::null) *node = {.kind = Kind::map, .where = value.where};
    require(node->kind == Kind::map, "{}: the part before '{}' is a value, not a group ({})", value.where, key,
            node->where);
    OptionNode* child = node->find(key.substr(0, dot));
    node = child ? child : &node->children.emplace_back(key.substr(0, dot), OptionNode{}).second;
    if (dot == std::string_view::npos) return *node;
    key.remove_prefix(dot + 1);
  }
}

/// Sets the keys of `changes` in `options`, and describes them.
void apply(const OptionNode& changes, const std::string& prefix, SweepRow& row,
           std::vector<std::string>& described) {
  for (const auto& [key, value] : changes.children) {
    const std::string full = prefix.empty() ? key : fmt::format("{}.{}", prefix, key);
    if (value.kind == Kind::map) {
      apply(value, full, row, described);
      continue;
    }
    require(std::ranges::count(row.changed_keys, full) == 0, "{}: the key '{}' occurs twice; remove one",
            row.where, full);
    row.changed_keys.push_back(full);
    node_at(row.options, full, value) = value;
    described.push_back(full + " " + value_text(value));
  }
}

/// Whether a file lists variants.
bool is_list(OptionNode& file) { return file.find("base") || file.find("rows") || file.find("grid"); }

OptionNode base_of(const OptionNode& base) {
  if (base.kind == Kind::map) return base;
  require((base.kind == Kind::plain || base.kind == Kind::quoted) && !base.text.empty(),
          "{}: base: expected a training config, or the path of one", base.where);
  OptionNode options = read_option_file(base.text);
  require(!is_list(options), "{}: base: {} is a list of variants itself; name a training config", base.where,
          base.text);
  return options;
}

/// A key of a grid, and the values that it takes.
struct Axis {
  std::string key;
  const OptionNode* values;
};

void collect_axes(const OptionNode& grid, const std::string& prefix, std::vector<Axis>& axes) {
  for (const auto& [name, values] : grid.children) {
    const std::string key = prefix.empty() ? name : fmt::format("{}.{}", prefix, name);
    if (values.kind == Kind::map) {
      collect_axes(values, key, axes);
      continue;
    }
    require(values.kind == Kind::list && !values.children.empty(),
            "{}: grid.{}: expected a list of values, as in [64, 128]", values.where, key);
    std::set<std::pair<Kind, std::string>> found;
    for (const auto& [none, value] : values.children)
      require(
          value.kind == Kind::list || value.kind == Kind::map || found.emplace(value.kind, value.text).second,
          "{}: grid.{}: the value '{}' occurs twice; remove one", values.where, key, value.text);
    require(std::ranges::find(axes, key, &Axis::key) == axes.end(),
            "{}: grid: the key '{}' occurs twice; remove one", values.where, key);
    axes.push_back({key, &values});
  }
}

/// "heads-1": the last part of the key, unless another key ends in the same, and the value. Characters that a
/// name can't have become '_'.
std::string name_of_value(const std::vector<Axis>& axes, const Axis& axis, const OptionNode& value) {
  const auto last_part = [](const std::string& key) { return key.substr(key.rfind('.') + 1); };
  const std::string part = last_part(axis.key);
  const auto same = std::ranges::count_if(axes, [&](const Axis& a) { return last_part(a.key) == part; });
  std::string name = (same > 1 ? axis.key : part) + "-" + value_text(value);
  for (char& c : name)
    if (allowed_in_names.find(c) == std::string_view::npos) c = '_';
  return name;
}

/// A row for each combination of the values of a grid, the last key varying fastest.
OptionNode grid_rows(const OptionNode& grid) {
  std::vector<Axis> axes;
  collect_axes(grid, "", axes);
  require(!axes.empty(), "{}: grid: expected keys with lists of values, as in {{model.heads: [1, 2, 4]}}",
          grid.where);
  OptionNode rows{.kind = Kind::map, .where = grid.where};
  rows.children.emplace_back("", OptionNode{.kind = Kind::map, .where = grid.where});
  for (const Axis& axis : axes) {
    const size_t count = rows.children.size() * axis.values->children.size();
    require(count <= max_grid_rows, "{}: grid: its lists make more than {} rows; shorten them", grid.where,
            max_grid_rows);
    std::vector<std::pair<std::string, OptionNode>> longer;
    for (const auto& [name, changes] : rows.children)
      for (const auto& [none, value] : axis.values->children) {
        require(value.kind != Kind::map, "{}: grid.{}: expected a value, found a group", value.where, axis.key);
        auto& row =
            longer.emplace_back(name + (name.empty() ? "" : "+") + name_of_value(axes, axis, value), changes);
        row.second.children.emplace_back(axis.key, value);
      }
    rows.children = std::move(longer);
  }
  return rows;
}

std::vector<SweepRow> variants_of(OptionNode& file, const std::string& path) {
  const std::vector<std::string> known{"base", "rows", "grid", "seeds"};
  for (const auto& [key, value] : file.children)
    if (std::ranges::find(known, key) == known.end()) {
      const auto meant = nearest(key, known);
      throw_input_error("{}: unknown key '{}' beside 'base'{}", value.where, key,
                        meant ? fmt::format("; did you mean '{}'?", *meant)
                              : "; the keys of a training config belong to 'base'");
    }
  const OptionNode* base = file.find("base");
  require(base, "{}: 'base' is missing: the training config that the rows change", path);
  require(file.find("rows") || file.find("grid"),
          "{}: has a 'base', but neither 'rows' nor a 'grid' that change it", path);
  OptionNode all{.kind = Kind::map};
  if (const OptionNode* rows = file.find("rows")) {
    require(rows->kind == Kind::map && !rows->children.empty(),
            "{}: rows: expected a name and changed keys for each training",
            rows->where.empty() ? path : rows->where);
    all.children = rows->children;
  }
  if (const OptionNode* grid = file.find("grid"))
    for (auto& row : grid_rows(*grid).children) all.children.push_back(std::move(row));
  std::optional<int> seeds;
  if (const OptionNode* node = file.find("seeds"))
    read_value(OptionSource{*node, "seeds", between(1, max_seeds)}, seeds);
  const OptionNode options = base_of(*base);
  std::vector<SweepRow> variants;
  for (const auto& [name, changes] : all.children) {
    require(changes.kind == Kind::map || changes.kind == Kind::null,
            "{}: rows.{}: expected the keys that the row changes, as in {{model.heads: 1}}", changes.where,
            name);
    require_name(name, changes.where.empty() ? path : changes.where);
    SweepRow& row = variants.emplace_back(SweepRow{.name = name,
                                                   .where = fmt::format("{}: {}", path, name),
                                                   .options = options,
                                                   .changes = {},
                                                   .seeds = seeds});
    std::vector<std::string> described;
    apply(changes, "", row, described);
    row.changes = join(described, ", ");
  }
  return variants;
}

bool is_config_name(const fs::path& path) {
  const std::string extension = path.extension().string();
  return extension == ".yaml" || extension == ".yml" || extension == ".json";
}

std::vector<std::string> files_of(const std::string& recipe) {
  std::error_code failure;
  if (!fs::is_directory(recipe, failure)) return {recipe};
  std::vector<std::string> files;
  const fs::directory_iterator entries(recipe, failure);
  require(!failure, "{}: can't read the folder: {}", recipe, failure.message());
  for (const auto& entry : entries)
    if (entry.is_regular_file() && is_config_name(entry.path())) files.push_back(entry.path().string());
  std::ranges::sort(files);
  require(!files.empty(), "{}: the folder has no .yaml or .json files", recipe);
  return files;
}

std::vector<SweepRow> rows_of(const std::string& path) {
  OptionNode file = read_option_file(path);
  if (is_list(file)) return variants_of(file, path);
  const std::string name = fs::path(path).stem().string();
  require_name(name, path);
  std::vector<SweepRow> rows;
  rows.push_back({.name = name, .where = path, .options = std::move(file), .changes = {}});
  return rows;
}

}  // namespace

std::vector<SweepRow> read_sweep(const std::vector<std::string>& recipes,
                                 const std::vector<std::string>& assignments) {
  require(!recipes.empty(), "there is no recipe; name a training config, or a folder of them");
  std::vector<SweepRow> rows;
  for (const std::string& recipe : recipes)
    for (const std::string& file : files_of(recipe))
      for (SweepRow& row : rows_of(file)) {
        const auto same = std::ranges::find(rows, row.name, &SweepRow::name);
        require(same == rows.end(), "{} and {} are both named '{}'; rename one of them{}",
                same == rows.end() ? "" : same->where, row.where, row.name,
                row.name.find('-') == row.name.npos ? "" : ", or give the values of a grid as rows");
        for (const std::string& assignment : assignments) {
          const std::string key = assignment.substr(0, assignment.find('='));
          require(std::ranges::count(row.changed_keys, key) == 0,
                  "--set {}: {} sets this key itself, so that it would not be compared; leave one of them out",
                  assignment, row.where);
          set_option(row.options, assignment);
        }
        rows.push_back(std::move(row));
      }
  return rows;
}

}  // namespace sixfold
