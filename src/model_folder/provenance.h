#pragma once
#include <string>
#include <vector>

namespace sixfold {

/// The steps that made a model, oldest first, each as the text of a JSON object. They are the elements of the
/// array in provenance.json (history.json in folders of version 0.1.0). Each has "step" ("train", "average",
/// "quantize", "confidence" or "import") and "version", the version of Sixfold. Returns no steps for a folder
/// without the file. Throws an input error that names the file if it is damaged.
std::vector<std::string> read_provenance(const std::string& folder);

/// Human-readable descriptions of these steps, one line for each: "trained for 9800 updates on 29000 pairs;
/// best bleu 39.51 at update 9500 (sixfold 0.2.0)".
std::vector<std::string> describe_provenance(const std::string& folder);

/// Whether the model was imported from another program and has not been trained since.
bool is_imported(const std::string& folder);

/// Writes provenance.json into `folder`: the steps `before`, then `step`, a JSON object to which "version" is
/// added. The file is written atomically.
void write_provenance(const std::string& folder, const std::vector<std::string>& before,
                      const std::string& step);

}  // namespace sixfold
