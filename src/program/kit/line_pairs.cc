#include "program/kit/line_pairs.h"

#include "base/error.h"
#include "program/kit/text_io.h"

namespace sixfold::cli {

LinePairs::LinePairs(const std::string& first, const std::string& second, InvalidUtf8 invalid,
                     std::string relation)
    : first_name_(text_name(first)),
      second_name_(text_name(second)),
      invalid_(invalid),
      relation_(std::move(relation)),
      first_(readable_path(first)),
      second_(readable_path(second)) {}

bool LinePairs::next(size_t max_pairs, std::vector<std::string>& firsts, std::vector<std::string>& seconds) {
  firsts.clear(), seconds.clear();
  std::string first, second;
  for (size_t bytes = 0; firsts.size() < max_pairs && bytes < max_bytes_at_once;) {
    const bool has_first = next_line(first_, first), has_second = next_line(second_, second);
    require(has_first == has_second,
            "{} ends after line {}, but {} does not; line n of one file must {} line n of the other",
            has_first ? second_name_ : first_name_, has_first ? second_.line_number() : first_.line_number(),
            has_first ? first_name_ : second_name_, relation_);
    if (!has_first) break;
    make_valid(first, first_, invalid_);
    make_valid(second, second_, invalid_);
    firsts.push_back(first), seconds.push_back(second);
    bytes += first.size() + second.size();
  }
  return !firsts.empty();
}

}  // namespace sixfold::cli
