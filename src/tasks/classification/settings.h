#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "model/config.h"

namespace sixfold {

/// The settings in config.json of a classifier of texts or of images, besides those of its network.
struct ClassificationSettings {
  static constexpr std::string_view task = "classification", task_on_images = "image_classification";
  static constexpr TaskNetwork network{.task = task, .decoder = false, .head = OutputHead::classes};
  static constexpr TaskNetwork network_on_images{
      .task = task_on_images, .decoder = false, .images = true, .head = OutputHead::classes};
  std::vector<std::string> labels;  ///< the names of the classes
};

inline void visit(OptionVisitor& v, ClassificationSettings& o) {
  v.field("labels", o.labels, "names of the classes");
}

/// Throws an input error if a label can't be a field of a line of text, or occurs twice.
inline void validate(const ClassificationSettings& o) {
  for (const std::string& label : o.labels) {
    require(!label.empty() && label.find_first_of(std::string_view("\t\n\r\0", 4)) == label.npos,
            "labels: '{}' is empty or has a tab, a line end or a NUL", label);
    require(std::ranges::count(o.labels, label) == 1, "labels: the name '{}' occurs twice", label);
  }
}

/// The names of a classifier's labels. Throws an input error unless there is a valid label for each class.
inline std::vector<std::string> labels_of(const ModelConfig& config) {
  std::vector<std::string> labels = settings_of<ClassificationSettings>(config).labels;
  require(std::cmp_equal(labels.size(), config.head.classes),
          "labels: there are {}, but the model predicts {} classes", labels.size(), config.head.classes);
  return labels;
}

}  // namespace sixfold
