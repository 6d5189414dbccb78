#pragma once
#include <string>
#include <vector>

namespace sixfold {

/// What was done to make a model, oldest first: history.json of its folder, an array of JSON objects that each
/// have "step" ("train", "average", "quantize", "import") and "version". A folder without one has no history.
std::vector<std::string> read_provenance(const std::string& folder);

/// The same in words, a line for each step: "trained for 9800 updates on 29000 pairs; best bleu 39.51 at update
/// 9500".
std::vector<std::string> describe_provenance(const std::string& folder);

/// Writes into `folder` the steps `before` and one more, a JSON object; its version is added.
void write_provenance(const std::string& folder, const std::vector<std::string>& before,
                      const std::string& step);

}  // namespace sixfold
