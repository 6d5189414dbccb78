#include "program/kit/label_files.h"

#include <algorithm>

#include "base/error.h"
#include "data/image_reader.h"
#include "metrics/classification.h"
#include "program/kit/text_io.h"

namespace sixfold::cli {

void refuse_names_beside_numbers(const std::vector<std::string>& predicted, const std::string& hypothesis,
                                 const std::string& reference) {
  const auto name = std::ranges::find_if(predicted, [](const std::string& line) {
    return label_of(line).find_first_not_of("0123456789") != std::string::npos;
  });
  require(
      name == predicted.end() || reference == "-" || !is_idx_file(readable_path(reference)),
      "{} has the names of labels ('{}'), but {} is an IDX file of numbers; give a text with a name on each "
      "line instead",
      text_name(hypothesis), name == predicted.end() ? "" : label_of(*name), reference);
}

}  // namespace sixfold::cli
